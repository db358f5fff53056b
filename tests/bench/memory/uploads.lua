-- SPDX-License-Identifier: BSD-3-Clause
--- 50 connections upload values of 1 MB into 64 MB that are full of small ones, while one more connection has
-- sent half of such a value and stalls. Nothing else is to be refused; the stalled one gives way after a
-- second in which others wait.

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local sides = require("memory.sides")
local socket = require("socket")

local UPLOADS <const> = compare.setting("UPLOADS", 500)
local CONNS <const> = 50
local VALUE_BYTES <const> = 1000000
local FILL_ITEMS <const> = compare.setting("FILL_ITEMS", 400000)

local M = {}

function M.title()
  return ("%d values of 1 MB from %d connections that overlap, -m 64 full of small values, one upload stalled")
    :format(UPLOADS, CONNS)
end

M.columns = {
  { key = "stored", title = "stored" }, { key = "refused", title = "refused" },
  { key = "read_back", title = "read back" }, { key = "wrong", title = "wrong" },
  { key = "stalled", title = "the stalled one", width = 44 }, { key = "seconds", title = "seconds", format = "%.2f" },
  { key = "moves", title = "moves" }, { key = "goal", title = "goal", width = 7 },
}

-- A connection that has sent half of a value.
local function stall(server)
  local connection = socket.tcp()
  connection:settimeout(10)
  assert(connection:connect("127.0.0.1", server.port))
  assert(connection:send(("set stalled 0 0 %d\r\n%s"):format(VALUE_BYTES, ("s"):rep(VALUE_BYTES // 2))))
  return connection
end

-- Sends the other half; returns the server's reply.
local function finish(connection)
  connection:send(("s"):rep(VALUE_BYTES - VALUE_BYTES // 2) .. "\r\n")
  local answer = connection:receive("*l")
  connection:close()
  return answer or "no answer"
end

local function measure(programs, server, mode)
  assert(load.fill(programs, server, "small-", FILL_ITEMS, 100))
  local moved = gauges.moves(server)
  local stalled = stall(server)
  local shape = { "--keys", UPLOADS, "--key-prefix", "large-", "--sizes", VALUE_BYTES, "--conns", CONNS,
    "--dist", "sequential", "--requests", UPLOADS }
  local report = assert(load.run(programs, server, compare.join(shape, { "--method", "set", "--send-bytes", 16384 })))
  local answer = finish(stalled)
  local back = assert(load.run(programs, server, shape))
  local row = {
    stored = report.stored, refused = report.errors, read_back = back.hits, wrong = back.wrong, stalled = answer,
    seconds = report.seconds, moves = gauges.moves(server) - moved,
  }
  if mode ~= "off" and not tonumber(mode) then
    row.goal = row.refused == 0 and "reached" or "missed"
  end
  return row
end

function M.run(programs, sheet)
  for _, side in ipairs(sides.by_mode(programs, {})) do
    sides.measure(programs, sheet, side, {}, function(server)
      return measure(programs, server, side.mode)
    end)
  end
  sheet:note("goal: nothing refused in any mode but off")
end

return M
