-- SPDX-License-Identifier: BSD-3-Clause
--- Events for the beginning and end of states that the overview shows only while they last: a class starves; the server
--- holds more memory than its limit. A state counts after it has lasted: figures at a bound come and go before.
local limits = require "slate.judge.thresholds"
local units = require "slate.base.units"

local M = {}

local AFTER_S <const> = 5

local Alarms = {}
Alarms.__index = Alarms
Alarms.__name = "slate.console.alarms"

--- No alarm is raised yet.
function M.new()
    return setmetatable({ states = {} }, Alarms)
end

-- True if a state has changed for AFTER_S.
local function turns(alarms, name, is_so, now_s)
    local state = alarms.states[name]
    if not state then
        state = { is_raised = false }
        alarms.states[name] = state
    end
    if is_so == state.is_raised then
        state.differs_s = nil
        return false
    end
    state.differs_s = state.differs_s or now_s
    if now_s - state.differs_s < AFTER_S then
        return false
    end
    state.is_raised, state.differs_s = is_so, nil
    return true
end

-- An event of the kind "state" is no stop in time: the end of a state, or a class that starves again within a minute,
-- as one at a bound does over and over.
local function note_starving(alarms, model, id, starves)
    local state = alarms.states[id]
    local is_new = starves and not (state.ended_s and model.at_s - state.ended_s < limits.incident_shown_s)
    state.ended_s = not starves and model.at_s or state.ended_s
    model:note(is_new and "alarm" or "state", model.wall_s,
        ("class %d %s"):format(id, starves and "starves" or "starves no more"))
end

--- Writes the events of the model's newest snapshot into the model.
function Alarms:follow(model)
    local now_s, wall_s = model.at_s, model.wall_s
    local gone = {}
    for name in pairs(self.states) do
        gone[name] = math.type(name) == "integer" or nil
    end
    for id, row in pairs(model.rows) do
        local starves = row.state == "starving"
        gone[id] = nil
        local is_known = row.state ~= "measuring" -- pages moved, so nobody knows whether the class still starves
        if is_known and (starves or self.states[id]) and turns(self, id, starves, now_s) then
            note_starving(self, model, id, starves)
        end
    end
    for id in pairs(gone) do -- the server lists the class no more
        if turns(self, id, false, now_s) then
            note_starving(self, model, id, false)
        end
    end
    local over = model.observer and model.observer.over
    if turns(self, "memory", over and over.is_much or false, now_s) then
        local held = units.bytes_in_words(over and over.held_bytes)
        local limit = units.bytes_in_words(over and over.limit_bytes)
        if over and over.is_much then
            model:note("alarm", wall_s, ("%s of memory held, the limit is %s"):format(held, limit))
        else
            model:note("state", wall_s, ("memory is within its limit again: %s of %s"):format(held, limit))
        end
    end
end

return M
