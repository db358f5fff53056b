-- SPDX-License-Identifier: BSD-3-Clause
--- A server under a load, and its twins: copies of the process in which something else happens from then on, with the
--- same requests (twins.c). So their later difference is the effect of a change. Time is virtual. Pages stay in their
--- classes, unless the caller moves them.
---
---     local lab = laboratory.new("etc", seed)      -- one in a process
---     lab:pass(10)                                 -- seconds
---     lab:turn("shift")                            -- the clients change to another load
---     lab:take()                                   --> a snapshot
---     lab:counts()                                 --> { gets, hits, by_class = hits by id }
---     lab:twin(function() lab.client:command("slabs reassign 3 5") ... return figures end)  --> these figures
package.path = "lua/?.lua;" .. package.path
local cjson = require "cjson"
local client = require "slate.wire.client"
local snapshot = require "slate.facts.snapshot"
local twins = require "twins"

local M = {}
M.__index = M

local WARM_S <const> = 120 -- until the caches are full

-- A stream of requests: values of these sizes, keys by this law, so many a second, of which `reads` % are gets, each
-- with a set after a miss; the others are sets. phase_s: so long until all keys are new, and values `growth` times as
-- large.
local function stream(prefix, sizes, law, keys, rate, reads, ttl_s, phase_s, growth)
    return { prefix = prefix, sizes = sizes, law = law, keys = keys, rate = rate, reads = reads or 100,
        ttl_s = ttl_s or 0, phase_s = phase_s or 0, growth = growth or 1 }
end

-- Keys that are each set once, before the streams.
local function old(sizes, keys, ttl_s)
    return { prefix = "old", sizes = sizes, law = "sequential", keys = keys, rate = keys, reads = 0, growth = 1,
        ttl_s = ttl_s }
end

-- MiB of memory, streams, and the first fill. Constants may be fitted on these:
local FITTED <const> = {
    etc = { 48, { stream("e", "etc", "zipf:0.99", 800000, 8000, 96.8) } },
    sizes = { 24, { stream("a", "u80,200", "zipf:0.9", 200000, 2700),
        stream("b", "u900,1100", "zipf:0.9", 30000, 1300) } },
    shift = { 32, { stream("n", "u1000,1800", "zipf:0.9", 30000, 3000) }, old("u40,200", 300000) },
    alike = { 32, { stream("1", "l110,0.1", "zipf:0.8", 75000, 1200), stream("2", "l380,0.1", "zipf:0.8", 25000, 1200),
        stream("3", "l1500,0.1", "zipf:0.8", 6700, 1200), stream("4", "l6000,0.1", "zipf:0.8", 1700, 1200) } },
    twitter = { 32, { stream("t", "l116,1", "zipf:1", 1000000, 7000, 70) } },
    spread = { 24, { stream("s", "l300,0.8", "zipf:0.9", 150000, 2500, 90),
        stream("u", "u2000,4000", "uniform", 6000, 800) } },
    late = { 24, { stream("s", "u80,120", "zipf:0.8", 150000, 2500),
        stream("m", "u5000,7000", "zipf:1", 4000, 800) }, old("u300,500", 75000) },
    expire = { 48, { stream("s", "100", "uniform", 225000, 3000, 90, 20),
        stream("b", "3000", "zipf:0.8", 30000, 2000, 90, 20) } },
    session = { 40, { stream("s", "l400,0.6", "zipf:0.7", 250000, 5000, 85, 60) } },
    mixed = { 24, { stream("f", "u100,300", "zipf:0.9", 150000, 2200),
        stream("t", "u500,900", "zipf:0.8", 50000, 1500, 95, 30) } },
    moving = { 24, { stream("m", "300", "zipf:0.9", 40000, 1500, 95, nil, 40),
        stream("s", "l900,0.7", "zipf:0.9", 40000, 2000) } },
}

