-- SPDX-License-Identifier: BSD-3-Clause
--- Changes the slab geometry of a live server.

local socket = require("socket")
local sides = require("memory.sides")

local M = {}

local DEADLINE_S <const> = 60
local POLL_S <const> = 0.02

--- Begins a change.
-- @return the server's words; or nil, its refusal, and sides.ABSENT
function M.begin(server, command)
  local answer = server:ask(command)[1] or "no answer"
  if not answer:match("^OK") then
    return nil, ("'%s' was answered with '%s'"):format(command, answer), sides.ABSENT
  end
  return answer
end

--- True while pages are still being changed.
function M.running(server)
  return server:stats("geometry").state == "draining"
end

--- Waits for the end of a change.
-- @return seconds; or nil and a message
function M.wait(server)
  local begun = socket.gettime()
  while M.running(server) do
    if socket.gettime() - begun > DEADLINE_S then
      return nil, ("the change of geometry was not done within %d s"):format(DEADLINE_S)
    end
    socket.sleep(POLL_S)
  end
  return socket.gettime() - begun
end

--- A whole change to sizes that fit the present items.
-- @return seconds; or nil and a message, and sides.ABSENT for a server without this feature
function M.auto(server)
  local begun, message, kind = M.begin(server, "slabs geometry auto")
  if not begun then
    return nil, message, kind
  end
  return M.wait(server)
end

return M
