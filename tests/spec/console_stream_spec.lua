-- SPDX-License-Identifier: BSD-3-Clause
-- Streams of a server's log: those that Events shows, and the one by which hot keys are counted.
local server -- what the scripted client does: state, note, generation, replies (to come), sent
package.loaded["slate.console.link"] = package.loaded["slate.console.link"] or {
    now_s = function() return 0 end,
    connect = function()
        local client = {}
        for name, call in pairs({ step = function() end, flush = function() end,
            close = function() server.is_closed = true end, state = function() return server.state end,
            note = function() return server.note end, due_s = function() return 77 end,
            generation = function() return server.generation end,
            send = function(_, line) table.insert(server.sent, line) return true end,
            take = function() return table.remove(server.replies, 1) end }) do
            client[name] = call
        end
        return client
    end,
}
local hotkeys = require "slate.facts.hotkeys"
local key_count = require "slate.console.key_count"
local watch = require "slate.console.watch"

describe("a stream", function()
    before_each(function()
        server = { state = "connecting", note = "", generation = 0, replies = {}, sent = {} }
    end)

    -- The server answers from now on.
    local function come_up()
        server.state, server.note, server.generation = "up", "", server.generation + 1
    end

    local function reply(...)
        table.move({ ... }, 1, select("#", ...), #server.replies + 1, server.replies)
    end

    it("goes into a log, a piece a tenth of a second, and is asked for again after a lost connection", function()
        local one = watch.start({}, {}, "evictions")
        assert.is_false(one:step(1))
        assert.equal("connecting", one.log.note)
        come_up()
        assert.is_true(one:step(2))
        assert.same({ "asking", { "watch evictions" } }, { one.log.note, server.sent })
        reply("OK\r\n", "ts=1.0 gid=1 a=1\r\n")
        assert.is_true(one:step(3))
        assert.same({ "", 1 }, { one.log.note, one.log.shown })
        assert.is_nil(one:polled())
        assert.near(3.1, one:due_s(), 1e-9)
        reply("ts=2.0 gid=1 a=2\r\n")
        assert.is_false(one:step(3.05))
        assert.is_true(one:step(3.1))
        assert.equal(2, one.log.shown)
        server.state, server.note = "down", "reset by peer"
        assert.is_true(one:step(4))
        assert.equal("reset by peer", one.log.note)
        come_up()
        one:step(5)
        assert.same({ "watch evictions", "watch evictions" }, server.sent)
        reply("OK\r\n", "ts=3.0 gid=1 a=3\r\n")
        one:step(6)
        assert.same({ "", 3, "a=3" }, { one.log.note, one.log.shown, one.log.lines[3].text })
    end)

    it("that the server refuses is closed, with the reason", function()
        local one = watch.start({}, {}, "evictions")
        come_up()
        one:step(1)
        reply("ERROR \27[2J\r\n", "never read\r\n")
        assert.is_true(one:step(2))
        assert.equal("the server refuses to be watched: ERROR ?[2J", one.log.note)
        assert.is_true(server.is_closed and one:polled() == nil and one:due_s() == nil)
        assert.is_false(one:step(3))
        assert.is_false(watch.refuse("evictions", "why"):step(1))
    end)

    it("counts keys for ten seconds, and has the result with the snapshot after them", function()
        local model = { at_s = 1, now = { general = { log_worker_dropped = 5 } } }
        local asked, times = {}, {}
        local one = key_count.start({}, {}, model, function(now_s, take)
            asked[#asked + 1], times[#times + 1] = take, now_s
        end)
        come_up()
        one:step(1)
        reply("OK\r\n", "ts=1 gid=1 type=item_get key=hot status=found clsid=1 cfd=1 size=7\r\n")
        assert.is_true(one:step(2))
        assert.same({ "", 12, 12 }, { one.note, one.until_s, one:due_s() })
        assert.is_true(one:is_under_way())
        asked[1]("STAT 1:addr tcp:10.0.0.7:4711\r\nSTAT 1:state conn_read\r\n")
        reply("ts=1 gid=2 type=item_get key=hot status=found clsid=1 cfd=1 size=7\r\n")
        assert.is_true(one:step(12))
        assert.is_false(one:is_under_way())
        assert.is_false(one:step(12.5))
        model.at_s, model.now = 13, { general = { log_worker_dropped = 7 } }
        asked[2]("STAT 1:addr tcp:10.0.0.7:4711\r\n")
        assert.is_true(one:step(13))
        assert.same({ 2, 12 }, times)
        assert.equal("10.0.0.7 100 % (port 4711)", hotkeys.who_words(one:who("hot")))
        assert.same({ 2, 2, 10 }, { one.hot.noted, one.hot.lost, one.hot.seconds })
    end)

    it("whose connection is lost counts no more, and says why", function()
        local one = key_count.start({}, {}, { now = { general = {} } })
        come_up()
        one:step(1)
        server.state, server.note = "down", "reset by peer"
        assert.is_true(one:step(2))
        assert.is_true(server.is_closed and not one:is_under_way())
        assert.equal("reset by peer", one.note)
        assert.equal("why", key_count.refuse("why").note)
        assert.is_false(key_count.refuse("why"):step(1))
    end)
end)
