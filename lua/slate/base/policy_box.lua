-- SPDX-License-Identifier: BSD-3-Clause
--- What code of an operator's own (policies, rules) may use, and how much of it: the limits, and its globals.
--
-- It is built into slated with slate.base.policy_core, under whose rule it stands: what it uses is looked up once.
local curve = require "slate.base.policy_curve"

local error, getmetatable, ipairs, pairs, pcall, rawget, select, setmetatable, tonumber, tostring, type =
    error, getmetatable, ipairs, pairs, pcall, rawget, select, setmetatable, tonumber, tostring, type
local find, gsub, rep, sub = string.find, string.gsub, string.rep, string.sub
local concat, pack, unpack = table.concat, table.pack, table.unpack
local huge, max = math.huge, math.max

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

--- Copies the fields of these names into a table, and returns that.
function M.copy_names(from, names, to)
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
    local environment = M.copy_names(libraries, BASE, {
        setmetatable = safe_setmetatable, xpcall = safe_xpcall,
    })
    for name, names in pairs(LIBRARIES) do
        environment[name] = M.copy_names(libraries[name], names, {})
    end
    for _, library in ipairs({ "string", "table" }) do
        local charged = (library == "string" and charged_string or charged_table)(host.charge,
            M.copy_names(libraries[library], { "find", "match", "gmatch", "gsub", "concat", "insert", "move", "remove",
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
    environment.miss_curve, environment.page_gain = curve.miss_curve, curve.page_gain
    environment._G = environment
    return environment
end

return M
