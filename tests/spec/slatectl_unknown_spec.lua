-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl on servers of many ages and kinds: a figure that a server does not report is unknown, neither zero nor an
-- all-clear.
local canned = require "support.canned"
local dkjson = require "dkjson"
local profiles = require "support.profiles"
local server = require "support.server"

-- For commands that judge: words that must not be printed about a server that does not report the figures behind them.
local NEEDS <const> = {
    evicted = { "no class starves", "no class evicts", "%f[%w]is well |", "nothing stands out\n" },
    evictions = { "nothing is evicted", "nothing was evicted", "the memory is enough", "evictions  0", "EVICTIONS 0",
        "'ev'=0", "\nslate_evictions_total" },
    refused = { "'oom'=0" },
    connections = { "'refused'=0" },
    limited = { "'conns'=%d" },
    classes = { "no class has a page", "no class holds an item", "has no page yet" },
    pages = { "no class has a page", "has no page yet", '"pages":0', "items +0 %(", "free chunks +0:",
        "item_size_max, 0", '"free_bytes":0', '"page_bytes":0' },
    chains = { "chained", '"chain"' },
    modes = { "mode nil" },
}
-- For all commands and all servers.
local NEVER <const> = { "%f[%w-]%-1%f[^%w]", "%f[%w]nan%f[^%w]", "%f[%w]inf%f[^%w]", "1844674407", "attempt to",
    "internal error", "traceback", "no item was seen" }

-- OUT is the name of a file that does not exist yet, REC of a recording of the server.
local COMMANDS <const> = {
    "top", "top --json", "classes", "classes --json", "pages", "items", "sizes", "waste", "waste --json",
    "fit 100 1500 900000", "fit 1500 --json", "settings", "stats", "fleet", "fleet --json", "conns",
    "hotkeys", "advise pages", "advise sizes",
    "advise memory", "advise automove", "advise policy", "advise automove --json", "check",
    "check --json", "doctor", "doctor --json", "curve", "whatif", "moves", "automove", "geometry",
    "record -o REC --interval 1s --count 3", "doctor --recording REC", "chart pages -o OUT.txt REC",
    "chart hits -o OUT.txt REC",
    "report -o OUT.html REC", "export prometheus", "audit", "plan -o OUT --set slab_automove=1",
    "move 12 5 1 --dry-run",
    "policy run ratio --interval 1s --for 2s --dry-run",
}
local RAW <const> = { stats = true, settings = true, plan = true } -- these show a server's own words

describe("a figure that a server does not report", function()
    local folder, made

    setup(function() folder, made = server.folder(), 0 end)
    teardown(function() server.remove_folder(folder) end)

    -- A function that runs a command line on a server of this profile: exit code, and output and messages together.
    local function runner(profile)
        local one, begin_s
        one = canned.new({}, setmetatable({}, { __index = function()
            return function(command)
                begin_s = begin_s or one.clock.now()
                return profiles.answer(profile, command, one.clock.now() - begin_s)
            end
        end }))
        one:install()
        local recording = ("%s/%s.rec"):format(folder, profile.name:gsub("%W", ""))
        return function(line)
            local words = {}
            made = made + 1
            for word in line:gmatch("%S+") do
                words[#words + 1] = word:gsub("OUT", ("%s/%d"):format(folder, made)):gsub("REC", recording)
            end
            local code, out, err = one:slatectl(words, { HOME = folder, SLATE_AUDIT = folder .. "/audit.log",
                SLATE_LOCK_DIR = folder, SLATE_RULES = folder .. "/none.lua", SLATE_SERVER = "127.0.0.1:11211",
                TERM = "dumb", PATH = os.getenv("PATH") })
            local drawn = line:find("OUT.txt", 1, true) and server.read_file(("%s/%d.txt"):format(folder, made))
            return code, out .. (drawn or "") .. err
        end
    end

    for _, profile in ipairs(profiles.ALL) do
        it("is not printed by any command: " .. profile.name, function()
            local run, faults = runner(profile), {}
            for _, line in ipairs(COMMANDS) do
                local code, text = run(line)
                local function look_for(words)
                    for _, word in ipairs(words) do
                        local at = text:find(word)
                        if at then
                            local told = text:sub(1, at):match("[^\n]*\n?$") .. text:sub(at + 1):match("[^\n]*")
                            faults[#faults + 1] = ("%s (%s): %s"):format(line, code, told:sub(1, 200))
                        end
                    end
                end
                if not code or code == 70 or text == "" then
                    faults[#faults + 1] = ("%s ends with %s: %s"):format(line, code, text)
                end
                if not RAW[line:match("^%l+")] then
                    look_for(NEVER)
                    for figure, words in pairs(NEEDS) do
                        look_for(profile.knows[figure] and {} or words)
                    end
                end
            end
            assert.same({}, faults)
        end)

        it("makes sizes exit with 3, and its message says so: " .. profile.name, function()
            local sizes, told = profile.answers["stats sizes"] or profile.answers.other, "server "
            local code, text = runner(profile)("sizes")
            if profile.is_none then
                assert.equal(69, code)
                return
            elseif sizes == "END" and profile.answers.other == "END" then
                told = "slatectl: not known: this server reports no sizes\n"
            elseif sizes == "ERROR" and not profile.is_mute then
                told = "not known: this server reports no sizes; to sample its keys give --from metadump\n"
            end
            assert.equal(3, code, text)
            assert.truthy(text:find(told, 1, true), text)
        end)

        it("makes check exit with 3, for each threshold on such a figure: " .. profile.name, function()
            local run, knows = runner(profile), profile.knows
            local code, text = run("check --interval 1s")
            if profile.is_none then
                assert.equal(2, code) -- the answering program is no cache server
                return
            elseif profile.is_mute then
                assert.truthy(code == 3 and text:find("reports no statistics", 1, true), text)
                assert.truthy(select(2, run("fleet --interval 1s")):find("1 server, 0 down", 1, true))
                return
            end
            for name, is_told in pairs({ ev = knows.evictions, starving = knows.evicted, spread = knows.evicted,
                oom = knows.refused, refused = knows.connections, conns = knows.limited }) do
                for _, option in ipairs({ "--warn", "--crit" }) do
                    code, text = run(("check --interval 1s %s %s=1000000"):format(option, name))
                    assert.equal(is_told and text:find("'" .. name .. "'=%d") and true or false, is_told or false, text)
                    if not is_told then
                        assert.truthy(text:find(("'%s'=U;"):format(name), 1, true), text)
                        assert.is_true(code == 3 or code == 2, text) -- 2: stores are refused
                        assert.truthy(text:find(name .. " is unknown: the server does not report it", 1, true), text)
                    end
                end
            end
            assert.truthy(code, text)
        end)

        it("is named by the doctor: " .. profile.name, function()
            local code, text = runner(profile)("doctor --json")
            if profile.is_none or profile.is_mute then
                assert.equal(profile.is_none and 69 or 3, code)
                return
            end
            local names, knows = {}, profile.knows
            for _, name in ipairs(dkjson.decode(text).not_looked_at) do names[name] = true end
            assert.same({ not knows.evictions, not knows.evicted, not knows.refused, not knows.classes,
                not knows.connections, not knows.limited },
                { names.evictions or false, names["which class starves"] or false, names["refused stores"] or false,
                    names["pages of classes"] or false, names["refused connections"] or false,
                    names["open connections"] or false })
        end)
    end
end)
