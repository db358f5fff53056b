-- SPDX-License-Identifier: BSD-3-Clause
--- Work in pieces that leaves a share of the time to others: after a piece of t seconds comes a pause of t (1 - share)
-- / share. A piece that took very long was not work: this process was stopped, or the machine.
local clock = require "slate.base.clock"

local M = {}

local LONGEST_PIECE_S <const> = 1
local LEAST_PAUSE_S <const> = 0.002 -- shorter pauses are added up first: the system's timers are no finer

--- The share of the time in which `slatectl save` and `load` work, by default.
M.SHARE = 0.5

local Pace = {}
Pace.__index = Pace

--- Begins the first piece. share: above 0, at most 1.
function M.new(share)
    return setmetatable({ share = share, since_s = clock.steady_s(), due_s = 0 }, Pace)
end

--- Pauses, between two pieces of the work.
function Pace:pause()
    local worked_s = math.min(clock.steady_s() - self.since_s, LONGEST_PIECE_S)
    self.due_s = self.due_s + worked_s * (1 - self.share) / self.share
    if self.due_s >= LEAST_PAUSE_S then
        local before_s = clock.steady_s()
        clock.sleep(self.due_s)
        self.due_s = self.due_s - (clock.steady_s() - before_s)
    end
    self.since_s = clock.steady_s()
end

return M
