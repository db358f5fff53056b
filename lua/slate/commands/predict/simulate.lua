-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl simulate TRACE: `slated --simulate` runs a grid of policies and sizes; prints a table and a chart.
local must = require("slate.base.failure").must
local simulate = require "slate.policy.simulate"
local units = require "slate.base.units"

local M = {}

local DEFAULT_MEMORY <const> = "32m,64m,128m,256m"
local REFERENCE <const> = "lru"
local COLD_MOST_RATIO <const> = 0.5

local processes <const> = units.whole(1, 256)

local pixels <const> = units.whole(20, 10000)

--- The options for the reading of a trace, which become options of slated.
function M.declare_trace(command)
    command:option("--format", "Form of the trace: keys, slate, twitter, cachelib or oracle. Default: guessed from "
        .. "its content"):argname("FORM"):choices({ "auto", "keys", "slate", "twitter", "cachelib", "oracle" })
    command:option("--sample", "The trace has the requests of one key in N. Default: as the trace says, else of all")
        :argname("1/N"):convert(function(text)
            if text:find("^1/[1-9]%d*$") then
                return text
            end
            return nil, ("'%s' is not a sample: write one key in so many, such as 1/64"):format(text)
        end)
    command:option("--warmup", "The first N requests of the trace fill the caches and do not count; or a share, such "
        .. "as 50%."):argname("N"):convert(function(text)
            local percent = tonumber(text:match("^([%d.]+)%%$")) or 0
            if text:find("^[1-9]%d*$") or percent > 0 and percent <= 99 then
                return text
            end
            return nil, ("'%s' is no number of requests, such as 20000, and no share, such as 50%%, at most 99%%")
                :format(text)
        end)
end

