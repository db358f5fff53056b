-- SPDX-License-Identifier: BSD-3-Clause
--- Latency of gets while pages move and while the geometry changes, against the quiet moments in between, in
-- one run. Gets come at a fixed rate and their latency counts from the moment they were due. Before pages move,
-- every second item of each page is deleted, so that a page that moves holds items to rescue, and there is room.

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local reshape = require("memory.reshape")
local sides = require("memory.sides")
local socket = require("socket")

local ROUNDS <const> = compare.setting("LATENCY_ROUNDS", 9)
local WINDOW_S <const> = compare.setting("SECONDS", 1)
local RATE <const> = compare.setting("RATE", 20000)
local KEYS <const>, VALUE_BYTES <const> = compare.setting("LATENCY_KEYS", 300000), 500
local MIB <const> = 1024
local PAGES_PER_S <const> = 250
local BURST_PAGES <const>, BURST_LIMIT_S <const> = 200, 5
local FILL_RATE <const> = 200000
local TICK_S <const> = 0.04
local FACTORS <const> = { "1.12", "1.25" } -- in turn, should a change be done before the windows are over

local M = {}

function M.title()
  return ("%d gets a second from %d items of %d B; medians of %d windows of %d s; %d pages moved a second"):format(
    RATE, KEYS, VALUE_BYTES, ROUNDS, WINDOW_S, PAGES_PER_S)
end

M.columns = {
  { key = "p50_us", title = "p50 us", format = "%.1f" }, { key = "p99_us", title = "p99 us", format = "%.1f" },
  { key = "p50_ratio", title = "p50/quiet", format = "%.2f" },
  { key = "p99_ratio", title = "p99/quiet", format = "%.2f" },
  { key = "pages", title = "pages a window" }, { key = "rescued", title = "rescued a window" },
  { key = "pages_per_s", title = "pages/s in a burst", format = "%.0f" },
  { key = "missed_pct", title = "missed %", format = "%.2f" }, { key = "wrong", title = "wrong" },
}

local SHAPE <const> = { "--keys", KEYS, "--sizes", VALUE_BYTES, "--conns", 4, "--pipeline", 16,
  "--dist", "sequential", "--requests", KEYS }

-- One command on each of the keys that begin with one of these.
local function on_all(programs, server, prefixes, words)
  local runs = {}
  for i, prefix in ipairs(prefixes) do
    runs[i] = load.start(programs, server, load.join(SHAPE, { "--key-prefix", prefix }, words))
  end
  for _, run in ipairs(runs) do
    assert(run:finish())
  end
end

-- Stores both kinds of items anew, at the same pace so that they share every page, and deletes one kind.
-- Returns their class.
local function half_fill(programs, server)
  on_all(programs, server, { "read-", "gone-" }, { "--method", "delete" })
  on_all(programs, server, { "read-", "gone-" }, { "--method", "set", "--rate", FILL_RATE })
  on_all(programs, server, { "gone-" }, { "--method", "delete" })
  return (gauges.largest(gauges.items(server)))
end

-- Sends pages of a class to the pool; memcached takes one page a command. Returns how many were promised, and
-- whether it may be asked again: not when the class has no more.
local function reassign(server, class, pages, one_by_one)
  local command = ("slabs reassign %d 0%s"):format(class, one_by_one and "" or " " .. pages)
  local promised, answer = 0, nil
  for _ = 1, one_by_one and pages or 1 do
    answer = server:ask(command)[1] or "no answer"
    if answer == "OK" then
      promised = promised + (one_by_one and 1 or pages)
    end
  end
  return promised, answer == "OK" or answer:match("^BUSY") ~= nil
end

-- Moves pages at PAGES_PER_S until the window is over.
local function move_steadily(server, class, one_by_one)
  local begun_s, promised = socket.gettime(), 0
  repeat
    local due = math.floor((socket.gettime() - begun_s) * PAGES_PER_S) - promised
    if due > 0 then
      promised = promised + reassign(server, class, due, one_by_one)
    end
    socket.sleep(TICK_S)
  until socket.gettime() - begun_s > WINDOW_S - 0.2
end

-- A burst as fast as it goes; pages a second.
local function burst_speed(server, class, one_by_one)
  local before, begun_s = gauges.moves(server), socket.gettime()
  local moved, go_on = 0, true
  while moved < BURST_PAGES and go_on and socket.gettime() - begun_s < BURST_LIMIT_S do
    go_on = select(2, reassign(server, class, one_by_one and 1 or BURST_PAGES - moved, one_by_one))
    moved = gauges.moves(server) - before
  end
  return moved / (socket.gettime() - begun_s)
