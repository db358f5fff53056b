-- SPDX-License-Identifier: BSD-3-Clause
-- The lines of a watched stream: nothing of a server reaches the terminal as a control, and what was lost is told.
local watch_log = require "slate.console.watch_log"

local function log_with(...)
    local log = watch_log.new("evictions", "")
    for _, line in ipairs({ ... }) do watch_log.take(log, line) end
    return log
end

describe("a watched stream", function()
    it("has lines with their time, without the server's number, and without control characters", function()
        local log = log_with("ts=1700000000.5 gid=7 type=eviction key=a%20b fetch=no\r\n", "no time at all\n",
            "ts= gid=\n", "ts=1.2 gid=3 \27]0;owned\7\n")
        assert.same({ at_s = 1700000000.5, text = "type=eviction key=a%20b fetch=no" }, log.lines[1])
        assert.same({ text = "no time at all" }, log.lines[2])
        assert.equal("?]0;owned?", log.lines[4].text)
        assert.equal(4, log.shown)
    end)

    it("counts lines that the server skipped, and hides no number that cannot be", function()
        local log = log_with("ts=1.0 gid=1 type=eviction\n", "skipped=2\n", "[skipped=1]\n", "\n")
        assert.same({ 1, 3, 0.75 }, { log.shown, log.lost, watch_log.lost_ratio(log) })
        watch_log.take(log, "skipped=" .. ("9"):rep(40))
        assert(watch_log.lost_ratio(log) > 0.99)
        assert.equal(0, watch_log.lost_ratio(watch_log.new("evictions", "")))
    end)

    it("keeps the newest lines", function()
        local log = watch_log.new("evictions", "")
        for i = 1, watch_log.LINES + 50 do
            watch_log.take(log, ("ts=%d.0 gid=1 n=%d\n"):format(i, i))
        end
        assert.same({ watch_log.LINES, "n=51", "n=306" }, { #log.lines, log.lines[1].text, log.lines[#log.lines].text })
    end)
end)
