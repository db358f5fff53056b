-- SPDX-License-Identifier: BSD-3-Clause
-- One limit for the memory of the process: -o process_memory, and its figures in stats memory.
local patience = require "support.patience"
local rig = require("support.rig").new(after_each)
local unix = require "socket.unix"

local MIB <const> = 1 << 20
local LIMIT_MIB <const> = 64
-- Sanitizers retain freed memory, and shadows of all memory: there the system's figures mean nothing.
local IS_PLAIN <const> = not (os.getenv("ASAN_OPTIONS") or os.getenv("TSAN_OPTIONS") or os.getenv("UBSAN_OPTIONS"))

-- Figures of `stats memory` as numbers.
local function memory()
    local now = rig.stats("memory")
    for name, value in pairs(now) do
        now[name] = tonumber(value)
    end
    return now
end

describe("the limit of the process", function()
    it("is off by default, and each part is shown all the same", function()
        rig.start("-m", "16")
        rig.store("key", 100, 100)
        local now = memory()
        assert.same({ 0, 16 * MIB, 16 * MIB, 0 },
            { now.process_limit, now.items_limit, now.items_requested, now.limit_lowered })
        for _, part in ipairs({ "resident", "items", "index", "at_start", "other" }) do
            assert.is_true(now[part] > 0, part)
        end
    end)

    it("gives items the memory that other parts leave when no -m is given", function()
        rig.start("-o", "process_memory=" .. LIMIT_MIB)
        local now = memory()
        assert.equal(LIMIT_MIB * MIB, now.process_limit)
        assert.is_true(now.items_limit >= LIMIT_MIB // 2 * MIB, now.items_limit)
        assert.is_true(now.items_limit + now.at_start + now.reserved <= now.process_limit)
    end)

    it("gives items no more than -m nor than other parts leave, and changes while it serves", function()
        rig.start("-m", "16", "-o", "process_memory=" .. LIMIT_MIB)
        assert.equal(16 * MIB, memory().items_limit)
        assert.equal("OK", rig.ask("cache_memlimit " .. LIMIT_MIB))
        patience.wait_for("the items' limit", function()
            local now = memory()
            return now.items_requested == LIMIT_MIB * MIB and now.items_limit > 16 * MIB
                and now.items_limit < LIMIT_MIB * MIB
        end)
        assert.equal("OK", rig.ask("config set process_memory " .. 40 * MIB))
        patience.wait_for("less for items", function() return memory().items_limit < 32 * MIB end)
        assert.is_true(memory().limit_lowered >= 1)
        assert.equal("OK", rig.ask("config set process_memory 0"))
        patience.wait_for("all that was asked for", function() return memory().items_limit == LIMIT_MIB * MIB end)
    end)

    it("is passed by no client: items, deaf readers, values that never end, requests without an end", function()
        if not IS_PLAIN then
            pending("sanitizers keep memory that was freed")
            return
        end
        rig.start("-c", "1200", "-o", "process_memory=" .. LIMIT_MIB)
        local most, held = 0, {}
        local function look()
            most = math.max(most, rig.server:resident_bytes())
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
        rig.store("large-", 100, 200000)
        for i = 1, 1000 do
            local socket = unix.stream()
            if socket:connect(rig.server.address) then
                socket:settimeout(0)
                socket:send((attacks[i % #attacks + 1]:gsub("%%d", i)))
                held[#held + 1] = socket
            end
            if i % 50 == 0 then
                look()
            end
        end
        -- A client whose request comes in parts may be hung up on while others hold all the memory for such requests.
        for prefix, bytes in pairs({ ["small-"] = 1500, ["tiny-"] = 10 }) do
            for first = 1, 40000, 2000 do
                for _ = 1, 5 do
                    if pcall(rig.store, prefix, first + 1999, bytes, first) then
                        break
                    end
                    rig.hang_up()
                end
                look()
            end
        end
        rig.hang_up()
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
        rig.start("-m", "48")
        rig.store("key-", 20000, 2000)
        local before = memory().resident
        assert.equal("OK", rig.ask("cache_memlimit 8"))
        patience.wait_for("memory that goes back", function() return memory().resident < before - 20 * MIB end)
    end)
end)
