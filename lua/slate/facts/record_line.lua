-- SPDX-License-Identifier: BSD-3-Clause
--- Writes snapshots as lines of a recording, and reads them. Pure.
--
-- slatectl and slatetop write and read lines by this module; each has its own code for the files.
local change = require "slate.facts.record_change"
local snapshot = require "slate.facts.snapshot"

local M = {}

local Chain = {}
Chain.__index = Chain
Chain.__name = "slate.facts.record_line"

--- Begins a recording to write or read, in which a line may have only the changes since the line before. has_changes:
-- writes only changes between whole snapshots. is_in_place: each snapshot that is read is the table of the last one,
-- changed; else each is a new table.
function M.chain(has_changes, is_in_place)
    return setmetatable({ has_changes = has_changes, is_in_place = is_in_place, of = 0 }, Chain)
end

--- The line of the next snapshot, without the newline: its changes if these can be coded, else the whole snapshot. The
-- snapshot belongs to the chain from now on.
function Chain:encode(one)
    local of = self.of + 1
    local changes
    if self.has_changes and self.last and of < change.WHOLE_EVERY then
        self.layout = self.layout or change.layout(self.last)
        changes = change.between(self.last, one, self.layout)
    end
    self.last, self.of, self.layout = one, changes and of or 0, changes and self.layout or nil
    if changes then
        return ('{"schema":"%s","time_s":%.6f,"of":%d,"d":"%s"}'):format(change.SCHEMA, one.time_s, of, changes)
    end
    return snapshot.encode(one)
end

local CHANGE <const> = '^{"schema":"' .. change.SCHEMA .. '"'

-- The snapshot after a line of changes; or nil and the problem.
function Chain:follow(line)
    local parsed = require("slate.base.json").decode(line)
    if type(parsed) ~= "table" or not snapshot.is_time(parsed.time_s) then
        return nil, "it is not a line of changes"
    end
    self.has_changes_read = true
    if not self.last or parsed.of ~= self.of + 1 then
        return nil, "the line before it is missing"
    end
    self.places = self.places or change.places(self.last)
    local one, problem = change.apply(self.last, parsed, self.places, self.is_in_place)
    if one then
        self.last, self.of = one, parsed.of
    elseif self.is_in_place then
        self.last = nil -- an error may leave its parts half changed
    end
    return one, problem
end

--- Reads the next line. Returns its snapshot; or nil and the problem.
function Chain:decode(line)
    if line:find(CHANGE) then
        return self:follow(line)
    end
    local one, problem = snapshot.decode(line)
    if one then
        self.last, self.of, self.places = one, 0, nil
    end
    return one, problem
end

--- Why a file has no snapshot, after all of its lines were read. name: of the file; problem: of its first line.
function Chain:why_none(name, problem)
    return ("%s %s: %s"):format(name, self.has_changes_read and "has no whole snapshot, only changes of one"
        or "is not a recording", problem)
end

--- Removes the settings of a snapshot if all are as before: settings seldom change. Returns the settings that hold now.
-- known: the result for the previous snapshot; nil if none.
function M.drop_known(one, known)
    local is_known = one.settings and known
    for name, value in pairs(one.settings or {}) do
        is_known = is_known and known[name] == value
    end
    known = one.settings or known
    one.settings = not is_known and one.settings or nil
    return known
end

--- For slatetop: the next line of a recording. texts: the server's answers by group of `stats` ("", "slabs", "items",
-- "settings"); about: as for slate.facts.snapshot.build, the settings of the server, for the first line, and changes.
function Chain:next(texts, about)
    local one = snapshot.build(texts, about)
    one.settings = one.settings or not self.settings and about.settings or nil
    self.settings, one.changes = M.drop_known(one, self.settings), about.changes
    return self:encode(one)
end

return M
