-- SPDX-License-Identifier: BSD-3-Clause
-- Each option of memcached 1.6.45, as tests/fixtures/memcached-1.6.45-options.txt lists them, tried on slated and on a
-- memcached of that version: it works, or is accepted with one line that says why it has no effect, or is refused with
-- a reason. slated(8) has each.
local socket = require "socket"
local patience = require "support.patience"
local support = require "support.server"

local FIXTURE <const> = "tests/fixtures/memcached-1.6.45-options.txt"
local VERSION <const> = "1.6.45"
local EX_USAGE <const> = 64
local SLATED <const> = assert(support.slated(), "there is no slated to start: run make first")

local function rows()
    local list = {}
    for line in io.lines(FIXTURE) do
        local names, words, theirs, ours = line:match("^(%-.-) | (.-) | (%S+) | (.+)$")
        assert(names or line:find("^#"), "not a row: " .. line)
        if names then
            local verdict, rest = ours:match("^(%l+) ?(.*)$")
            list[#list + 1] = { names = names, words = words, theirs = theirs, verdict = verdict, rest = rest }
        end
    end
    return list
end

local ROWS <const> = rows()

-- The option of a row: -x, --word or `-o word`.
local function names_of(row)
    if row.names:find("^%-o %l") then
        return { row.names }
    end
    local list = {}
    for name in row.names:gmatch("%S+") do
        list[#list + 1] = name
    end
    return list
end

local function peer()
    local program = support.memcached()
    return program and support.capture(program .. " -V"):find(VERSION, 1, true) and program
end

describe("each option of memcached", function()
    local folder

    setup(function()
        folder = support.folder()
        assert(os.execute(("cd %s && mkdir run && echo me:secret >users && openssl req -x509 -newkey ec -nodes -days 2 "
            .. "-pkeyopt ec_paramgen_curve:P-256 -subj /CN=here -keyout key -out cert 2>/dev/null"):format(folder)))
    end)

    teardown(function()
        support.remove_folder(folder)
    end)

    local function run_words(row)
        local words = row.words:gsub("FOLDER/(%l+)", function(name)
            local made = name ~= "cert" and name ~= "key" and name ~= "users"
            return folder .. (made and "/run/" or "/") .. name
        end)
        if not words:find("-p -1", 1, true) and not words:find("-s ", 1, true) then
            words = words .. " -s " .. folder .. "/run/socket"
        end
        return words:find("-u ", 1, true) and words or words .. " " .. support.USER
    end

    -- Runs slated in the background; it is up when it takes connections.
    local function start(program, row)
        os.execute(("rm -rf %s/run/*"):format(folder))
        local pid = support.capture(("exec env MEMCACHED_PORT_FILENAME=%s/run/ports %s %s </dev/null >%s/log 2>&1 & "
            .. "echo $!"):format(folder, support.quoted(program), run_words(row), folder))
        return math.tointeger(tonumber(pid))
    end

    local function connect()
        local ports = support.read_file(folder .. "/run/ports")
        local port = ports and ports:match("TCP INET: (%d+)")
        if port then
            return socket.connect("127.0.0.1", tonumber(port))
        end
        local one = require("socket.unix")()
        return one:connect(folder .. "/run/socket") and one
    end

    local function stop(pid)
        local written = tonumber(support.read_file(folder .. "/run/pid") or "")
        pid = written and math.tointeger(written) or pid
        os.execute(("kill -9 %d 2>/dev/null"):format(pid))
        patience.wait_for("its end", function() return not support.is_running(pid) end)
    end

    -- The server's reply to a connection; nil where it has none without TLS, a login or packets.
    local function settings(connection, row)
        if row.rest == "" then
            return {}
        end
        connection:settimeout(patience.DEADLINE_S)
        connection:send("stats settings\r\n")
        local shown = {}
        for line in function() return connection:receive("*l") end do
            if line == "END" then
                break
            end
            local name, value = line:match("^STAT (%S+) (.*)$")
            shown[name or line] = value or ""
        end
        return shown
    end

    local function assert_serves(program, row)
        local pid = start(program, row)
        finally(function() stop(pid) end)
        local daemon = row.words:find("^%-d ")
        if daemon then -- only the file has its pid
            patience.wait_for("its pidfile", function()
                return (support.read_file(folder .. "/run/pid") or ""):find("%d")
            end)
        end
        local connection = patience.wait_for(row.words, function()
            return connect() or not daemon and not support.is_running(pid) and "ended"
        end)
        local log = support.read_file(folder .. "/log")
        assert.not_equal("ended", connection, ("%s %s: %s"):format(program, row.words, log))
        local shown = settings(connection, row)
        connection:close()
        log = support.read_file(folder .. "/log")
        stop(pid)
        for name, value in row.rest:gmatch("(%S-)=(%S+)") do
            assert.equal(value, shown[name], ("%s %s: %s"):format(program, row.words, name))
        end
        return log
    end

    local function run(program, row)
        local _, _, code = os.execute(("timeout 300 %s %s </dev/null >%s/out 2>%s/log"):format(support.quoted(program),
            run_words(row), folder, folder))
        return code, support.read_file(folder .. "/out"), support.read_file(folder .. "/log")
    end

    local VERDICTS <const> = {
        works = function(row)
            assert.falsy(assert_serves(SLATED, row):find("without effect", 1, true), row.words)
        end,
        vain = function(row)
            local log, name = assert_serves(SLATED, row), row.names:match("%-%-(%S+)$") or row.names:match("%S+$")
            local said = {}
            for line in log:gmatch("[^\n]*without effect[^\n]*") do
                said[#said + 1] = line
            end
            assert.equal(1, #said, row.words .. ": " .. log)
            assert.truthy(said[1]:find(name:gsub("^no_inline", "inline"), 1, true), said[1])
            assert.truthy(said[1]:find("without effect[:,] %l%l"), said[1])
        end,
        refused = function(row)
            local code, out, log = run(SLATED, row)
            assert.equal(EX_USAGE, code, row.words .. ": " .. log)
            assert.equal("", out)
            assert.equal(1, select(2, log:gsub("\n", "\n")), "not one line: " .. log)
            assert.truthy(log:find(row.rest, 1, true), log)
        end,
        ends = function(row)
            local code, out = run(SLATED, row)
            assert.equal(0, code, row.words)
            assert.truthy(#out > 0)
        end,
    }

    for _, row in ipairs(ROWS) do
        it(("is %s by slated: %s"):format(({ works = "obeyed", vain = "taken", refused = "refused", ends = "answered" })
            [row.verdict], row.words), function()
            VERDICTS[row.verdict](row)
        end)
    end

    it("is taken by memcached as the list says", function()
        local program = peer()
        if not program then
            pending("there is no memcached " .. VERSION)
            return
        end
        for _, row in ipairs(ROWS) do
            if row.theirs == "ends" then
                assert.equal(0, (run(program, row)), row.words)
            elseif row.theirs == "takes" then
                assert_serves(program, row)
            end
        end
    end)

    it("is taken alike from the command line, a file and SLATED_OPTIONS", function()
        local conf = folder .. "/run/conf"
        -- Exit status, and output.
        local function check(before, behind)
            local _, _, code = os.execute(("%s timeout 300 %s --check-config %s </dev/null >%s/out 2>&1"):format(before,
                support.quoted(SLATED), behind, folder))
            return code, support.read_file(folder .. "/out")
        end
        for i, row in ipairs(ROWS) do
            if row.verdict ~= "ends" and i % 4 == 1 then -- test_config_file has each form
                local words = run_words(row)
                local code, said = check("", words)
                assert.equal(row.verdict == "refused" and EX_USAGE or 0, code, words .. ": " .. said)
                local env_code, of_env = check("SLATED_OPTIONS=" .. support.quoted(words), "")
                assert.same({ code, said }, { env_code, (of_env:gsub("SLATED_OPTIONS: ", "", 1)) }, words)
                support.write_file(conf, words .. "   # all on one line\n")
                local file_code, of_file = check("", "--config " .. conf)
                of_file = of_file:gsub(conf:gsub("%p", "%%%0") .. ":1: ", "")
                assert.same({ code, said }, { file_code, of_file }, words)
            end
        end
    end)

    it("is in the list, when memcached's help names it", function()
        local program = peer()
        if not program then
            pending("there is no memcached " .. VERSION)
            return
        end
        local known = {}
        for _, row in ipairs(ROWS) do
            for _, name in ipairs(names_of(row)) do
                known[name] = true
            end
        end
        local count = 0
        for line in support.capture(program .. " -h"):gmatch("[^\n]+") do
            local letters, word = line:match("^(%-%a+),? +(%-%-[%l_-]+)")
            local extended = line:match("^   %- ([%l_]+):")
            letters = letters or line:match("^(%-%a+)")
            word = (word or ""):gsub("_", "-")
            for _, name in ipairs({ letters or "", word, extended and "-o " .. extended or "" }) do
                if name ~= "" then
                    assert.truthy(known[name], "the list lacks " .. name)
                    count = count + 1
                end
            end
        end
        assert.truthy(count > 100, "only " .. count .. " names were found in memcached's help")
    end)

    it("is in slated(8)", function()
        local page = support.read_file("man/slated.8")
        local described = support.capture(SLATED .. " --describe")
        for _, row in ipairs(ROWS) do
            for _, name in ipairs(names_of(row)) do
                local extended, long = name:match("^%-o (.+)"), name:match("^%-%-(.+)")
                local turned_off = extended and extended:match("^no_(.+)")
                local off = turned_off and described:find("-o " .. turned_off .. "\t", 1, true) and turned_off
                local wanted = extended and "Fl o Cm " .. (off or extended) or long and "Fl Fl " .. long
                    or "Fl " .. name:sub(2, 2)
                if name ~= "-o" and name ~= "--extended" then
                    assert.truthy(page:find("\n%.It [^\n]*" .. wanted:gsub("%-", "%%-") .. "[ \n]"),
                        "slated(8) lacks " .. name)
                end
            end
        end
    end)
end)
