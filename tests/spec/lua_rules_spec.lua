-- SPDX-License-Identifier: BSD-3-Clause
-- An operator's own rules and columns: their rights, their findings, and the handling of broken ones.
local command = require "support.command"
local dkjson = require "dkjson"
local fill = require "support.fill"
local recordings = require "support.recordings"
local rules = require "slate.judge.rules"
local server = require "support.server"
local snapshots = require "support.snapshots"
local class, make = snapshots.class, snapshots.make

-- The sandbox without its limit of processor time, so that a busy machine changes nothing.
local PATIENT <const> = { limits = { cpu_s = 600 } }

local function known()
    local before = make(1000, { [3] = class({}), [5] = class({}) }, { evictions = 0, cmd_get = 0 })
    return { before = before, now = make(1002, { [3] = class({ age = 5000 }), [5] = class({ evicted = 800 }) },
        { evictions = 800, cmd_get = 90 }, { maxconns = 9 }) }
end

local function rule(body)
    return ("return { rules = { { name = 'it', check = function(about, add) %s end } } }"):format(body)
end

local function load(text) return assert(rules.load(text, "rules.lua", PATIENT)) end

describe("a rule", function()
    it("sees rates, rows, settings and both snapshots, and adds findings, the worst first", function()
        local own = load(rule([[
            add("note", ("%d gets/s, %d conns"):format(about.general_rates.cmd_get_per_s, about.settings.maxconns))
            add("warning", ("%d of %d"):format(about.now.general.evictions - about.before.general.evictions,
                about.by_id[5].evicted_per_s * about.interval_s), "look", 5)
            add("critical", tostring(about.starves and about.rows[2].starves), nil, nil)]]))
        assert.same({
            { name = "it", severity = "critical", what = "true", todo = "a rule of your own" },
            { name = "it", severity = "warning", what = "800 of 800", todo = "look", class = 5 },
            { name = "it", severity = "note", what = "45 gets/s, 9 conns", todo = "a rule of your own" },
        }, own:findings(known()))
    end)

    it("cuts a value to the width of its column: fewer digits of a long number, a mark after a cut text", function()
        for text, value in pairs({ ["-"] = 0 / 0, ["1e+308"] = 1e308, ["-1e+15"] = -1e15, ["inf"] = 1 / 0,
            ["1234568"] = 1234567.89, ["0.25"] = 0.25, ["7"] = 7, ["so"] = "so", ["1234567"] = "1234567",
            ["9.2e+18"] = math.maxinteger, ["-9e+18"] = math.mininteger, ["sevent…"] = "seventy-one",
            ["-2e+308"] = -1.7976931348623157e308 }) do
            assert.equal(text, rules.text(value, 7))
        end
        assert.equal("12345678.00", rules.text(12345678.0, 12))
        assert.equal("-", rules.text(nil, 7))
    end)

    it("has copies, so that its changes to them affect no other", function()
        local own = load([[return { rules = {
            { name = "a", check = function(about) about.rows[1].id, about.now.general.evictions = 77, 77 end },
            { name = "b", check = function(about, add)
                add("note", about.rows[1].id .. " " .. about.now.general.evictions) end } } }]])
        local facts = known()
        assert.equal("3 800", own:findings(facts)[1].what)
        assert.equal(800, facts.now.general.evictions)
    end)

    it("that fails is switched off, with one line, and others go on", function()
        for body, said in pairs({
            ["error('no idea', 0)"] = "no idea", ["local x = nil .. 'a'"] = "attempt to concatenate a nil value",
            ["while true do end"] = "took more than 10000000 instructions", ["os.exit(1)"] = "'os'",
            ["io.open('/etc/passwd')"] = "'io'", ["require 'slate.wire.client'"] = "'require'",
            ["load('return 1')"] = "'load'",
            ["local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end"] = "more than",
            ["add('bad', 'x')"] = "not 'bad'", ["add('note')"] = "a finding is",
            ["add('note', 'x', 'y', 'z')"] = "is an id",
            ["for i = 1, 17 do add('note', 'x') end"] = "more than 16 findings",
        }) do
            local own, said_lines = load((rule(body):gsub("} } }$",
                "}, { name = 'other', check = function(_, add) add('note', 'well') end } } }"))), {}
            function own.print_note(message) said_lines[#said_lines + 1] = message end
            for _ = 1, 2 do
                local findings = own:findings(known())
                assert.equal("well", findings[1].what)
                assert.equal(1, #findings, body)
            end
            assert.equal(1, #said_lines, body)
            assert.truthy(said_lines[1]:find("^rule it is switched off: ") and said_lines[1]:find(said, 1, true),
                said_lines[1])
            assert.falsy(said_lines[1]:find("[\n\27]"))
        end
    end)

    it("that cannot be one is refused with the file", function()
        for text, said in pairs({
            ["return {"] = "rules.lua:1:", [""] = "returns a nil", ["return 7"] = "returns a number",
            ["return { rules = 7 }"] = "rule is a list", ["return { rules = { 7 } }"] = "rule 1 is no table",
            ["return { rules = { {} } }"] = "rule 1 wants a name", ["error('no', 0)"] = "no",
            ["return { rules = { { name = 'a' } } }"] = "rule 1 wants a function check",
            ["return { columns = { { title = 'a b' } } }"] = "column 1 wants a title",
            ["return { columns = { { title = 'A' } } }"] = "column 1 wants a function value",
            ["\27Lua"] = "binary",
        }) do
            local own, message = rules.load(text, "rules.lua", PATIENT)
            assert.is_nil(own, text)
            assert.truthy(message:find(said, 1, true), text .. ": " .. message)
        end
    end)
end)

describe("a file of rules", function()
    it("has no function that runs outside the sandbox, whatever its tables are", function()
        local reverse = string.reverse
        finally(function() rawset(string, "reverse", reverse) end)
        local own = load([[
            local function reach() getmetatable('').__index.reverse = nil end
            local sly = { __index = reach, __len = reach, __pairs = reach }
            string.find = function() return 1 end
            return { rules = setmetatable({ setmetatable({ name = "it", check = function(_, add)
                add("note", "well") end }, sly) }, sly), columns = setmetatable({}, sly) }]])
        assert.equal("well", own:findings(known())[1].what)
        own:values(known())
        assert.equal(reverse, string.reverse)
        local refused, message = rules.load([[
            string.find, string.format = function() return 1 end, function() return "" end
            return { rules = { { name = "\27[2J", check = print } } }]], "rules.lua", PATIENT)
        assert.is_nil(refused)
        assert.truthy(message:find("rule 1 wants a name", 1, true), message)
    end)
end)

describe("columns", function()
    it("are values of each class; one that fails is switched off, and the others are there", function()
        local own = load([[return { columns = {
            { title = "TWICE", value = function(class) return class.pages * 2 end },
            { title = "SHARE", value = function(class, about)
                return ("%d of %d"):format(class.pages, #about.rows) end },
            { title = "BAD", value = function() return {} end } } }]])
        local values = own:values(known())
        assert.same({ TWICE = 8, SHARE = "4 of 2" }, values[5])
        assert.truthy(own.off.BAD:find("is a table", 1, true))
    end)
end)

describe("rules in slatetop", function()
    local function for_screen(text, problem)
        local own = rules.for_screen("/etc/own.lua", text, problem)
        return own, own:findings(known())
    end

    it("find nothing when their file is broken, and say why", function()
        for _, case in ipairs({ { "return {", "own.lua:1: " }, { nil, "cannot read it" },
            { ("-"):rep((256 << 10) + 1), "/etc/own.lua is longer than 256 KiB" } }) do
            local own, findings = for_screen(case[1], case[1] == nil and case[2] or nil)
            assert.same({}, findings)
            assert.equal(1, #own:troubles())
            assert.truthy(own:troubles()[1]:find("the rules are switched off: " .. case[2], 1, true),
                own:troubles()[1])
        end
    end)

    it("that take too long together lose the one that takes most", function()
        local own = rules.for_screen("own.lua", [[return { rules = {
            { name = "quick", check = function(_, add) add("note", "quick") end },
            { name = "slow", check = function() for i = 1, 20000 do end end } } }]])
        own.budget_s = 0
        own:findings(known())
        own.budget_s = 600
        assert.is_true(#own:findings(known()) <= 1)
        assert.truthy(own:troubles()[1]:find("all rules took more than 0 ms of processor time together", 1, true))
        assert.equal(1, #own:troubles())
    end)

    it("are among slatetop's health lines and columns; a failed one is a line there", function()
        local path, recording = os.tmpname(), os.tmpname()
        server.write_file(path, [[return {
            rules = { { name = "gets", check = function(about, add)
                add("critical", ("%d gets/s, %d bytes, %d evictions"):format(
                    about.general_rates.cmd_get_per_s, about.general.bytes,
                    about.now.general.evictions - about.before.general.evictions), "look") end },
                { name = "reads", check = function() io.open("/etc/passwd") end },
                { name = "loads", check = function() load("return os")() end },
                { name = "runs", check = function() debug.sethook() end } },
            columns = { { title = "HITS/PAGE", value = function(class, about)
                return about.by_id[class.id].get_hits_per_s / class.pages end } } }]])
        recordings.copy("calcified", recording)
        local text = server.capture(("SLATE_RULES=%s %s -b --replay %s 2>&1"):format(path, snapshots.SLATETOP,
            recording))
        os.remove(path)
        os.remove(recording)
        assert.truthy(text:find("BAD    gets: %d+ gets/s, %d+ bytes, %d+ evictions; look\n"), text)
        for name, global in pairs({ reads = "io", loads = "load", runs = "debug" }) do
            assert.truthy(text:find(("WARN   rule %s is switched off: [^\n]*'%s'"):format(name, global)), text)
        end
        assert.truthy(text:find(" HITS/PAGE  STATE\n", 1, true) and text:find(" 987.00  STARVING", 1, true), text)
    end)
end)

describe("the path of rules", function()
    it("is SLATE_RULES, else in the folder of configurations, else in the home", function()
        local function path(environment) return rules.path(function(name) return environment[name] end) end
        assert.equal("/r", path({ SLATE_RULES = "/r", HOME = "/h" }))
        assert.equal("/c/slate/rules.lua", path({ XDG_CONFIG_HOME = "/c", HOME = "/h" }))
        assert.equal("/h/.config/slate/rules.lua", path({ HOME = "/h" }))
        assert.is_nil(path({}))
    end)
end)

describe("slatectl with the rules of the manual", function()
    local ctl = command.beside(setup, teardown, { args = { "-m", "32", "-o", "slab_automove=0" } })

    setup(function()
        server.write_file(ctl.folder .. "/rules.lua", (assert(command.read_file("man/slate-rules.7"):match(
            "%.Bd %-literal %-offset indent\n(%-%- rules%.lua.-)%.Ed"))))
        recordings.copy("calcified", ctl.folder .. "/calcified.jsonl")
        recordings.copy("usr-stock", ctl.folder .. "/steady.jsonl")
        assert.equal(2, fill.fill(ctl.client, 5, 2))
    end)

    it("tries them over a recording, and on the server", function()
        local out = ctl.succeed("rules test ./rules.lua --recording calcified.jsonl")
        assert.truthy(out:find("short%-lives: warning: class 14 keeps items %d+%.%d s\n"), out)
        out = ctl.succeed("rules test ./rules.lua --recording steady.jsonl --json")
        assert.same({}, assert(dkjson.decode(out)).findings)
        assert.equal("nothing was found\n", ctl.succeed("rules test ./rules.lua --interval 20ms"))
    end)

    it("uses them in doctor, check and classes, but not when they are broken", function()
        local function with(rules_text, arguments)
            return ctl.shell(("printf %%s %s >own.lua; SLATE_RULES=own.lua slatectl %s --interval 20ms"):format(
                server.quoted(rules_text), arguments))
        end
        local alarm = "return { rules = { { name = 'mine', "
            .. "check = function(_, add) add('warning', 'look here') end } } }"
        local code, out, err = with(alarm, "doctor")
        assert.equal(1, code, err)
        assert.truthy(out:find("warning: mine: look here", 1, true), out)
        code, out = with(alarm, "check")
        assert.equal(1, code)
        assert.truthy(out:find("^WARNING %- %S+ mine: look here | "), out)
        code, out = ctl.shell("SLATE_RULES=rules.lua slatectl classes --interval 20ms")
        assert.equal(0, code)
        assert.truthy(out:find("HITS/PAGE", 1, true) and out:find(" 0.00", 1, true), out)
        code, out, err = with("return {", "check")
        assert.equal(0, code, out)
        assert.equal(1, select(2, err:gsub("\n", "")), err)
        assert.truthy(err:find("^slatectl: the rules are switched off: own.lua:1: "), err)
        code = ctl.shell("printf 'return { rules = { { name = \"x\", check = function() error() end } } }' "
            .. ">own.lua; slatectl rules test ./own.lua --interval 20ms")
        assert.equal(1, code)
    end)

    it("waits for nobody to write where their file is a pipe, and says so", function()
        local code, out, err = ctl.shell("mkfifo pipe.lua; SLATE_RULES=pipe.lua timeout 300 slatectl check "
            .. "--interval 20ms")
        assert.equal(0, code, out .. err)
        assert.equal("slatectl: the rules are switched off: cannot read pipe.lua: it is not a regular file\n", err)
    end)
end)
