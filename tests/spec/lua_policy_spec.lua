-- SPDX-License-Identifier: BSD-3-Clause
-- Policies outside the daemon: their sandbox, their settings, and the same decisions as inside. Their data:
-- lua_policy_shown_spec.
local policy_box = require "slate.base.policy_box"
local json = require "slate.base.json"
local policy = require "slate.policy.file"
local server = require "support.server"
local snapshots = require "support.snapshots"

local class, make = snapshots.full, snapshots.make

-- The sandbox without its limit of processor time, so that a busy machine changes nothing.
local PATIENT <const> = { cpu_s = 600 }

local function pair()
    local general = { limit_maxbytes = 20 << 20, slab_global_page_pool = 0 }
    return make(100, { [3] = class(10), [7] = class(10) }, general),
        make(101, { [3] = class(10), [7] = class(10, 500) }, general)
end

-- Loads, starts and decides once: moves and a sentence, or nil and the error.
local function try(source, words, limits)
    local one, problem = policy.load(source, "it.lua", { limits = limits or PATIENT })
    local running
    if one then
        running, problem = one:start(words)
    end
    if not running then
        return nil, problem
    end
    return running:decide(pair())
end

local function body(text)
    return ("return { decide = function(before, after, state) %s end }"):format(text)
end

local function assert_broken(said, source, limits)
    local moves, message = try(source, nil, limits)
    assert.is_nil(moves, source)
    assert.truthy(message:find(said, 1, true), source .. ": " .. tostring(message))
end

