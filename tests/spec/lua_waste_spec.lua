-- SPDX-License-Identifier: BSD-3-Clause
-- Where memory goes: the parts sum up to the pages, also where values are chained over chunks of several classes.
local snapshot = require "slate.facts.snapshot"
local server = require "support.server"
local waste = require "slate.facts.waste"

local PAGE_BYTES <const> = 1 << 20
local LARGE <const>, MIDDLE <const>, SMALL <const> = 40, 6, 5000
local LARGE_BYTES <const>, MIDDLE_BYTES <const>, SMALL_BYTES <const> = 900000, 390000, 900
local HEADERS_MOST_BYTES <const> = 128 -- headers of an item, with key and padding

-- 24 pages. Class 4 counts all bytes of chained values, some 2 MB more than are in its own chunks; class 3 has pieces
-- of them.
local function chained()
    local function class(id, chunk_size, chunks_per_page, used_chunks, requested)
        return { id = id, chunk_size = chunk_size, chunks_per_page = chunks_per_page, total_pages = 6,
            used_chunks = used_chunks, free_chunks = 6 * chunks_per_page - used_chunks, mem_requested = requested }
    end
    return { general = { limit_maxbytes = 64 << 20 }, classes = {
        class(1, 96, 10922, 40), class(2, 1000, 1048, 6000, 5400000), class(3, 300000, 3, 15, 1500000),
        class(4, 524288, 2, 12, 8300000) } }
end

describe("slate.facts.waste", function()
    local rows = waste.classes(chained())
    local total = waste.total(chained(), rows)

    it("computes the slack of a class without pieces", function()
        assert.equal(600000, rows[2].slack_bytes)
        assert.is_true(rows[2].waste_ratio > 0.09 and rows[2].waste_ratio < 0.12)
    end)

    it("computes none for classes that may hold pieces of long values", function()
        for _, i in ipairs({ 1, 3, 4 }) do
            assert.is_nil(rows[i].slack_bytes, "class " .. i)
            assert.is_nil(rows[i].waste_ratio, "class " .. i)
        end
    end)

    it("sums the parts of the server up to its pages", function()
        assert.equal(24 * PAGE_BYTES, total.page_bytes)
        assert.equal(total.page_bytes,
            total.requested_bytes + total.slack_bytes + total.free_bytes + total.tail_bytes)
    end)

    it("sums them up also where the figures of a server contradict each other", function()
        local seed = tonumber(os.getenv("SEED")) or os.time()
        math.randomseed(seed)
        for _ = 1, 500 do
            local now = chained()
            now.general.curr_items = math.random(0, 1 << 20)
            for _, class in ipairs(now.classes) do
                class.used_chunks = math.random(0, 3 * class.total_pages * class.chunks_per_page)
                class.free_chunks = math.random(0, 3 * class.total_pages * class.chunks_per_page)
                class.mem_requested = math.random(0, 3 * class.total_pages * PAGE_BYTES)
            end
            local some = waste.classes(now)
            local all = waste.total(now, some)
            local held, parts = all.page_bytes - all.free_bytes, 0
            for _, name in ipairs({ "requested_bytes", "slack_bytes", "tail_bytes" }) do
                assert.is_true(all[name] >= 0 and all[name] <= held, ("%s, SEED=%d"):format(name, seed))
                parts = parts + all[name]
            end
            assert.equal(held, parts, "SEED=" .. seed)
            assert.is_true(all.header_bytes <= all.requested_bytes)
            assert.is_true((all.waste_ratio or 0) <= 1)
            for _, row in ipairs(some) do
                assert.equal(row.page_bytes, row.used_bytes + row.free_bytes + row.tail_bytes, "SEED=" .. seed)
                assert.is_true(row.free_bytes >= 0 and (row.slack_bytes or 0) >= 0 and (row.waste_ratio or 0) <= 1)
            end
        end
    end)
end)

for _, kind in ipairs(server.both()) do
    describe("slate.facts.waste on " .. kind.name, function()
        it("finds the waste of values of 390 and 900 kB beside small ones", function()
            local one = server.start({ binary = kind.binary, args = { "-m", "64", "-o", "slab_automove=0" } })
            finally(function() one:stop() end)
            local client = one:connect()
            local function store(count, bytes)
                for i = 1, count do
                    assert(client:set(("k%d-%d"):format(bytes, i), ("x"):rep(bytes)))
                end
                return count * bytes
            end
            local payload = store(LARGE, LARGE_BYTES) + store(MIDDLE, MIDDLE_BYTES) + store(SMALL, SMALL_BYTES)
            local now = assert(snapshot.take(client, {}))
            client:close()
            local total = waste.total(now, waste.classes(now))
            assert.equal(total.page_bytes,
                total.requested_bytes + total.slack_bytes + total.free_bytes + total.tail_bytes)
            local headers = total.requested_bytes - payload
            assert.is_true(headers > 0 and headers <= (LARGE + MIDDLE + SMALL) * HEADERS_MOST_BYTES)
            -- The pages' bytes beyond payload and headers, free chunks apart: the parts' sum is exact to the byte.
            assert.is_true(total.waste_ratio > 0.05 and total.waste_ratio < 0.2, total.waste_ratio)
        end)
    end)
end
