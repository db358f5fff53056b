-- SPDX-License-Identifier: BSD-3-Clause
-- The examples of the manual pages run: the lines of .Dl and of literal displays, in every section.
local certificates = require "support.certificates"
local command = require "support.command"
local fill = require "support.fill"
local server = require "support.server"

-- An example's words and those that run in their place, so that the example ends soon and touches only our folder.
local SMALLER <const> = {
    { "%-%-insert %-%-keys 1m", "--insert --keys 1k" }, { "%-%-requests 5m", "--requests 5k" },
    { "%-%-rate 20k %-%-duration 30s %-%-interval 1s", "--rate 1k --duration 200ms --interval 100ms --keys 1000" },
    { "%-%-shift%-every 1000000 %-%-keys 500k", "--shift-every 1000 --keys 500 --requests 3000" },
    { "trace%.txt%.gz", "trace.gz" }, { "/run/cache/", "./" }, { "%-m 1024", "-m 16" }, { "%-n 36000", "-n 1" },
    { "64m,128m,256m", "4m,8m" }, { "cache7:11211", "127.0.0.1:11211" }, { "cache7 ", "127.0.0.1:11211 " },
    { "%-%-at 25200", "--at 0 -b -n 1" }, { "%-%-for 1h", "--for 200ms --interval 20ms" },
    { "^(slatectl policy run %./mine%.lua)$", "%1 --once --interval 50ms" },
    { "^(slatectl policy run %./mine%.lua %-%-apply)$", "%1 --once --interval 50ms" },
    { "%-%-memory 64m$", "--memory 4m" }, { "%-%-interval 200ms", "--interval 20ms" },
    { "%-%-duration 10s", "--duration 200ms" }, { "^(slatectl plan .+)$", "%1 --interval 500ms" },
    { "^(slatectl move .+ %-%-dry%-run)$", "%1 --interval 500ms" },
    { "%-b %-n 3", "-b -n 3 -d 0.1" }, { "%-%-json %-n 2", "--json -n 2 -d 0.1" },
    { "/etc/slate/policies", "./policies" },
}

-- Examples that are not run, and why.
local NOT_RUN <const> = {
    ["slatetop"] = "it wants a terminal: the console's specs have one",
    ["slatetop --read-only cache7:11211"] = "it wants a terminal: the console's specs have one",
    ["slatetop dns:caches.example.org:11211"] = "it wants a name server that knows this name",
}

local PROGRAMS <const> = { slatectl = true, slated = true, slatetop = true, ["slate-load"] = true, cp = true,
    slabs = true }

