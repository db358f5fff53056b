-- SPDX-License-Identifier: BSD-3-Clause
--- Tests a policy: on made-up servers, on which no policy should fail; by the fields that its file should have; and by
-- the checks that its own file declares (slate-policies(7)).
local gather = require "slate.base.gather"
local policy = require "slate.policy.file"
local policy_box = require "slate.base.policy_box"
local sandbox = require "slate.base.sandbox"
local units = require "slate.base.units"

local M = {}

local PAGE_BYTES <const> = 1 << 20

-- The same numbers in each run, so that a remark can be reproduced.
local function generator(seed)
    return function(most)
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        return (seed >> 8) % most
    end
end

local function class(id, chunk_size, pages)
    local per_page = PAGE_BYTES // chunk_size
    return {
        id = id, chunk_size = chunk_size, chunks_per_page = per_page,
        total_pages = pages, total_chunks = pages * per_page,
        used_chunks = pages * per_page, free_chunks = 0, number = pages * per_page, age = 100, evicted = 0,
        outofmemory = 0, get_hits = 0, cmd_set = 0, mem_requested = pages * per_page * chunk_size * 9 // 10,
    }
end

local function snapshot(second, pages_free, classes)
    local pages = pages_free + gather.sum(classes, "total_pages")
    return {
        schema = "slate/snapshot/1", time_s = 1000.0 + second, server = "made up", version = "1.6.45",
        general = { pid = 1, uptime = second, limit_maxbytes = pages * PAGE_BYTES, slab_global_page_pool = pages_free },
        pages_limit = pages, pages_free = pages_free, classes = classes, totals = {},
    }
end

-- One second of a class: hits and stores come, the age of the tail changes, and a busy class evicts.
local function live(one, random, busy)
    one.get_hits = one.get_hits + random(5000)
    one.cmd_set = one.cmd_set + random(1000)
    one.age = math.max(0, (one.age or 0) + random(21) - 10)
    if busy then
        one.evicted = (one.evicted or 0) + 200 + random(500)
        one.age = 5 + random(5)
    end
end

local function copy_of(classes)
    return gather.values(classes, function(one) return gather.copy(one) end)
end

