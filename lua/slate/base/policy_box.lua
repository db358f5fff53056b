-- SPDX-License-Identifier: BSD-3-Clause
--- What an operator's own code (policies, rules) may use, and how much of it: its limits and globals.
--
-- slated has this file built in with slate.base.policy_core, whose rule holds here: functions are looked up once.
local curve = require "slate.base.policy_curve"

local error, getmetatable, ipairs, next, pairs, pcall, select, setmetatable, tonumber, tostring, type =
    error, getmetatable, ipairs, next, pairs, pcall, select, setmetatable, tonumber, tostring, type
local find, gsub, match, rep, sub = string.find, string.gsub, string.match, string.rep, string.sub
local format = string.format
local concat, pack, unpack = table.concat, table.pack, table.unpack
local huge, max, min = math.huge, math.max, math.min

local M = {}

--- The limits that every host enforces. For one call of a policy: loading it, its init, or a decision.
M.LIMITS = {
    instructions = 10000000,  -- of Lua's virtual machine; library functions are charged by the work that they can do
    memory_bytes = 16 << 20,  -- of the policy with all its values
    text_bytes = 64 << 10,    -- of one text: an instruction can compare or copy texts
    cpu_s = 1,                -- of processor time
    source_bytes = 256 << 10, -- of the file
    history = 12,             -- past decisions that a policy can read
    moves = 8,                -- in one decision
    pages = 8,                -- in one move
    reason_bytes = 159,       -- of a reason, an explanation or an error; the rest is cut off
    lines = 20,               -- printed in one call; further ones are dropped
}

--- A text for a line of a screen: '?' replaces all but printable ASCII, and the text is cut to reason_bytes.
function M.printable(text)
    return (gsub(sub(text, 1, M.LIMITS.reason_bytes), "[^\32-\126]", "?"))
end

local BASE <const> = { "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget",
    "rawlen", "rawset", "select", "tonumber", "tostring", "type", "_VERSION" }
local LIBRARIES <const> = {
    string = { "byte", "len", "lower", "packsize", "reverse", "sub", "unpack", "upper" },
    table = { "pack" },
    math = { "abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max",
        "maxinteger", "min", "mininteger", "modf", "pi", "rad", "random", "randomseed", "sin", "sqrt", "tan",
        "tointeger", "type", "ult" },
    utf8 = { "charpattern", "codepoint", "codes", "len", "offset" },
}

