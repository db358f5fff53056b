-- SPDX-License-Identifier: BSD-3-Clause
--- Simulations of a grid of policies and sizes by `slated --simulate`, several processes at once.
--
--     local rows = simulate.run("build/bin/slated", { trace = "t.gz", policies = { "lru", "sieve" }, sizes = "1%,10%",
--         by_objects = true, words = {} }, 2)
local json = require "slate.base.json"
local shell = require "slate.base.shell"

local M = {}

local NICENESS <const> = 10 -- of the processes: a simulation is less urgent than a server
local BEGINS_WITH <const> = { s3auto = "s3fifo" } -- the first policy of one that switches
local AUTOMOVE_NAMES <const> = { ["0"] = "off", ["1"] = "ratio", ["2"] = "eviction" }

--- slated's description of itself: { policies = those that can be simulated, policy = the first one by default,
-- automove = the default mode, by name }; or nil, message and code.
function M.describe(program)
    local pipe = assert(io.popen(shell.word(program) .. " --describe 2>/dev/null", "r"))
    local text = pipe:read("a")
    pipe:close()
    local default, choices = text:match("\npolicy\t[^\t]*\tchoice\t([^\t]*)\t[^\t]*\t[^\t]*\t([^\t]*)")
    local mode = text:match("\nslab_automove\t[^\t]*\t[^\t]*\t([^\t]*)")
    if not choices or not mode then
        return nil, program .. " is missing or is not slated: build it with make, or install Slate whole", "missing"
    end
    local names = {}
    for name in choices:gmatch("[^|]+") do
        if name ~= "none" and not BEGINS_WITH[name] then -- `none` evicts nothing
            names[#names + 1] = name
        end
    end
    return { policies = names, policy = BEGINS_WITH[default] or default, automove = AUTOMOVE_NAMES[mode] or mode }
end

--- How many processes may run at once: one a core.
function M.cores()
    local pipe <close> = io.popen("nproc 2>/dev/null", "r")
    local count = pipe and pipe:read("n")
    return math.max(1, math.tointeger(count) or 1)
end

local function command_of(program, trace, ...)
    local words = { "nice", "-n", NICENESS, shell.word(program), "--json", "--simulate=" .. shell.word(trace) }
    for _, list in ipairs({ ... }) do
        for _, word in ipairs(list) do
            words[#words + 1] = shell.word(word)
        end
    end
    return table.concat(words, " ")
end

--- Shares the grid among at most `processes` shell commands. Pure.
-- A trace that can be read only once goes to one process.
function M.commands(program, grid, processes)
    processes = grid.trace == "-" and 1 or math.min(processes, #grid.policies)
    local shares, commands = {}, {}
    for i, policy in ipairs(grid.policies) do
        local at = (i - 1) % processes + 1
        shares[at] = shares[at] or {}
        table.insert(shares[at], policy)
    end
    for i, share in ipairs(shares) do
        commands[i] = "exec " .. command_of(program, grid.trace, { "--policy=" .. table.concat(share, ","),
            (grid.by_objects and "--objects=" or "--memory=") .. grid.sizes }, grid.words)
    end
    return commands
end

-- Exit statuses of slated as codes of slate.cli.command_line.
local CODES <const> = { [64] = "usage", [65] = "form", [66] = "input", [71] = "internal" }

-- Reads the output of one process to its end, and adds its rows. Returns its standard error, and on failure a code.
local function collect(job, rows)
    for line in job.pipe:lines() do
        local row = json.decode(line)
        if row then
            row.schema = nil
            rows[#rows + 1] = row
        end
    end
    local ok, _, status = job.pipe:close()
    return shell.read_and_remove(job.errors), not ok and (CODES[status] or "internal")
end

-- Adds those lines of slated's output that `lines` lacks. Several processes report the same fault of a trace, each with
-- its own example after the colon, so only the words before the colon are compared.
local function add_lines(lines, text)
    for line in text:gmatch("[^\n]+") do
        line = line:gsub("^slated: ", "")
        if not ("\n" .. lines):find("\n" .. line:match("^[^:]*"), 1, true) then
            lines = lines == "" and line or lines .. "\n" .. line
        end
    end
    return lines
end

-- Runs all commands at once. Returns the rows of each, and their remarks; or nil, message, code.
local function run_all(commands)
    local jobs, results, remark, failure, failure_code = {}, {}, "", nil, nil
    for i, command in ipairs(commands) do
        local errors = os.tmpname()
        local pipe = assert(io.popen(("{ %s; } 2>%s"):format(command, shell.word(errors)), "r"))
        jobs[i] = { errors = errors, pipe = pipe }
    end
    for i, job in ipairs(jobs) do -- all run at once: the output of each fits into its pipe
        results[i] = {}
        local text, code = collect(job, results[i])
        if code or #results[i] == 0 then
            failure, failure_code = failure or add_lines("", text), failure_code or code or "internal"
        else
            remark = add_lines(remark, text)
        end
    end
    if failure then
        return nil, failure ~= "" and failure or "slated gave no figures", failure_code
    end
    return results, remark ~= "" and remark or nil
end

--- Runs the grid: { trace =, policies = list, sizes = text, by_objects =, words = further words for slated }.
-- Returns slated's rows, by size and then by misses, and its remark; or nil, message, code.
function M.run(program, grid, processes)
    local results, remark, code = run_all(M.commands(program, grid, processes))
    if not results then
        return nil, remark, code
    end
    local rows = {}
    for _, list in ipairs(results) do
        table.move(list, 1, #list, #rows + 1, rows)
    end
    table.sort(rows, function(a, b)
        local size_a, size_b = M.size_of(a), M.size_of(b)
        if size_a ~= size_b then
            return size_a < size_b
        elseif a.hits ~= b.hits then
            return a.hits > b.hits
        end
        return a.policy < b.policy
    end)
    return rows, remark
end

--- Plays the trace of a grid { program =, trace =, sizes = memory limits, words = } in several ways, a list of
-- { name =, automove = mode, words = further options }, in at most `processes` at once.
-- Returns rows with the name as `play`, by size and then in the order of the list, and a remark; or nil, message, code.
function M.run_plays(grid, plays, processes)
    local chains, shares = {}, {}
    for i, play in ipairs(plays) do
        local at = (i - 1) % processes + 1
        chains[at], shares[at] = chains[at] or {}, shares[at] or {}
        table.insert(shares[at], i)
        table.insert(chains[at], command_of(grid.program, grid.trace,
            { "--memory=" .. grid.sizes, "--automove=" .. play.automove }, play.words, grid.words))
    end
    for at, chain in ipairs(chains) do
        chains[at] = table.concat(chain, " && ")
    end
    local results, remark, code = run_all(chains)
    if not results then
        return nil, remark, code
    end
    local rows, order = {}, {}
    for at, list in ipairs(results) do
        local each = #list // #shares[at]
        for k, row in ipairs(list) do
            local i = shares[at][(k - 1) // each + 1]
            row.play, order[row] = plays[i].name, i
            rows[#rows + 1] = row
        end
    end
    table.sort(rows, function(a, b)
        if a.memory_bytes ~= b.memory_bytes then
            return a.memory_bytes < b.memory_bytes
        end
        return order[a] < order[b]
    end)
    return rows, remark
end

--- The size of a row's cache: objects, or bytes of memory.
function M.size_of(row)
    return row.objects or row.memory_bytes
end

--- Compares the rows of each size: row.best is set for those with the fewest misses, row.against[name] is the relative
-- difference in misses to the row of that policy (-0.05: a twentieth fewer), nil if the policy was not simulated.
function M.compare(rows, baselines)
    local by_size = {}
    for _, row in ipairs(rows) do
        local size = M.size_of(row)
        by_size[size] = by_size[size] or { most_hits = 0 }
        by_size[size][row.policy] = row
        by_size[size].most_hits = math.max(by_size[size].most_hits, row.hits)
    end
    for _, row in ipairs(rows) do
        local group = by_size[M.size_of(row)]
        row.best = row.hits == group.most_hits
        row.against = {}
        for _, name in ipairs(baselines) do
            local base = group[name]
            if base and base.requests > base.hits then
                row.against[name] = (row.requests - row.hits) / (base.requests - base.hits) - 1
            end
        end
    end
    return rows
end

--- Curves of the miss ratio over the size, for slate.curves: first the policy that misses least at the largest size.
function M.curves(rows)
    local curves, of = {}, {}
    for i = #rows, 1, -1 do -- within a size the most misses come last
        local row = rows[i]
        local curve = of[row.policy]
        if not curve then
            curve = { label = row.policy, points = {} }
            of[row.policy] = curve
            table.insert(curves, 1, curve)
        end
        table.insert(curve.points, 1, { M.size_of(row), row.miss_ratio })
    end
    return curves
end

return M
