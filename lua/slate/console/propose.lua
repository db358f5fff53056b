-- SPDX-License-Identifier: BSD-3-Clause
--- The proposals of keys: moves of pages and modes of automove, as plans to be reviewed.
local automove = require "slate.facts.automove"
local question = require "slate.console.question"

local M = {}

local POOL <const> = 0

local function say(text)
    return { kind = "say", text = text }
end

local UNKNOWN <const> = say("nothing is known about the server yet")

-- The class with the most pages, if there is no better donor; nil when no class has two pages.
local function largest(now, except)
    local found, most = nil, 1
    for _, class in ipairs(now.classes) do
        if class.id > 0 and class.id ~= except and (class.total_pages or 0) > most then
            found, most = class.id, class.total_pages
        end
    end
    return found
end

-- The intent that opens the review of all moves that are advised.
local function plan(model)
    local moves = question.plan(model)
    return moves[1] and { kind = "review", plan = moves }
        or say((question.measuring(model) or "no class is starving")
            .. ": choose one in the class table (2) and press m there")
end

--- The intent that opens the review of a move of pages between two classes. to nil: to the pool; from nil: from the
--- class that can give best; both nil: all moves that are advised.
function M.move(frame, to, from)
    local model, pages = frame.model, nil
    if not model.now then
        return UNKNOWN
    elseif not to and not from then
        return plan(model)
    end
    if not from then
        from, pages = question.donor(model, to)
        from = from or largest(model.now, to)
    end
    if not from then
        return say("no other class has a page to spare")
    end
    to = to or POOL
    return { kind = "review", plan = { { from = from, to = to, pages = pages or question.pages(model, from, to) } } }
end

--- The intent that opens the list of automove's modes, on the one in force, or on the one proposed to switch it on.
function M.automove(frame)
    local now = frame.model.now
    if not now then
        return UNKNOWN
    end
    local mode = automove.of((now.settings or {}).slab_automove)
    if not mode then
        return say("this server does not report an automove setting")
    end
    local proposed = mode.name == "off" and (now.slated and "utility" or "ratio") or nil
    return { kind = "pick", name = "slab_automove", at = proposed or mode.name, proposed = proposed }
end

return M
