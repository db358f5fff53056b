-- SPDX-License-Identifier: BSD-3-Clause
--- Runs functions that came from a file under the limits of slate.base.policy_box.
--
-- A function runs in a coroutine of its own, whose hook counts instructions, memory and processor
-- time: once a limit is reached every further instruction fails, so that no pcall of the function
-- outlives it. slated keeps the same limits with its own allocator, which also stops a single huge
-- allocation; here memory is looked at every few instructions.
--
-- What comes out of a call may have metatables, whose functions would run outside every limit: take M.plain of it, or
-- only texts and numbers.
local rules = require "slate.base.policy_box"

local M = {}

-- Methods of texts are the policy's while it runs: what is needed here is not looked up then.
local format = string.format

local STEP <const> = 10 -- instructions between two looks at memory; a text can double with every third
local LOOKS_A_CLOCK <const> = 100

local Box = {}
Box.__index = Box
Box.__name = "slate.base.sandbox"

--- A sandbox. log(text): what becomes of print; nil: nothing. limits: some of rules.LIMITS, to have other ones, and
-- step: instructions between two looks at memory and the clock.
function M.new(log, limits)
    local self = setmetatable({ limits = setmetatable(limits or {}, { __index = rules.LIMITS }) }, Box)
    self.host = {
        log = log or function() end,
        charge = function(n) self:spend(n) end,
    }
    self.environment = rules.environment(_G, self.host)
    self.step = self.limits.step or STEP
    return self
end

--- A copy of a value with the tables in it, so many deep, without metatables and what lies deeper.
function M.plain(value, depth, seen)
    if type(value) ~= "table" then
        return value
    elseif depth == 0 then
        return nil
    end
    seen = seen or {}
    seen[depth] = seen[depth] or {}
    local copy = seen[depth][value]
    if not copy then
        copy = {}
        seen[depth][value] = copy
        for name, inner in next, value do
            copy[name] = M.plain(inner, depth - 1, seen)
        end
    end
    return copy
end

-- Ends the running call: from here on each instruction of it fails with the same words.
function Box:trip(words)
    self.tripped = words
    debug.sethook(self.thread, function() error(words, 0) end, "", 1)
    error(words, 0)
end

function Box:spend(steps)
    self.left = self.left - steps
    if self.tripped or self.left < 0 then
        self:trip(self.tripped or format("took more than %d instructions", self.limits.instructions))
    end
end

local function used_bytes()
    return collectgarbage("count") * 1024
end

-- The hook of a call. It runs every few instructions, and so takes most of a call's time: what it needs is at hand.
function Box:hook()
    local step, limits, collect, clock_s = self.step, self.limits, collectgarbage, os.clock
    local most_kb, until_s = (used_bytes() + limits.memory_bytes) / 1024, clock_s() + limits.cpu_s
    local looks = 0
    return function()
        self.left = self.left - step
        if self.left < 0 or self.tripped then
            self:spend(0)
        end
        if collect("count") > most_kb then
            collectgarbage()
            if collect("count") > most_kb then
                self:trip(format("needs more than %d MiB of memory", limits.memory_bytes >> 20))
            end
        end
        looks = looks + 1
        if looks % LOOKS_A_CLOCK == 0 and clock_s() > until_s then
            self:trip(format("took more than %g s of processor time", limits.cpu_s))
        end
    end
end

local function message_of(raised)
    if type(raised) == "string" then
        return rules.printable(raised)
    end
    return format("raised a %s instead of a message", type(raised))
end

--- Calls a function under the limits. Returns true and its results, or false and a message.
function Box:call(f, ...)
    -- Methods of texts are found by a metatable that all of Lua shares.
    local texts = debug.getmetatable("")
    local index, lock = texts.__index, texts.__metatable
    texts.__index, texts.__metatable = self.environment.string, false
    self.thread = coroutine.create(f)
    self.left, self.tripped, self.host.lines_left = self.limits.instructions, nil, self.limits.lines
    debug.sethook(self.thread, self:hook(), "", self.step)
    local results = table.pack(coroutine.resume(self.thread, ...))
    texts.__index, texts.__metatable = index, lock
    if results[1] then
        return table.unpack(results, 1, results.n)
    end
    return false, message_of(results[2])
end

--- Within a call that lasts, of a function of ours that calls those of a file again and again: the next of these calls
-- may take as many instructions as the first.
function Box:renew()
    self.left = self.limits.instructions
end

--- Makes a function of source text, which sees only the sandbox. Precompiled code is refused.
-- name: for messages. Returns the function, or nil and a message.
function Box:load(text, name)
    local f, problem = load(text, "=" .. name, "t", self.environment)
    if not f then
        return nil, rules.printable(problem)
    end
    return f
end

return M
