-- SPDX-License-Identifier: BSD-3-Clause
--- Latency of gets while pages move and while the geometry changes, against the quiet moments beside them, in
-- one run. Gets come at a fixed rate and their latency counts from the moment they were due. Before pages move,
-- every second item of each page is deleted, so that a page that moves holds items to rescue, and there is room.
--
-- Other work of the machine changes latency by more than the moves do. So windows come in pairs, a quiet one and one
-- with moves, in turns, and the result is the ratio within a pair: the median over pairs, and its 95 % interval for any
-- distribution, by the order of the ratios (the interval of the sign test). Windows are intervals of one load that
-- never stops, so that no beginning is among them. Where the system permits it the client runs at a real-time priority:
-- then the server waits, not the client.

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local reshape = require("memory.reshape")
local sides = require("memory.sides")
local socket = require("socket")

local PAIRS <const> = compare.setting("LATENCY_PAIRS", 40)
local WINDOW_S <const> = compare.setting("LATENCY_WINDOW_MS", 400) / 1000
local EDGE_S <const> = 0.05 -- at either end of a window nothing moves
local GOAL_RATIO <const> = 1.1
local RATE <const> = compare.setting("RATE", 20000)
local KEYS <const>, VALUE_BYTES <const> = compare.setting("LATENCY_KEYS", 300000), 500
local MIB <const> = 1024
local PAGES_PER_S <const> = 250
local BURST_PAGES <const>, BURST_LIMIT_S <const> = 200, 5
local FILL_RATE <const> = 200000
local TICK_S <const> = 0.04
local LOAD_LIMIT_S <const> = 3600 -- bounds the gets if nothing ends them
local REALTIME <const> = { "chrt", "-f", "1" }
local FACTORS <const> = { "1.12", "1.25" } -- in turn, should a change be done before the windows are over

local M = {}

function M.title()
  return ("%d gets a second from %d items of %d B; medians of %d pairs of windows of %.1f s; %d pages a second"):format(
    RATE, KEYS, VALUE_BYTES, PAIRS, WINDOW_S, PAGES_PER_S)
end

