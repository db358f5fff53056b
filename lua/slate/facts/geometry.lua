-- SPDX-License-Identifier: BSD-3-Clause
--- `stats geometry` of slated as tables, and the orders of `slabs geometry`.
local stats = require "slate.facts.stats"

local M = {}

local TEXT <const> = { state = true, why = true, class_state = true, auto = true }
local NEEDED <const> = { "state", "why", "generation", "classes", "classes_retired", "ranges", "ranges_done",
    "pages_drained", "items_copied", "chunks_copied", "items_dropped", "waste_before", "waste_predicted", "waste_now",
    "seconds" }

-- The words with which slated refuses an order, and the code of each refusal.
local REFUSALS <const> = {
    NOGAIN = "no", SAME = "no", NOIDS = "no", NOREVERT = "no", NOTRUNNING = "no", NOTPAUSED = "no", BADSIZES = "usage",
    BUSY = "busy", AUTO = "no",
}

--- The orders of other sizes that are shown and predicted: slated takes them all, memcached takes the factors at its
-- start.
M.ORDERS = { "factor 1.04", "factor 1.08", "factor 1.15", "factor 1.25", "factor 1.50", "factor 2.00", "auto" }

--- Parses the lines of `stats geometry`.
-- Returns the change's figures by name, and the classes with a known chunk size, smallest first:
-- { id, chunk_size, class_state, total_pages }.
function M.parse(lines)
    local change, classes = stats.numbered(lines, "id", TEXT, { "chunk_size" })
    table.sort(classes, function(a, b) return a.chunk_size < b.chunk_size end)
    return change, classes
end

-- The least gain of new sizes that is worth a sentence, in per cent of items; slated refuses an order for less.
M.GAIN_LEAST_PCT = 2

--- A sentence: how much more fitted sizes would hold. nil while a change is under way, or if the gain is small.
function M.advice(change)
    local gain_pct = change.state == "steady" and change.auto_gain or 0
    if gain_pct < M.GAIN_LEAST_PCT then
        return nil
    end
    return ("chunk sizes fitted to the present items would hold %.1f %% more of them"):format(gain_pct)
end

--- Queries a server. Returns the change and the classes; or nil, message, code ("unsupported": not a slated).
function M.read(client)
    local lines, message, code = stats.query_slated(client, "geometry",
        "a change of the chunk sizes needs slated: this server keeps those of its start")
    if not lines then
        return nil, message, code
    end
    local change, classes = M.parse(lines)
    local missing
    for _, name in ipairs(NEEDED) do
        missing = change[name] == nil and name or missing
    end
    for _, class in ipairs(classes) do
        missing = not class.class_state and "class_state" or not class.total_pages and "total_pages" or missing
    end
    if missing then
        return nil, ("the server's chunk sizes cannot be read: %s is missing, or no number"):format(missing), "protocol"
    end
    return change, classes
end

-- A prediction for another client keeps the server busy for a while: how long to retry.
local BUSY_PAUSE_S <const>, BUSY_LIMIT_S <const> = 0.05, 10

-- Sends a command again for as long as the server is busy. Returns the server's line; or nil, message, code.
local function command_when_free(client, command, limit_s)
    local clock = require "slate.base.clock"
    local until_s = clock.steady_s() + limit_s
    while true do
        local line, message, code = client:command(command)
        if not line or not line:find("^BUSY") or clock.steady_s() + BUSY_PAUSE_S > until_s then
            return line, message, code
        end
        clock.sleep(BUSY_PAUSE_S)
    end
end

--- Sends an order, again for up to limit_s (10) while the server is busy with another one. Returns true, or the
-- prediction if the order ends with `dry`; or nil, message, code.
function M.order(client, command, limit_s)
    local line, message, code = command_when_free(client, command, limit_s or BUSY_LIMIT_S)
    if not line then
        return nil, message, code
    elseif line == "OK" then
        return true
    end
    local word, text = line:match("^(%u+) (.+)$")
    if word == "PREDICTED" then
        return text
    end
    if REFUSALS[word] then
        return nil, "refused, nothing changed: " .. text, REFUSALS[word]
    end
    return nil, require("slate.facts.runtime").refusal(line)
end

--- Splits a prediction: the sentence without the list of sizes, and the sizes, which an older server does not report.
function M.split_prediction(text)
    local sentence, list = text:match("^(.*); the sizes: ([%d,]+)$")
    if not list then
        return text, nil
    end
    local sizes = {}
    for size in list:gmatch("%d+") do
        sizes[#sizes + 1] = math.tointeger(tonumber(size))
    end
    return sentence, sizes
end

--- The shares of their memory that items will waste by a prediction, and waste now, as ratios; nil if it has none.
function M.predicted_waste(text)
    local after, now = text:match("waste ([%d.]+) %% of their memory instead of ([%d.]+) %%")
    return after and tonumber(after) / 100, now and tonumber(now) / 100
end

-- The orders by which slated sets slab_geometry_auto off.
local SETS_AUTO_OFF <const> = { factor = true, sizes = true, revert = true }

--- The value that an order gives to slab_geometry_auto beside the sizes, "yes" or "no"; nil: it stays. order: "factor
-- 1.25"; auto: the value before it; back: the value that comes back with the sizes (see slate.act.steps), or nil.
function M.auto_after(order, auto, back)
    return back == "yes" and back or auto == "yes" and SETS_AUTO_OFF[order:match("^%l+")] and "no" or nil
end

local AUTO_WORDS <const> = { yes = "sets automatic sizes on again: the server fits its sizes by itself",
    no = "sets automatic sizes off: the server no longer fits its sizes by itself" }

--- The same in words; nil: it stays.
function M.auto_words(order, auto, back)
    return AUTO_WORDS[M.auto_after(order, auto, back)]
end

--- The lines that an order sends, by its command. back: as for M.auto_after.
function M.lines(command, back)
    return { command, back == "yes" and "config set slab_geometry_auto yes" or nil }
end

return M
