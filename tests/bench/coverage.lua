-- SPDX-License-Identifier: BSD-3-Clause
--- Predictions beside what came: how many came true within their bounds, how far off they were, and to which side. By
--- load; and in sum by the two halves of the loads, since no constant may come from a load that judges it.
local cjson = require "cjson"
local compare = require "compare"
local laboratory = require "laboratory"

local M = {}

--- The predictions in files with a line of JSON each. judged: of such a line makes a list of { predicted, least, most,
-- came (all ratios), words }. A line has its load and its seed.
function M.read(paths, judged)
    local rows = {}
    for _, path in ipairs(paths) do
        for line in assert(io.open(path)):lines() do
            local played = line:find("^{") and cjson.decode(line)
            for _, row in ipairs(played and judged(played) or {}) do
                row.load, row.seed = played.load, played.seed
                rows[#rows + 1] = row
            end
        end
    end
    if #rows == 0 then
        compare.fail("nothing was predicted")
    end
    return rows
end

local function quantile(values, share)
    return values[math.max(1, math.ceil(#values * share))]
end

local function line(name, rows)
    local off, within, signed, width = {}, 0, 0, {}
    for i, row in ipairs(rows) do
        local error_ratio = row.predicted - row.came
        off[i], width[i], signed = math.abs(error_ratio), (row.most - row.least) / 2, signed + error_ratio
        within = within + (row.came >= row.least and row.came <= row.most and 1 or 0)
    end
    table.sort(off)
    table.sort(width)
    print(("%-12s %5d   %5.1f%%   %6.2f %6.2f %+6.2f   %6.2f"):format(name, #rows, 100 * within / #rows,
        100 * quantile(off, 0.5), 100 * quantile(off, 0.9), 100 * signed / #rows, 100 * quantile(width, 0.5)))
end

--- Prints the table; with ROWS=1 each prediction, too.
function M.print(rows)
    local by_load, names, halves = {}, {}, { fitted = {}, judged = {} }
    for _, row in ipairs(rows) do
        if not by_load[row.load] then
            by_load[row.load], names[#names + 1] = {}, row.load
        end
        local half = halves[laboratory.judges(row.load) and "judged" or "fitted"]
        half[#half + 1], by_load[row.load][#by_load[row.load] + 1] = row, row
        if os.getenv("ROWS") then
            print(("%-8s %3d  %s  predicted %+6.2f (%+.2f to %+.2f)  came %+6.2f%s"):format(row.load, row.seed,
                row.words, 100 * row.predicted, 100 * row.least, 100 * row.most, 100 * row.came,
                row.came >= row.least and row.came <= row.most and "" or "  OUT"))
        end
    end
    print("load            n   within   median   90 %   mean   half of the band; the others: errors, in points")
    for _, name in ipairs(names) do
        line(name, by_load[name])
    end
    for _, half in ipairs({ "fitted", "judged" }) do
        if #halves[half] > 0 then
            line(half == "fitted" and "all for fits" or "all held out", halves[half])
        end
    end
end

return M
