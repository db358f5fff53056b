-- SPDX-License-Identifier: BSD-3-Clause
--- What a live model judged of its snapshots (of slate.judge.told), for moments of the past. Snapshots of which the
--- same was told have one entry.
local told = require "slate.judge.told"

local M = {}

--- The most bytes of moves: those of an hour, but where many classes starve all the time.
M.MOVES_BYTES = 512 << 10

local Judged = {}
Judged.__index = Judged
Judged.__name = "slate.console.judged"

--- No snapshot was judged yet. Fields: at_s, told and moves (by entry; moves are false for none, and true once they
-- were dropped), bytes (of the moves), first (the entry from which on moves are kept).
function M.new()
    return setmetatable({ at_s = {}, told = {}, moves = {}, bytes = 0, first = 1 }, Judged)
end

local function bytes_of(moves)
    return type(moves) == "string" and #moves or 0
end

-- Appends an entry; the oldest moves are dropped beyond the bound.
local function append(judged, at_s, what, moves)
    local place = #judged.at_s + 1
    judged.at_s[place], judged.told[place], judged.moves[place] = at_s, what, moves
    judged.bytes = judged.bytes + bytes_of(moves)
    while judged.bytes > M.MOVES_BYTES do
        local dropped = bytes_of(judged.moves[judged.first])
        judged.moves[judged.first] = dropped > 0 or judged.moves[judged.first]
        judged.bytes, judged.first = judged.bytes - dropped, judged.first + 1
    end
end

local function take_away(judged, place)
    judged.bytes = judged.bytes - bytes_of(table.remove(judged.moves, place))
    table.remove(judged.at_s, place)
    table.remove(judged.told, place)
end

--- Keeps what the observer tells of its last snapshot, taken at at_s; in place of what it told of that before. A server
--- may report figures that cannot be kept: then nothing was told.
function Judged:add(at_s, observer)
    if self.at_s[#self.at_s] == at_s then
        take_away(self)
    end
    local last = #self.at_s
    local ok, what, moves = pcall(told.of, observer, self.told[last] or nil)
    what, moves = ok and what, ok and moves or false
    if what ~= self.told[last] or moves ~= self.moves[last] then
        append(self, at_s, what, moves)
    end
end

--- What was told of the snapshot at at_s, and the moves; nil: nothing was.
function Judged:at(at_s)
    for i = #self.at_s, 1, -1 do
        if self.at_s[i] <= at_s then
            return self.told[i] or nil, self.moves[i]
        end
    end
end

--- Keeps this many entries at most, the newest.
function Judged:keep(most)
    while #self.at_s > most do
        take_away(self, 1)
        self.first = math.max(1, self.first - 1)
    end
end

return M
