-- SPDX-License-Identifier: BSD-3-Clause
-- Kinds of abuse, for tests/bench/abuse/run and tests/real/abuse_cost_spec.lua: the options of abuse.c for each.

local M = {}

-- The server's items beforehand, so that it has classes, pages and keys to list.
local ITEMS <const>, ITEM_BYTES <const> = 20000, 500

--- Lines that fill a server: `ITEMS` keys of as many sizes as there are.
function M.fill()
  local lines = {}
  for i = 1, ITEMS do
    local bytes = 1 + i * 7919 % ITEM_BYTES
    lines[i] = ("set key%d 0 0 %d noreply\r\n%s\r\n"):format(i, bytes, ("v"):rep(bytes))
  end
  return table.concat(lines) .. "mn\r\n"
end

-- A command, 600 times by each of 20 clients. `stock`: memcached has the command, too.
local function command(line, stock, times)
  return { name = line, words = { "--clients", 20, "--times", times or 600, "--line", line }, stock = stock }
end

local STOCK <const> = {
  "stats", "stats settings", "stats items", "stats slabs", "stats sizes", "stats conns", "stats detail dump",
  "version", "mn", "verbosity 0", "slabs automove 1", "slabs reassign 1 1",
  "lru tune 10 25 0.1 2.0", "lru mode segmented", "lru_crawler enable",
  "cache_memlimit 64", "flush_all 1000000", "nonsense", "get " .. ("k "):rep(900), "me key1",
}
local OWN <const> = {
  "stats slated", "stats policies", "stats moves", "stats automove", "stats audit", "stats describe",
  "stats geometry", "stats curve", "stats whatif", "stats hotkeys", "stats sizehist",
  "stats evictions", "stats pages", "stats config", "stats memory", "config get *",
  "evict policy s3fifo", "config set sample_rate 0.01", "slabs geometry factor 1.2 dry",
}

local function commands()
  local list = {}
  for _, line in ipairs(STOCK) do
    list[#list + 1] = command(line, true)
  end
  for _, line in ipairs(OWN) do
    list[#list + 1] = command(line, false)
  end
  return list
end

--- Every case: a name, words for abuse.c; before: lines sent to the server first; stock: memcached has the command;
-- keeps: the case may evict nothing; leaves: its clients hang up, so none of their connections may stay; slow: the
-- case takes seconds; peak_mb: the process may grow by that much, less than usual.
M.cases = commands()

local function add(name, words, more)
  local case = { name = name, words = words, stock = true }
  for key, value in pairs(more or {}) do
    case[key] = value
  end
  M.cases[#M.cases + 1] = case
end

add("stats conns beside 900 idle clients",
  { "--clients", 20, "--times", 600, "--line", "stats conns", "--idle", 900 }, { slow = true })
add("2,000 stats of 50 clients", { "--clients", 50, "--times", 2000, "--line", "stats" },
  { slow = true })
local SOON <const> = {} -- names of the cases that `make test` plays; .ci/run plays all
for _, name in ipairs({ "stats", "stats describe", "stats sizehist",
  "stats conns", "slabs geometry factor 1.2 dry", "600 appends of 20 clients to a value of 900 KB" }) do
  SOON[name] = true
end

--- Whether `make test` plays the case: the worst of each kind.
function M.is_quick(case)
  return SOON[case.name] or case.words[2] ~= 20 and not case.slow
end

add("stats cachedump 5 0", { "--clients", 20, "--times", 20, "--line", "stats cachedump 5 0" })
add("70 headers of 1 MB values",
  { "--clients", 70, "--line", "set big%c 0 0 1000000", "--deaf", "--hold", 500 }, { keeps = true })
add("70 values of 1 MB that stop after a byte",
  { "--clients", 70, "--line", "set big%c 0 0 1000000", "--body", 1, "--deaf", "--hold", 500 }, { keeps = true })
add("500 values of 900 KB that stop half way",
  { "--clients", 500, "--line", "set big%c 0 0 900000", "--body", 450000, "--deaf", "--hold", 500 })
add("150 clients, 4,096 gets of 2 KB each, not read",
  { "--clients", 150, "--times", 4096, "--line", "get two", "--deaf", "--hold", 500 })
add("100 clients, multigets, not read",
  { "--clients", 100, "--times", 200, "--line", "get" .. (" key1 key2 key3"):rep(60), "--deaf", "--hold", 500 })
add("50 dumps of all keys, not read",
  { "--clients", 50, "--line", "lru_crawler metadump all", "--deaf", "--hold", 500 })
add("50 clients that watch, not read",
  { "--clients", 50, "--line", "watch fetchers mutations evictions", "--deaf", "--hold", 500 })
add("50 get lines of 4 MB without an end", { "--clients", 50, "--body", 4 << 20, "--deaf", "--hold", 500 })
add("50 get lines without an end, of short words",
  { "--clients", 50, "--times", 1, "--line", "get " .. ("k "):rep(60000), "--hold", 500 })
add("600 appends of 20 clients to a value of 900 KB",
  { "--clients", 20, "--times", 600, "--line", "append big 0 0 0\r\n" },
  { before = ("set big 0 0 900000 noreply\r\n%s\r\nmn\r\n"):format(("b"):rep(900000)) })
add("66 values of 1 MB at 4.5 KB/s each",
  { "--clients", 66, "--line", "set slow%c 0 0 1000000", "--body", 1000000, "--rate", 4500, "--hold", 2000 })
add("the same; the other client stores 50 KB",
  { "--clients", 66, "--line", "set slow%c 0 0 1000000", "--body", 1000000, "--rate", 4500, "--hold", 5000,
    "--store", 50000 }, { slow = true })
add("60 values of 1 MB at 320 KB/s each; the other client stores 50 KB",
  { "--clients", 60, "--line", "set live%c 0 0 1000000", "--body", 1000000, "--rate", 320000, "--hold", 5000,
    "--store", 50000 }, { slow = true })
add("200 values of 1 MB at 32 KB/s each; the other client stores 300 KB",
  { "--clients", 200, "--line", "set live%c 0 0 1000000", "--body", 1000000, "--rate", 32000, "--hold", 5000,
    "--store", 300000 }, { slow = true })
add("1,000 values that wait for memory, then hang up",
  { "--clients", 1000, "--line", "set gone%c 0 0 1000000", "--body", 20000, "--leave",
    "--idle", 20, "--held", 400000, "--hold", 500 }, { leaves = true, peak_mb = 12 })
add("1,000 connections at once", { "--clients", 1000, "--times", 5, "--line", "get key1" })

--- Commands without a case of their own, and why.
M.COVERED_ELSEWHERE = {
  shutdown = "ends the server, or is refused",
  watch = "has the case of 50 clients",
  extstore = "one constant line",
  refresh_certs = "one constant line",
  refresh_auth = "one constant line without users",
  debugtime = "only in debug builds",
  debugitem = "only in debug builds",
  ["stats reset"] = "would set back what the claims count by",
  ["stats extstore"] = "one constant line",
}

return M
