-- SPDX-License-Identifier: BSD-3-Clause
-- The cost of a restart in hits: two servers get the same requests; one is ended and started anew with its memory file.
-- Afterwards it has as many hits as the other, within one in a hundred. With lru only the second of an item's last use
-- comes back: in a cache that turns over within seconds, as here, lru loses more.
local restart = require "support.restart"

local KEYS <const>, EXPONENT <const>, VALUE <const> = 20000, 0.9, ("v"):rep(900)
local BATCH <const>, WARM <const>, WINDOW <const> = 200, 20000, 10000
local WORDS <const> = "-m 8 -t 1 -o slab_automove=0,no_slab_geometry_auto --policy="
local POINT <const> = WINDOW // 100
local draw <const> = require("drawn").zipf(KEYS, EXPONENT)

-- Reads these keys, and stores missing ones; returns the number of hits.
local function play(client, keys)
    local hits = 0
    for first = 1, #keys, BATCH do
        local asked, stored = {}, {}
        for i = first, first + BATCH - 1 do
            asked[#asked + 1] = ("mg key%d s\r\n"):format(keys[i])
        end
        assert(client:send(table.concat(asked)))
        for i = first, first + BATCH - 1 do
            if assert(client:receive("*l")):sub(1, 2) == "HD" then
                hits = hits + 1
            else
                stored[#stored + 1] = ("ms key%d %d q\r\n%s\r\n"):format(keys[i], #VALUE, VALUE)
            end
        end
        assert(client:send(table.concat(stored) .. "mn\r\n"))
        assert.equal("MN", client:receive("*l"))
    end
    return hits
end

local function keys_of(count)
    local keys = {}
    for i = 1, count do
        keys[i] = draw()
    end
    return keys
end

describe("the first hits after a restart", function()
    local one, twin

    after_each(function()
        for _, each in pairs { one, twin } do
            each:finish()
        end
        one, twin = nil, nil
    end)

    for _, case in ipairs { { "slru", "KILL" }, { "sieve", "KILL" }, { "s3fifo", "KILL" }, { "tinylfu", "KILL" },
        { "s3fifo", "TERM" } } do
        local policy, signal = case[1], case[2]
        it(("are as many as without it: %s, SIG%s"):format(policy, signal), function()
            local seed = os.time()
            print("seed " .. seed)
            math.randomseed(seed)
            local words = WORDS .. policy
            one, twin = restart.begin(words), restart.begin(words)
            local warm, window = keys_of(WARM), keys_of(WINDOW)
            local client, beside = one:connect(), twin:connect()
            play(client, warm)
            play(beside, warm)
            client:close()
            client = one:again(signal, words)
            local hits, would_be = play(client, window), play(beside, window)
            print(("%s: %d of %d, and %d without a restart"):format(policy, hits, WINDOW, would_be))
            assert.is_true(would_be > WINDOW // 4 and would_be < WINDOW * 9 // 10, would_be) -- evicts, with hits
            assert.is_true(hits >= would_be - POINT, hits)
        end)
    end
end)
