-- SPDX-License-Identifier: BSD-3-Clause
--- The lines of a recording: as what a snapshot is written, and what is read of a line. Pure.
--
-- slatectl and slatetop write and read them by this module; the files themselves are each program's own.
local answers = require "slate.facts.answers"
local change = require "slate.facts.record_change"
local snapshot = require "slate.facts.snapshot"

local M = {}

local Chain = {}
Chain.__index = Chain
Chain.__name = "slate.facts.record_line"

--- The begin of a recording that is written or read: each line of it may tell what changed since the line before.
-- has_changes: between whole snapshots only what changed is written. is_in_place: a snapshot that was read is the one
-- before it, changed; else each is a table of its own.
function M.chain(has_changes, is_in_place)
    return setmetatable({ has_changes = has_changes, is_in_place = is_in_place, of = 0 }, Chain)
end

--- The line of the next snapshot, without the newline: what changed, where that can be told, else the whole. The
-- snapshot belongs to the chain from now on.
function Chain:encode(one)
    local of = self.of + 1
    local changes = self.has_changes and self.last and of < change.WHOLE_EVERY and change.between(self.last, one)
    self.last, self.of = one, changes and of or 0
    if changes then
        return ('{"schema":"%s","time_s":%.6f,"of":%d,"d":"%s"}'):format(change.SCHEMA, one.time_s, of, changes)
    end
    return snapshot.encode(one)
end

local CHANGE <const> = '^{"schema":"' .. change.SCHEMA .. '"'

-- The snapshot after a line of changes; or nil and what is wrong.
function Chain:follow(line)
    local parsed = require("slate.base.json").decode(line)
    if type(parsed) ~= "table" or not snapshot.is_time(parsed.time_s) then
        return nil, "it is not a line of changes"
    elseif not self.last or parsed.of ~= self.of + 1 then
        return nil, "the line before it is missing"
    end
    self.places = self.places or change.places(self.last)
    local one, problem = change.apply(self.last, parsed, self.places, self.is_in_place)
    if one then
        self.last, self.of = one, parsed.of
    elseif self.is_in_place then
        self.last = nil -- a part of it may be changed
    end
    return one, problem
end

--- Reads the next line. Returns its snapshot; or nil and what is wrong.
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

--- Settings seldom change: takes those from a snapshot that are as they were before. Returns those that hold now.
-- known: what it returned of the snapshot before; nil: none.
function M.drop_known(one, known)
    local is_known = one.settings and known
    for name, value in pairs(one.settings or {}) do
        is_known = is_known and known[name] == value
    end
    known = one.settings or known
    one.settings = not is_known and one.settings or nil
    return known
end

local function built(texts, about)
    local groups = {}
    for group, text in pairs(texts) do
        groups[group] = answers.lines(text)
    end
    return snapshot.build(groups, about)
end

--- For slatetop: the whole line of a snapshot. texts: by group of `stats` ("", "slabs", "items", "settings") what the
-- server answered; about: as for slate.facts.snapshot.build.
function M.whole(texts, about)
    return snapshot.encode(built(texts, about))
end

--- For slatetop: the next line of a recording.
function Chain:next(texts, about)
    local one = built(texts, about)
    self.settings = M.drop_known(one, self.settings)
    return self:encode(one)
end

--- For slatetop: the snapshot that was read last as a whole line; nil before the first.
function Chain:shown()
    return self.last and snapshot.encode(self.last)
end

return M
