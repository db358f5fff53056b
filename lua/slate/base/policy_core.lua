-- SPDX-License-Identifier: BSD-3-Clause
--- Reads a policy's settings, makes the snapshots that it sees, and checks its answers.
--
-- These rules are the same everywhere because every host runs these lines, and those of slate.base.policy_box (what a
-- policy may use) and slate.base.policy_curve: slate.policy.file runs them outside the daemon, and slated has the three
-- files built in (daemon/control/automove/lua_policy.c). So this file uses only Lua's own base, string, table, math and
-- utf8, and looks up none of their functions after it has run: a policy cannot change the functions that check it.
-- Mistakes of a policy are raised as errors with a text; the host runs every function under its limits and in a
-- protected call.
local box = require "slate.base.policy_box"

local error, ipairs, next, pairs, tonumber, tostring, type = error, ipairs, next, pairs, tonumber, tostring, type
local byte, find, format, match = string.byte, string.find, string.format, string.match
local concat, remove, sort = table.concat, table.remove, table.sort
local huge, max, min, randomseed, tointeger = math.huge, math.max, math.min, math.randomseed, math.tointeger
local integer_or_float = math.type
local LIMITS <const>, printable <const>, copy_names <const> = box.LIMITS, box.printable, box.copy_names

local M = {}

local PAGE_BYTES <const> = 1 << 20
-- A snapshot that is early by this time still ends a window: clocks and servers are never exact.
local EARLY_S <const> = 0.1

