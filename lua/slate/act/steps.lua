-- SPDX-License-Identifier: BSD-3-Clause
--- Steps that change a server: settings and page moves, planned, carried out, verified and put on record.
--
-- A step is { kind = "set", name, value }, { kind = "move", src, dst, pages, reason } or { kind = "geometry", line }.
local move = require "slate.act.move"
local runtime = require "slate.facts.runtime"
local settings = require "slate.facts.settings"

local M = {}

local MOVE_LIMIT_S <const> = 60

--- A step in words.
function M.words(step)
    if step.kind == "geometry" then
        return "order " .. step.line
    end
    if step.kind == "set" then
        return ("set %s %s%s"):format(step.name, step.was and step.was .. " -> " or "", step.value)
    end
    return ("move %s from %s to %s%s"):format(require("slate.base.units").plural(step.pages, "page"),
        step.src == 0 and "the pool" or "class " .. step.src, step.dst == 0 and "the pool" or "class " .. step.dst,
        step.reason and ": " .. step.reason or "")
end

--- Checks a step against the server as it is. Returns the change or plan to carry out, or nil, message, code.
function M.prepare(context, client, step)
    if step.kind == "set" then
        local values, told, code = runtime.read(client)
        if not values then
            return nil, told, code
        end
        return settings.plan(values, told, step.name, step.value, context.who)
    end
    if step.kind == "geometry" then
        return step
    end
    return move.prepare(context, client, { src = step.src, dst = step.dst, pages = step.pages })
end

--- Prepares a step, carries it out, verifies it and puts it on record. undoes: the id of a change taken back by it.
-- Returns a sentence on the outcome and the id on record (nil when nothing had to change); or nil, message, code.
function M.carry_out(context, client, step, undoes)
    local prepared, message, code = M.prepare(context, client, step)
    if not prepared then
        return nil, message, code
    end
    local audit = require "slate.facts.audit"
    if step.kind == "set" then
        if settings.same(prepared.name, prepared.is, prepared.was) then
            return ("%s is %s already"):format(prepared.name, prepared.was)
        end
        local ok
        ok, message, code = runtime.apply(client, prepared)
        if not ok then
            return nil, message, code
        end
        local id = audit.note(context, { what = "set", name = prepared.name, was = prepared.was, is = prepared.is,
            undoes = undoes })
        return ("%s: %s -> %s"):format(prepared.name, prepared.was, prepared.is), id
    end
    if step.kind == "geometry" then
        local ok, id
        ok, id, code = require("slate.facts.geometry").change(context, client, step.line, undoes)
        if not ok then
            return nil, id, code
        end
        return M.words(step), id
    end
    local result
    result, message, code = move.run(client, prepared, { wait = true, limit_s = MOVE_LIMIT_S })
    if not result then
        return nil, message, code
    end
    local id
    if result.pages_moved > 0 then
        id = audit.note(context, { what = "move", src = step.src, dst = step.dst, pages = result.pages_moved,
            undoes = undoes })
    end
    local words = move.words(prepared, result)
    if result.state ~= "moved" then
        return nil, words, "no"
    end
    return words, id
end

--- The step that takes an entry of the record back; nil and a message when none can.
function M.reverse(entry)
    if entry.what == "set" and entry.name == "geometry" then -- slatetop's, with the verb that goes back
        return { kind = "geometry", line = "slabs geometry " .. tostring(entry.was) }
    elseif entry.what == "set" then
        return { kind = "set", name = entry.name, value = tostring(entry.was), was = tostring(entry.is) }
    elseif entry.what == "geometry" then
        return { kind = "geometry", line = "slabs geometry revert" }
    elseif entry.what == "move" and entry.src >= 0 then
        return { kind = "move", src = entry.dst, dst = entry.src, pages = entry.pages }
    end
    return nil, ("change %d cannot be taken back: the server chose the source itself"):format(entry.id)
end

return M