-- The snapshots of some seconds of a server with these classes, of which one is busy; `tweak` may change the classes
-- each second, and returns the pages of the pool.
local function course(at_start, seconds, busy_id, tweak)
    return function()
        local random, list = generator(#at_start + 1), {}
        local classes = copy_of(at_start)
        for second = 1, seconds do
            for _, one in ipairs(classes) do
                live(one, random, one.id == busy_id)
            end
            local pages_free = tweak and tweak(classes, second) or 0
            list[second] = snapshot(second, pages_free, copy_of(classes))
        end
        return list
    end
end

local function many(count)
    local classes = {}
    for i = 1, count do
        classes[i] = class(i, 96 + (i * 7919) % 5000 // 8 * 8, 1 + i % 3)
    end
    return classes
end

-- name: the state of the server; course: its snapshots.
local SERVERS <const> = {
    { name = "nothing stored", course = course({}, 5) },
    { name = "one class", course = course({ class(5, 240, 20) }, 30, 5) },
    { name = "two classes, one starves", course = course({ class(3, 152, 12), class(9, 600, 4) }, 60, 9) },
    { name = "a quiet server with a pool", course = course({ class(3, 152, 12), class(9, 600, 4) }, 30, nil, function()
        return 7
    end) },
    { name = "a class full of free chunks", course = course({ class(3, 152, 12), class(9, 600, 4) }, 60, 9,
        function(classes)
            classes[1].free_chunks, classes[1].used_chunks = classes[1].total_chunks - 10, 10
            classes[1].number = 10
        end) },
    { name = "counters that begin anew", course = course({ class(3, 152, 12), class(9, 600, 4) }, 40, 9,
        function(classes, second)
            if second % 10 == 0 then
                classes[2].evicted, classes[2].get_hits = 0, 0
            end
        end) },
    { name = "a class without items", course = course({ class(3, 152, 12), class(9, 600, 4) }, 40, 3,
        function(classes)
            local two = classes[2]
            two.number, two.age, two.evicted, two.outofmemory, two.mem_requested = nil, nil, nil, nil, nil
        end) },
    { name = "classes that come and go", course = course({ class(3, 152, 12), class(9, 600, 4) }, 60, 3,
        function(classes, second)
            classes[3] = second % 4 < 2 and class(200, 96, 2) or nil
        end) },
    { name = "classes of one page", course = course({ class(3, 152, 1), class(9, 600, 1) }, 40, 9) },
    { name = "255 classes", course = course(many(255), 20, 100) },
}

local function decisions_of(source, name, words, one)
    local loaded, problem = policy.load(source, name)
    local running
    if loaded then
        running, problem = loaded:start(words)
    end
    if not running then
        return nil, problem
    end
    local list = {}
    for _, now in ipairs(one.course()) do
        local moves, why = running:feed(now)
        if moves then
            list[#list + 1] = moves
        elseif why then
            return nil, why
        end
    end
    return list
end

local function in_words(decisions)
    local lines = {}
    for i, moves in ipairs(decisions) do
        for _, one in ipairs(moves) do
            lines[#lines + 1] = ("%d: %d -> %d, %d, %s"):format(i, one.from, one.to, one.pages, one.reason)
        end
    end
    return table.concat(lines, "\n"), #lines
end

local function check_settings(loaded, remarks)
    for _, row in ipairs(loaded:setting_list()) do
        for _, field in ipairs(type(row.default) == "number" and { "help", "unit", "min", "max" } or { "help" }) do
            if row[field] == nil then
                remarks[#remarks + 1] = ("setting %s has no %s"):format(row.name, field)
            end
        end
    end
end

local FIELDS <const> = { chunk_size = 1024, chunks_per_page = 1024, total_pages = 10, free_chunks = 0, age = 100,
    evicted = 0, outofmemory = 0, get_hits = 0, cmd_set = 0 }

-- A class as a check gives it, with defaults for the absent fields.
local function whole_class(given)
    local one = gather.copy(FIELDS)
    for name, value in next, given do
        one[name] = value
    end
    one.total_chunks = given.total_chunks or one.total_pages * one.chunks_per_page
    one.used_chunks = given.used_chunks or one.total_chunks - one.free_chunks
    one.number = given.number or one.used_chunks
    one.mem_requested = given.mem_requested or one.number * one.chunk_size
    return one
end

-- The snapshot of a second, from the result of the check's function.
local function snapshot_of(loaded, check, second)
    local ok, given = loaded.box:call(check.classes, second)
    if not ok then
        return nil, given
    elseif type(given) ~= "table" then
        return nil, ("classes returns a %s, not a list"):format(type(given))
    end
    local classes = {}
    for i, one in ipairs(sandbox.plain(given, 2)) do
        if type(one) ~= "table" or math.type(one.id) ~= "integer" then
            return nil, ("class %d of the list has no id"):format(i)
        end
        for name, value in next, one do
            if type(value) ~= "number" then
                return nil, ("class %d of the list: %s is a %s, not a number"):format(i, policy_box.printable(
                    tostring(name)), type(value))
            end
        end
        classes[i] = whole_class(one)
    end
    return snapshot(second, check.pool or 0, classes)
end

-- Moves as a check writes them: "3>7 5>7x4".
local function short_words(moves)
    local words = gather.values(moves, function(one)
        return ("%d>%d%s"):format(one.from, one.to, one.pages > 1 and "x" .. one.pages or "")
    end)
    return table.concat(words, " ")
end

-- The last decision within the seconds of a check: its moves and its sentence; or nil and a message.
local function last_decision(loaded, running, check)
    local moves, text
    for second = 1, check.seconds do
        local now, problem = snapshot_of(loaded, check, second)
        if not now then
            return nil, problem
        end
        local decided, why = running:feed(now)
        if decided then
            moves, text = decided, decided[1] and decided[1].reason or why
        elseif why then
            return nil, why
        end
    end
    if not moves then
        return nil, ("nothing was decided in %s: a policy decides at the end of each of its windows, which the "
            .. "check's settings may shorten, such as window_s=1"):format(units.plural(check.seconds, "second"))
    end
    return moves, text
end

local function shape_of(check)
    if type(check) ~= "table" or type(check.name) ~= "string" then
        return "it has no name"
    elseif math.type(check.seconds) ~= "integer" or check.seconds < 1 or check.seconds > 3600 then
        return "seconds is a whole number from 1 to 3600"
    elseif type(check.classes) ~= "function" then
        return "classes is a function that returns a list of classes"
    elseif type(check.moves) ~= "string" and type(check.fails) ~= "string" then
        return "it expects nothing: moves or fails is a text"
    end
    for _, field in ipairs({ "moves", "fails", "says", "settings" }) do
        if check[field] ~= nil and type(check[field]) ~= "string" then
            return field .. " is a text"
        end
    end
    return check.pool ~= nil and math.type(check.pool) ~= "integer" and "pool is a whole number" or nil
end

-- Runs one check, in a policy loaded anew. Returns nil if the check holds, else the difference.
local function outcome_of(source, file, i)
    local loaded = assert(policy.load(source, file))
    local check = loaded.shown.checks[i]
    local running, problem = loaded:start(gather.words(check.settings or ""))
    local moves, text
    if running then
        moves, text = last_decision(loaded, running, check)
        problem = not moves and text or nil
    end
    if check.fails then
        if problem and problem:find(check.fails, 1, true) then
            return nil
        end
        return ("it should fail with '%s', but %s"):format(check.fails, problem and "fails with '" .. problem .. "'"
            or "decides")
    elseif problem then
        return problem
    elseif short_words(moves) ~= check.moves then
        return ("moves are '%s', not '%s' (%s)"):format(short_words(moves), check.moves, text or "it gave no reason")
    elseif check.says and not (text or ""):find(check.says, 1, true) then
        return ("it says '%s', not '%s'"):format(text or "", check.says)
    end
end

-- Runs the checks that the file declares. Returns a list of { name, problem }, or nil and a message.
local function own_checks(loaded)
    local checks, results = loaded.shown.checks, {}
    if checks == nil then
        return results
    elseif type(checks) ~= "table" then
        return nil, ("checks is a %s, not a list"):format(type(checks))
    end
    for i, check in ipairs(checks) do
        local wrong = shape_of(check)
        if wrong then
            return nil, ("check %d: %s"):format(i, wrong)
        end
        results[i] = { name = check.name, problem = outcome_of(loaded.text, loaded.name .. ".lua", i) }
    end
    return results
end

--- Tests a policy that was opened. A policy fails that makes no move on any made-up server, and has no check that
-- expects one. words: settings, for the made-up servers.
-- Returns { servers, decisions, moves, remarks (possible improvements), checks (the policy's own, each { name, problem
-- or nil }) }; or nil and a message.
function M.test(loaded, words)
    local report = { servers = 0, decisions = 0, moves = 0, remarks = {} }
    if not loaded.summary then
        report.remarks[1] = "it has no summary"
    end
    if loaded.shown.name ~= loaded.name then
        table.insert(report.remarks, ("its name is '%s', its file is %s.lua"):format(
            tostring(loaded.shown.name), loaded.name))
    end
    check_settings(loaded, report.remarks)
    for _, one in ipairs(SERVERS) do
        local first, problem = decisions_of(loaded.text, loaded.name .. ".lua", words, one)
        if not first then
            return nil, ("on %s: %s"):format(one.name, problem)
        end
        local second = decisions_of(loaded.text, loaded.name .. ".lua", words, one)
        local text, moves = in_words(first)
        if not second or in_words(second) ~= text then
            table.insert(report.remarks, ("on %s it decides differently each time: pairs() has no order"):format(
                one.name))
        end
        report.servers, report.decisions = report.servers + 1, report.decisions + #first
        report.moves = report.moves + moves
    end
    local checks, problem = own_checks(loaded)
    if not checks then
        return nil, "in its own checks: " .. problem
    end
    report.checks = checks
    if #checks == 0 then
        table.insert(report.remarks, "it has no checks of its own")
    end
    local expects_one = gather.any(loaded.shown.checks or {}, function(check) return (check.moves or "") ~= "" end)
    if report.moves == 0 and not expects_one then
        table.insert(checks, { name = "it moves pages", problem = ("no move in %s on %s, and none of its own checks "
            .. "expects one"):format(units.plural(report.decisions, "decision"),
            units.plural(report.servers, "made-up server")) })
    end
    return report
end

return M
