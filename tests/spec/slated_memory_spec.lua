-- SPDX-License-Identifier: BSD-3-Clause
-- One limit for the memory of the process: -o process_memory, and what stats memory tells of it.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local flat = require("slate.facts.stats").flat
local patience = require "support.patience"
local pipeline = require "support.pipeline"
local server = require "support.server"
local unix = require "socket.unix"

local MIB <const> = 1 << 20
local LIMIT_MIB <const> = 64
-- Sanitizers keep what was freed, and shadows of all memory: there the system's figures say nothing.
local IS_PLAIN <const> = not (os.getenv("ASAN_OPTIONS") or os.getenv("TSAN_OPTIONS") or os.getenv("UBSAN_OPTIONS"))

local function fill(client, prefix, count, value_bytes, look)
    local many, value = pipeline(client), ("x"):rep(value_bytes)
    for i = 1, count do
        assert(many:set(prefix .. i, value))
        if look and i % 2000 == 0 then
            look()
        end
    end
    assert(many:finish())
end

describe("the limit of the process", function()
    local one, client

    local function memory()
        return flat(assert(client:stats("memory")))
    end
    local function start(words)
        one = server.start({ args = words })
        client = one:connect()
    end
    after_each(function()
        if one then
            client:close()
            one:stop()
            one = nil
        end
    end)

    it("is none unless it is asked for, and each part is told all the same", function()
        start({ "-m", "16" })
        fill(client, "key-", 100, 100)
        local now = memory()
        assert.equal(0, now.process_limit)
        assert.equal(16 * MIB, now.items_limit)
        assert.equal(16 * MIB, now.items_asked)
        for _, part in ipairs({ "resident", "items", "index", "at_start", "other" }) do
            assert.is_true(now[part] > 0, part)
        end
        assert.equal(0, now.limit_lowered)
    end)

    it("gives items what the rest leaves when no -m is given", function()
        start({ "-o", "process_memory=" .. LIMIT_MIB })
        local now = memory()
        assert.equal(LIMIT_MIB * MIB, now.process_limit)
        assert.is_true(now.items_limit >= LIMIT_MIB // 2 * MIB, now.items_limit)
        assert.is_true(now.items_limit + now.at_start + now.reserved <= now.process_limit)
    end)

    it("gives items no more than -m", function()
        start({ "-m", "16", "-o", "process_memory=" .. LIMIT_MIB })
        assert.equal(16 * MIB, memory().items_limit)
    end)

    it("refuses a limit that leaves items too little, in words", function()
        for words, complaint in pairs({
            ["process_memory=10"] = "process_memory wants at least 24 megabytes",
            ["process_memory=24,read_buf_mem_limit=20"] = "leaves 0 MiB for items, less than 8: connections may take",
            ["process_memory=much"] = "process_memory wants a number of megabytes",
        }) do
            local command = ("%s %s -l 127.0.0.1 -p 0 -o %s 2>&1; echo status $?"):format(
                server.quoted(server.slated()), server.USER, words)
            local said = server.capture(command)
            assert.truthy(said:find("status 64", 1, true), said)
            assert.truthy(said:find(complaint, 1, true), said)
        end
    end)

    it("holds cache_memlimit to what the rest leaves, and changes while it serves", function()
        start({ "-m", "16", "-o", "process_memory=" .. LIMIT_MIB })
        assert.equal("OK", client:command("cache_memlimit " .. LIMIT_MIB))
        patience.wait_for("the items' limit", function()
            local now = memory()
            return now.items_asked == LIMIT_MIB * MIB and now.items_limit > 16 * MIB
                and now.items_limit < LIMIT_MIB * MIB
        end)
        assert.equal("OK", client:command("config set process_memory " .. 40 * MIB))
        patience.wait_for("less for items", function() return memory().items_limit < 32 * MIB end)
        assert.is_true(memory().limit_lowered >= 1)
        assert.equal("OK", client:command("config set process_memory 0"))
        patience.wait_for("all that was asked for", function()
            return memory().items_limit == LIMIT_MIB * MIB
        end)
    end)

    it("is passed by no client: items, deaf readers, values that never end, requests without an end", function()
        if not IS_PLAIN then
            pending("sanitizers keep memory that was freed")
            return
        end
        start({ "-c", "1200", "-o", "process_memory=" .. LIMIT_MIB })
        local most, held = 0, {}
        local function look()
            most = math.max(most, one:resident_bytes())
        end
        local long_key, large_get = ("k"):rep(200), "get"
        for i = 1, 100 do
            large_get = large_get .. " large-" .. i
        end
        local attacks = {
            large_get .. "\r\n",
            "set half-%d 0 0 900000\r\n" .. ("y"):rep(60000),
            "get " .. long_key .. " " .. long_key,
            ("get small-1 small-2 small-3\r\n"):rep(2000),
        }
        fill(client, "large-", 100, 200000, look)
        for i = 1, 1000 do
            local socket = unix.stream()
            if socket:connect(one.address) then
                socket:settimeout(0)
                socket:send((attacks[i % #attacks + 1]:gsub("%%d", i)))
                held[#held + 1] = socket
            end
            look()
        end
        -- A client whose request comes in parts may be hung up on while others hold all there is for that.
        for _, shape in ipairs({ { "small-", 150000, 100 }, { "tiny-", 150000, 10 } }) do
            for _ = 1, 5 do
                if pcall(fill, client, shape[1], shape[2], shape[3], look) then
                    break
                end
                client:close()
                client = one:connect()
            end
        end
        client:close()
        client = one:connect()
        patience.wait_for("the server to have looked", function()
            look()
            return memory().resident_most > 0
        end)
        for _, socket in ipairs(held) do
            socket:close()
        end
        assert.is_true(most > LIMIT_MIB // 2 * MIB, "the attack took nothing")
        assert.is_true(most <= LIMIT_MIB * MIB, ("resident %.1f MiB"):format(most / MIB))
    end)

    it("gives memory back to the system when the items' limit falls", function()
        if not IS_PLAIN then
            pending("sanitizers keep memory that was freed")
            return
        end
        start({ "-m", "64" })
        fill(client, "key-", 100000, 400)
        local before = memory().resident
        assert.equal("OK", client:command("cache_memlimit 8"))
        patience.wait_for("memory that goes back", function()
            return memory().resident < before - 24 * MIB
        end)
    end)
end)
