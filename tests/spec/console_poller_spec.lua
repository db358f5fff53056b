-- SPDX-License-Identifier: BSD-3-Clause
-- When slatetop requests the statistics of a server.
require "support.world"
local now_s = 0
package.loaded["slate.console.link"] = { now_s = function() return now_s end, wall_s = function() return now_s end }
local poller = require "slate.console.poller"
local screens = require "screens"

describe("the poller of a server", function()
    local function poller_of(interval_s, take)
        return poller.new({ interval_s = interval_s, model = screens.model("slated-0.1"), server = "a", take = take })
    end

    -- Goes on with an answer to each line until a time; returns the times of the refreshes.
    local function refreshes_of(one, from_s, until_s)
        local times, waiting = {}, {}
        local connection = { generation = 1, is_up = function() return true end, flush = function() end,
            send = function(_, line, _, _, take)
                times[#times + 1] = line == "stats" and now_s or nil
                waiting[#waiting + 1] = take
                return true
            end }
        now_s = from_s
        while now_s <= until_s do
            one:step(connection, now_s)
            for _, take in ipairs(waiting) do take("END\r\n", true) end
            waiting = {}
            now_s = one:due_s(connection)
        end
        return times
    end

    it("refreshes at the times of all other servers, once the first rates are known", function()
        for _, case in ipairs({ { 1, 7.31, { 9, 10, 11 } }, { 1, 7.87, { 9, 10, 11 } }, { 2, 7.5, { 10, 12, 14 } } }) do
            local interval_s, from_s, wanted = table.unpack(case)
            local times = refreshes_of(poller_of(interval_s, function() end), from_s, from_s + 7)
            local later = {}
            for i, time_s in ipairs(times) do
                if i <= 4 then
                    assert.is_true(math.abs(time_s - from_s - (i - 1) * 0.2) < 1e-9, time_s)
                elseif i <= 7 then
                    later[#later + 1] = time_s
                end
            end
            assert.same(wanted, later)
        end
    end)

    it("reads with the settings what the server has recorded, and hands on what is new", function()
        local text, seen, lines, takes = "", {}, {}, {}
        local one = poller_of(1, function(snapshot)
            for _, change in ipairs(snapshot.changes or {}) do seen[#seen + 1] = change.number end
        end)
        local connection = { generation = 1, read_s = 0, is_up = function() return true end, flush = function() end,
            send = function(_, line, _, _, take)
                lines[#lines + 1], takes[#takes + 1] = line, take
                return true
            end }
        local function refresh(count, number, first)
            for i = first or number, number do
                for _, field in ipairs({ "time 5", "who a", "what b", "is c" }) do
                    text = text .. ("STAT %d:%s\r\n"):format(i, field)
                end
            end
            lines = {}
            for _ = 1, count do
                now_s, takes = one.next_s, {}
                one:step(connection, now_s)
                for i, take in ipairs(takes) do
                    take(lines[#lines - #takes + i] == "stats audit" and text or "END\r\n", true)
                end
            end
            return table.concat(lines, " "):find("audit") ~= nil
        end
        assert.is_false(refresh(3, 1))
        assert.is_true(refresh(1, 2))
        assert.same({}, seen, "those from before slatetop began")
        assert.is_false(refresh(9, 3))
        assert.is_true(refresh(1, 4))
        assert.same({ 3, 4 }, seen)
        one.model.was_changed = true
        assert.is_true(refresh(1, 5))
        text = ""
        refresh(1, 2, 1) -- the server was restarted, and counts from 1
        assert.same({ 3, 4, 5, 1, 2 }, seen)
    end)

    it("finds that the server does not answer when the figures become old, not after a pause of its own", function()
        local takes = {}
        local one = poller_of(1, function() end)
        local connection = { generation = 1, read_s = 7, is_up = function() return true end,
            flush = function() end, send = function(_, _, _, _, take) takes[#takes + 1] = take return true end }
        now_s = 7
        one:step(connection, now_s)
        one:want({ inquiries = { config = true }, unhurried = {}, curves_first = {}, orders = {} }, 7.1)
        assert.is_false(one:is_overdue(8.5))
        assert.is_true(one:is_overdue(8.6))
        for _, take in ipairs(takes) do take("END\r\n", true) end
        assert.is_false(one:is_overdue(60))
    end)

    it("takes the reading of a reply for its end, not the time when its turn comes", function()
        local times, takes = nil, {}
        local one = poller_of(1, function(_, _, about) times = about end)
        local connection = { generation = 1, read_s = 7.004, is_up = function() return true end,
            flush = function() end, send = function(_, _, _, _, take) takes[#takes + 1] = take return true end }
        now_s = 7
        one:step(connection, now_s)
        now_s = 7.3
        for _, take in ipairs(takes) do take("END\r\n", true) end
        assert.same({ sent_s = 7, received_s = 7.004 }, times)
    end)
end)
