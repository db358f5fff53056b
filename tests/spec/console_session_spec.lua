-- SPDX-License-Identifier: BSD-3-Clause
-- A session of slatetop with one server, whose replies and clock the spec owns.
require "support.world" -- its interpreter has slate.console.cells
local now_s, replies = 100, nil -- replies: those that have come
local lines                     -- those that the server got
package.loaded["slate.console.link"] = {
    now_s = function() return now_s end, wall_s = function() return now_s + 1e9 end,
    connect = function()
        local client = {}
        for name, call in pairs({ step = function() end, flush = function() end, close = function() end,
            state = function() return "up" end, note = function() return "" end, due_s = function() end,
            generation = function() return 1 end,
            send = function(_, line) table.insert(lines, line) return true end,
            take = function()
                local text = table.remove(replies, 1)
                return text, true
            end }) do
            client[name] = call
        end
        return client
    end,
}
local session = require "slate.console.session"

describe("a session", function()
    local one

    -- The server answers what it got, with the figures of a moment, when the clock is at received_s.
    local function answer(moment_s, received_s)
        for _, line in ipairs(lines) do
            replies[#replies + 1] = line ~= "stats" and "END\r\n"
                or ("STAT pid 1\r\nSTAT uptime %d\r\nSTAT cmd_get %d\r\nEND\r\n"):format(moment_s // 1,
                    moment_s * 1000 // 1)
        end
        lines, now_s = {}, received_s
        one:read(now_s)
        one:step(now_s)
        one:finish(now_s, now_s)
        return one.model:metric("gets")
    end

    -- Goes to the time of the next refresh, which is sent.
    local function go_to(time_s)
        now_s = time_s
        one:read(now_s)
        one:step(now_s)
        one:finish(now_s, now_s)
        assert.is_true(#lines > 0)
    end

    before_each(function()
        lines, replies = {}, {}
        one = session.new({ name = "a" }, { interval_s = 1 })
        for second = 100, 104 do
            go_to(second)
            answer(second + 0.001, second + 0.002)
        end
        assert.near(1000, one.model:metric("gets"), 1)
    end)

    it("judges by curves that have come before anything is drawn", function()
        local followed = 0
        one.model.follow_curves = function() followed = followed + 1 end
        go_to(105)
        answer(105.001, 105.002)
        assert.equal(2, followed)
    end)

    it("has no peak after a reply that was late on its way", function()
        go_to(105)
        assert.is_nil(answer(105.001, 108))
        assert.near(1000, answer(108.001, 108.002), 10)
        go_to(109)
        assert.near(1000, answer(109.001, 109.002), 1)
    end)

    it("has the rate of a server that answers late, and no peak after it", function()
        go_to(105)
        assert.near(1000, answer(114.999, 115), 100)
        for _, at_s in ipairs({ 115.002, 116.002, 117.002 }) do
            if #lines == 0 then
                go_to(at_s)
            end
            local rate = answer(at_s, at_s)
            assert.is_true(rate == nil or math.abs(rate - 1000) < 10, rate)
        end
        assert.near(1000, one.model:metric("gets"), 1)
    end)

    it("has one event for all lines of a recording that cannot be read, at its begin", function()
        local path = os.tmpname()
        local whole = '{"schema":"slate/snapshot/1","time_s":%d,"general":{},"classes":[]}'
        local function replay_of(...)
            local file = assert(io.open(path, "w"))
            file:write(table.concat({ ... }, "\n"), "\n")
            file:close()
            local replay = assert(session.replay(path, {}))
            while replay:loaded_ratio() < 1 do replay:step(now_s) end
            return replay
        end
        local first, second, third <const> = whole:format(5000), whole:format(5001), whole:format(5002)
        for _, case in ipairs({ { 0, {}, first, second },
            { 1, { { 5000, "recording: line 3 is not a snapshot: not a JSON object" } }, first, second, "7", third },
            { 3, { { 5000, "recording: 3 lines are skipped; the first: line 2 is not a snapshot: not a JSON object" } },
                first, "7", second, "8", third, "9" },
            { 2, { { 5000, "recording: 2 lines are skipped; the first: line 1 is not a snapshot: not a JSON object" } },
                "7", "8", first } }) do
            local replay, events = replay_of(table.unpack(case, 3)), {}
            for i, event in ipairs(replay.model.events) do events[i] = { event.wall_s, event.text } end
            assert.same({ case[1], case[2] }, { replay.bad_lines, events })
        end
        os.remove(path)
    end)
end)