-- … and these judge them.
local HELD_OUT <const> = {
    users = { 32, { stream("u", "l180,0.7", "zipf:0.95", 300000, 4000, 95) } },
    articles = { 48, { stream("p", "l2500,1", "zipf:0.8", 40000, 1500),
        stream("q", "l200,0.5", "zipf:1", 200000, 2500) } },
    through = { 32, { stream("w", "l250,0.8", "zipf:0.9", 250000, 4000, 60) } },
    tokens = { 24, { stream("t", "u150,250", "uniform", 60000, 1500, 80, 30),
        stream("l", "u600,1000", "zipf:0.9", 50000, 2000, 95, 120) } },
    news = { 32, { stream("n", "l700,0.4", "zipf:1", 30000, 1500, 98, 40),
        stream("h", "1200", "zipf:0.9", 10000, 1000, 100, nil, 30),
        stream("c", "u100,200", "zipf:0.8", 150000, 1500, 95) } },
    growing = { 32, { stream("g", "150", "zipf:0.9", 60000, 2000, 95, nil, 60, 1.25),
        stream("s", "u80,400", "zipf:0.9", 150000, 2000, 90) } },
    small = { 12, { stream("s", "l150,0.4", "zipf:0.9", 90000, 2500, 95) } },
    large = { 160, { stream("a", "l400,1", "zipf:0.95", 600000, 6000, 97),
        stream("b", "u4000,9000", "zipf:0.8", 20000, 1000) } },
    loops = { 24, { stream("l", "u300,500", "sequential", 40000, 1200),
        stream("z", "l900,0.7", "zipf:0.9", 40000, 2500) } },
    level = { 32, { stream("a", "u100,140", "uniform", 100000, 2000),
        stream("b", "u700,900", "zipf:0.7", 30000, 1500, 90),
        stream("c", "u3000,3600", "uniform", 6000, 700, 90, 60) } },
    calcified = { 64, { stream("c", "u3000,12000", "zipf:1", 20000, 800) }, old("u140,160", 290000, 60) },
}

-- A client's transport (slate.wire.transport) to the server in this process.
local function transport()
    local unread = ""
    local function take(count)
        local bytes = unread:sub(1, count)
        unread = unread:sub(count + 1)
        return bytes
    end
    return {
        send = function(_, bytes)
            unread = unread .. twins.ask(bytes)
            return true
        end,
        receive_line = function()
            local line = take(assert(unread:find("\n", 1, true)))
            return (line:gsub("\r?\n$", ""))
        end,
        receive_bytes = function(_, count) return take(count) end,
        close = function() end,
    }
end

--- Whether a load is one of those that no constant may be fitted on.
function M.judges(name)
    return HELD_OUT[name] ~= nil
end

local STILL <const> = "-f 1.25 -o slab_automove=off --policy=s3fifo"

local function begin_streams(streams)
    for _, one in ipairs(streams) do
        twins.stream(one)
    end
end

--- Begins the server of this process, with the load's memory times a factor, and the load. It has filled its memory.
-- options: of slated, in place of STILL, by which pages stay in their classes.
function M.new(name, seed, times, options)
    local mib, streams, fill = table.unpack(FITTED[name] or HELD_OUT[name])
    twins.open(("-m %d -t 1 %s"):format(mib * (times or 1), options or STILL), seed)
    if fill then
        twins.stream(fill)
        twins.pass(1)
        twins.clear()
    end
    begin_streams(streams)
    twins.pass(WARM_S)
    return setmetatable({ client = client.new(transport()) }, M)
end

--- The clients change to the requests of another load. Pages stay with the classes of the first.
function M:turn(name)
    assert(self.client)
    twins.clear()
    begin_streams((FITTED[name] or HELD_OUT[name])[2])
end

function M:pass(seconds)
    assert(self.client)
    twins.pass(seconds)
end

function M:take()
    local now = assert(snapshot.take(self.client, { slated = "0.1.0", settings = true }))
    now.time_s = twins.clock() -- not the observer's
    return now
end

function M:counts()
    local now, by_class = self:take(), {}
    for _, class in ipairs(now.classes) do
        by_class[tostring(class.id)] = class.get_hits
    end
    return { gets = now.general.cmd_get, hits = now.general.get_hits, by_class = by_class }
end

--- Makes a move of pages { from, to, pages }: the server makes one after the other.
function M:move(move)
    local reply
    repeat
        reply = self.client:command(("slabs reassign %d %d %d"):format(move.from, move.to, move.pages))
        self:pass(reply:find("^BUSY") and 0.1 or 0)
    until not reply:find("^BUSY")
    assert(reply == "OK", reply)
end

--- The hit ratio of the next seconds.
function M:hits_for(seconds)
    local was = self:counts()
    self:pass(seconds)
    local now = self:counts()
    return (now.hits - was.hits) / math.max(1, now.gets - was.gets)
end

--- What `play` returns, as far as JSON has it, in a copy of this process as it is now.
function M.apart(play)
    return cjson.decode(twins.fork(function() return cjson.encode(play()) end))
end

--- The same in a copy of the server.
function M:twin(play)
    assert(self.client)
    return M.apart(play)
end

return M
