-- SPDX-License-Identifier: BSD-3-Clause
--- Answers to inquiries, for views: the reason why one is not there.
local cells = require "slate.console.cells"
local inquiries = require "slate.console.inquiries"

local M = {}

-- The reason, and its style. state, refusal: of the answer.
local function why_not(frame, inquiry, state, refusal)
    local reason = inquiries.why_not(inquiry, frame.model.now)
    if reason then
        return reason, cells.WARN
    elseif state == "refused" then
        return "the server refuses: " .. refusal, cells.WARN
    elseif frame.is_replay then
        return "not recorded: a recording does not hold this", cells.WARN
    elseif frame.is_past then
        return "not recorded: the past does not hold this; . returns to live", cells.WARN
    end
    return "waiting for the server", cells.DIM
end

--- True when the answer to an inquiry is known; else draws the reason in the area: the answer is on its way, was
-- refused, needs slated, or is not recorded.
function M.is_ready(frame, inquiry, grid, area)
    local state, refusal = frame.model.answers:state(inquiry)
    if state == "known" then
        return true
    end
    local reason, style = why_not(frame, inquiry, state, refusal)
    grid:paragraph(area, style, reason)
    return false
end

return M
