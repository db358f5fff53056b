-- SPDX-License-Identifier: BSD-3-Clause
--- The compared servers: slated in each of its modes, memcached in each of its own. A side is a value with a label, a
--- program and a mode; a mode that the program refuses becomes a row without figures.

local bench_server = require("server")
local compare = require("compare")

local M = {}

local WORDS_MAX_BYTES <const> = 100
local SERVER_CORE <const>, CLIENT_CORE <const> = 1, 0

--- Marks a feature that a server lacks; see M.measure.
M.ABSENT = "absent"

--- slated's modes of automove; the first three are memcached's 0, 1 and 2.
M.MODES = { "off", "ratio", "eviction", "random", "lra", "lrc", "utility" }

local running = {} -- servers, so that none outlives an experiment that breaks off

--- The programs under measurement and the load generator.
-- @return slated, peers (a list, the newest memcached first), all, load, slatectl, client_core, pinned
function M.programs(folder)
  local self = { slatectl = folder .. "/slatectl", peers = compare.peers(os.getenv("PEERS")) }
  self.slated, self.load = compare.slated(folder)
  self.all = { self.slated, table.unpack(self.peers) }
  self.pinned = tonumber(bench_server.capture({ "nproc" })) >= 2 and os.getenv("PIN") ~= "no"
  self.server_core = self.pinned and SERVER_CORE or nil
  self.client_core = self.pinned and CLIENT_CORE or nil
  return self
end

-- The modes that MODES names, or all.
local function wanted_modes()
  local text = os.getenv("MODES") or ""
  local modes = {}
  for mode in text:gmatch("[^%s,]+") do
    modes[#modes + 1] = mode
  end
  return #modes > 0 and modes or M.MODES
end

local function side(program, mode, label)
  return { program = program.program, version = program.version, mode = mode, label = label }
end

--- Sides for a comparison of modes: slated's (those of MODES, or `modes`), then memcached's numbers.
-- @param options `modes` of slated; `peer_modes` of memcached (default 0, 1, 2); `distribution`: its memcached too
function M.by_mode(programs, options)
  local list = {}
  for _, mode in ipairs(options.modes or wanted_modes()) do
    list[#list + 1] = side(programs.slated, mode, "slated " .. mode)
  end
  for i, peer in ipairs(programs.peers) do
    if i == 1 or options.distribution then
      for _, mode in ipairs(options.peer_modes or { 0, 1, 2 }) do
        list[#list + 1] = side(peer, tostring(mode), ("%s, %d"):format(peer.name, mode))
      end
    end
  end
  return list
end

--- slated alone, in its default mode or in a named one.
function M.slated(programs, mode, label)
  return side(programs.slated, mode, label or "slated" .. (mode and " " .. mode or ""))
end

--- The newest memcached, or nil.
function M.peer(programs, mode)
  local peer = programs.peers[1]
  return peer and side(peer, mode, peer.name .. (mode and ", " .. mode or ""))
end

-- The first words of a program's output, up to an explanation.
local function first_line(text)
  return (text or ""):match("^%s*([^\n]*)"):sub(1, WORDS_MAX_BYTES)
end

--- Starts a side. Its classes stay those of the start, as memcached's do: a given factor has this effect.
-- @param options `mib`, the memory limit (64); `arguments`, more words for the command line
-- @return the server; or nil and the server's own refusal
function M.start(programs, of, options)
  options = options or {}
  local arguments = { "-m", options.mib or 64, "-t", 1, "-f", "1.25" }
  table.move(options.arguments or {}, 1, #(options.arguments or {}), #arguments + 1, arguments)
  local server, message = bench_server.start(of.program, { core = programs.server_core, arguments = arguments })
  if not server then
    return nil, first_line(message:gsub("^.- did not start: ", ""))
  end
  running[server] = true
  if of.mode then
    local command = "slabs automove " .. of.mode
    local answer = server:ask(command)[1] or "no answer"
    if answer ~= "OK" then
      M.stop(server)
      return nil, ("'%s' was answered with '%s'"):format(command, answer)
    end
  end
  return server
end

--- Ends a server.
-- @return true; or nil and its output after a bad end
function M.stop(server)
  running[server] = nil
  local status, said = server:stop()
  if status ~= 0 then
    return nil, ("%s ended with status %s: %s"):format(server.program, status, first_line(said))
  end
  return true
end

function M.stop_all()
  for server in pairs(running) do
    M.stop(server)
  end
end

--- Measures one side: starts it, calls `measure(server)` for a row, ends it and prints the row. `measure` returns the
-- row; nil and a message when it failed; nil, the server's words and M.ABSENT when the server lacks the feature.
-- @return the row, or nil
function M.measure(programs, sheet, of, options, measure)
  local server, why = M.start(programs, of, options)
  if not server then
    sheet:absent(of.label, why)
    return nil
  end
  local ok, row, message, kind = xpcall(measure, debug.traceback, server)
  local ended, last_words = M.stop(server)
  if not ok then
    sheet:failed(of.label, row)
  elseif not ended then
    sheet:failed(of.label, last_words)
  elseif not row then
    sheet[kind == M.ABSENT and "absent" or "failed"](sheet, of.label, message)
  else
    row.label = of.label
    sheet:row(row)
    return row
  end
  return nil
end

return M
