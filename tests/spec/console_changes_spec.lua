-- SPDX-License-Identifier: BSD-3-Clause
-- Changes of slatetop to one server, over a connection with given replies, and their record in a real file. The rules
-- of changes, undo and trials are tested in lua_acting_spec and lua_trials_spec.
require "support.world" -- its interpreter has slate.console.files
local now_s = 1000
package.loaded["slate.base.clock"] = {
    steady_s = function() return now_s end, time_s = function() return now_s end, sleep = coroutine.yield,
}
local change = require "slate.console.change"
local changes = require "slate.console.changes"
local files = require "slate.console.files"
local propose = require "slate.console.propose"
local screens = require "screens"

local FOLDER <const> = os.getenv("XDG_STATE_HOME") or os.tmpname() .. ".d"
local NO_TRIAL <const> = { minutes = 0, evictions_pct = 20, hit_points = 1 }
local LOUDER <const> = { { name = "verbosity", value = "1" } }
local numbered = 0

-- A console of a server: a model, its changes, and a connection to replies of a fixture, whose verbosity can be set.
local function console(fixture)
    numbered = numbered + 1
    local one = { model = screens.model(fixture or "memcached-1.6.18"), sent = {}, verbosity = "0", queue = {},
        path = ("%s/console_changes/%d/audit.log"):format(FOLDER, numbered) }
    os.remove(one.path) -- of the run before, with another seed
    local replies = screens.replies((fixture or "memcached-1.6.18") .. "-second")
    one.changes = changes.new(one.model, one.path)
    one.connection = { generation = 1, is_up = function() return not one.is_down end, flush = function() end,
        send = function(_, line, form, _, take)
            one.queue[#one.queue + 1] = { line = line, form = form, take = take }
            return not one.is_full
        end }
    local function answer(line)
        one.verbosity = line:match("^verbosity (%d)") or one.verbosity
        if not line:find("^stats") then
            one.sent[#one.sent + 1] = line
            return "OK\r\n"
        end
        return (replies[line]:gsub("STAT verbosity %d", "STAT verbosity " .. one.verbosity))
    end
    function one.answer_first()
        local first = table.remove(one.queue, 1)
        first.take(answer(first.line), first.form == "stats")
    end
    -- Goes on until nothing is due. Returns whether the server was changed.
    function one.run()
        local was_changed = one.changes:step(one.connection, now_s)
        while #one.queue > 0 do
            one.answer_first()
            was_changed = one.changes:step(one.connection, now_s) or was_changed
        end
        return was_changed
    end
    function one.begin(kind, plan, terms)
        local has_begun, why = one.changes:begin(kind, plan, terms or NO_TRIAL)
        return has_begun and one.run(), why
    end
    function one.events()
        local texts = {}
        for _, event in ipairs(one.model.events) do
            texts[#texts + 1] = event.kind == "you" and event.text or nil
        end
        return table.concat(texts, "; ")
    end
    return one
end

-- Appends an entry of another program to the record.
local function record(one, id, rest)
    assert(files.append_locked(one.path, 1 << 18, function()
        return ('{"schema":"slate/audit/1","id":%d,"time_s":1,%s}\n'):format(id, rest)
    end))
end

local HERE <const> = '"server":"cache7:11211",'

describe("slatetop's changes", function()
    it("tell the judges which predictions of moves to this server came true before", function()
        local one = console()
        record(one, 1, HERE .. '"what":"move","src":4,"dst":5,"pages":1')
        record(one, 2, HERE .. '"what":"outcome","of":1,"words":"hits","predicted_change":0.02,"predicted_least":0.01,'
            .. '"predicted_most":0.03,"effect":0')
        one.run()
        assert.same({ { time_s = 1, is_within = false } }, one.model.observer.judged_moves)
    end)

    it("are sent, verified, reported, on record, and taken back", function()
        local one = console()
        assert.is_true(one.begin("change", LOUDER))
        assert.same({ "verbosity 1" }, one.sent)
        assert.equal("verbosity 0 → 1", one.changes:take_news())
        assert.is_nil(one.changes:take_news())
        assert.equal("verbosity 0 → 1", one.events())
        assert.truthy(files.read_tail(one.path, 9999):find('"name":"verbosity"'))
        local taken = one.changes:propose("undo")
        assert.same({ 1, "verbosity", "0" }, { #taken.changes, taken.changes[1].name, taken.changes[1].value })
        assert.is_true(one.begin("undo", taken.changes))
        assert.equal("0", one.verbosity)
        assert.equal("verbosity 0 → 1; undo: verbosity 1 → 0", one.events())
        assert.equal("set verbosity to 1", one.changes:propose("redo").title)
        one.connection.generation = 2 -- the next change is on the next connection
        assert.is_true(one.begin("redo"))
        assert.equal("1", one.verbosity)
    end)

    it("wait for the first judged snapshot, and are made after it", function()
        local one = console()
        local observer = one.model.observer
        one.model.observer = nil
        assert.same({ nil, "measuring" }, { one.changes:propose("undo") })
        assert.same({ nil, "measuring" }, { one.changes:begin("change", LOUDER, NO_TRIAL) })
        one.model.observer = observer
        assert.is_true(one.begin("change", LOUDER))
        one.model.observer = nil -- judging failed; what was begun still goes on
        assert.truthy(one.changes:propose("undo"))
        assert.same({ "verbosity 1" }, one.sent)
    end)

    it("are refused where the server does not take them, or one is under way", function()
        local one = console()
        local has_begun, why = one.begin("change", { { name = "verbosity", value = "loud" } })
        assert.falsy(has_begun)
        assert.truthy(why:find("takes"))
        one.changes:begin("change", LOUDER, NO_TRIAL)
        assert.is_true(one.changes:is_busy())
        one.changes:step(one.connection, now_s)
        assert.truthy(select(2, one.begin("change", LOUDER)):find("still under way"))
        one.connection.generation = 2
        one.changes:step(one.connection, now_s)
        assert.truthy(one.changes:take_news():find("connection broke"))
        one = console()
        one.model:set_link("down", "gone", 1000)
        assert.equal("no connection: nothing was sent", select(2, one.begin("change", LOUDER)))
        assert.same({}, one.sent)
    end)

    it("are withheld from a server that stalls before it has told its settings, also when it wakes", function()
        local one = console()
        one.changes:begin("change", LOUDER, NO_TRIAL)
        one.changes:step(one.connection, now_s)
        one.changes:step(one.connection, now_s, true)
        assert.equal("the server does not answer: nothing was sent", one.changes:take_news())
        assert.equal("", one.events(), "the server did not take it")
        local event = one.model.events[#one.model.events]
        assert.same({ "alarm", "set verbosity to 1: the server does not answer: nothing was sent" },
            { event.kind, event.text })
        one.changes:begin("change", { { name = "verbosity", value = "2" } }, NO_TRIAL)
        one.changes:step(one.connection, now_s)
        local late = table.remove(one.queue, 1)
        late.take("no settings\r\nEND\r\n", true) -- is no reply to the second change
        one.run()
        assert.same({ "verbosity 2" }, one.sent)
    end)

    it("tell that they were sent and not answered, are verified when the answer comes, and go no further", function()
        local one = console()
        one.changes:begin("change", { LOUDER[1], { name = "hot_lru_pct", value = "25" } }, NO_TRIAL)
        one.changes:step(one.connection, now_s)
        repeat
            one.answer_first()
            one.changes:step(one.connection, now_s)
        until one.queue[1].line == "verbosity 1"
        now_s = now_s + 7
        one.changes:step(one.connection, now_s, true)
        assert.equal("no answer for 7s to verbosity 1: it is verified once it comes", one.changes:words())
        one.run()
        assert.same({ "verbosity 1" }, one.sent)
        assert.equal("stopped at change 2 of 2: the server did not answer for some time: nothing more was sent",
            one.changes:take_news())
        assert.truthy(files.read_tail(one.path, 9999):find('"name":"verbosity"'))
    end)

    it("end when their connection does, even if there is a new one, or when a line cannot be sent", function()
        for _, breaks in ipairs({ function(one) one.is_down = true end, function(one) one.is_full = true end,
            function(one)
                one.changes:step(one.connection, now_s)
                one.connection.generation = 2
            end }) do
            local one = console()
            one.changes:begin("change", LOUDER, NO_TRIAL)
            breaks(one)
            assert.is_true(one.changes:step(one.connection, now_s))
            assert.truthy(one.changes:take_news():find("connection broke"))
            assert.same({}, one.sent)
        end
    end)

    it("whose connection broke after they were sent are read back over the next one, and a trial runs on", function()
        local one = console()
        one.changes:begin("change", LOUDER, { minutes = 2, evictions_pct = 20, hit_points = 1 })
        one.changes:step(one.connection, now_s)
        repeat
            one.answer_first()
            one.changes:step(one.connection, now_s)
        until one.queue[1].line == "verbosity 1"
        one.answer_first() -- the server has it
        one.queue, one.is_down = {}, true
        one.changes:step(one.connection, now_s)
        assert.equal("the connection broke, so the outcome of verbosity 1 is unknown", one.changes:take_news())
        assert.is_nil(one.changes:due_s())
        assert.truthy(select(2, one.changes:propose("undo")):find("^the outcome of the last change is unknown: "))
        one.is_down, one.connection.generation = false, 2
        one.run()
        assert.equal("verbosity 0 → 1", one.changes:take_news())
        assert.equal(120, one.changes:trial_left_s())
        assert.is_true(one.changes:leave())
        one.run()
        assert.equal("0", one.verbosity)
    end)

    it("on trial show the time left, and stay when they are kept or go back when slatetop ends", function()
        for _, is_kept in ipairs({ true, false }) do
            local one = console()
            assert.is_nil(one.changes:trial_left_s())
            one.begin("change", LOUDER, { minutes = 2, evictions_pct = 20, hit_points = 1 })
            assert.equal(120, one.changes:trial_left_s())
            assert.truthy(one.changes:words():find("trial, back in 2:00 unless kept"))
            assert.equal(now_s + 120, one.changes:due_s())
            if is_kept then
                assert.is_true(one.changes:accept_trial())
            end
            assert.equal(not is_kept, one.changes:leave())
            one.run()
            assert.equal(is_kept and "1" or "0", one.verbosity)
            assert.equal("", one.changes:leftovers())
            assert.is_false(one.changes:accept_trial())
        end
    end)

    it("of others are taken back, too", function()
        local one = console()
        local function undo()
            local taken, why = one.changes:propose("undo")
            return taken and taken.changes[1] or why, taken and taken.title
        end
        assert.truthy(undo():find("nothing to undo"))
        record(one, 5, HERE .. '"what":"set","name":"maxbytes","was":"134217728","is":"67108864"')
        record(one, 6, '"server":"other:1","what":"set","name":"verbosity","was":"0","is":"1"')
        local step, title = undo()
        assert.same({ "maxbytes", "128" }, { step.name, step.value }) -- the screen's MiB
        assert.truthy(title:find("change 5 on record"))
        record(one, 7, HERE .. '"what":"move","src":4,"dst":12,"pages":3')
        assert.same({ from = 12, to = 4, pages = 3 }, undo())
        record(one, 8, HERE .. '"what":"move","src":12,"dst":4,"pages":3,"undoes":7')
        assert.equal("128", undo().value)
        record(one, 9, HERE .. '"what":"move","src":-1,"dst":4,"pages":1')
        step, title = undo() -- that has no way back, and is passed over
        assert.equal("128", step.value)
        assert.matches("change 5 on record; change 9 cannot be taken back: the server chose the source itself$", title)
        record(one, 10, HERE .. '"what":"set","name":"verbosity","was":"5","is":"6"')
        step, title = undo() -- nor that, over the value of another client
        assert.equal("128", step.value)
        assert.matches("record; change 10 stays: verbosity is no longer 6 but 0: another client changed it since; "
            .. "change 9 cannot", title)
        for i = 1, 3000 do
            record(one, 20 + i, '"server":"c:1","what":"set","name":"verbosity","was":"0","is":"1"')
        end
        assert.truthy(undo():find("nothing to undo")) -- changes of too long ago are not searched
    end)

    it("end with the reason when a module fails, and the next begins anew", function()
        local one = console()
        one.begin("change", LOUDER)
        one.changes.acting.undo = true -- where a list should be
        assert.truthy(select(2, one.changes:propose("undo")):find("^given up: "))
        assert.equal("alarm", one.model.events[#one.model.events].kind)
        assert.truthy(one.changes:propose("undo").title:find("on record"))
    end)

    it("are made even where they cannot be put on record", function()
        local one = console()
        one.changes = changes.new(one.model, nil)
        assert.is_true(one.begin("change", LOUDER))
        local event = one.model.events[#one.model.events - 1]
        assert.equal("alarm", event.kind)
        assert.truthy(event.text:find("not on record: no record of changes: set HOME or SLATE_AUDIT"))
    end)
end)

describe("the file of the record", function()
    it("is made with its folders, for its owner, and is free after each line, even when no line can be made", function()
        local one = console()
        record(one, 1, "")
        local is_written, why = files.append_locked(one.path, 1 << 18, function() error("no line", 0) end)
        assert.same({ nil, "no line" }, { is_written, why })
        local pipe = io.popen(("stat -c %%a %s; flock -n %s echo free"):format(one.path, one.path))
        assert.equal("600\nfree\n", pipe:read("a"))
        pipe:close()
    end)

    it("is read from its end, by whole lines", function()
        local one = console()
        for i = 1, 100 do record(one, i, "") end
        local text = files.read_tail(one.path, 200)
        assert.truthy(#text <= 200 and text:find("^{") and text:find('"id":100,"time_s":1,}\n$'))
        assert.is_nil(files.read_tail(one.path .. ".absent", 200))
    end)
end)

describe("a change before it is sent", function()
    it("is refused if the server could not take it", function()
        local model = screens.model("memcached-1.6.18")
        for _, case in ipairs({ { 4, 12, 3 }, { 4, 0, 3 }, { 12, 4, 1, "last one" }, { 4, 12, 64, "has 64 pages" },
            { 4, 4, 1, "same" }, { 0, 12, 1, "choose a class" }, { 5, 12, 1, "class 5" } }) do
            local why = change.why_not(model, { from = case[1], to = case[2], pages = case[3] })
            assert(case[4] and why:find(case[4]) or why == case[4], ("%d to %d: %s"):format(case[1], case[2], why))
        end
        for _, id in ipairs({ 13, 39, 63, 64, 200, 255, 256, 999, 4294967295 }) do -- 1.6.34 to 1.6.41 crash
            assert.truthy(change.why_not(model, { from = 4, to = id, pages = 1 }), id)
            assert.truthy(change.why_not(model, { from = id, to = 12, pages = 1 }), id)
        end
    end)

    it("has its exact lines", function()
        for _, case in ipairs({
            { "memcached-1.6.18", { from = 4, to = 12, pages = 3 }, "slabs reassign 4 12", 3 },
            { "memcached-1.6.18", { name = "hot_lru_pct", value = "25" }, "lru tune 25 40 0.20 2.00", 1 },
            { "memcached-1.6.18", { name = "maxbytes", value = "80" }, "cache_memlimit 80", 1 },
            { "slated-0.1", { from = 4, to = 12, pages = 3 }, "slabs reassign 4 12 3", 1 },
        }) do
            assert.same({ { line = case[3], times = case[4] } }, change.lines(screens.model(case[1]), case[2]))
        end
        assert.equal("evict policy sieve 5", change.lines(screens.model("slated-0.1"),
            { name = "policy", value = "s3fifo 5=sieve" })[2].line)
    end)

    it("is proposed by keys", function()
        local frame = screens.frame(screens.look("memcached-1.6.18", 20))
        assert.same({ { from = 4, to = 12, pages = 2 } }, propose.move(frame, 12, 4).plan)
        assert.same({ { from = 4, to = 0, pages = 1 } }, propose.move(frame, nil, 4).plan)
        assert.equal(4, propose.move(frame, 12).plan[1].from)
        local moves = { { from = 4, to = 12, pages = 2 }, { from = 4, to = 22, pages = 1 } }
        frame.model.observer.plan = function() return { advised = moves } end
        assert.same(moves, propose.move(frame).plan)
        frame.model.observer.plan = function() return { advised = {} } end
        assert.truthy(propose.move(frame).text:find("no class is starving"))
        frame.model.now.settings.slab_automove = 0
        assert.same({ kind = "pick", name = "slab_automove", at = "ratio", proposed = "ratio" },
            propose.automove(frame))
        for mode, at in pairs({ [1] = "ratio", [2] = "eviction", utility = "utility" }) do
            frame.model.now.settings.slab_automove = mode
            assert.same({ kind = "pick", name = "slab_automove", at = at }, propose.automove(frame)) -- never off
        end
        frame.model.now = nil
        assert.equal("say", propose.move(frame, 12, 4).kind)
        assert.equal("say", propose.automove(frame).kind)
    end)

    it("invents no mode of automove where none is reported", function()
        assert.same({}, { (require("slate.facts.automove").of(nil)), (require("slate.facts.automove").of("nil")) })
        local model = screens.look("memcached-1.6.18", 1)
        model.now.settings = nil
        model:take(model.now, { at_s = 99, wall_s = 99 })
        assert.equal("", model.observer.automove)
    end)

    it("has its settings' names, rows and limits", function()
        assert.equal("memory limit MiB", change.label("maxbytes"))
        assert.equal("memory.limit", change.term("maxbytes"))
        assert.equal("lru tune", change.label("lru_tune"))
        assert.equal("new_one", change.label("new_one"))
        local model = screens.model("memcached-1.6.45-extstore")
        assert.truthy(change.why_not(model, { name = "ext_item_size", value = "0" }))
        assert.equal("extstore drop_unread 1",
            change.lines(model, { name = "ext_drop_unread", value = "yes" })[1].line)
        model = screens.model("slated-0.1")
        model.answers:take("config", "STAT maxbytes:value 67108864\r\nSTAT maxbytes:min 8388608\r\n"
            .. "STAT maxbytes:max 268435456\r\nSTAT policy:choices lru|sieve|s3auto\r\n",
            { at_s = 12, is_stats = true })
        local row = change.row(model, "maxbytes")
        assert.same({ 8, 256 }, { row.least, row.most })
        row = change.row(model, "class_policy", 7)
        assert.same({ "policy of class 7", "lru|sieve" }, { row.label, row.choices })
        assert.is_nil(change.row(model, "no_such"))
    end)
end)
