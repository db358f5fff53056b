-- SPDX-License-Identifier: BSD-3-Clause
--- Which change slatetop proposes to take back, or to do again. No I/O.
--
-- acting: of slate.act.acting, with server, record, observer, run, undo and redo (lists of changes made from here) and
-- refused (why an undo was, by the id of the change); its fields proposed and unknown are set here.
local audit = require "slate.facts.audit"
local find = require "slate.base.find"
local shown = require "slate.act.shown"
local snapshot = require "slate.facts.snapshot"
local steps = require "slate.act.steps"

local M = {}

--- The last change on record that was not taken back, the text of the record, and that change with its title if it was
-- made from here.
function M.last_change(acting)
    local text = acting.record and acting.record.read() or ""
    local last = audit.last_undoable(text, acting.server)
    while #acting.undo > 0 do
        local top = acting.undo[#acting.undo]
        local newest = top.entries[#top.entries].id
        for _, entry in ipairs(top.entries) do
            if not newest or last and entry.id == last.id then
                return last, text, top
            end
        end
        if last and last.id > newest then
            break
        end
        acting.undo[#acting.undo] = nil -- others took its entries back
    end
    return last, text
end

-- The change made from here that an entry of the record belongs to; nil: it was made elsewhere.
local function own_change(acting, last)
    for _, one in ipairs(acting.undo) do
        if find.by(one.entries, "id", last.id) then
            return one
        end
    end
end

local function propose(acting, of, title)
    local list, words = shown.way_back(of.entries, acting.observer.now)
    if not list then
        return nil, words
    end
    acting.proposed = { of = of, steps = list, title = title .. words, changes = {},
        group = of.entries[1].fleet or of.group, id = of.entries[#of.entries].id }
    local classes, text = snapshot.by_id(acting.observer.now), acting.record and acting.record.read() or ""
    for i, step in ipairs(list) do
        local entry = of.entries[#list - i + 1]
        if step.kind == "move" then
            local class = classes[step.src] or {}
            local left, is_gone = steps.fit_move(step, entry, class.total_pages, audit.pages_due(text, entry))
            acting.proposed.title = acting.proposed.title .. (is_gone and "" or left) -- sending it looks again
        end
        acting.proposed.changes[i] = shown.change(step)
        acting.proposed.changes[i].undoes = step.kind == "set" and entry or nil
    end
    return acting.proposed
end

-- The proposal to take back the command of an entry; own: that change, if it was made from here.
local function propose_entry(acting, last, text, own)
    local entries = last and audit.of_command(text, last)
    if own then
        own.entries = own.entries[#own.entries].id and entries or own.entries -- some may be taken back
        return propose(acting, own, own.title)
    end
    local title = #entries == 1 and shown.entry(last)
        or ("%d changes of one command, the last: %s"):format(#entries, shown.entry(last))
    return propose(acting, { title = title, entries = entries }, title)
end

-- Why nothing of a proposal can be taken back; nil if something can. replies: as for shown.why_set_since; nil: not
-- known.
local function why_stuck(acting, proposed, why, replies)
    if not proposed or acting.refused[proposed.id] then
        return why or acting.refused[proposed.id]
    end
    local first
    for _, change in ipairs(replies and proposed.changes or {}) do
        local since = shown.why_set_since(replies, change)
        if not since then
            return nil
        end
        first = first or since
    end
    return first
end

--- The last change to the server that was not taken back, made here or by another program: { title, changes, group
-- (equal for servers that got one change together; nil: this one got it alone), id (on record) }; or nil and a message.
-- Changes of which nothing can be taken back are passed over, and the title says so, unless there is no other.
-- replies: of the server, as slate.facts.settings_shown takes them; nil: not known. `begin` of kind undo takes it back.
function M.propose_undo(acting, replies)
    local last, text, own = M.last_change(acting)
    local unknown = audit.last_unknown(text, acting.server)
    if unknown then -- it is read back first
        acting.unknown = not acting.run and unknown or nil
        return nil, "the outcome of the last change is unknown: " .. shown.entry(unknown)
    elseif not last and not own then
        return nil, "nothing to undo: no change to this server is on record that was not taken back"
    end
    local proposed, why = propose_entry(acting, last, text, own)
    local first, first_why, passed = proposed, why, ""
    local stuck = why_stuck(acting, proposed, why, replies)
    while stuck and last do
        passed = passed .. "; " .. (proposed and ("change %d stays: %s"):format(last.id, stuck) or stuck)
        last = audit.last_undoable(text, acting.server, nil, nil, audit.of_command(text, last)[1].id)
        if last then
            proposed, why = propose_entry(acting, last, text, own_change(acting, last))
            stuck = why_stuck(acting, proposed, why, replies)
        end
    end
    if stuck then
        acting.proposed = first
        return first, first_why
    end
    proposed.title = proposed.title .. passed
    return proposed
end

--- The last change that was undone from here: as propose_undo; `begin` of kind redo does the change again.
function M.propose_redo(acting)
    local top = acting.redo[#acting.redo]
    if not top then
        return nil, "no change was undone from here that could be made again"
    end
    return propose(acting, top, top.title)
end

return M