--- These options as words for slated.
function M.trace_words(parsed)
    local words = {}
    words[1] = parsed.format and "--format=" .. parsed.format or nil
    words[#words + 1] = parsed.sample and "--sample=" .. parsed.sample or nil
    words[#words + 1] = parsed.warmup and "--warmup=" .. parsed.warmup or nil
    return words
end

function M.declare(command)
    command:argument("trace", "A file of requests, plain or packed by gzip or zstd; -: standard input.")
        :argname("TRACE")
    command:option("--policy", "Policies to compare, separated by commas. Default: all"):argname("NAMES")
    command:option("--memory", "Memory limits, separated by commas. Default: " .. DEFAULT_MEMORY):argname("SIZES")
    command:option("--objects", "Instead of --memory: caches of this many objects of one size; 10% is a share of the "
        .. "keys.")
        :argname("SIZES")
    M.declare_trace(command)
    command:option("-o --output", "Draw the miss ratio against the size into FILE.png, .svg, .html or .txt.")
        :argname("FILE")
    command:option("--width", "The width of the chart, in pixels or characters."):argname("N"):convert(pixels)
    command:option("--height", "The height of the chart, in pixels or characters."):argname("N"):convert(pixels)
    command:option("--processes", "At most N processes at once. Default: one a core"):argname("N"):convert(processes)
    command:option("--with", "Further options of slated: --with='-f 1.5 --value-bytes 100'."):argname("OPTIONS")
end

local function grid_of(parsed, known)
    local policies, seen = {}, {}
    for word in (parsed.policy or "all"):gmatch("[^,]+") do
        for _, name in ipairs(word == "all" and known or { word }) do
            if seen[name] then
                return nil, ("--policy names %s twice"):format(name), "usage"
            end
            seen[name] = true
            policies[#policies + 1] = name
        end
    end
    if #policies == 0 then
        return nil, "--policy wants names of policies", "usage"
    end
    local words = M.trace_words(parsed)
    for word in (parsed.with or ""):gmatch("%S+") do
        words[#words + 1] = word
    end
    return {
        trace = parsed.trace, policies = policies, words = words, by_objects = parsed.objects ~= nil,
        sizes = parsed.objects or parsed.memory or DEFAULT_MEMORY,
    }
end

-- Checks options first: otherwise these errors would come only after the work.
local function check(parsed)
    if parsed.objects and parsed.memory then
        return nil, "--memory and --objects exclude each other", "usage"
    elseif parsed.output then
        must(require("slate.chart.draw").terminal_for(parsed.output))
        if not (parsed.objects or parsed.memory or DEFAULT_MEMORY):find(",", 1, true) then
            return nil, "a chart needs at least two sizes", "usage"
        end
    end
    return true
end

local function out_table(context, rows, baselines)
    local columns = (rows[1].objects and "OBJECTS" or "MEMORY|HELD") .. "|POLICY<|HIT RATIO|MISS RATIO"
    for _, name in ipairs(baselines) do
        columns = columns .. "|MISSES TO " .. name:upper()
    end
    local cells = {}
    for i, row in ipairs(rows) do
        cells[i] = { row.objects and ("%d"):format(row.objects) or units.bytes_in_words(row.memory_bytes),
            row.policy .. (row.best and " *" or ""), ("%.4f"):format(row.hit_ratio),
            ("%.4f"):format(row.miss_ratio) }
        if not row.objects then
            table.insert(cells[i], 2, units.bytes_in_words(row.held_bytes))
        end
        local at = #cells[i]
        for b, name in ipairs(baselines) do
            cells[i][at + b] = row.against[name] and ("%+.1f%%"):format(row.against[name] * 100) or nil
        end
        at = at + #baselines
        cells[i][at + 1], cells[i][at + 2], cells[i][at + 3] = units.count(row.items), units.count(row.evictions),
            units.count(row.refused)
    end
    context:out(("%s: %s%s%s; * fewest misses\n"):format(rows[1].trace, units.plural(rows[1].requests, "request"),
        rows[1].warmup_requests > 0 and (" after %s that filled the caches"):format(rows[1].warmup_requests) or "",
        rows[1].keys and ", " .. units.plural(rows[1].keys, "key") or ""))
    context:out_table(columns .. "|ITEMS|EVICTIONS|REFUSED", cells)
    context:flush()
end

-- A note if most misses of the best row are the first requests of keys: a server that ran before has such keys. Each
-- item that is held in the end was requested for the first time in the trace.
local function cold_note(rows)
    local best = rows[1]
    for _, row in ipairs(rows) do
        best = row.miss_ratio < best.miss_ratio and row or best
    end
    local misses = best.requests - best.hits
    if best.warmup_requests == 0 and misses > 0 and best.items > COLD_MOST_RATIO * misses then
        return ("the caches begin empty: %s of the fewest misses are first requests of keys, which a server "
            .. "that ran before may hold; --warmup 50%% counts with filled caches, a longer trace has fewer"):format(
            best.items >= misses and "all" or ("at least %d%%"):format(100 * best.items // misses))
    end
end

local function draw(rows, parsed)
    local chart = require "slate.chart.draw"
    local figure = chart.curves({
        title = "Miss ratio, " .. rows[1].trace:match("[^/]*$"), curves = simulate.curves(rows), y_label = "miss ratio",
        x_label = rows[1].objects and "objects" or "memory", in_bytes = not rows[1].objects,
    })
    return chart.save(figure, parsed.output, { width = parsed.width, height = parsed.height })
end

function M.run(context, parsed)
    must(check(parsed))
    local program = context.bin_dir .. "/slated"
    local known = must(simulate.describe(program))
    local default = known.policy
    local grid = must(grid_of(parsed, known.policies))
    local baselines = default ~= REFERENCE and { REFERENCE, default } or { REFERENCE }
    local rows, remark = must(simulate.run(program, grid, parsed.processes or simulate.cores()))
    for _, note in pairs({ remark, cold_note(rows) }) do
        context:print_note(note)
    end
    simulate.compare(rows, baselines)
    context:answer("slate/simulations/1", { trace = parsed.trace, default_policy = default,
        rows = require("slate.base.json").array(rows) }, function() out_table(context, rows, baselines) end)
    if parsed.output then
        must(draw(rows, parsed))
    end
    return 0
end

return M
