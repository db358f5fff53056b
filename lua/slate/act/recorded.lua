-- SPDX-License-Identifier: BSD-3-Clause
--- The way of every change to a server: on record before its first line is sent, as one of unknown outcome, and
-- completed by its outcome. Where the connection breaks between the two, the outcome is read back over another one;
-- where that fails, too, the record says that it is unknown, and the next undo reads it back.
local audit = require "slate.facts.audit"
local clock = require "slate.base.clock"
local geometry = require "slate.facts.geometry"
local runtime = require "slate.facts.runtime"
local settings = require "slate.facts.settings"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {}

local POLL_S <const>, SILENCE_S <const> = 0.05, 2 -- as slate.act.move: a mover silent for longer has given up

-- Each of these reads back whether the change of an entry was made, and fills in what the entry lacks: true, or false
-- and words on what the server has; or nil, message, code.
local READ = {}

function READ.set(context, client, entry)
    entry.is = tostring(entry.is)
    local is_made, message, code = runtime.await(client, entry, context.who)
    if not is_made and code == "no" then
        local values = runtime.read(client, context.who) or {}
        local text = settings.value(values, entry.name, entry.is) or "not known"
        local name, value = entry.name, settings.named(entry.name, text)
        if context.named then
            name, value = context.named(entry.name, text)
        end
        return false, ("%s is %s: not set"):format(name, value)
    end
    return is_made, message, code
end

-- The pages that a move has moved, by the page counts of a snapshot.
local function moved_so_far(entry, now)
    local given = entry.src_pages and entry.src_pages + entry.pages - (snapshot.pages_of(now, entry.src) or 0) or 0
    local gained = (snapshot.pages_of(now, entry.dst) or 0) - (entry.dst_pages - entry.pages)
    return math.max(0, math.min(entry.pages, math.max(gained, given)))
end

function READ.move(_, client, entry)
    local last_s, last = clock.steady_s(), nil
    if not entry.dst_pages then
        return nil, "the record does not have the pages before it", "no"
    end
    while true do
        local now, message, code = snapshot.take(client, {})
        if not now then
            return nil, message, code
        elseif now.general.pid ~= entry.pid
            or math.abs((snapshot.started_s(now.general) or 0) - (entry.started_s or 0)) > 1 then
            return false, "the server was restarted since, and its pages were given anew"
        end
        local moved, is_running = moved_so_far(entry, now), now.general.slab_reassign_running == 1
        if is_running or now.general.slabs_moved ~= last then
            last_s, last = clock.steady_s(), now.general.slabs_moved
        end
        if not is_running and (moved == entry.pages or clock.steady_s() - last_s > SILENCE_S) then
            entry.pages, entry.dst_pages = moved, snapshot.pages_of(now, entry.dst)
            return moved > 0, moved == 0 and ("no page moved from %s to %s"):format(units.place(entry.src),
                units.place(entry.dst)) or nil
        end
        clock.sleep(POLL_S)
    end
end

function READ.geometry(_, client, entry)
    local change, message, code = geometry.read(client)
    if not change then
        return nil, message, code
    elseif not entry.generation then
        return nil, "the server did not number its changes of the chunk sizes", "no"
    end
    local verb = entry.is:match("^slabs geometry (%l+)")
    local is_made = change.generation >= entry.generation
    if verb == "pause" or verb == "resume" then
        is_made = (change.state == "paused") == (verb == "pause")
    end
    return is_made, not is_made and "the chunk sizes do not change" or nil
end

--- Reads back the outcome of an entry of which it is unknown, and puts it on record. True if the change was made; false
-- and words if it was not; or nil, message, code, and the outcome stays unknown.
function M.read_back(context, client, entry)
    local is_made, words, code = READ[entry.what](context, client, entry)
    if is_made ~= nil then
        audit.settle(context, entry, is_made)
    end
    return is_made, words, code
end

-- Reads an outcome back over another connection, in a console as often as that breaks. Returns as M.make.
local function read_back_again(context, client, entry, why)
    for _ = 1, context.reopens or 1 do
        if not context:reopen(client, why) then
            break
        end
        local is_made, words = M.read_back(context, client, entry)
        if is_made then
            return true, entry.id
        elseif is_made == false then
            return nil, words, "closed"
        elseif not client.broken then -- the server does not tell
            why = words
            break
        end
    end
    local hint = entry.id and ("; it is change %d on record, and undo reads it back first"):format(entry.id) or ""
    return nil, "the outcome is unknown: " .. why .. hint, "closed", entry
end

--- Makes a change: puts its entry on record, calls send, and records the outcome. send returns a result, or nil,
-- message, code; it fills in the entry, where is_partly says that a change was made though there is no result. Returns
-- the result (true if it was read back over another connection) and the id on record; or nil, message, code, and the
-- entry if the change was made even so, or may have been.
function M.make(context, client, entry, send)
    if client.read_only then -- it sends nothing
        return send()
    end
    audit.begin(context, entry)
    local result, message, code = send()
    if not result and client.broken then
        return read_back_again(context, client, entry, message)
    end
    local is_same = entry.was ~= nil and entry.was == entry.is
    local is_made = (result or entry.is_partly) and not is_same and entry.pages ~= 0 or false
    entry.is_partly = nil
    local id = audit.settle(context, entry, is_made)
    return result, result and id or message, code, is_made and entry or nil
end

return M