describe("a policy outside the daemon", function()
    it("is refused with its line when it is broken", function()
        assert_broken("it.lua:1: ", "return {")
        assert_broken("binary chunk", string.dump(function() end))
        assert_broken("returns a nil, not a table", "")
        assert_broken("decide is a nil", "return {}")
        assert_broken("it.lua:1: attempt to index a nil value (global 'io')", body("io.open('x')"))
        assert_broken("raised a table instead of a message", body("error({})"))
        assert_broken("a?b?[2J", body("error('a\\nb\\27[2J', 0)"))
    end)

    it("has no way out of the sandbox", function()
        for _, name in ipairs({ "load", "loadfile", "dofile", "require", "collectgarbage", "io", "os", "debug",
            "package", "coroutine", "string.dump", "_G._G.os" }) do
            assert_broken("absent", body(("if %s == nil then error('absent', 0) end"):format(name)))
        end
        assert_broken("attempt to index a boolean", body("getmetatable('').__index = nil"))
        assert_broken("finalizers", body("setmetatable({}, { __gc = print })"))
        assert_broken("attempt to call a nil value (method 'dump')", body("(''):dump()"))
    end)

    it("leaves the library's own functions alone", function()
        assert_broken("done", body("string.format, string.rep, math.floor = nil error('done', 0)"))
        assert.equal("xx", ("x"):rep(2))
        assert.equal("1", string.format("%d", math.floor(1.5)))
        assert.is_nil(getmetatable("").__metatable)
    end)

    it("has no function that runs outside the sandbox, whatever its tables are", function()
        local reverse = string.reverse
        finally(function() rawset(string, "reverse", reverse) end)
        local loaded = assert(policy.load([[
            local function reach() getmetatable('').__index.reverse = nil end
            local sly = { __index = reach, __len = reach, __pairs = reach }
            local settings = { a = setmetatable({ default = 1 }, sly) }
            return setmetatable({ decide = function() return {} end, settings = setmetatable(settings, sly),
                checks = setmetatable({ setmetatable({ name = "it", seconds = 2, moves = "", classes = function()
                    return setmetatable({ setmetatable({ id = 1 }, sly) }, sly) end }, sly) }, sly) }, sly)]],
            "it.lua"))
        assert.same({ { name = "a", default = 1 } }, loaded:setting_list())
        local _, message = require("slate.policy.test").test(loaded, {})
        assert.truthy(message:find("attempt to index a boolean value", 1, true), message) -- within the limit
        assert.equal(reverse, string.reverse)
    end)

    it("ends at a limit, whatever errors it catches", function()
        local few <const> = { cpu_s = 600, instructions = 500000 } -- not the ten million there are
        local slow <const> = "took more than 500000 instructions"
        local fat <const> = "needs more than 16 MiB of memory"
        assert_broken(slow, "while true do end", few)
        assert_broken(slow, body("while true do pcall(function() while true do end end) end"), few)
        assert_broken(slow, body("while true do xpcall(error, function() while true do end end) end"), few)
        assert_broken(slow, body("string.rep('', 1 << 60)"), few)
        assert_broken(slow, body("table.move({}, 1, 1 << 62, 2)"), few)
        assert_broken(slow, body("string.find(string.rep('a', 5000), string.rep('a-', 20) .. 'b')"), few)
        assert_broken("without a metatable", body("table.insert(setmetatable({}, { __len = print }), 1, 1)"))
        assert_broken("makes a text of more than 64 KiB", body("string.rep('xxxxxxxxxx', 5000000)"))
        assert_broken("makes a text of more than 64 KiB", body("local s = 'x' while true do s = s .. s end"))
        assert_broken(fat, body("local t = {} while true do t[#t + 1] = {} end"))
        local moves, message = try(body("while true do end"), {}, { cpu_s = 0.05, instructions = math.maxinteger })
        assert.is_nil(moves)
        assert.equal("took more than 0.05 s of processor time", message)
    end)

    it("has its instructions counted as they are", function()
        local steps <const> = "local s = 0 for i = 1, %d do s = s + 1 end" -- two each
        assert.is_table(try(body(steps:format(4500000))))
        assert_broken("took more than 10000000 instructions", body(steps:format(5500000)))
    end)

    it("keeps metatables as they were when they were set", function()
        assert_broken("weak tables", body("setmetatable({}, { __mode = 'k' })"))
        assert_broken("fine", body([[
            local m = { __index = { one = 1 }, __call = function(_, n) return n end }
            local o = setmetatable({}, m)
            m.__gc, m.__mode = print, "k"
            assert(getmetatable(o) == m and o.one == 1 and o(2) == 2 and not pcall(setmetatable, o, m))
            error("fine", 0)]]))
    end)

    it("formats, packs, joins and replaces texts as Lua does", function()
        for _, code in ipairs({
            [[("%s|%5.2f|%d|%q|%%"):format("a", 1.5, 3, "x\ny")]], [[("%s"):format(setmetatable({}, { __tostring =
            function() return "t" end }))]], [[string.pack("s1z<i4", "ab", "c", 7)]], [[string.char(65, 66)]],
            [[utf8.char(228, 8364)]], [[table.concat({ 1, "b", 2.5 }, ", ", 2)]], [[("hello world"):gsub("o", "0")]],
            [[("hello"):gsub("(l)(l)", "%2-%1-%0")]], [[("abc"):gsub("%w", { a = 1, b = true, c = false })]],
            [[("abc"):gsub("()", "%1")]], [[("abc"):gsub("%w", function(c) return c ~= "b" and c .. c end, 2)]],
            [[(12345):format()]], [[("x"):rep(3, ",")]], [[("a b"):gsub(" ", 7)]], [[#("x"):rep(60000)]],
        }) do
            local expected = { pcall(load("return " .. code)) }
            local text = table.concat({ tostring(expected[2]), tostring(expected[3]) }, " ")
            if expected[1] then
                assert_broken(text:gsub("[^\32-\126]", "?"), body(
                    ("local a, b = %s error(tostring(a) .. ' ' .. tostring(b), 0)"):format(code)))
            end
        end
    end)

    it("answers with moves that are checked", function()
        local moves, why = try(body("return { { from = 3, to = 7, pages = 2, reason = 'r\\n' } }, 'because'"))
        assert.same({ { from = 3, to = 7, pages = 2, reason = "r?" } }, moves)
        assert.equal("because", why)
        assert_broken("there is no class 9", body("return { { from = 9, to = 7, reason = 'r' } }"))
        assert_broken("from is a whole number from 0 to 255, not nil", body("return { { to = 7, reason = 'r' } }"))
        assert_broken("goes from class 3 to itself", body("return { { from = 3, to = 3, reason = 'r' } }"))
        assert_broken("class 3 has 2 pages, keeps one and cannot give 2", body(
            "return { { from = 3, to = 7, pages = 8, reason = 'r' }, { from = 3, to = 7, pages = 2, reason = 'r' } }"))
        assert_broken("the pool has 0 pages and cannot give 1", body("return { { from = 0, to = 7, reason = 'r' } }"))
        assert_broken("has no reason", body("return { { from = 3, to = 7 } }"))
        assert_broken("a list of moves, not a move", body("return { from = 3, to = 7, reason = 'r' }"))
    end)

    it("prints through the caller, bounded and printable", function()
        local lines = {}
        local one = assert(policy.load("for i = 1, 30 do print('line', i, '\\27') end return { decide = print }",
            "p.lua", { log = function(text) lines[#lines + 1] = text end }))
        assert.equal(policy_box.LIMITS.lines, #lines)
        assert.equal("line 1 ?", lines[1])
        assert.equal("p", one.name)
    end)
end)

describe("policy settings", function()
    local SOURCE <const> = [[return { settings = { share = { default = 0.5, min = 0, max = 1 }, count = { default = 3 },
        text = { default = "none" } },
        decide = function(_, _, s) return {}, ("%g %d %s"):format(s.share, s.count, s.text) end }]]

    it("have defaults and are given as name=value", function()
        assert.equal("0.5 3 none", select(2, try(SOURCE)))
        assert.equal("1 16 5:10,7:3", select(2, try(SOURCE, { "share=1", "count=16", "text=5:10,7:3" })))
    end)

    it("are refused with the permitted values", function()
        for given, said in pairs({
            nonsense = "'nonsense' is not a setting: write name=value", ["other=1"] = "(there are: count, share, text)",
            ["share=2"] = "from 0 to 1, not 2", ["share=1e-1"] = "a number, not '1e-1'",
            ["share=nan"] = "a number, not 'nan'", ["count=1.5"] = "a whole number, not '1.5'",
            ["count=0x10"] = "a whole number, not '0x10'",
        }) do
            local moves, message = try(SOURCE, { given })
            assert.is_nil(moves)
            assert.truthy(message:find(said, 1, true), message)
        end
    end)

    it("may make the window longer", function()
        local one = assert(policy.load([[return { settings = { window_s = { default = 5, min = 0 } },
            decide = function(before, after) return {}, tostring(after.time_s - before.time_s) end }]], "w.lua"))
        local running, said = assert(one:start({ "window_s=3" })), {}
        for second = 0, 9 do
            local _, why = running:feed(make(second + (second == 6 and -0.05 or 0), {}, { uptime = second }))
            said[#said + 1] = why
        end
        assert.same({ "3", "2.95", "3.05" }, said)
    end)

    it("begins a new window when the server was restarted", function()
        local running = assert(assert(policy.load(body("return {}, 'decided'"), "r.lua")):start({}))
        running:feed(make(1, {}, { uptime = 100 }))
        assert.is_nil((running:feed(make(2, {}, { uptime = 0 }))))
        assert.equal("decided", select(2, running:feed(make(3, {}, { uptime = 1 }))))
    end)
end)

describe("policies by name", function()
    it("are regular files: a pipe is refused, and not waited for", function()
        local folder = server.folder()
        assert.is_true(os.execute("mkfifo " .. folder .. "/pipe.lua && mkdir " .. folder .. "/folder.lua"))
        for _, name in ipairs({ "/pipe.lua", "/folder.lua" }) do
            local one, message, code = policy.open(folder .. name)
            assert.is_nil(one)
            assert.equal(folder .. name .. " is not a regular file", message)
            assert.equal("input", code)
        end
        server.remove_folder(folder)
    end)

    it("are found in the folder, and only there", function()
        assert.equal("ratio", assert(policy.open("ratio")).name)
        for _, name in ipairs({ "", "a b", "ratio!", ("x"):rep(49) }) do
            local one, message, code = policy.open(name)
            assert.is_nil(one)
            assert.equal("usage", code, message)
        end
        local _, message, code = policy.open("nosuch")
        assert.truthy(message:find("no policy nosuch; 'slatectl policy list'", 1, true), message)
        assert.equal("usage", code)
    end)
end)

-- Reads the output of the unit test of the daemon's side.
local function exported(names)
    local program = "build/unit/daemon/test_tune_lua_policy"
    local words = {}
    for i, name in ipairs(names) do words[i] = server.quoted(name) end
    local pipe = assert(io.popen(("%s --export %s 2>&1"):format(program, table.concat(words, " "))))
    local list, current = {}, nil
    for line in pipe:lines() do
        local kind, rest = line:match("^(%S+) (.*)$")
        if kind == "policy" then
            current = { name = rest }
            list[#list + 1] = current
        elseif kind == "snapshot" then
            current[#current + 1] = { snapshot = assert(json.decode(rest)), answers = {} }
        elseif kind ~= "#" then
            table.insert(current[#current].answers, line)
        end
    end
    assert(pipe:close(), program .. " failed: run make units")
    return list
end

local function in_words(moves, why)
    local lines = {}
    for i, one in ipairs(moves) do
        lines[i] = ("move %d %d %d %s"):format(one.from, one.to, one.pages, one.reason)
    end
    return #lines > 0 and lines or { "none " .. (why or "the policy gives no reason") }
end

-- Every policy, with settings by which it moves pages in the load of the daemon's test.
local WORDS <const> = { "burst least_kb=1", "free-pages", "ratio window=5", "utility min_hits=0" }

describe("the same snapshots", function()
    it("are compared for every policy that is shipped", function()
        local named = {}
        for i, words in ipairs(WORDS) do named[i] = words:match("^%S+") end
        local shipped = {}
        for name in io.popen("ls lua/slate/policies"):lines() do
            shipped[#shipped + 1] = name:match("^(.*)%.lua$")
        end
        assert.same(shipped, named)
    end)

    it("lead to the same decisions inside slated and outside, for every policy", function()
        local runs = exported(WORDS)
        assert.equal(#WORDS, #runs)
        for _, one in ipairs(runs) do
            local name, words = one.name:match("^%S+"), {}
            for word in one.name:gmatch(" (%S+)") do words[#words + 1] = word end
            local running, moves_made, decided = assert(assert(policy.open(name)):start(words)), 0, 0
            for second, step in ipairs(one) do
                local moves, why = running:feed(step.snapshot)
                if moves then
                    decided = decided + 1
                    moves_made = moves_made + #moves
                    assert.same(step.answers, in_words(moves, why), ("%s, second %d"):format(one.name, second))
                else
                    assert.is_nil(why)
                    assert.is_true(second == 1 or step.answers[1]:find("^early ") ~= nil, step.answers[1])
                end
            end
            assert.is_true(decided > 60 and moves_made > 0, ("%s: %d decisions, %d moves"):format(
                one.name, decided, moves_made))
        end
    end)
end)

describe("a policy's own checks", function()
    local test = require("slate.policy.test").test

    it("hold, or fail with the difference", function()
        local classes <const> = "classes = function() return { { id = 3 }, { id = 7 } } end"
        local source = [[return { decide = function(_, after) return after.by_id[3] and after.by_id[7] and
            after.by_id[3].total_pages == 10 and { { from = 3, to = 7, reason = "because" } } or {}, "no" end,
            checks = {
            { name = "a", seconds = 2, moves = "3>7", says = "because", ]] .. classes .. [[ },
            { name = "b", seconds = 2, moves = "7>3", ]] .. classes .. [[ },
            { name = "c", seconds = 2, moves = "3>7", says = "so", ]] .. classes .. [[ },
            { name = "d", seconds = 1, moves = "", ]] .. classes .. [[ },
            { name = "e", seconds = 2, fails = "oh", ]] .. classes .. [[ },
            { name = "f", seconds = 2, moves = "", classes = function() error("ah", 0) end },
        } }]]
        local report = assert(test(assert(policy.load(source, "c.lua")), {}))
        assert.same({
            { name = "a" }, { name = "b", problem = "moves are '3>7', not '7>3' (because)" },
            { name = "c", problem = "it says 'because', not 'so'" },
            { name = "d", problem = "nothing was decided in 1 second: a policy decides at the end of each of its "
                .. "windows, which the check's settings may shorten, such as window_s=1" },
            { name = "e", problem = "it should fail with 'oh', but decides" }, { name = "f", problem = "ah" },
        }, report.checks)
    end)

    it("fail for a policy that never moves a page, unless one of them expects a move", function()
        local IDLE <const> = "return { decide = function(_, after) local three = after.by_id[3] return three and "
            .. "three.total_pages == 77 and { { from = 3, to = 5, reason = 'r' } } or {}, 'no' end, checks = { %s } }"
        local check = "{ name = 'a', seconds = 2, moves = '3>5', classes = function() return { { id = 3, "
            .. "total_pages = 77 }, { id = 5 } } end }"
        local report = assert(test(assert(policy.load(IDLE:format(""), "i.lua")), {}))
        assert.equal("it moves pages", report.checks[1].name)
        assert.matches("^no move in %d+ decisions on 10 made%-up servers, and none", report.checks[1].problem)
        assert.same({ { name = "a" } }, assert(test(assert(policy.load(IDLE:format(check), "i.lua")), {})).checks)
    end)

    it("are refused when they are none", function()
        for given, said in pairs({
            ["{}"] = "check 1: it has no name",
            ["{ name = 'a', seconds = 0 }"] = "check 1: seconds is a whole number from 1 to 3600",
            ["{ name = 'a', seconds = 1 }"] = "check 1: classes is a function",
            ["{ name = 'a', seconds = 1, classes = print }"] = "check 1: it expects nothing",
        }) do
            local source = "return { decide = function() end, checks = { " .. given .. " } }"
            local report, problem = test(assert(policy.load(source, "c.lua")), {})
            assert.is_nil(report)
            assert.truthy(problem:find(said, 1, true), problem)
        end
    end)
end)
