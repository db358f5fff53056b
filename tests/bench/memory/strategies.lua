-- SPDX-License-Identifier: BSD-3-Clause
--- Memory strategies: keys from 1 to 500,000, values of 50 to 500 bytes drawn anew at every set, as many gets as
-- sets. Measured: the time of a round of one set and one get, and the share of payload in the memory held.
--
-- Payload is the key and value bytes of the items at the end; all values are read back and counted. Memory held is
-- known from the server (pages that classes have; bytes of blocks or of the heap) and by the system (growth of the
-- resident set since the start, so index and buffers are in it).

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local sides = require("memory.sides")
local reshape = require("memory.reshape")

local ROUNDS <const> = compare.setting("ROUNDS", 1000000)
local KEYS <const>, KEY_BYTES <const> = compare.setting("KEYS", 500000), 6
local MIB <const> = 1024 -- more than all items need, so that none is evicted
local BLOCK_BYTES <const> = { 64, 128, 200, 256, 512, 1024 }

local M = {}

function M.title()
  return ("%d rounds of a set and a get, %d keys of %d B, values of 50 to 500 B"):format(ROUNDS, KEYS, KEY_BYTES)
end

M.columns = {
  { key = "round_us", title = "us a round", format = "%.2f" },
  { key = "cpu_us", title = "server CPU us", format = "%.2f" },
  { key = "items", title = "items" }, { key = "payload_mb", title = "payload MB", format = "%.1f" },
  { key = "held_mb", title = "held MB", format = "%.1f" },
  { key = "used_pct", title = "payload/held %", format = "%.2f" },
  { key = "with_headers_pct", title = "items/held %", format = "%.2f" },
  { key = "rss_mb", title = "RSS MB", format = "%.1f" },
  { key = "used_rss_pct", title = "payload/RSS %", format = "%.2f" },
  { key = "refused", title = "refused" }, { key = "wrong", title = "wrong" },
}

local SHAPE <const> = { "--keys", KEYS, "--key-prefix", "", "--key-bytes", KEY_BYTES, "--sizes", "u50,500",
  "--size-by", "request", "--conns", 4, "--pipeline", 16 }

-- The items' memory by the server's statistics. Slabs: the pages of the classes.
local function held_bytes(server)
  local store = server:stats("store")
  if store.bytes_held then
    return tonumber(store.bytes_held)
  end
  return tonumber(server:stats("slabs").total_malloced)
end

local function describe(programs, server, resident_before)
  local all, message = load.run(programs, server, compare.join(SHAPE, { "--dist", "sequential", "--requests", KEYS }))
  if not all then
    return nil, message
  end
  local payload = all.hit_bytes + all.hits * KEY_BYTES
  local held, resident = held_bytes(server), gauges.resident_bytes(server) - resident_before
  local row = {
    items = all.hits, payload_mb = payload / 1e6, wrong = all.wrong,
    rss_mb = resident / 1e6, used_rss_pct = 100 * payload / resident,
  }
  if held and held > 0 then
    row.held_mb, row.used_pct = held / 1e6, 100 * payload / held
    row.with_headers_pct = 100 * tonumber(server:stats().bytes) / held
  end
  return row
end

local function measure(programs, server, tune)
  local resident_before = gauges.resident_bytes(server)
  local before_s = server:cpu_s()
  local report, message = load.run(programs, server,
    compare.join(SHAPE, { "--method", "set", "--reads", 50, "--requests", 2 * ROUNDS }))
  if not report then
    return nil, message
  end
  local cpu_s = server:cpu_s() - before_s
  if tune then
    local done, why, kind = tune(server)
    if not done then
      return nil, why, kind
    end
  end
  local row, trouble = describe(programs, server, resident_before)
  if not row then
    return nil, trouble
  end
  row.refused, row.wrong = load.refused(report), row.wrong + report.wrong
  if not tune then
    row.round_us, row.cpu_us = report.seconds * 1e6 / ROUNDS, cpu_s * 1e6 / ROUNDS
  end
  return row
end

-- The strategies: a label, slated's options, and the step after the load.
local function strategies()
  local list = {
    { label = "slated slab", words = {} },
    { label = "slated slab, geometry auto", words = {}, tune = reshape.auto },
    { label = "slated heap", words = { "--store=heap" } },
  }
  for _, bytes in ipairs(BLOCK_BYTES) do
    list[#list + 1] = { label = ("slated blocks of %d B"):format(bytes),
      words = { "--store=blocks", "--block-size=" .. bytes } }
  end
  return list
end

function M.run(programs, sheet)
  for _, strategy in ipairs(strategies()) do
    local side = sides.slated(programs, nil, strategy.label)
    sides.measure(programs, sheet, side, { mib = MIB, arguments = strategy.words }, function(server)
      return measure(programs, server, strategy.tune)
    end)
  end
  local peer = sides.peer(programs)
  if peer then
    sides.measure(programs, sheet, peer, { mib = MIB }, function(server)
      return measure(programs, server)
    end)
  end
  sheet:note("published: fixed blocks 72.83 %, slabs at factor 1.25 88.19 %, malloc 98.77 %; slabs the fastest")
end

return M
