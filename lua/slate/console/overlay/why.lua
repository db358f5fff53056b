-- SPDX-License-Identifier: BSD-3-Clause
--- Why automove moves pages, or does not.
local box = require "slate.console.overlay.box"
local cells = require "slate.console.cells"
local health = require "slate.console.health"
local question = require "slate.console.question"

local M = { name = "why", scope = "why" }

local INDENT <const> = 2
local MARKS <const> = { good = "○", note = "·", warn = "!", bad = "!" }

function M.state()
    return { is_open = false, top = 1 }
end

function M.open(ui)
    ui.why = { is_open = true, top = 1 }
end

function M.wants(_, wants)
    for _, name in ipairs({ "moves", "automove", "settings" }) do
        wants.inquiries[name] = true
    end
end

function M.command(_, ui, command)
    box.scroll(ui.why, command)
    if command == "cancel" then
        ui.why.is_open = false
    end
end

--- The first sentence is the mode, in bold letters unless it is good or bad.
function M.draw(frame, ui, grid)
    local parts = { { mark = " ", mark_style = cells.DIALOG, style = cells.DIALOG, text = frame.model.server } }
    local reasons = question.ask(frame.model, "slate.judge.attention", "automove_reasons",
        { is_past = frame.is_past or frame.is_replay })
    for i, reason in ipairs(reasons) do
        local style, mark = health.style(reason.tone, cells.DIALOG), MARKS[reason.tone]
        parts[i + 1] = { mark = mark or " ", mark_style = style, text = reason.text,
            style = i == 1 and not mark and cells.STRONG or style }
    end
    box.draw(grid, ui.why, "why automove moves pages, or does not", INDENT, parts)
end

return M
