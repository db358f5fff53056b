-- SPDX-License-Identifier: BSD-3-Clause
-- Administrators change a server at once, beside clients that know their own values (writer.lua):
-- `lua storm.lua FIRST COUNT [SWITCHES [say]]` plays so many seeds from FIRST on, a server each. Without SWITCHES each
-- seed has its own. Prints contradictions, with the seed, and then ends with status 1; with `say` every reply,
-- too, and its time.
package.path = "lua/?.lua;tests/spec/?.lua;tests/world/?.lua;" .. package.path
local server = require "support.server"
local slate_world = require "slate_world"
local socket = require "socket"
local wire = require "support.wire"
local writer = require "writer"

local ROUNDS <const>, ADMINISTRATORS <const>, WRITERS <const> = 40, 3, 3
local SECOND_US <const>, SETTLE_S <const> = 1000000, 5
local POLICIES <const> = { "lru", "slru", "sieve", "s3fifo", "clock", "bag", "tinylfu", "s3auto" }
local MODES <const> = { "0", "1", "2", "utility", "random", "lra", "lrc", "lua:utility", "lua:burst", "lua:free-pages" }
-- With -f no chunk sizes are fitted unless an administrator orders that, which takes as long as all other orders.
local ARGUMENTS <const> = { "-m", "16", "-t", "3", "-f", "1.25", "-o", "slab_geometry_rate=100",
    "--policy-dir=lua/slate/policies" }
-- Options added to these, by the seed.
local KINDS <const> = { {}, {}, { "--index=chained" }, { "--index=cuckoo" }, { "--index=hopscotch" },
    { "--store=heap" }, { "--store=blocks" }, { "-o", "like_memcached" }, { "-M" } }
local GEOMETRY <const> = { "auto 6 force", "pause", "resume", "revert", "sizes 96,500,4000,30000", "factor 1.1 dry" }
local say = arg[4] == "say" and print or function() end