-- The most steps that a pattern can take on a text: each unbounded repetition may try every length at every place.
local function pattern_steps(text_bytes, pattern)
    local steps, at = (text_bytes + 1.0) * (#pattern + 1), 1
    while at <= #pattern do
        local c = sub(pattern, at, at)
        if c == "[" then -- a set is one step, however many characters it has
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

-- The length without metamethods, which could return another length the next time.
local function plain_length(list)
    if type(list) ~= "table" or getmetatable(list) ~= nil then
        error("table functions take tables without a metatable here", 3)
    end
    return #list
end

local FORMAT_STEPS <const> = 100 -- a number can have some hundred digits

-- Refuses a text that is too long: before it is made, or as soon as it is made.
local function check_text(bytes)
    if bytes > M.LIMITS.text_bytes then
        error(format("makes a text of more than %d KiB", M.LIMITS.text_bytes >> 10), 0)
    end
end

local function checked(text, ...)
    check_text(#text)
    return text, ...
end

-- The bytes of the texts among values of a list; raises an error once their sum is too long for a text.
local function bytes_of(list, first, last)
    local sum = 0
    for i = first, last do
        sum = sum + (type(list[i]) == "string" and #list[i] or 0)
        check_text(sum)
    end
    return sum
end

-- The replacement to hand to gsub: counts the results of a function, or raises an error if a text would grow too long.
local function counted(real, text, pattern, replacement, most)
    local kind, sum = type(replacement), 0
    if kind == "string" then
        local _, matches = real.gsub(text, pattern, "", most)
        local _, captures = real.gsub(replacement, "%%", "")
        local bytes = 4 * matches * #replacement + captures * #tostring(text) -- a place in a text has few digits
        check_text(bytes > M.LIMITS.memory_bytes and bytes or 0)
    end
    if kind ~= "function" and kind ~= "table" then
        return replacement
    end
    return function(...)
        local value
        if kind == "function" then
            value = replacement(...)
        else
            value = replacement[(...)]
        end
        sum = sum + (type(value) == "string" and #value or 0)
        check_text(sum)
        return value
    end
end

-- Functions that can work for long within one instruction are charged before they run, for the most they may do.
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
        find = on_pattern("find"), match = on_pattern("match"), gmatch = on_pattern("gmatch"),
        char = function(...) return checked(real.char(...)) end,
        format = function(form, ...)
            local given = pack(...)
            charge(given.n * FORMAT_STEPS)
            for i = 1, given.n do
                if type(given[i]) == "table" and getmetatable(given[i]) ~= nil then
                    given[i] = tostring(given[i])
                end
            end
            bytes_of(given, 1, given.n)
            return checked(real.format(form, unpack(given, 1, given.n)))
        end,
        gsub = function(text, pattern, replacement, most)
            if type(text) == "string" and type(pattern) == "string" then
                charge(pattern_steps(#text, pattern))
            end
            return checked(real.gsub(text, pattern, counted(real, text, pattern, replacement, most), most))
        end,
        pack = function(form, ...)
            bytes_of({ ... }, 1, select("#", ...))
            return checked(real.pack(form, ...))
        end,
        rep = function(text, count, separator)
            local n = tonumber(count) or 0
            charge(max(0, n))
            check_text(n * (#tostring(text) + #tostring(separator or "")))
            return rep(text, count, separator)
        end,
    }
end

local function is_less(a, b) return a < b end

local function charged_table(charge, real)
    return {
        concat = function(list, separator, first, last)
            local length = plain_length(list)
            local from, to = tonumber(first) or 1, tonumber(last) or length
            charge(max(0, to - from))
            check_text(max(0, to - from) * (type(separator) == "string" and #separator or 0)
                + bytes_of(list, from, to))
            return checked(real.concat(list, separator, first, last))
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
            plain_length(list)
            local sorted, problem = pcall(real.sort, list, less or is_less) -- by instructions: the hook counts them
            if not sorted then -- an error of sort itself has no line yet, and would get this file's line
                local own = type(problem) == "string" and (match(problem, "^invalid order function.*")
                    or not less and match(problem, "attempt to compare.*"))
                error(own or problem, own and 2 or 0)
            end
        end,
        unpack = function(list, first, last)
            local length = plain_length(list)
            charge(max(0, (tonumber(last) or length) - (tonumber(first) or 1)))
            return real.unpack(list, first, last)
        end,
    }
end

--- Copies the fields with these names into a table, and returns the table.
function M.copy_names(from, names, to)
    for _, name in ipairs(names) do
        to[name] = from[name]
    end
    return to
end

-- A finalizer would run outside every limit. So does the collector, which weak tables can keep busy without end. So a
-- metatable is checked and copied: later changes of the policy's own table have no effect.
local function safe_setmetatable(object, metatable)
    if type(metatable) ~= "table" then
        return setmetatable(object, metatable)
    end
    local copy = { __metatable = metatable }
    for name, value in next, metatable do
        if name == "__gc" or name == "__mode" then
            error(name == "__gc" and "a policy may not have finalizers (__gc)"
                or "a policy may not have weak tables (__mode)", 2)
        elseif type(name) == "string" and sub(name, 1, 2) == "__" then
            copy[name] = value
        end
    end
    return setmetatable(object, copy)
end

-- A real xpcall calls its handler where the error is raised. For a limit, that is within the hook, where no hook would
-- stop the handler. This xpcall calls the handler when the call is over.
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
    local environment = M.copy_names(libraries, BASE, {
        setmetatable = safe_setmetatable, xpcall = safe_xpcall,
    })
    for name, names in pairs(LIBRARIES) do
        environment[name] = M.copy_names(libraries[name], names, {})
    end
    for _, library in ipairs({ "string", "table" }) do
        local charged = (library == "string" and charged_string or charged_table)(host.charge,
            M.copy_names(libraries[library], { "char", "find", "format", "match", "gmatch", "gsub", "pack", "concat",
                "insert", "move", "remove", "sort", "unpack" }, {}))
        for name, f in pairs(charged) do
            environment[library][name] = f
        end
    end
    local char = libraries.utf8.char
    function environment.utf8.char(...) return checked(char(...)) end
    function environment.print(...)
        local words = {}
        for i = 1, select("#", ...) do
            words[i] = M.printable(tostring((select(i, ...))))
        end
        if host.lines_left > 0 then
            host.lines_left = host.lines_left - 1
            host.log(M.printable(concat(words, " ", 1, min(#words, M.LIMITS.reason_bytes))))
        end
    end
    environment.miss_curve, environment.page_gain = curve.miss_curve, curve.page_gain
    environment._G = environment
    return environment
end

return M
