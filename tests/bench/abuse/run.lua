-- SPDX-License-Identifier: BSD-3-Clause
-- Plays a case of cases.lua to a server.
local socket = require("socket")
local bench_server = require("server")

local M = {}

-- Sends lines that end with `mn`, and waits for the reply to `mn`.
local function fill_server(server, lines)
  local connection = assert(socket.connect("127.0.0.1", server.port))
  connection:settimeout(60)
  assert(connection:send(lines))
  repeat
    local line = assert(connection:receive("*l"))
  until line == "MN"
  connection:close()
end

--- Starts a server and stores keys for the clients. Arguments are of bench/server.lua.
-- @return the server, or nil and a message
function M.start(program, arguments, fill)
  local server, message = bench_server.start(program, { arguments = arguments })
  if not server then
    return nil, message
  end
  fill_server(server, ("set two 0 0 2000\r\n%s\r\n"):format(("t"):rep(2000)) .. fill)
  return server
end

--- The figures of abuse.c, as numbers by name; nil and a message when the program fails.
function M.play(program, case, server)
  if case.before then
    fill_server(server, case.before)
  end
  local words = { program }
  for _, word in ipairs(case.words) do
    words[#words + 1] = word
  end
  words[#words + 1] = server.port
  words[#words + 1] = server.pid
  local text, message = bench_server.capture(words)
  if not text then
    return nil, message
  end
  local figures = {}
  for name, value in text:gmatch("(%S+) (%d+)\n") do
    figures[name] = tonumber(value)
  end
  return figures
end

--- The growth of the process at its peak and at the end; in MB.
function M.growth_mb(figures)
  return (figures.rss_peak_kb - figures.rss_before_kb) / 1024, (figures.rss_after_kb - figures.rss_before_kb) / 1024
end

return M