local function draw(list)
    return list[math.random(#list)]
end

local function share() return 5 * math.random(1, 15) end

-- An administrator's commands; each has a reply of one line.
local ORDERS <const> = {
    function() return "config set hot_lru_pct " .. share() end,
    function() return "config set warm_lru_pct " .. share() end,
    function() return ("lru tune %d %d 0.2 2.0"):format(share(), share()) end,
    function() return "cache_memlimit " .. math.random(8, 32) end,
    function() return "evict policy " .. draw(POLICIES) .. draw({ "", " " .. math.random(20) }) end,
    function() return "slabs automove " .. draw(MODES) end,
    function() return ("slabs reassign %d %d %d"):format(math.random(-1, 30), math.random(0, 30), math.random(3)) end,
    function() return "slabs reassign cancel" end,
    function() return "config set idle_timeout " .. math.random(1000, 2000) end,
    function() return "config set sample_rate " .. draw({ "0", "0.1", "1" }) end,
    function() return "config set slab_geometry_auto " .. draw({ "yes", "no", "no", "no" }) end,
    function() return "config undo" end,
    function() return ("slabs geometry factor 1.%d force"):format(math.random(1, 9)) end,
    function() return "slabs geometry " .. draw(GEOMETRY) end,
    function() return "lru_crawler crawl all" end,
}
local FLUSHES <const> = { "flush_all", "flush_all 1" }

local function values(connection, group)
    return (select(2, wire.stats(connection, group)))
end

local function assert_same(one, other, what)
    assert(one == other, ("%s: %s and %s"):format(what, one, other))
end

-- A figure that is shown in several places is the same in all, and every setting can be set.
local function assert_agrees(connection)
    local settings, general, memory = values(connection, "settings"), values(connection), values(connection, "memory")
    local hot, warm = tonumber(settings.hot_lru_pct), tonumber(settings.warm_lru_pct)
    assert(hot + warm <= 80, ("hot_lru_pct %d and warm_lru_pct %d hold together"):format(hot, warm))
    assert_same(settings.maxbytes, general.limit_maxbytes, "the limit")
    assert_same(settings.maxbytes, memory.items_limit, "the limit")
    for _, line in ipairs(wire.lines(connection, "config get *")) do
        local name, value = line:match("^CONFIG (%S+) (%S+) runtime$")
        local number = tonumber(settings[name])
        assert(not number or not tonumber(value) or number == tonumber(value), line .. " is " .. tostring(number))
    end
    assert_same(wire.ask(connection, "config set idle_timeout 3000"), "OK", "config set idle_timeout")
    assert_same(values(connection, "settings").idle_timeout, "3000", "idle_timeout")
end

-- Once all requests have ended, each item and each page is counted in its place.
local function assert_counts(connection)
    local items, by_class, pages = 0, 0, 0
    assert_same(wire.ask(connection, "lru_crawler metadump all"), "OK", "lru_crawler metadump")
    while assert(connection:receive("*l")) ~= "END" do
        items = items + 1
    end
    for name, value in pairs(values(connection, "items")) do
        by_class = by_class + (name:find(":number$") and tonumber(value) or 0)
    end
    assert_same(tostring(items), values(connection).curr_items, "items that are found, and counted")
    assert_same(items, by_class, "items of all classes")
    local most = 0
    for name, value in pairs(values(connection, "slabs")) do
        local of_class = name:find(":total_pages$") and tonumber(value) or 0
        pages, most = pages + of_class, math.max(most, of_class)
    end
    local all = values(connection, "pages")
    if all.pages_out == "0" or not all.pages_out then
        return -- stores other than slab have none
    end
    assert_same(tostring(pages), all.pages_out, "pages of all classes")
    -- a class with items keeps a page, over the limit, too
    assert(pages <= tonumber(all.pages_limit) or most == 1, ("%d pages of %s"):format(pages, all.pages_limit))
end

-- Administrators and writers: all send at once, then all read their replies.
local function play_rounds(clients, writers)
    local due, last -- of a coming flush: its time, and the items that it removes
    for round = 1, ROUNDS do
        local checks, flush = {}, math.random(8) == 1 and draw(FLUSHES)
        for i, client in ipairs(clients) do
            local order = flush or draw(ORDERS)()
            if writers[i] then
                checks[i] = writers[i].step(round)
            else
                flush = nil
                assert(client:send(order .. "\r\n"))
                checks[i] = function()
                    local said = assert(client:receive("*l"), "no answer to " .. order)
                    say(order, said)
                    if order == "flush_all" then
                        due, last = 0, round
                    elseif order:find("^flush_all") then
                        due, last = slate_world.now_us() + 2 * SECOND_US, round
                    end
                end
            end
        end
        for i, check in ipairs(checks) do
            check()
            say(i, slate_world.now_us())
        end
        if due and due <= slate_world.now_us() then
            for _, one in pairs(writers) do
                one.flushed(last)
            end
            due = nil
        end
        if math.random(8) == 1 then
            socket.sleep(math.random() * 2)
        end
    end
end

local function play(seed, switches)
    slate_world.seed(seed, switches)
    math.randomseed(seed)
    local kind = KINDS[seed % #KINDS + 1]
    local one = server.start({ args = table.move(kind, 1, #kind, #ARGUMENTS + 1, { table.unpack(ARGUMENTS) }) })
    local clients, writers, shared = {}, {}, writer.shared()
    for i = 1, ADMINISTRATORS + WRITERS do
        clients[i] = wire.connect(one.address)
        writers[i] = i > ADMINISTRATORS and writer.new(clients[i], "w" .. i, shared) or nil
    end
    local good, problem = xpcall(function()
        play_rounds(clients, writers)
        assert_agrees(clients[1])
        wire.ask(clients[1], "slabs automove off")
        wire.ask(clients[1], "lru_crawler crawl all")
        socket.sleep(SETTLE_S)
        assert_counts(clients[1])
        say(table.concat(wire.lines(clients[1], "stats items"), "\n"))
    end, debug.traceback)
    for _, client in ipairs(clients) do
        client:close()
    end
    local status, said = one:stop()
    assert(good, problem)
    assert(status == 0 and said == "", ("it ended with status %s: %s"):format(status, said))
end

local first, count, switches = math.tointeger(arg[1]), math.tointeger(arg[2]), math.tointeger(arg[3])
local failed = 0
for seed = first, first + count - 1 do
    local good, problem = pcall(play, seed, switches or seed % 8)
    if not good then
        failed = failed + 1
        print(("seed %d: %s"):format(seed, problem))
    end
end
print(("%d seeds from %d on, %d failed"):format(count, first, failed))
os.exit(failed == 0, true)