end

-- Gets for one window, while `meanwhile` runs.
local function window(programs, server, meanwhile)
  local moved, rescues = gauges.moves(server), tonumber(server:stats().slab_reassign_rescues)
  local run = load.start(programs, server, { "--keys", KEYS, "--sizes", VALUE_BYTES, "--key-prefix", "read-",
    "--conns", 16, "--rate", RATE, "--duration", WINDOW_S })
  socket.sleep(0.1)
  meanwhile()
  local report = assert(run:finish())
  return { p50_us = report.read_latency_ns.p50 / 1e3, p99_us = report.read_latency_ns.p99 / 1e3,
    pages = gauges.moves(server) - moved, rescued = tonumber(server:stats().slab_reassign_rescues) - rescues,
    missed_pct = 100 * report.misses / report.gets, wrong = report.wrong }
end

-- A row of medians, and what they are to those of the quiet windows.
local function summary(label, windows, quiet)
  local row = { label = label, wrong = 0 }
  for _, field in ipairs({ "p50_us", "p99_us", "pages", "rescued", "missed_pct" }) do
    local values = {}
    for i, one in ipairs(windows) do
      values[i] = one[field]
    end
    row[field] = compare.median(values)
  end
  for _, one in ipairs(windows) do
    row.wrong = row.wrong + one.wrong
  end
  if quiet then
    row.p50_ratio, row.p99_ratio = row.p50_us / quiet.p50_us, row.p99_us / quiet.p99_us
  end
  return row
end

-- Goes on with the change of the geometry that was paused, or begins the next, the `changes + 1`th.
-- Returns how many were begun by now; nil and the server's words when it does not.
local function go_on(server, changes)
  if server:stats("geometry").state == "paused" then
    server:ask("slabs geometry resume")
    return changes
  end
  local factor = FACTORS[changes % #FACTORS + 1]
  local begun, words = reshape.begin(server, ("slabs geometry factor %s force"):format(factor))
  return begun and changes + 1, words
end

-- Windows in which the geometry changes, and before each a quiet one, in which that is paused: what other programs
-- and the state of the memory do to latency is in both then. Returns both lists; nil and the words of a refusal.
local function reshaping_windows(programs, server)
  local quiet, reshaping, changes = {}, {}, 0
  for round = 1, ROUNDS do
    server:ask("slabs geometry pause")
    quiet[round] = window(programs, server, function() end)
    local words
    reshaping[round] = window(programs, server, function()
      changes, words = go_on(server, changes)
    end)
    if not changes then
      return nil, words
    end
  end
  return quiet, reshaping
end

local function run_side(programs, sheet, side, server)
  local one_by_one = side.program ~= programs.slated.program
  local quiet, moving = {}, {}
  for round = 1, ROUNDS do
    local class = half_fill(programs, server)
    quiet[round] = window(programs, server, function() end)
    moving[round] = window(programs, server, function()
      move_steadily(server, class, one_by_one)
    end)
  end
  local pages_per_s = burst_speed(server, half_fill(programs, server), one_by_one)
  local calm = summary(side.label .. ", quiet", quiet)
  sheet:row(calm)
  local moves = summary(side.label .. ", moves", moving, calm)
  moves.pages_per_s = pages_per_s
  sheet:row(moves)
  if one_by_one then
    return
  end
  local paused, reshaping_or_words = reshaping_windows(programs, server)
  if not paused then
    sheet:absent(side.label .. ", geometry", reshaping_or_words)
    return
  end
  local still = summary(side.label .. ", geometry paused", paused)
  sheet:row(still)
  sheet:row(summary(side.label .. ", geometry", reshaping_or_words, still))
end

function M.run(programs, sheet)
  for _, side in ipairs({ sides.slated(programs, "off", "slated"), sides.peer(programs, "0") }) do
    local server, why = sides.start(programs, side, { mib = MIB })
    if server then
      run_side(programs, sheet, side, server)
      sides.stop(server)
    else
      sheet:absent(side.label, why)
    end
  end
  sheet:note("goal: p99 at most 1.1 times the quiet one; at least 250 pages a second in a burst")
end

return M
