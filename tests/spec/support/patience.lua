-- SPDX-License-Identifier: BSD-3-Clause
--- Waits for another process on a machine that may be busy.
--
--     local patience = require "support.patience"
--     patience.wait_for("the page", function() return pages() == 2 end)
local socket = require "socket"

local M = {}

--- Only a hang takes that long.
M.DEADLINE_S = 300

local POLL_S <const>, POLL_MOST_S <const> = 0.01, 0.5
local REST <const> = 3 -- times as long as the condition took: the other process needs the processor, too

--- Calls `condition` until it returns a true value, and returns that; an error names `what`.
-- @tparam string what
-- @tparam function condition
-- @tparam[opt] number deadline_s
function M.wait_for(what, condition, deadline_s)
    local deadline = socket.gettime() + (deadline_s or M.DEADLINE_S)
    while true do
        local began_s = socket.gettime()
        local result = condition()
        if result then
            return result
        end
        local now_s = socket.gettime()
        assert(now_s < deadline, "still waiting for " .. what)
        socket.sleep(math.min(POLL_MOST_S, math.max(POLL_S, REST * (now_s - began_s))))
    end
end

return M
