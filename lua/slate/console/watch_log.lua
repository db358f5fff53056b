-- SPDX-License-Identifier: BSD-3-Clause
--- The lines of a watched stream of a server's log: { stream, note (why no line comes; "" when lines come), shown, lost
--- (lines that came, and lines that the server dropped), lines (the oldest first: { at_s (by the server's clock; nil),
--- text }) }.
local printable = require("slate.wire.request").printable

local M = {}

--- The streams in the order in which a key chooses them.
M.STREAMS = { "evictions", "deletions", "mutations", "fetchers", "connevents" }
--- A log keeps so many lines.
M.LINES = 256

--- A log without lines.
function M.new(stream, note)
    return { stream = stream, note = note, shown = 0, lost = 0, lines = {} }
end

--- Takes one line of a stream: the server sends "skipped=12" in place of lines that it dropped.
function M.take(log, text)
    text = text:gsub("[\r\n]+$", "")
    local lost = text:sub(1, 12):match("skipped=") and text:match("skipped=(%d+)")
    if text == "" or lost then
        log.lost = log.lost + math.min(tonumber(lost) or 0, 1e12)
        return
    end
    local at, rest = text:match("^ts=(%S+) (.*)$") -- the view has a column for the time
    rest = (rest or text):gsub("^gid=%S+ ", "") -- operators have no use for this number
    log.shown = log.shown + 1
    log.lines[#log.lines + 1] = { at_s = tonumber(at), text = printable(rest) }
    if #log.lines > M.LINES then
        table.remove(log.lines, 1)
    end
end

--- The share of the lines that were lost.
function M.lost_ratio(log)
    return log.lost > 0 and log.lost / (log.lost + log.shown) or 0
end

return M
