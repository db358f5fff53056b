-- SPDX-License-Identifier: BSD-3-Clause
--- What a policy may use, how its settings are read, what it is shown and what it may answer.
--
-- These rules are the same everywhere because they are these lines: slate.policy.file runs them outside
-- the daemon, and slated is built with this file in it (daemon/tune/policies/lua_policy.c). So nothing here
-- but Lua's own base, string, table, math and utf8 is used, and nothing of these is looked up after
-- this file has run: a policy cannot change what it is checked with. Mistakes of a policy are raised
-- as errors with a text; the host runs every function under its limits and a protected call.
local error, getmetatable, ipairs, next, pairs, pcall, rawget, select, setmetatable, tonumber, tostring, type =
    error, getmetatable, ipairs, next, pairs, pcall, rawget, select, setmetatable, tonumber, tostring, type
local byte, find, format, gsub, match, rep, sub = string.byte, string.find, string.format, string.gsub, string.match,
    string.rep, string.sub
local concat, pack, remove, sort, unpack = table.concat, table.pack, table.remove, table.sort, table.unpack
local abs, exp, huge, log, max, min, randomseed, tointeger = math.abs, math.exp, math.huge, math.log, math.max,
    math.min, math.randomseed, math.tointeger
local integer_or_float = math.type

local M = {}

--- The limits that every host keeps. For one call of a policy: loading it, its init, or a decision.
M.LIMITS = {
    instructions = 10000000,  -- of Lua's machine; library functions are charged by the work they can do
    memory_bytes = 16 << 20,  -- of the policy with all it keeps
    cpu_s = 1,                -- of processor time
    source_bytes = 256 << 10, -- of the file
    history = 12,             -- decisions that it can look back on
    moves = 8,                -- in one decision
    pages = 8,                -- in one move
    reason_bytes = 159,       -- of a reason, an explanation or an error; the rest is cut off
    lines = 20,               -- printed in one call; further ones are dropped
}

local PAGE_BYTES <const> = 1 << 20
-- A snapshot that comes so much early still ends a window: clocks and servers are never on time.
local EARLY_S <const> = 0.1

--- A text as it may be shown on a line: what is not printable ASCII becomes '?', and it is cut.
function M.printable(text)
    return (gsub(sub(text, 1, M.LIMITS.reason_bytes), "[^\32-\126]", "?"))
end

-- The sandbox -----------------------------------------------------------------------------------

local BASE <const> = { "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget",
    "rawlen", "rawset", "select", "tonumber", "tostring", "type", "_VERSION" }
local LIBRARIES <const> = {
    string = { "byte", "char", "format", "len", "lower", "pack", "packsize", "reverse", "sub", "unpack", "upper" },
    table = { "pack" },
    math = { "abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max",
        "maxinteger", "min", "mininteger", "modf", "pi", "rad", "random", "randomseed", "sin", "sqrt", "tan",
        "tointeger", "type", "ult" },
    utf8 = { "char", "charpattern", "codepoint", "codes", "len", "offset" },
}

