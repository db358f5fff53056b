-- SPDX-License-Identifier: BSD-3-Clause
--- Runs functions that came from a file under the limits of slate.base.policy_box.
--
-- A function runs in a coroutine of its own, whose hook counts instructions, memory and processor time. Once a limit is
-- reached every further instruction fails: a pcall of the function cannot catch that and go on. In slated an allocator
-- enforces the same limits, and it also stops a single huge allocation. Here the memory of an instruction is counted
-- after the instruction. So the collector is stopped while the function runs, and from the first large growth of memory
-- on, the hook checks each instruction.
--
-- Values that outlive a call, in variables of the file, are weighed when they may have reached half of the limit.
--
-- Results of a call may have metatables, whose functions would run outside every limit: use M.plain of a result, or
-- only texts and numbers.
local rules = require "slate.base.policy_box"

local M = {}

-- Methods of texts are the policy's while it runs, so this module looks up its own before.
local format = string.format

-- Instructions between two checks of memory. Lua counts the hook's own, too: a check has twice as many, so that all are
-- counted right (lua_policy_spec). Texts can grow some thirty times in this number of instructions.
local STEP <const> = 13
local CALM_KB <const> = 8 -- growth between two checks; one instruction can join some 200 texts of this length
local INSTRUCTIONS_A_CLOCK <const> = 1000
local LONG_SOURCE_BYTES <const> = 16 << 10 -- a shorter source may hold texts, but they take little memory
local TABLE_BYTES <const>, ENTRY_BYTES <const>, TEXT_BYTES <const> = 56, 40, 24

local Box = {}
Box.__index = Box
Box.__name = "slate.base.sandbox"

--- Makes a sandbox. log(text): called by print; nil: prints are dropped. limits: those of rules.LIMITS to replace, and
-- step: instructions between two checks of memory and the clock.
function M.new(log, limits)
    local self = setmetatable({ limits = setmetatable(limits or {}, { __index = rules.LIMITS }) }, Box)
    self.host = {
        log = log or function() end,
        charge = function(n) self:spend(n) end,
    }
    self.environment = rules.environment(_G, self.host)
    self.step = self.limits.step or STEP
    self.is_bounded = self.limits.memory_bytes < math.huge
    self.given = {}
    for _, value in pairs(self.environment) do
        self.given[value] = type(value) == "function" or nil
        for _, inner in pairs(type(value) == "table" and value or {}) do
            self.given[inner] = true
        end
    end
    self.roots = setmetatable({}, { __mode = "k" })
    self:retain(self.environment)
    self.weight_kb, self.grown_kb = 0, 0 -- memory of the file's values when last weighed; growth by calls since
    return self
end

-- Adds a table or a function to the roots from which `weigh` finds the file's values.
function Box:retain(value)
    if type(value) == "table" or type(value) == "function" then
        self.roots[value] = true
    end
end