local function sorted_names(map)
    local names = {}
    for name in pairs(map) do
        names[#names + 1] = name
    end
    sort(names)
    return names
end

local function check_declared(name, row)
    if type(name) ~= "string" or not find(name, "^[%a_][%w_]*$") then
        error(format("a setting's name is letters, digits and _, not '%s'", tostring(name)), 0)
    elseif type(row) ~= "table" or type(row.default) ~= "number" and type(row.default) ~= "string" then
        error(format("setting %s is a table with a default that is a number or a text", name), 0)
    elseif row.min ~= nil and type(row.min) ~= "number" or row.max ~= nil and type(row.max) ~= "number" then
        error(format("setting %s: min and max are numbers", name), 0)
    elseif name == "window_s" and (type(row.default) ~= "number" or (row.min or -1) < 0) then
        error("setting window_s is a number of seconds with a min of at least 0", 0)
    end
end

local function check_range(name, row, value)
    if value < (row.min or -huge) or value > (row.max or huge) or value - value ~= 0 then
        error(format("setting %s wants a number from %s to %s, not %s", name, tostring(row.min or "any"),
            tostring(row.max or "any"), tostring(value)), 0)
    end
    return value
end

-- Reads a setting's value by the type of its default: if the default is an integer, the value must be one.
local function read_value(name, row, text)
    if type(row.default) == "string" then
        return text
    end
    local value = find(text, "^%-?%d*%.?%d*$") and tonumber(text)
    if value and integer_or_float(row.default) == "integer" then
        value = tointeger(value)
    end
    if not value then
        error(format("setting %s wants a %snumber, not '%s'", name,
            integer_or_float(row.default) == "integer" and "whole " or "", text), 0)
    end
    return check_range(name, row, value)
end

--- The values of the declared settings, from words "name=value", else by default.
function M.read_settings(declared, words)
    if declared ~= nil and type(declared) ~= "table" then
        error("settings is a table of settings by name", 0)
    end
    local values = {}
    for name, row in next, declared or {} do
        check_declared(name, row)
        values[name] = type(row.default) == "number" and check_range(name, row, row.default) or row.default
    end
    for _, word in ipairs(words) do
        local name, text = match(word, "^([%a_][%w_]*)=(.*)$")
        if not name then
            error(format("'%s' is not a setting: write name=value", word), 0)
        elseif values[name] == nil then
            local names = sorted_names(values)
            error(format("no setting '%s' (%s)", name,
                #names > 0 and "there are: " .. concat(names, ", ") or "this policy has none"), 0)
        end
        values[name] = read_value(name, declared[name], text)
    end
    return values
end

local COUNTERS <const> = { "evicted", "outofmemory", "get_hits", "cmd_set" }
local GAUGES <const> = { "chunk_size", "chunks_per_page", "total_pages", "total_chunks", "used_chunks", "free_chunks",
    "number", "age", "mem_requested" }

-- The age of the next victim. While the queue that evicts is empty, servers report 0. Then the oldest tail of the other
-- queues counts, as in slated's own snapshots.
local function tail_age(class)
    local age = class.age or 0
    return age > 0 and age or max(class.age_hot or 0, class.age_warm or 0)
end

local function shallow_copy(from)
    local copy = {}
    for name, value in next, from do
        copy[name] = value
    end
    return copy
end

local function copy_class(class)
    local copy = shallow_copy(class)
    for _, name in ipairs(GAUGES) do
        copy[name] = copy[name] or 0
    end
    copy.age = tail_age(class)
    return copy
end

--- The pages that the server may have, and the pages that no class has; both nil if the server does not report them.
function M.pages(snapshot)
    local general = snapshot.general
    local limit, free = general.limit_maxbytes, general.slab_global_page_pool
    if not (integer_or_float(limit) and integer_or_float(free)) then
        return snapshot.pages_limit, snapshot.pages_free
    end
    local malloced = snapshot.totals and snapshot.totals.total_malloced
    if not snapshot.slated and integer_or_float(malloced) then -- memcached counts the pool as allocated, slated not
        free = free + max(0, (limit - malloced) // PAGE_BYTES)
    end
    return snapshot.pages_limit or limit // PAGE_BYTES, snapshot.pages_free or free
end

-- A copy, which the policy may change.
local function copy_snapshot(snapshot)
    local copy = shallow_copy(snapshot)
    for _, name in ipairs({ "general", "settings", "totals" }) do
        copy[name] = snapshot[name] and shallow_copy(snapshot[name])
    end
    copy.classes, copy.by_id = {}, {}
    copy.pages_limit, copy.pages_free = M.pages(snapshot)
    copy.pages_free = copy.pages_free or 0 -- a memcached without a pool of free pages does not report it
    for i, class in ipairs(snapshot.classes) do
        copy.classes[i] = copy_class(class)
        copy.by_id[class.id] = copy.classes[i]
    end
    return copy
end

-- Earlier counters of a class that is new, or was empty, are unknown: they count as unchanged. Counters that fell began
-- again at 0.
local function settle_counters(was, class)
    for _, name in ipairs(COUNTERS) do
        class[name] = class[name] or was[name] or 0
        was[name] = was[name] or class[name]
        if was[name] > class[name] then
            was[name] = 0
        end
    end
end

-- The earlier state of a new class, or of an id with a new chunk size: a change of geometry reuses ids for other sizes.
local function stand_in(class)
    return copy_class({ id = class.id, chunk_size = class.chunk_size, chunks_per_page = class.chunks_per_page })
end

-- The growth of a counter, which may be missing or have begun again at 0.
local function grown(was, now, name)
    return max(0, (now[name] or 0) - (was and was[name] or 0))
end

--- The misses of the server for each store of its classes; 1 if the server counts no misses. Then the misses that no
-- store stands for: all of them in an interval without stores, else 0.
function M.misses_a_store(before, after)
    local from, to, stored, was = before.general or {}, after.general or {}, 0, {}
    if not (from.get_misses and to.get_misses) then
        return 1, 0
    end
    for _, class in ipairs(before.classes) do
        was[class.id] = class
    end
    for _, class in ipairs(after.classes) do
        stored = stored + grown(was[class.id] or class, class, "cmd_set")
    end
    local missed = grown(from, to, "get_misses")
    return stored > 0 and missed / stored or 0, stored > 0 and 0 or missed
end

-- Adds to the classes of `after` their rates between the two, and the lifetime of evicted items, by Little's law.
local function add_rates(before, after)
    local seconds, each = max(after.time_s - before.time_s, 1e-3), M.misses_a_store(before, after)
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local stores = grown(was, class, "cmd_set")
        class.get_hits_per_s, class.stores_per_s = grown(was, class, "get_hits") / seconds, stores / seconds
        class.misses_per_s = stores * each / seconds
        class.evicted_per_s = grown(was, class, "evicted") / seconds
        class.victim_age_s = class.age
        if class.evicted_per_s > 0 then
            local lived_s = class.number / class.evicted_per_s
            class.victim_age_s = class.age > 0 and min(class.age, lived_s) or lived_s
        end
    end
end

--- Two snapshots in the form that a policy sees: copies in which every class of `after` is in `before.by_id` too, no
-- counter of `before` is above that of `after`, and no field that slate-policies(7) promises is missing. Classes of
-- `after` have their rates between the two.
function M.pair(before, after)
    before, after = copy_snapshot(before), copy_snapshot(after)
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        if not was or was.chunk_size ~= class.chunk_size then
            was = stand_in(class)
            before.by_id[class.id] = was
        end
        settle_counters(was, class)
    end
    before.classes = {}
    for id, class in next, before.by_id do
        if not after.by_id[id] then -- the class is gone
            settle_counters(class, class)
        end
        before.classes[#before.classes + 1] = class
    end
    sort(before.classes, function(a, b) return a.id < b.id end)
    add_rates(before, after)
    return before, after
end

local function class_name(id)
    return id == 0 and "the pool" or "class " .. id
end

local function whole(move, i, name, least, most, otherwise)
    local value = move[name]
    if value == nil then
        value = otherwise
    end
    local n = tointeger(value)
    if not n or type(value) ~= "number" or n < least or n > most then
        error(format("move %d: %s is a whole number from %d to %d, not %s", i, name, least, most,
            printable(tostring(value))), 0)
    end
    return n
end

-- Checks one move against `left`, the pages after the earlier moves: by class id, with 0 for the pool.
local function check_move(i, move, left)
    if type(move) ~= "table" then
        error(format("move %d is not a table", i), 0)
    end
    local from, to = whole(move, i, "from", 0, 255), whole(move, i, "to", 0, 255)
    local pages = whole(move, i, "pages", 1, LIMITS.pages, 1)
    for _, id in ipairs({ from, to }) do
        if not left[id] then
            error(format("move %d: there is no class %d", i, id), 0)
        end
    end
    if from == to then
        error(format("move %d goes from %s to itself", i, class_name(from)), 0)
    elseif type(move.reason) ~= "string" or move.reason == "" then
        error(format("move %d has no reason", i), 0)
    end
    local least_left = from == 0 and 0 or 1
    if left[from] - least_left < pages then
        error(format("move %d: %s has %d pages%s and cannot give %d", i, class_name(from), left[from],
            least_left > 0 and ", keeps one" or "", pages), 0)
    end
    left[from], left[to] = left[from] - pages, left[to] + pages
    return { from = from, to = to, pages = pages, reason = printable(move.reason) }
end

local function check_moves(answer, left)
    if answer == nil then
        return {}
    elseif type(answer) ~= "table" then
        error(format("decide returns a list of moves, not a %s", type(answer)), 0)
    elseif answer.from ~= nil or answer.to ~= nil then
        error("decide returns a list of moves, not a move", 0)
    end
    local moves = {}
    for i = 1, #answer do
        if i > LIMITS.moves then
            error(format("decide returns more than %d moves", LIMITS.moves), 0)
        end
        moves[i] = check_move(i, answer[i], left)
    end
    return moves
end

--- Makes a policy ready. value: what its file returned; words: its settings, "name=value".
-- Returns what `decide` takes: { settings =, window_s =, wants_curves =, ... }.
function M.start(value, words)
    if type(value) ~= "table" then
        error(format("the file returns a %s, not a table with a function decide", type(value)), 0)
    elseif type(value.decide) ~= "function" then
        error(format("decide is a %s, not a function", type(value.decide)), 0)
    elseif value.init ~= nil and type(value.init) ~= "function" then
        error(format("init is a %s, not a function", type(value.init)), 0)
    end
    local settings = M.read_settings(value.settings, words)
    randomseed(0) -- so that a policy decides the same in each run
    local policy = { decide_function = value.decide, settings = settings, window_s = settings.window_s or 1,
        wants_curves = value.curves == true, history = {}, ordered = {}, results_before = {} }
    policy.state = settings
    if value.init then
        policy.state = value.init(shallow_copy(settings))
    end
    return policy
end

--- True if the policy's window has passed between two snapshots.
function M.is_due(policy, before, after)
    return after.time_s - before.time_s + EARLY_S >= policy.window_s
end

-- The fields of each class that the history keeps for policies that read past decisions.
local SEEN <const> = { "total_pages", "get_hits_per_s", "misses_per_s", "stores_per_s", "evicted_per_s",
    "victim_age_s" }

local function remember(policy, after)
    local history = policy.history
    history[#history + 1] = { time_s = after.time_s, by_id = {} }
    for _, class in ipairs(after.classes) do
        history[#history].by_id[class.id] = copy_names(class, SEEN, {})
    end
    while #history > LIMITS.history do
        remove(history, 1)
    end
end

-- The moves of the last decision with their results: those that the host reported, else by the pages that the donor
-- lost and the receiver got.
local function last_moves(policy, after)
    for i, one in ipairs(policy.ordered) do
        local results_before, from, to = policy.results_before[i] or {}, after.by_id[one.from], after.by_id[one.to]
        local given = from and max(0, one.had_from - from.total_pages) or one.pages
        local got = to and max(0, to.total_pages - one.had_to) or one.pages
        one.moved = results_before.pages_moved or min(one.pages, given, got)
        one.state, one.lost, one.rescued = results_before.state, results_before.items_lost, results_before.items_rescued
        one.had_from, one.had_to = nil, nil
    end
    return policy.ordered
end

local function note_ordered(policy, moves, after)
    policy.ordered, policy.results_before = {}, {}
    for i, one in ipairs(moves) do
        local from, to = after.by_id[one.from], after.by_id[one.to]
        policy.ordered[i] = { from = one.from, to = one.to, pages = one.pages, reason = one.reason,
            had_from = from and from.total_pages or 0, had_to = to and to.total_pages or 0 }
    end
end

--- Passes on the results of the moves of the last decision, in the same order: { state, pages_moved, items_lost,
-- items_rescued }, each nil if it is unknown.
function M.report(policy, results)
    policy.results_before = results
end

--- A decision: a list of checked moves { from, to, pages, reason }, and a sentence or nil.
function M.decide(policy, before, after)
    before, after = M.pair(before, after)
    after.last_moves, after.history = last_moves(policy, after), shallow_copy(policy.history)
    remember(policy, after)
    local pages = { by_id = {} } -- a copy from before the call, since the policy may change its own
    for _, class in ipairs(after.classes) do
        pages.by_id[class.id] = { total_pages = class.total_pages }
    end
    local left = { [0] = after.pages_free or 0 } -- read before the call, since the policy may change its copy
    for _, class in ipairs(after.classes) do
        left[class.id] = class.total_pages
    end
    local answer, why = policy.decide_function(before, after, policy.state)
    local moves = check_moves(answer, left)
    note_ordered(policy, moves, pages)
    return moves, type(why) == "string" and byte(why) and printable(why) or nil
end

return M
