-- SPDX-License-Identifier: BSD-3-Clause
--- Waiting for what another process does by itself, on a machine that may be busy.
--
--     local patience = require "support.patience"
--     patience.wait_for("the page", function() return pages() == 2 end)
local socket = require "socket"

local M = {}

--- Only a hang takes that long.
M.DEADLINE_S = 60

local POLL_S <const> = 0.01

--- Calls `condition` until it returns a true value, and returns that; an error names `what`.
-- @tparam string what
-- @tparam function condition
-- @tparam[opt] number deadline_s
function M.wait_for(what, condition, deadline_s)
    local deadline = socket.gettime() + (deadline_s or M.DEADLINE_S)
    while true do
        local result = condition()
        if result then
            return result
        end
        assert(socket.gettime() < deadline, "still waiting for " .. what)
        socket.sleep(POLL_S)
    end
end

return M
