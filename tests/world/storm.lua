-- SPDX-License-Identifier: BSD-3-Clause
-- Administrators who change a server at once, beside clients who know what they stored:
-- `lua storm.lua FIRST COUNT [SWITCHES [say]]` plays so many seeds from FIRST on, a server each. Prints what
-- contradicts itself, with the seed, and ends with status 1 then; with `say` every reply, too, and its time.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local server = require "support.server"
local wire = require "support.wire"
local slate_world = require "slate_world"

local ROUNDS <const>, ADMINISTRATORS <const>, WRITERS <const>, KEYS <const> = 40, 3, 2, 60
local BYTES <const> = { 60, 400, 3000, 20000, 200000 }
local POLICIES <const> = { "lru", "slru", "sieve", "s3fifo", "clock", "auto" }
local say = arg[4] == "say" and print or function() end

local function draw(list)
    return list[math.random(#list)]
end

local function share() return 5 * math.random(1, 15) end

-- What an administrator may say; all are answered by one line.
local ORDERS <const> = {
    function() return "config set hot_lru_pct " .. share() end,
    function() return "config set warm_lru_pct " .. share() end,
    function() return "cache_memlimit " .. math.random(8, 32) end,
    function() return "evict policy " .. draw(POLICIES) .. draw({ "", " " .. math.random(20) }) end,
    function() return "slabs automove " .. draw({ "0", "1", "2", "utility", "random" }) end,
    function() return ("slabs reassign %d %d %d"):format(math.random(-1, 30), math.random(0, 30), math.random(3)) end,
    function() return "slabs reassign cancel" end,
    function() return "config set idle_timeout " .. math.random(1000, 2000) end,
    function() return "config set sample_rate " .. draw({ "0", "0.1", "1" }) end,
    function() return "config undo" end,
    function() return ("slabs geometry factor 1.%d force"):format(math.random(1, 9)) end,
    function() return "lru_crawler crawl all" end,
}

-- A client's own keys, and what it may find under each: the value that it stored last, or nothing.
local function new_writer(connection, name)
    local stored, count = {}, 0
    return function() -- sends a request; returns what checks the answer
        local key = name .. math.random(KEYS)
        local what = math.random(10)
        if what <= 5 then
            count = count + 1
            local value = (name .. count .. "."):rep(draw(BYTES) // 8 + 1)
            assert(connection:send(("set %s 0 0 %d\r\n%s\r\n"):format(key, #value, value)))
            return function()
                local line = assert(connection:receive("*l"))
                stored[key] = line == "STORED" and value or nil
                assert(line == "STORED" or line == "SERVER_ERROR out of memory storing object", line)
            end
        elseif what <= 9 then
            assert(connection:send(("get %s\r\n"):format(key)))
            return function()
                local line = assert(connection:receive("*l"))
                local bytes = line:match("^VALUE %S+ 0 (%d+)$")
                if bytes then
                    local value = assert(connection:receive(math.tointeger(tonumber(bytes)) + 2)):sub(1, -3)
                    assert(value == stored[key], key .. " has another value than was stored last")
                    line = assert(connection:receive("*l"))
                end
                assert(line == "END", line)
            end
        end
        assert(connection:send(("delete %s\r\n"):format(key)))
        return function()
            local line = assert(connection:receive("*l"))
            stored[key] = nil
            assert(line == "DELETED" or line == "NOT_FOUND", line)
        end
    end
end

local function values(connection, group)
    return (select(2, wire.stats(connection, group)))
end

-- What is told in several places is the same everywhere, and what may be set can be set.
local function assert_agrees(connection)
    local settings, general, memory = values(connection, "settings"), values(connection), values(connection, "memory")
    local hot, warm = tonumber(settings.hot_lru_pct), tonumber(settings.warm_lru_pct)
    assert(hot + warm <= 80, ("hot_lru_pct %d and warm_lru_pct %d hold together"):format(hot, warm))
    assert(settings.maxbytes == general.limit_maxbytes and general.limit_maxbytes == memory.items_limit,
        ("the limit is %s, %s and %s"):format(settings.maxbytes, general.limit_maxbytes, memory.items_limit))
    local said = wire.ask(connection, "config set idle_timeout 3000")
    assert(said == "OK", "config set idle_timeout: " .. said)
    assert(values(connection, "settings").idle_timeout == "3000", "idle_timeout is not what was set")
end

local function play(seed, switches)
    slate_world.seed(seed, switches)
    math.randomseed(seed)
    local one = server.start({ args = { "-m", "16", "-t", "3", "-o", "slab_geometry_rate=100" } })
    local clients, writers = {}, {}
    for i = 1, ADMINISTRATORS + WRITERS do
        clients[i] = wire.connect(one.address)
        writers[i] = i > ADMINISTRATORS and new_writer(clients[i], "w" .. i .. "-")
    end
    local good, problem = xpcall(function()
        for _ = 1, ROUNDS do
            local checks = {}
            for i, client in ipairs(clients) do
                if writers[i] then
                    checks[i] = writers[i]()
                else
                    local order = draw(ORDERS)()
                    assert(client:send(order .. "\r\n"))
                    checks[i] = function() say(order, assert(client:receive("*l"), "no answer to " .. order)) end
                end
            end
            for i, check in ipairs(checks) do
                check()
                say(i, slate_world.now_us())
            end
            if math.random(8) == 1 then
                require("socket").sleep(math.random() * 2)
            end
        end
        assert_agrees(clients[1])
        say(table.concat(wire.lines(clients[1], "stats items"), "\n"))
    end, debug.traceback)
    for _, client in ipairs(clients) do
        client:close()
    end
    local status, said = one:stop()
    assert(good, problem)
    assert(status == 0 and said == "", ("it ended with status %s: %s"):format(status, said))
end

local first, count, switches = math.tointeger(arg[1]), math.tointeger(arg[2]), math.tointeger(arg[3] or 6)
local failed = 0
for seed = first, first + count - 1 do
    local good, problem = pcall(play, seed, switches)
    if not good then
        failed = failed + 1
        print(("seed %d: %s"):format(seed, problem))
    end
end
print(("%d seeds from %d on, %d failed"):format(count, first, failed))
os.exit(failed == 0, true)