M.columns = {
  { key = "p50_us", title = "p50 us", format = "%.1f" }, { key = "p99_us", title = "p99 us", format = "%.1f" },
  { key = "p50_ratio", title = "p50/quiet", format = "%.2f" },
  { key = "p99_ratio", title = "p99/quiet", format = "%.2f" },
  { key = "p99_range", title = "with 95 %", width = 12 }, { key = "verdict", title = "goal", width = 9 },
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
    runs[i] = load.start(programs, server, compare.join(SHAPE, { "--key-prefix", prefix }, words))
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

-- Sends pages of a class to the pool; memcached takes one page a command. Returns the number of accepted moves, and
-- whether more are possible: not when the class has no more pages.
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

-- Until the window is over, at PAGES_PER_S: `step` handles so many pages and returns the number done.
local function steadily(step)
  local begun_s, done = socket.gettime(), 0
  repeat
    local due = math.floor((socket.gettime() - begun_s) * PAGES_PER_S) - done
    if due > 0 then
      done = done + step(due)
    end
    socket.sleep(TICK_S)
  until socket.gettime() - begun_s > WINDOW_S - 2 * EDGE_S
end

-- A burst at full speed; pages a second.
local function burst_speed(server, class, one_by_one)
  local before, begun_s = gauges.moves(server), socket.gettime()
  local moved, go_on = 0, true
  while moved < BURST_PAGES and go_on and socket.gettime() - begun_s < BURST_LIMIT_S do
    go_on = select(2, reassign(server, class, one_by_one and 1 or BURST_PAGES - moved, one_by_one))
    moved = gauges.moves(server) - before
  end
  return moved / (socket.gettime() - begun_s)
end

-- The gets, for as long as windows last.
local function begin_gets(programs, server)
  return load.start(programs, server, { "--keys", KEYS, "--sizes", VALUE_BYTES, "--key-prefix", "read-",
    "--conns", 16, "--rate", RATE, "--duration", LOAD_LIMIT_S, "--interval", WINDOW_S })
end

-- The next complete window, during which `meanwhile` runs.
local function window(server, gets, meanwhile)
  gets:await_interval()
  local moved, rescues = gauges.moves(server), tonumber(server:stats().slab_reassign_rescues)
  meanwhile()
  local p50_us, p99_us, hit_ratio = gets:interval()
  assert(p50_us, p99_us)
  return { p50_us = p50_us, p99_us = p99_us, pages = gauges.moves(server) - moved,
    rescued = tonumber(server:stats().slab_reassign_rescues) - rescues, missed_pct = 100 * (1 - hit_ratio) }
end

-- Counts wrong values of quiet windows and of others.
local function end_gets(gets, lists)
  gets:interrupt()
  lists.busy.wrong = assert(gets:finish()).wrong
end

local function medians(label, windows)
  local row = { label = label }
  for _, field in ipairs({ "p50_us", "p99_us", "pages", "rescued", "missed_pct" }) do
    local values = {}
    for i, one in ipairs(windows) do
      values[i] = one[field]
    end
    row[field] = compare.median(values)
  end
  return row
end

-- The ratios of one figure within each pair, in order.
local function ratios(windows, quiet, field)
  local values = {}
  for i, one in ipairs(windows) do
    values[i] = one[field] / quiet[i][field]
  end
  table.sort(values)
  return values
end

-- Two rows: the quiet windows, and the others, with their ratios to the quiet ones beside them.
local function print_pairs(sheet, quiet_label, quiet, label, windows)
  sheet:row(medians(quiet_label, quiet))
  local row, p99 = medians(label, windows), ratios(windows, quiet, "p99_us")
  row.p50_ratio, row.p99_ratio = compare.median(ratios(windows, quiet, "p50_us")), compare.median(p99)
  local low, high = compare.median_range(p99)
  if low then
    row.p99_range = ("%.2f - %.2f"):format(low, high)
    row.verdict = high <= GOAL_RATIO and "reached" or low > GOAL_RATIO and "missed" or "undecided"
  end
  row.pages_per_s, row.wrong = windows.pages_per_s, windows.wrong
  sheet:row(row)
end

-- A pair of windows, the quiet one first in every other pair. `hush` runs before the quiet window, in which the client
-- calls `idle` in place of the disturbance.
local function pair(server, gets, n, lists, hush, disturb, idle)
  gets:await_interval() -- the client may have had to catch up
  for i = 1, 2 do
    local list = (n + i) % 2 == 0 and lists.quiet or lists.busy
    if list == lists.quiet then
      hush()
    end
    list[#list + 1] = window(server, gets, list == lists.quiet and idle or disturb)
  end
end

-- Resumes the paused change of chunk sizes, or begins the next, the `changes + 1`th. Returns the number begun by now;
-- nil and the server's words on a refusal.
local function go_on(server, changes)
  if server:stats("geometry").state == "paused" then
    server:ask("slabs geometry resume")
    return changes
  end
  local factor = FACTORS[changes % #FACTORS + 1]
  local begun, words = reshape.begin(server, ("slabs geometry factor %s force"):format(factor))
  return begun and changes + 1, words
end

-- Windows in which the chunk sizes change beside quiet ones, in which the change is paused: other programs and the
-- state of the memory then affect both. Returns the lists; nil and the words of a refusal.
local function reshaping_windows(programs, server)
  local lists, changes, words = { quiet = {}, busy = {} }, 0, nil
  local gets = begin_gets(programs, server)
  for n = 1, PAIRS do
    pair(server, gets, n, lists, function()
      server:ask("slabs geometry pause")
    end, function()
      changes, words = go_on(server, changes)
    end, function()
      server:ask("version")
    end)
    if not changes then
      break
    end
  end
  end_gets(gets, lists)
  return changes and lists, words
end

-- Until the last page that was promised has moved.
local function await_moves(server)
  local give_up_s = socket.gettime() + BURST_LIMIT_S
  while server:stats().slab_reassign_running ~= "0" and socket.gettime() < give_up_s do
    socket.sleep(TICK_S)
  end
end

local function moving_windows(programs, server, one_by_one)
  local lists = { quiet = {}, busy = {} }
  local gets = begin_gets(programs, server)
  for n = 1, PAIRS do
    local class = half_fill(programs, server)
    pair(server, gets, n, lists, function()
      await_moves(server)
    end, function()
      steadily(function(due)
        return (reassign(server, class, due, one_by_one))
      end)
    end, function()
      steadily(function(due)
        server:ask("version")
        return due
      end)
    end)
  end
  end_gets(gets, lists)
  lists.busy.pages_per_s = burst_speed(server, half_fill(programs, server), one_by_one)
  return lists
end

local function run_side(programs, sheet, side, server)
  local one_by_one = side.program ~= programs.slated.program
  local moving = moving_windows(programs, server, one_by_one)
  print_pairs(sheet, side.label .. ", quiet", moving.quiet, side.label .. ", moves", moving.busy)
  if one_by_one then
    return
  end
  local reshaping, words = reshaping_windows(programs, server)
  if reshaping then
    print_pairs(sheet, side.label .. ", geometry paused", reshaping.quiet, side.label .. ", geometry", reshaping.busy)
  else
    sheet:absent(side.label .. ", geometry", words)
  end
end

-- The programs, with a client that has priority on its processor, where that is permitted.
local function with_prompt_client(programs)
  local permitted = os.execute(table.concat(REALTIME, " ") .. " true 2>/dev/null")
  return permitted and setmetatable({ client_first = REALTIME }, { __index = programs }) or programs
end

function M.run(programs, sheet)
  programs = with_prompt_client(programs)
  for _, side in ipairs({ sides.slated(programs, "off", "slated"), sides.peer(programs, "0") }) do
    local server, why = sides.start(programs, side, { mib = MIB })
    if server then
      run_side(programs, sheet, side, server)
      sides.stop(server)
    else
      sheet:absent(side.label, why)
    end
  end
  sheet:note(("goal: p99 at most %.1f times the quiet one; at least 250 pages a second in a burst"):format(GOAL_RATIO))
end

return M
