-- SPDX-License-Identifier: BSD-3-Clause
-- Counts the cost of patterns: the single characters that string.find, match, gmatch and gsub try, as Lua's own matcher
-- would, instead of time.
local real = { find = string.find, match = string.match, gmatch = string.gmatch, gsub = string.gsub }
local byte, sub = string.byte, string.sub
local library = getmetatable("").__index -- string

local M = {}

-- The end of the single character of a pattern that begins at p.
local function item_end(pattern, p)
    local c = sub(pattern, p, p)
    if c == "%" then
        return p + 2
    elseif c ~= "[" then
        return p + 1
    end
    p = p + (sub(pattern, p + 1, p + 1) == "^" and 2 or 1)
    repeat p = p + (sub(pattern, p, p) == "%" and 2 or 1) until sub(pattern, p, p) == "]"
    return p + 1
end

-- A machine for one pattern: try(at) returns the end of a match that begins there, or nil.
local function machine(self, text, pattern)
    local items, try = {}, nil
    local function single(at, p, e)
        self.steps = self.steps + 1
        assert(self.steps <= self.most, "more than " .. self.most .. " steps: " .. pattern)
        if at > #text then
            return false
        end
        local item = items[p] or "^" .. sub(pattern, p, e - 1)
        items[p] = item
        return real.find(sub(text, at, at), item) ~= nil
    end
    function try(at, p)
        while p <= #pattern do
            local c, after = sub(pattern, p, p), sub(pattern, p + 1, p + 1)
            if c == "(" or c == ")" then
                p = p + 1
            elseif c == "$" and p == #pattern then
                return at > #text and at or nil
            elseif c == "%" and after == "f" then
                local e = item_end(pattern, p + 2)
                local set = "^" .. sub(pattern, p + 2, e - 1)
                local before = at > 1 and sub(text, at - 1, at - 1) or "\0"
                local now = at <= #text and sub(text, at, at) or "\0"
                if real.find(before, set) or not real.find(now, set) then
                    return nil
                end
                p = e
            else
                local e = item_end(pattern, p)
                local repeats = sub(pattern, e, e)
                if repeats == "*" or repeats == "+" then
                    local n = 0
                    while single(at + n, p, e) do n = n + 1 end
                    for k = n, repeats == "+" and 1 or 0, -1 do
                        local ends = try(at + k, e + 1)
                        if ends then
                            return ends
                        end
                    end
                    return nil
                elseif repeats == "-" then
                    while true do
                        local ends = try(at, e + 1)
                        if ends then
                            return ends
                        elseif not single(at, p, e) then
                            return nil
                        end
                        at = at + 1
                    end
                elseif repeats == "?" then
                    if single(at, p, e) then
                        local ends = try(at + 1, e + 1)
                        if ends then
                            return ends
                        end
                    end
                    p = e + 1
                elseif not single(at, p, e) then
                    return nil
                else
                    at, p = at + 1, e
                end
            end
        end
        return at
    end
    local anchored = byte(pattern) == 94
    return function(at) return try(at, anchored and 2 or 1) end, anchored
end

-- Counts the steps of a scan for the first match, or for all.
local function scan(self, text, pattern, at, all)
    if type(text) ~= "string" or type(pattern) ~= "string" then
        return
    end
    local try, anchored = machine(self, text, pattern)
    while at <= #text + 1 do
        local ends = try(at)
        if anchored or ends and not all then
            return
        end
        at = ends and ends > at and ends or at + 1
    end
end

--- Calls f, and counts the steps of all patterns meanwhile. Raises an error beyond `most`.
function M.count(most, f, ...)
    local self = { steps = 0, most = most }
    function library.find(text, pattern, at, plain)
        if not plain then
            scan(self, text, pattern, math.max(1, at or 1))
        end
        return real.find(text, pattern, at, plain)
    end
    function library.match(text, pattern, at)
        scan(self, text, pattern, math.max(1, at or 1))
        return real.match(text, pattern, at)
    end
    function library.gmatch(text, pattern)
        scan(self, text, pattern, 1, true)
        return real.gmatch(text, pattern)
    end
    function library.gsub(text, pattern, ...)
        scan(self, text, pattern, 1, true)
        return real.gsub(text, pattern, ...)
    end
    local results = table.pack(pcall(f, ...))
    for name, function_of in pairs(real) do library[name] = function_of end
    assert(results[1], results[2])
    return self.steps
end

return M