-- The bytes of the file's values (texts, tables, functions), by Lua's sizes, without the sandbox's own functions.
function Box:weigh()
    local bytes, stack, seen = 0, {}, {}
    local function add(value)
        local kind = type(value)
        if (kind == "table" or kind == "function" or kind == "string") and not seen[value] then
            seen[value], stack[#stack + 1] = true, value
        end
    end
    for given in pairs(self.given) do
        seen[given] = true
    end
    for root in pairs(self.roots) do
        add(root)
    end
    while #stack > 0 do
        local value = table.remove(stack)
        bytes = bytes + (type(value) == "string" and TEXT_BYTES + #value or TABLE_BYTES)
        if type(value) == "table" then
            for name, inner in next, value do
                bytes = bytes + ENTRY_BYTES
                add(name)
                add(inner)
            end
            add(debug.getmetatable(value))
        elseif type(value) == "function" then
            local i, name, inner = 1, debug.getupvalue(value, 1)
            while name do
                add(inner)
                i = i + 1
                name, inner = debug.getupvalue(value, i)
            end
        end
    end
    return bytes
end

--- A copy of a value and its tables to a depth, without metatables and deeper tables.
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

-- Ends the running call: from here on each of its instructions fails with the same words.
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

-- Ends the call if a local of the running function is too long a text. level: of the hook.
function Box:check_texts(level)
    local i, name, value = 1, debug.getlocal(level + 1, 1)
    while name do
        if type(value) == "string" and #value > self.limits.text_bytes then
            self:trip(format("makes a text of more than %d KiB", self.limits.text_bytes >> 10))
        end
        i = i + 1
        name, value = debug.getlocal(level + 1, i)
    end
end

-- The hook of a call. It runs every few instructions and takes most of a call's time, so it reads only locals.
function Box:hook()
    local step, limits, collect, clock_s = self.step, self.limits, collectgarbage, os.clock
    local last_kb, until_s, unclocked = collect("count"), clock_s() + limits.cpu_s, 0
    local most_kb = last_kb + limits.memory_bytes / 1024 - self.weight_kb
    local calm_kb, text_kb = self.is_bounded and CALM_KB or math.huge, limits.text_bytes / 1024
    local function check()
        self.left = self.left - step
        if self.left < 0 or self.tripped then
            self:spend(0)
        end
        local now_kb = collect("count")
        unclocked = unclocked + step
        if now_kb - last_kb > calm_kb then
            if step > 1 then
                step = 1
                debug.sethook(self.thread, check, "", step)
            elseif now_kb - last_kb > text_kb then
                self:check_texts(2)
            end
        end
        if now_kb > most_kb then
            collect()
            now_kb, unclocked = collect("count"), INSTRUCTIONS_A_CLOCK
            if now_kb > most_kb then
                self:trip(self:fat())
            end
        end
        last_kb = now_kb
        if unclocked >= INSTRUCTIONS_A_CLOCK then
            unclocked = 0
            if clock_s() > until_s then
                self:trip(format("took more than %g s of processor time", limits.cpu_s))
            end
        end
    end
    return check
end

function Box:fat()
    return format("needs more than %d MiB of memory", self.limits.memory_bytes >> 20)
end

local function message_of(raised)
    if type(raised) == "string" then
        return rules.printable(raised)
    end
    return format("raised a %s instead of a message", type(raised))
end

-- True if the values that the file holds are within the limit.
function Box:is_fit()
    local most_kb = self.limits.memory_bytes / 1024
    if self.weight_kb + self.grown_kb > most_kb / 2 then
        self.weight_kb, self.grown_kb = self:weigh() / 1024, 0
    end
    return self.weight_kb <= most_kb
end

--- Calls a function under the limits. Returns true and its results, or false and a message.
function Box:call(f, ...)
    if not self:is_fit() then
        return false, self:fat()
    end
    -- All of Lua shares one metatable, by which methods of texts are found.
    local texts = debug.getmetatable("")
    local index, lock = texts.__index, texts.__metatable
    texts.__index, texts.__metatable = self.environment.string, false
    self.thread = coroutine.create(f)
    self.left, self.tripped, self.host.lines_left = self.limits.instructions, nil, self.limits.lines
    local collects = self.is_bounded and collectgarbage("isrunning")
    if collects then
        collectgarbage("stop")
    end
    local before_kb = collectgarbage("count")
    debug.sethook(self.thread, self:hook(), "", self.step)
    local results = table.pack(coroutine.resume(self.thread, ...))
    self.grown_kb = self.grown_kb + math.max(0, collectgarbage("count") - before_kb)
    if collects then
        collectgarbage("restart")
    end
    texts.__index, texts.__metatable = index, lock
    for i = 2, results.n do
        self:retain(results[i])
    end
    if results[1] then
        return table.unpack(results, 1, results.n)
    end
    return false, message_of(results[2])
end

--- Makes a function of source text, which sees only the sandbox. Precompiled code is refused.
-- name: for messages. Returns the function, or nil and a message.
function Box:load(text, name)
    local f, problem = load(text, "=" .. name, "t", self.environment)
    if not f then
        return nil, rules.printable(problem)
    end
    self:retain(f)
    if #text > LONG_SOURCE_BYTES then
        self.step = 1
    end
    return f
end

return M