-- The examples of a page in their order: command lines, continued ones joined, and whole displays of Lua. from: the
-- heading before them. A comment `may exit N: why` concerns the next line.
local function examples_of(path, from)
    local text = command.read_file(path)
    local list, display, may_exit = {}, nil, nil
    local function add(line)
        line = line:gsub("^%.Dl ", ""):gsub("^%$ ", ""):gsub("\\&", "")
        if PROGRAMS[line:gsub("^[%u_]+=%S+ ", ""):match("^%S+")] then
            list[#list + 1] = { line = line, may_exit = may_exit }
        end
    end
    text = text:sub((assert(text:find("\n.Sh " .. from, 1, true)))):gsub("\\e\n%s*", "")
    for line in text:gmatch("[^\n]+") do
        if line:find("^%.Bd %-literal") then
            display = {}
        elseif line:find("^%.Ed") then
            local whole = table.concat(display or {}, "\n")
            if whole:find("%f[%w]local ") then
                list[#list + 1] = { lua = (whole:gsub("\\e", "\\")) }
            end
            display = nil
        elseif line:find("^%.Dl ") then
            add(line)
            may_exit = nil
        elseif display then
            display[#display + 1] = line
            add(line)
        end
        may_exit = tonumber(line:match('^%.\\" may exit (%d+): .')) or may_exit
    end
    return list
end

describe("the manual's examples run:", function()
    local one, secure, client, ctl

    setup(function()
        ctl = command.new()
        if certificates.available() and pcall(require, "ssl") then
            certificates.make(ctl.folder, "ca")
            certificates.make(ctl.folder, "localhost", "ca")
            secure = server.start({ transport = "tcp", tls = { verify = false }, args = { "-Z", "-o",
                ("ssl_chain_cert=%s/localhost.pem,ssl_key=%s/localhost.key"):format(ctl.folder, ctl.folder) } })
        end
        ctl.shell("mkdir policies; seq 300 | gzip >trace.gz; seq 300 | sed 's/.*/get key&/' | gzip >replay.gz")
        one = server.start({ binary = server.slated(), transport = "tcp", args = { "-m", "24", "-o", "slab_automove=0",
            "--policy-dir=" .. ctl.folder .. "/policies" } })
        client = one:connect()
        assert.equal(3, fill.fill(client, 5, 3))
        assert.is_true(fill.fill(client, 12) >= 6)
    end)
    teardown(function()
        client:close()
        one:stop()
        if secure then
            secure:stop()
        end
        ctl.remove()
    end)

    local function run_lua(text)
        local file = assert(io.open(ctl.folder .. "/mine.lua", "w"))
        text = text:gsub("10%.0%.0%.1:11211", one.address) -- the other is the same server by another name
        file:write((text:gsub("10%.0%.0%.2:11211", (one.address:gsub("^127%.0%.0%.1", "localhost")))))
        file:close()
        if text:find("decide", 1, true) then
            return ctl.run("policy test ./mine.lua")
        elseif text:find("rules = {", 1, true) then
            os.rename(ctl.folder .. "/mine.lua", ctl.folder .. "/rules.lua")
            return ctl.run("rules list ./rules.lua")
        end
        return ctl.shell(("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua' lua5.4 mine.lua"):format(ctl.root, ctl.root))
    end

    -- A server of an example runs until it is ended; the example promises only that the server starts.
    local function run(example, address)
        if example.lua then
            return run_lua(example.lua)
        end
        local line = example.line
        for _, pair in ipairs(SMALLER) do
            line = line:gsub(pair[1], pair[2])
        end
        line = line:gsub("127%.0%.0%.1:11211", address)
        if line:find("slate%-load") and line:find("--tls", 1, true) then
            if not secure then
                return 0, "", "" -- neither LuaSec nor openssl is here: load_tls_spec says so
            end
            line = line .. " --server " .. secure.address
        elseif line:find("slate%-load") then
            line = line .. " --server " .. address
        elseif line:find("^slatetop") and not line:find(address, 1, true)
            and not line:find("--replay", 1, true) then
            line = line .. " " .. address
        elseif line:find("^slabs ") then
            return client:command(line) == "OK" and 0 or 1, "", ""
        elseif line:find("slated ", 1, true) and not line:find("--simulate", 1, true)
            and not line:find("--probe", 1, true) then
            return ctl.shell(line .. " -u \"$(id -un)\" -P ./pid " .. (line:find("%-p ") and "" or "-p -1 ")
                .. "& pid=$!; until [ -s pid ] || ! kill -0 $pid; do sleep 0.02; done; "
                .. "kill $pid; wait $pid; code=$?; rm -f pid; exit $code")
        end
        ctl.server = address
        return ctl.shell(line)
    end

    -- is_again: examples that query no server do not run again.
    local function run_all(page, from, least, address, is_again)
        local list = examples_of(page, from)
        assert.is_true(#list >= least, page)
        for _, example in ipairs(list) do
            local line = example.line or ""
            local asks_none = line:find("simulate") or line:find("^slatectl policy t") or line:find("^slatectl chart")
            if not NOT_RUN[example.line] and not (is_again and asks_none) then
                local code, out, err = run(example, address)
                assert.truthy(code == 0 or code == example.may_exit, (example.line or example.lua) .. ": " .. err
                    .. out)
            end
        end
    end

    for page, least in pairs({ ["man/slate-load.1"] = 4, ["man/slated.8"] = 4, ["man/slatetop.1"] = 6,
        ["man/slatectl.1"] = 40, ["man/slate.3"] = 1 }) do
        it("those of " .. page, function() run_all(page, "EXAMPLES", least, one.address) end)
    end

    it("those of man/slate-policies.7, a policy among them", function()
        run_all("man/slate-policies.7", "DESCRIPTION", 10, one.address)
    end)

    it("those of man/slate-rules.7, rules among them", function()
        run_all("man/slate-rules.7", "DESCRIPTION", 4, one.address)
    end)

    it("and every page that has any is here", function()
        for page in io.popen("ls man/*.[1-8]"):lines() do
            local known = ("slate.3 slate-load.1 slated.8 slatetop.1 slatectl.1 slate-policies.7 slate-fleets.7 "
                .. "slate-rules.7 slate-calcified.7") -- guide_spec and lua_fleet_spec have the last and the fleets
                :find(page:match("[^/]+$"), 1, true)
            assert.truthy(known or #examples_of(page, "NAME") == 0, page)
        end
    end)

    it("and slate-load's has each option in the words of --help, and no other", function()
        local page = command.read_file("man/slate-load.1"):gsub("\\%-", "-"):gsub("%s+", " ")
        local code, rows = ctl.shell("slate-load --describe")
        local options, items = 0, select(2, page:gsub("%.It Fl Fl ", ""))
        assert.equal(0, code)
        for name, argument, help in rows:gmatch("([^\t\n]*)\t([^\t\n]*)[^\n]*\t([^\t\n]*)\n") do
            local words = (".It Fl Fl %s%s %s"):format(name, argument == "" and "" or " Ar " .. argument, help)
            assert.truthy(page:find(words:gsub("%s+", " "), 1, true), name)
            options = options + 1
        end
        assert.equal(options, items)
        assert.is_true(options > 40)
    end)

    it("those of slatectl(1) on memcached, too", function()
        if not os.getenv("ALL") then
            pending("ALL=1 runs them")
            return
        end
        local stock = server.memcached() and server.start({ binary = server.memcached(), transport = "tcp",
            args = { "-m", "24", "-o", "slab_automove=0" } })
        if not stock then
            pending("memcached is not installed")
            return
        end
        local filler = stock:connect()
        assert.equal(3, fill.fill(filler, 5, 3))
        assert.is_true(fill.fill(filler, 12) >= 6)
        filler:close()
        ctl.shell("rm -f *.jsonl *.json *.png audit.log")
        local ok, problem = pcall(run_all, "man/slatectl.1", "EXAMPLES", 40, stock.address, true)
        stock:stop()
        assert(ok, problem)
    end)
end)