-- The most steps a pattern can take on a text: each unbounded repetition may try every length at every place.
local function pattern_steps(text_bytes, pattern)
    local steps, at = (text_bytes + 1.0) * (#pattern + 1), 1
    while at <= #pattern do
        local c = sub(pattern, at, at)
        if c == "[" then -- a set: one step, whatever is in it
            at = (find(pattern, "]", at + (sub(pattern, at + 1, at + 1) == "^" and 3 or 2), true)) or #pattern
        elseif c == "%" then
            at = at + 1
            if find(sub(pattern, at, at), "[b%d]") then
                steps = steps * (text_bytes + 1)
            end
        elseif c == "*" or c == "+" or c == "-" then
            steps = steps * (text_bytes + 1)
        elseif c == "?" then
            steps = steps * 2
        end
        at = at + 1
    end
    return steps
end

-- Length without metamethods, which could answer differently the next time.
local function plain_length(list)
    if type(list) ~= "table" or getmetatable(list) ~= nil then
        error("table functions take tables without a metatable here", 3)
    end
    return #list
end

-- Functions that can work for long within one instruction are charged for what they may do first.
local function charged_string(charge, real)
    local function on_pattern(name)
        return function(text, pattern, ...)
            if type(text) == "string" and type(pattern) == "string" then
                charge(pattern_steps(#text, pattern))
            end
            return real[name](text, pattern, ...)
        end
    end
    return {
        find = on_pattern("find"), match = on_pattern("match"),
        gmatch = on_pattern("gmatch"), gsub = on_pattern("gsub"),
        rep = function(text, count, separator)
            local n = tonumber(count) or 0
            charge(max(0, n))
            if n * (#tostring(text) + #tostring(separator or "")) > M.LIMITS.memory_bytes then
                error("a text of more than 16 MiB", 2)
            end
            return rep(text, count, separator)
        end,
    }
end

local function charged_table(charge, real)
    return {
        concat = function(list, separator, first, last)
            local length = plain_length(list)
            charge(max(0, (tonumber(last) or length) - (tonumber(first) or 1)))
            return real.concat(list, separator, first, last)
        end,
        insert = function(list, ...)
            local length = plain_length(list)
            charge(select("#", ...) > 1 and max(0, length - (tonumber((...)) or 0)) or 0)
            return real.insert(list, ...)
        end,
        move = function(from, first, last, at, to)
            plain_length(from)
            plain_length(to or from)
            charge(max(0, (tonumber(last) or 0) - (tonumber(first) or 0)))
            return real.move(from, first, last, at, to or from)
        end,
        remove = function(list, ...)
            charge(max(0, plain_length(list) - (tonumber((...)) or huge)))
            return real.remove(list, ...)
        end,
        sort = function(list, less)
            charge(plain_length(list) * 20)
            local sorted, problem = pcall(real.sort, list, less)
            if not sorted then -- what sort itself says has no line yet, and it is not this one's fault
                local own = type(problem) == "string" and (find(problem, "^invalid order function") or
                    find(problem, "^attempt to compare"))
                error(problem, own and 2 or 0)
            end
        end,
        unpack = function(list, first, last)
            local length = plain_length(list)
            charge(max(0, (tonumber(last) or length) - (tonumber(first) or 1)))
            return real.unpack(list, first, last)
        end,
    }
end

-- Curves ----------------------------------------------------------------------------------------

-- (e^z - 1) / z
local function growth(z)
    return abs(z) < 1e-9 and 1 or (exp(z) - 1) / z
end

--- The misses of a class over the items that it could hold, fitted to what it did with those it has.
-- requests, misses: in some time; items: held; age: of the item evicted next, in the same time.
-- By the footprint theory of Xiang et al. (ASPLOS 2013) the items held are what was asked for in the last `age`, and
-- the misses the rate at which that grows. So the curve goes through (0, requests) and (items, misses), and filling
-- it to `items` takes `age`; of the curves requests * (1 + n/a)^-b, from linear to hyperbolic, one fits.
-- Returns a function of items. Cost: some 40 steps to fit.
function M.miss_curve(requests, misses, items, age)
    if misses >= requests then
        return function() return requests end
    elseif misses <= 0 or items <= 0 then -- all that is asked for is there: who knows how little would do
        return function(n) return max(0, requests * (1 - n / max(items, 1))) end
    end
    local fall = log(requests / misses)
    local wanted, low, high = age * requests / items, -fall, 14
    for _ = 1, 40 do
        local middle = (low + high) / 2
        if growth(middle + fall) / growth(middle) < wanted then
            low = middle
        else
            high = middle
        end
    end
    local bend = (low + high) / 2
    return function(n)
        if abs(bend) < 1e-6 then
            return requests * exp(-fall * n / items)
        end
        local base = 1 + (exp(bend) - 1) * n / items
        return base > 0 and requests * base ^ (-fall / bend) or 0
    end
end

-- The hit ratio at so many bytes, along straight lines between the points of a curve, which goes through 0.
local function ratio_at(curve, bytes)
    local last_bytes, last_ratio = 0, 0
    for _, point in ipairs(curve) do
        if point[1] >= bytes then
            return last_ratio + (point[2] - last_ratio) * (bytes - last_bytes) / max(point[1] - last_bytes, 1)
        end
        last_bytes, last_ratio = point[1], point[2]
    end
    return last_ratio
end

--- How many hits a second a class of `after` would have more with so many pages more; a negative number of pages costs
-- hits. By the class's sampled curve where the host gave one, else by miss_curve, from what the class did between the
-- two snapshots.
function M.page_gain(class, pages)
    local held, requests = class.total_pages, class.hits_per_s + class.misses_per_s
    pages = max(pages, -held)
    if class.evicted_per_s == 0 and pages > 0 or requests == 0 then
        return 0 -- it does not fill the pages it has
    elseif class.curve and #class.curve > 0 then
        return requests * (ratio_at(class.curve, (held + pages) * PAGE_BYTES)
            - ratio_at(class.curve, held * PAGE_BYTES))
    end
    local items = class.number * (held + pages) / max(held, 1)
    local misses = M.miss_curve(requests, class.misses_per_s, class.number, class.victim_age_s)
    return misses(class.number) - misses(items)
end

local function copy_names(from, names, to)
    for _, name in ipairs(names) do
        to[name] = from[name]
    end
    return to
end

-- A finalizer would run outside every limit.
local function safe_setmetatable(object, metatable)
    if type(metatable) == "table" and rawget(metatable, "__gc") ~= nil then
        error("a policy may not have finalizers (__gc)", 2)
    end
    return setmetatable(object, metatable)
end

-- A real xpcall calls its handler where the error is raised: for a limit that is within the hook, where no
-- hook would stop it. This one calls it when the call is over.
local function safe_xpcall(f, handler, ...)
    local results = pack(pcall(f, ...))
    if results[1] then
        return unpack(results, 1, results.n)
    end
    return false, handler(results[2])
end

--- The globals of a policy. libraries: _G. host: charge(n), which counts n steps and raises an error
-- when the limit is reached; log(text), for print.
function M.environment(libraries, host)
    local environment = copy_names(libraries, BASE, {
        setmetatable = safe_setmetatable, xpcall = safe_xpcall,
    })
    for name, names in pairs(LIBRARIES) do
        environment[name] = copy_names(libraries[name], names, {})
    end
    for _, library in ipairs({ "string", "table" }) do
        local charged = (library == "string" and charged_string or charged_table)(host.charge,
            copy_names(libraries[library], { "find", "match", "gmatch", "gsub", "concat", "insert", "move", "remove",
                "sort", "unpack" }, {}))
        for name, f in pairs(charged) do
            environment[library][name] = f
        end
    end
    function environment.print(...)
        local words = {}
        for i = 1, select("#", ...) do
            words[i] = tostring((select(i, ...)))
        end
        if host.lines_left > 0 then
            host.lines_left = host.lines_left - 1
            host.log(M.printable(concat(words, " ")))
        end
    end
    environment.miss_curve, environment.page_gain = M.miss_curve, M.page_gain
    environment._G = environment
    return environment
end

-- Settings --------------------------------------------------------------------------------------

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

-- A number whose default is whole is whole.
local function read_value(name, row, text)
    if type(row.default) == "string" then
        return text
    end
    local value = tonumber(text)
    if value and integer_or_float(row.default) == "integer" then
        value = tointeger(value)
    end
    if not value then
        error(format("setting %s wants a %snumber, not '%s'", name,
            integer_or_float(row.default) == "integer" and "whole " or "", text), 0)
    end
    return check_range(name, row, value)
end

--- The values of the declared settings, as given in words "name=value" or by default.
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

-- Snapshots -------------------------------------------------------------------------------------

local COUNTERS <const> = { "evicted", "outofmemory", "get_hits", "cmd_set" }
local GAUGES <const> = { "chunk_size", "chunks_per_page", "total_pages", "total_chunks", "used_chunks", "free_chunks",
    "number", "age", "mem_requested" }

-- The age of what would be evicted next. While the queue that evicts is empty, servers say 0; then it is the oldest
-- tail of the others that counts, as in slated's own snapshots.
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

--- Pages that the server may have, and those that no class has; both nil when it does not say.
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

-- A copy, which the policy may do with as it likes.
local function copy_snapshot(snapshot)
    local copy = shallow_copy(snapshot)
    for _, name in ipairs({ "general", "settings", "totals" }) do
        copy[name] = snapshot[name] and shallow_copy(snapshot[name])
    end
    copy.classes, copy.by_id = {}, {}
    copy.pages_limit, copy.pages_free = M.pages(snapshot)
    copy.pages_free = copy.pages_free or 0 -- a memcached without a pool of free pages does not tell
    for i, class in ipairs(snapshot.classes) do
        copy.classes[i] = copy_class(class)
        copy.by_id[class.id] = copy.classes[i]
    end
    return copy
end

-- What a class that is new, or was empty, had counted is not known: nothing grew. Counters that went
-- back began anew.
local function settle_counters(was, class)
    for _, name in ipairs(COUNTERS) do
        class[name] = class[name] or was[name] or 0
        was[name] = was[name] or class[name]
        if was[name] > class[name] then
            was[name] = 0
        end
    end
end

-- A class that was not there, or was another one by the same id: a geometry that changes gives ids to new sizes.
local function stand_in(class)
    return copy_class({ id = class.id, chunk_size = class.chunk_size, chunks_per_page = class.chunks_per_page })
end

-- The growth of a counter, which may be missing or have begun anew.
local function grown(was, now, name)
    return max(0, (now[name] or 0) - (was and was[name] or 0))
end

--- What a store of an interval stands for: misses of the server by stores of its classes; 1 where the server counts no
-- misses. Then the misses that no store stands for: all of them in an interval without stores.
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

-- What the classes of `after` did between the two: rates, and how long what they evict had lived, by Little's law.
local function add_rates(before, after)
    local seconds, each = max(after.time_s - before.time_s, 1e-3), M.misses_a_store(before, after)
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local stores = grown(was, class, "cmd_set")
        class.hits_per_s, class.stores_per_s = grown(was, class, "get_hits") / seconds, stores / seconds
        class.misses_per_s = stores * each / seconds
        class.evicted_per_s = grown(was, class, "evicted") / seconds
        class.victim_age_s = class.age
        if class.evicted_per_s > 0 then
            local lived_s = class.number / class.evicted_per_s
            class.victim_age_s = class.age > 0 and min(class.age, lived_s) or lived_s
        end
    end
end

--- Two snapshots as a policy is shown them: copies in which every class of `after` is in
-- `before.by_id` too, no counter of `before` is above that of `after`, and no field that
-- slate-policies(7) promises is missing. Classes of `after` have what they did between the two.
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
        if not after.by_id[id] then -- it is gone
            settle_counters(class, class)
        end
        before.classes[#before.classes + 1] = class
    end
    sort(before.classes, function(a, b) return a.id < b.id end)
    add_rates(before, after)
    return before, after
end

-- Decisions -------------------------------------------------------------------------------------

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
            M.printable(tostring(value))), 0)
    end
    return n
end

-- Checks one move against the pages that those before it left: by class, and by 0 of the pool.
local function check_move(i, move, left)
    if type(move) ~= "table" then
        error(format("move %d is not a table", i), 0)
    end
    local from, to = whole(move, i, "from", 0, 255), whole(move, i, "to", 0, 255)
    local pages = whole(move, i, "pages", 1, M.LIMITS.pages, 1)
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
    local keeps = from == 0 and 0 or 1
    if left[from] - keeps < pages then
        error(format("move %d: %s has %d pages%s and cannot give %d", i, class_name(from), left[from],
            keeps > 0 and ", keeps one" or "", pages), 0)
    end
    left[from], left[to] = left[from] - pages, left[to] + pages
    return { from = from, to = to, pages = pages, reason = M.printable(move.reason) }
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
        if i > M.LIMITS.moves then
            error(format("decide returns more than %d moves", M.LIMITS.moves), 0)
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
    randomseed(0) -- so that it decides the same each time
    local policy = { decide_function = value.decide, settings = settings, window_s = settings.window_s or 1,
        wants_curves = value.curves == true, history = {}, asked = {}, told = {} }
    policy.state = settings
    if value.init then
        policy.state = value.init(shallow_copy(settings))
    end
    return policy
end

--- Is it time to decide: has the policy's window passed between two snapshots?
function M.is_due(policy, before, after)
    return after.time_s - before.time_s + EARLY_S >= policy.window_s
end

-- What was seen between two decisions, as far as a policy may want to look back.
local SEEN <const> = { "total_pages", "hits_per_s", "misses_per_s", "stores_per_s", "evicted_per_s", "victim_age_s" }

local function remember(policy, after)
    local history = policy.history
    history[#history + 1] = { time_s = after.time_s, by_id = {} }
    for _, class in ipairs(after.classes) do
        history[#history].by_id[class.id] = copy_names(class, SEEN, {})
    end
    while #history > M.LIMITS.history do
        remove(history, 1)
    end
end

-- The moves of the decision before, with what became of them: as the host told, and where it did not, pages that the
-- giver has fewer and the getter more.
local function last_moves(policy, after)
    for i, one in ipairs(policy.asked) do
        local told, from, to = policy.told[i] or {}, after.by_id[one.from], after.by_id[one.to]
        local given = from and max(0, one.had_from - from.total_pages) or one.pages
        local got = to and max(0, to.total_pages - one.had_to) or one.pages
        one.moved = told.pages_moved or min(one.pages, given, got)
        one.state, one.lost, one.rescued = told.state, told.items_lost, told.items_rescued
        one.had_from, one.had_to = nil, nil
    end
    return policy.asked
end

local function note_asked(policy, moves, after)
    policy.asked, policy.told = {}, {}
    for i, one in ipairs(moves) do
        local from, to = after.by_id[one.from], after.by_id[one.to]
        policy.asked[i] = { from = one.from, to = one.to, pages = one.pages, reason = one.reason,
            had_from = from and from.total_pages or 0, had_to = to and to.total_pages or 0 }
    end
end

--- Tells a policy what became of the moves of its last decision: in their order { state, pages_moved, items_lost,
-- items_rescued }, as far as it is known.
function M.tell(policy, results)
    policy.told = results
end

--- A decision: a list of checked moves { from, to, pages, reason }, and a sentence or nil.
function M.decide(policy, before, after)
    before, after = M.pair(before, after)
    after.last_moves, after.history = last_moves(policy, after), shallow_copy(policy.history)
    remember(policy, after)
    local pages = { by_id = {} } -- as of now, however the policy changes its copy
    for _, class in ipairs(after.classes) do
        pages.by_id[class.id] = { total_pages = class.total_pages }
    end
    local left = { [0] = after.pages_free or 0 } -- noted now: the policy may change its copy
    for _, class in ipairs(after.classes) do
        left[class.id] = class.total_pages
    end
    local answer, why = policy.decide_function(before, after, policy.state)
    local moves = check_moves(answer, left)
    note_asked(policy, moves, pages)
    return moves, type(why) == "string" and byte(why) and M.printable(why) or nil
end

return M
