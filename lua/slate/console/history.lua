-- SPDX-License-Identifier: BSD-3-Clause
--- Rings of samples: the times, and columns of values. A sample is one string of floats, 4 bytes a value: a column
--- takes as little memory as in C. A value that was not measured is nil. Times never go backwards.
local pack, rep, unpack = string.pack, string.rep, string.unpack

local M = {}

local NAN <const> = 0 / 0
local FLOAT_BYTES <const> = 4

local History = {}
History.__index = History
History.__name = "slate.console.history"

--- A history of so many samples at most.
function M.new(capacity)
    return setmetatable({ capacity = capacity, used = 0, count = 0, at_s = {}, rows = {}, values = {}, begins = {},
        means = {}, backs = {}, life = 0 }, History)
end

--- Appends a sample: the values of columns 1 to `columns`, nil for what was not measured.
function History:add(at_s, values, columns)
    local row = self.values
    for i = 1, columns do
        row[i] = values[i] or NAN
    end
    self.count, self.used = self.count + 1, math.min(self.used + 1, self.capacity)
    local slot = self.count % self.capacity
    self.at_s[slot] = at_s
    self.rows[slot] = pack("<" .. rep("f", columns), table.unpack(row, 1, columns))
    self.means, self.backs = {}, {}
end

--- Marks a restart of the server: means and changes no longer use earlier samples, graphs still do.
function History:begin_life()
    self.life = self.count
end

--- Empties a column: its number now stands for another thing.
function History:clear(column)
    self.begins[column], self.means = self.count + 1, {}
end

--- The value `back` samples before the newest (0); nil without one.
function History:value(column, back)
    local number = self.count - back
    if back >= self.used or number < (self.begins[column] or 0) then
        return nil
    end
    local row, at = self.rows[number % self.capacity], FLOAT_BYTES * (column - 1) + 1
    local value = at < #row and unpack("<f", row, at) or NAN
    return value == value and value or nil
end

--- The time of the sample `back` samples before the newest.
function History:time_s(back)
    return self.at_s[(self.count - back) % self.capacity]
end

-- The samples of this life of the server.
local function fresh(history)
    return math.min(history.used, history.count - history.life)
end

-- True if a gauge is less in a sample than in the one before it, or less in the next one: what lowers it may begin in
-- one sample and end in the next.
local function falls_about(history, column, back)
    local was, is, then_is = history:value(column, back + 1), history:value(column, back),
        back > 0 and history:value(column, back - 1)
    return was and is and is < was or is and then_is and then_is < is
end

local function mean_of(history, column, window_s, gauge)
    local times, rows, capacity, newest = history.at_s, history.rows, history.capacity, history.count
    local sum, weight, at, later_s = 0, 0, FLOAT_BYTES * (column - 1) + 1, history:time_s(0)
    local newest_s, oldest = later_s, math.max(newest - fresh(history) + 2, history.begins[column] or 0)
    for number = newest, oldest, -1 do
        if newest_s - later_s >= window_s then
            break
        end
        local row, earlier_s = rows[number % capacity], times[(number - 1) % capacity]
        local value = at < #row and unpack("<f", row, at) or NAN
        if value == value and later_s > earlier_s and not (gauge and falls_about(history, gauge, newest - number)) then
            sum, weight = sum + value * (later_s - earlier_s), weight + later_s - earlier_s
        end
        later_s = earlier_s
    end
    return weight > 0 and sum / weight or nil
end

--- The mean over the samples younger than window_s before the newest, weighted by the time that each covers; nil
-- without any. gauge: of the samples about which this column does not fall; nil: of all. It is computed once a sample.
function History:mean(column, window_s, gauge)
    local of_window, key = self.means[window_s] or {}, gauge and -column or column
    self.means[window_s] = of_window
    if of_window[key] == nil then
        of_window[key] = mean_of(self, column, window_s, gauge) or false
    end
    return of_window[key] or nil
end

--- The time that such a mean covers: window_s, or less if the history is shorter.
function History:covered_s(window_s)
    local samples = fresh(self)
    return samples > 0 and math.min(self:time_s(0) - self:time_s(samples - 1), window_s) or 0
end

-- How many samples before the newest the oldest one within the window is; found once a sample.
local function oldest_back(history, window_s)
    if not history.backs[window_s] then
        local back, newest_s = 0, history:time_s(0)
        while back + 1 < fresh(history) and newest_s - history:time_s(back + 1) <= window_s do
            back = back + 1
        end
        history.backs[window_s] = back
    end
    return history.backs[window_s]
end

--- The newest value minus the oldest one within the window, which counts as 0 where none was measured; nil if the
-- newest is unknown.
function History:change(column, window_s)
    local newest = self:value(column, 0)
    if newest then
        local back = math.min(oldest_back(self, window_s), self.count - (self.begins[column] or 0))
        return newest - (self:value(column, back) or 0)
    end
end

--- The newest samples, `most` of them at most, the oldest first: a list with n.
function History:series(column, most)
    local list = { n = math.min(self.used, most or self.used) }
    for i = 1, list.n do
        list[i] = self:value(column, list.n - i)
    end
    return list
end

return M
