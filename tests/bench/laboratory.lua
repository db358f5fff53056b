-- SPDX-License-Identifier: BSD-3-Clause
--- Twins in the world (tests/world): servers that get the same requests from slate-load, in the world's time, so that
--- their later difference is the effect of a change to one. Pages stay in their classes, unless the caller moves them.
--
--     local lab <close> = laboratory.new("etc", seed, 2)
--     lab:pass(10)                        -- seconds
--     lab:counts()                        --> of each twin { gets, hits }
--     lab:take(2)                         --> a snapshot of the second
--     lab.clients[1]:command("slabs reassign 3 5")
--
-- It ends with the variable: local lab <close>.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local server = require "support.server"
local slate_world = require "slate_world"
local snapshot = require "slate.facts.snapshot"
local socket = require "socket"

local M = {}
M.__index = M

local GRAIN_US <const> = 5000 -- requests due within this time are sent together
local FOREVER_S <const> = 100000

-- A stream of requests: values of these sizes, keys by this law, so many a second, of which `reads` % are gets, each
-- with a set after a miss.
local function stream(prefix, sizes, law, keys, rate, reads, ttl)
    return { "--key-prefix", prefix .. "-", "--sizes", sizes, "--dist", law, "--keys", keys, "--rate", rate,
        "--reads", reads or 100, "--fill-on-miss", "--duration", FOREVER_S, "--ttl", ttl or "0s" }
end

-- Keys that are each set once, before the stream.
local function old(sizes, keys)
    return { "--key-prefix", "old-", "--sizes", sizes, "--keys", keys, "--insert", "--requests", 0 }
end

-- MiB of memory, streams, and the first fill.
local LOADS <const> = {
    etc = { 64, { stream("e", "etc", "zipf:0.99", 1000000, 15000, 96.8) } },
    sizes = { 48, { stream("a", "u80,200", "zipf:0.9", 400000, 8000),
        stream("b", "u900,1100", "zipf:0.9", 60000, 4000) } },
    shift = { 64, { stream("n", "u1000,1800", "zipf:0.9", 60000, 8000) }, old("u40,200", 600000) },
    alike = { 64, { stream("1", "l110,0.1", "zipf:0.8", 150000, 5000),
        stream("2", "l380,0.1", "zipf:0.8", 50000, 5000), stream("3", "l1500,0.1", "zipf:0.8", 13300, 5000),
        stream("4", "l6000,0.1", "zipf:0.8", 3300, 5000) } },
    twitter = { 32, { stream("t", "l116,1", "zipf:1.2", 1000000, 10000, 70) } },
    spread = { 48, { stream("s", "l300,0.8", "zipf:0.9", 300000, 6000, 90),
        stream("u", "u2000,4000", "uniform", 12000, 2000) } },
    late = { 48, { stream("s", "u80,120", "zipf:0.8", 300000, 6000),
        stream("m", "u5000,7000", "zipf:1", 8000, 2000) }, old("u300,500", 150000) },
    expire = { 48, { stream("s", "100", "uniform", 225000, 3000, 90, "20s"),
        stream("b", "3000", "zipf:0.8", 30000, 2000, 90, "20s") } },
    session = { 32, { stream("s", "l400,0.6", "zipf:0.7", 200000, 6000, 85, "60s") } },
    mixed = { 48, { stream("f", "u100,300", "zipf:0.9", 300000, 4000),
        stream("t", "u500,900", "zipf:0.8", 100000, 3000, 95, "30s") } },
}

-- slate-load in this process.
local function start_load(one, seed, words)
    local all = { (one.binary:gsub("/bin/slated$", "/world/load.so")), one.folder .. "/load" .. words[2], "--server",
        "unix:" .. one.address, "--conns", 1, "--pipeline", 1000, "--verify", "none", "--seed", seed }
    return slate_world.start(table.move(words, 1, #words, #all + 1, all), one.folder .. "/log")
end

local function await_end(load)
    while not load:status() do
        socket.sleep(0.1)
    end
    return load:status()
end

-- One of the twins. All that a server draws, with the seed of its hash, follows from the world's seed at its start.
local function start(mib, seed)
    slate_world.seed(seed, 0)
    return server.start({ args = { "-m", mib, "-t", 1, "-f", "1.25", "-o", "slab_automove=off", "--policy=s3fifo" } })
end

--- So many servers under a load, with the load's memory; or with so many times that, if times lists a factor for each.
function M.new(name, seed, count, times)
    local mib, streams, fill = table.unpack(LOADS[name])
    local self = setmetatable({ servers = {}, clients = {}, loads = {} }, M)
    for i = 1, count do
        self.servers[i] = start(math.floor(mib * (times and times[i] or 1)), seed)
        self.clients[i] = self.servers[i]:connect()
        if fill then
            assert(await_end(start_load(self.servers[i], seed, fill)) == 0, name .. " cannot be filled")
        end
    end
    slate_world.grain(GRAIN_US)
    for _, words in ipairs(streams) do
        for _, one in ipairs(self.servers) do
            self.loads[#self.loads + 1] = start_load(one, seed, words)
        end
    end
    return self
end

function M:pass(seconds)
    socket.sleep(seconds)
    for _, load in ipairs(self.loads) do
        assert(not load:status(), "slate-load has ended")
    end
end

function M:take(i)
    return assert(snapshot.take(self.clients[i], { slated = "0.1.0", settings = true }))
end

function M:counts()
    local counts = {}
    for i = 1, #self.clients do
        local general = self:take(i).general
        counts[i] = { gets = general.cmd_get, hits = general.get_hits }
    end
    return counts
end

--- Ends the servers, and with them their loads.
function M:__close()
    slate_world.grain(0)
    for i, one in ipairs(self.servers) do
        self.clients[i]:close()
        one:ask_to_end()
    end
    for _, load in ipairs(self.loads) do
        await_end(load)
    end
    for _, one in ipairs(self.servers) do
        one:stop()
    end
end

return M
