-- SPDX-License-Identifier: BSD-3-Clause
-- Other chunk sizes for a live server, as clients and operators see it over the wire.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"

local rig = require("support.rig").new(after_each)
require "support.world"

local ITEMS <const> = 20000

local function value_of(i)
    return ("%d."):format(i):rep(20 + i % 120)
end

local function store_all()
    for first = 1, ITEMS, 100 do
        local parts = {}
        for i = first, first + 99 do
            local value = value_of(i)
            parts[#parts + 1] = ("set key%d %d 0 %d\r\n%s\r\n"):format(i, i, #value, value)
        end
        assert(rig.connection:send(table.concat(parts)))
        for _ = 1, #parts do
            assert.equal("STORED", (assert(rig.connection:receive("*l"))))
        end
    end
end

-- How many keys are there; each value must be its own.
local function count_right()
    local there = 0
    for first = 1, ITEMS, 100 do
        local keys = {}
        for i = first, first + 99 do
            keys[#keys + 1] = "key" .. i
        end
        assert(rig.connection:send("get " .. table.concat(keys, " ") .. "\r\n"))
        while true do
            local line = assert(rig.connection:receive("*l"))
            local i, flags, bytes = line:match("^VALUE key(%d+) (%d+) (%d+)$")
            if not i then
                assert.equal("END", line)
                break
            end
            assert.equal(i, flags)
            assert.equal(value_of(tonumber(i)), assert(rig.connection:receive(tonumber(bytes))))
            assert.equal("", assert(rig.connection:receive("*l")))
            there = there + 1
        end
    end
    return there
end

-- Stores so many values of size(i) bytes each under name<i>.
local function fill(name, count, size)
    for first = 1, count, 100 do
        local sets = {}
        for i = first, math.min(count, first + 99) do
            local bytes = size(i)
            sets[#sets + 1] = ("set %s%d 0 0 %d noreply\r\n%s\r\n"):format(name, i, bytes, ("v"):rep(bytes))
        end
        assert(rig.connection:send(table.concat(sets)))
    end
end

-- How many of the keys name1 to name<count> are there.
local function count_keys(name, count)
    local there = 0
    for first = 1, count, 100 do
        local keys = {}
        for i = first, first + 99 do
            keys[#keys + 1] = name .. i
        end
        assert(rig.connection:send("mg " .. table.concat(keys, "\r\nmg ") .. "\r\nmn\r\n"))
        repeat
            local line = assert(rig.connection:receive("*l"))
            there = there + (line == "HD" and 1 or 0)
        until line == "MN"
    end
    return there
end

local function geometry()
    return rig.stats("geometry")
end

local function settle(between)
    patience.wait_for("the change to end", function()
        local is_steady = geometry().state == "steady"
        if between and not is_steady then
            between()
        end
        return is_steady
    end)
end

describe("slabs geometry", function()
    it("says what is allowed", function()
        rig.start("-m", "16")
        local usage <const> = "CLIENT_ERROR usage: slabs geometry factor N|sizes N,N,...|auto [CLASSES]|"
            .. "revert [force] [dry], or pause|resume"
        assert.equal(usage, rig.ask("slabs geometry"))
        assert.equal(usage, rig.ask("slabs geometry better"))
        for _, words in ipairs({ "factor", "factor 1", "factor 1.001", "factor 101", "factor x", "factor force" }) do
            assert.equal("CLIENT_ERROR geometry factor must be from 1.01 to 100",
                rig.ask("slabs geometry " .. words))
        end
        for _, words in ipairs({ "sizes", "sizes a", "sizes 1,,2", "sizes 100,", "sizes -1" }) do
            assert.equal("CLIENT_ERROR geometry sizes are at most 255 numbers of bytes with commas between them",
                rig.ask("slabs geometry " .. words))
        end
        for _, words in ipairs({ "auto 1", "auto 256", "auto x" }) do
            assert.equal("CLIENT_ERROR geometry auto makes from 2 to 255 classes",
                rig.ask("slabs geometry " .. words))
        end
        assert.equal("CLIENT_ERROR bad command line format", rig.ask("slabs geometry pause 1"))
        assert.equal("CLIENT_ERROR bad command line format", rig.ask("slabs geometry resume dry"))
        assert.truthy(rig.ask("slabs geometry sizes 100,600000"):find("^BADSIZES .* to 524288 bytes"))
        assert.truthy(rig.ask("slabs geometry sizes 200,100 force"):find("^BADSIZES "))
        assert.truthy(rig.ask("slabs geometry auto"):find("^NOGAIN there are no items .*force$"))
        assert.truthy(rig.ask("slabs geometry revert"):find("^NOREVERT "))
        assert.truthy(rig.ask("slabs geometry pause"):find("^NOTRUNNING "))
        assert.truthy(rig.ask("slabs geometry resume"):find("^NOTPAUSED "))
        assert.equal("steady", geometry().state)
    end)

    it("is refused where no page may move", function()
        rig.start("-m", "16", "-o", "no_slab_reassign")
        assert.equal("CLIENT_ERROR slab reassignment disabled", rig.ask("slabs geometry auto force"))
    end)

    it("fits the chunks to the items, loses none while there is room, and goes back", function()
        rig.start("-m", "64", "-o", "slab_geometry_rate=100,no_slab_geometry_auto")
        store_all()
        local before = geometry()
        assert.truthy(rig.ask("slabs geometry auto dry"):find(
            "^PREDICTED %d+ classes would hold %d+%.%d %% more items in 64 pages, .*; sizes that no item has yet would "
            .. "waste %d+%.%d %% on average and %d+%.%d %% at most; the sizes: [%d,]+,524288$"))
        assert.equal("0", geometry().generation)
        assert.equal("OK", rig.ask("slabs geometry auto"))
        settle(function() assert.equal(ITEMS, count_right()) end)
        local after = geometry()
        assert.equal("0", after.items_dropped)
        assert.truthy(tonumber(after.items_predicted) > tonumber(after.items_before), "more items were predicted")
        assert.equal("0", after.classes_retired)
        assert.equal("0", after.pages_old)
        assert.truthy(tonumber(after.waste_now) < tonumber(after.waste_before), "the waste became less")
        assert.equal(ITEMS, count_right())
        local slabs = rig.stats("slabs")
        local active = 0
        for name, value in pairs(after) do
            local id = name:match("^(%d+):chunk_size$")
            if id and after[id .. ":total_pages"] ~= "0" then
                active = active + 1
                assert.equal(value, slabs[id .. ":chunk_size"])
                assert.equal(after[id .. ":total_pages"], slabs[id .. ":total_pages"])
            end
        end
        assert.equal(slabs.active_slabs, tostring(active))
        assert.equal("OK", rig.ask("slabs geometry revert"))
        settle()
        assert.equal(before.classes, geometry().classes)
        assert.equal(ITEMS, count_right())
    end)

    -- The sizes of a prediction.
    local function predicted(words)
        local line = rig.ask("slabs geometry " .. words .. " dry")
        local sizes = {}
        for size in assert(line:match("; the sizes: ([%d,]+)$"), line):gmatch("%d+") do
            sizes[#sizes + 1] = tonumber(size)
        end
        return sizes
    end

    it("keeps a ladder of sizes for what comes later, which finds room", function()
        rig.start("-m", "64", "-o", "slab_geometry_rate=100,no_slab_geometry_auto")
        fill("before", 50000, function(i) return 590 + i % 21 end)
        local sizes = predicted("auto")
        for i = 2, #sizes do -- finer than 1.5 where there are no items
            local factor <const> = sizes[i - 1] > 700 and 1.25 or 1.5
            assert.is_true(sizes[i] <= (sizes[i - 1] * factor + 7) // 8 * 8
                or 1048576 // sizes[i - 1] <= 1048576 // sizes[i] + 1, table.concat(sizes, ","))
        end
        assert.is_true(sizes[1] <= 96)
        assert.equal("OK", rig.ask("slabs geometry auto"))
        settle()
        local now, with_pages = geometry(), 0
        assert.equal(tostring(#sizes), now.classes)
        for name, pages in pairs(now) do
            with_pages = with_pages + ((name:find(":total_pages$") and pages ~= "0") and 1 or 0)
        end
        assert.is_true(with_pages <= 5, with_pages .. " classes have pages")
        fill("after", 2000, function() return 1000 end)
        assert.equal(2000, count_keys("after", 2000))
        assert.equal(50000, count_keys("before", 50000))
    end)

    local function wait_until(condition, what)
        patience.wait_for(what, condition)
    end

    it("tells that sizes came which the classes fit badly, and fits them again when it may", function()
        rig.start("-m", "64", "-o", "slab_geometry_rate=100,slab_geometry_auto")
        assert.equal("CONFIG slab_geometry_auto yes runtime", rig.ask("config get slab_geometry_auto"))
        assert.equal("END", rig.connection:receive("*l"))
        fill("a", 30000, function(i) return 590 + i % 21 end)
        assert.equal("OK", rig.ask("config set slab_geometry_auto no")) -- it looks at once when it is switched
        -- By its first look, if that comes late.
        local function began() return geometry().generation == "1" end
        wait_until(function() return tonumber(geometry().auto_gain) > 10 or began() end,
            "it does not tell the gain")
        assert.equal("no", geometry().auto)
        assert.equal("OK", rig.ask("config set slab_geometry_auto yes"))
        wait_until(function() return geometry().generation == "1" end, "no change begins")
        settle()
        assert.truthy(tonumber(geometry().waste_now) < 2)
        assert.equal("OK", rig.ask("config set slab_geometry_auto no")) -- or it fits them as they come
        fill("b", 30000, function(i) return 1020 + i % 21 end)
        assert.equal("OK", rig.ask("config set slab_geometry_auto no"))
        wait_until(function() return tonumber(geometry().auto_gain) > 2 end, "it does not see what came")
        assert.equal("OK", rig.ask("config set slab_geometry_auto yes"))
        wait_until(function() return geometry().generation == "2" end, "no change begins anew")
        settle()
        assert.truthy(tonumber(geometry().waste_now) < 2)
    end)

    it("fits them by itself unless told otherwise, and ends that when other sizes are asked for", function()
        local function is_on() return rig.ask("config get slab_geometry_auto"):match("^CONFIG %S+ (%l+) "),
            assert.equal("END", rig.connection:receive("*l")) end
        rig.start("-m", "64", "-o", "slab_geometry_rate=100")
        assert.equal("yes", is_on())
        assert.truthy(rig.ask("slabs geometry factor 1.5 dry"):find("^PREDICTED "))
        assert.truthy(rig.ask("slabs geometry revert"):find("^NOREVERT "))
        assert.equal("yes", is_on())
        assert.equal("OK", rig.ask("slabs geometry factor 1.5 force"))
        assert.equal("no", is_on())
        assert.equal("no", geometry().auto)
        local audit = rig.stats("audit")
        assert.same({ "slabs geometry", "slab_geometry_auto", "yes", "no" },
            { audit["1:what"], audit["2:what"], audit["2:was"], audit["2:is"] })
        assert.equal("OK slab_geometry_auto is yes again", rig.ask("config undo"))
        assert.equal("yes", is_on())
        settle()
        assert.equal("OK", rig.ask("slabs geometry revert"))
        assert.equal("no", is_on())
        settle()
        assert.equal("39", geometry().classes)
    end)

    it("keeps the sizes that the start asked for", function()
        rig.start("-m", "16", "-f", "1.25")
        assert.equal("no", geometry().auto)
        fill("a", 15000, function(i) return 590 + i % 21 end)
        wait_until(function() return tonumber(geometry().auto_gain) > 5 end, "it does not look")
        assert.equal("0", geometry().generation)
        assert.equal("39", geometry().classes)
    end)

    it("makes no more classes than there may be at the start, or than are asked for", function()
        rig.start("-m", "64", "--slab-classes=24", "-o", "no_slab_geometry_auto")
        store_all()
        assert.is_true(#predicted("auto") <= 24)
        assert.is_true(#predicted("auto 12") <= 12)
        local many = #predicted("auto 80")
        assert.is_true(many > 24 and many <= 80, many .. " classes")
    end)

    it("makes more classes than memcached has, and every one can be named", function()
        rig.start("-m", "64", "-o", "slab_geometry_rate=100,no_slab_geometry_auto")
        store_all()
        assert.equal("OK", rig.ask("slabs geometry factor 1.05 force"))
        local audit = rig.stats("audit")
        assert.same({ "slabs geometry", "factor 1.05 force" }, { audit["1:what"], audit["1:is"] })
        settle()
        local now = geometry()
        assert.truthy(tonumber(now.classes) > 100, now.classes .. " classes")
        local slabs = rig.stats("slabs")
        local highest = 0
        for name in pairs(slabs) do
            highest = math.max(highest, tonumber(name:match("^(%d+):chunk_size$") or 0))
        end
        assert.truthy(highest > 63, "the highest class with pages is " .. highest)
        assert.equal("OK", rig.ask("lru_crawler crawl " .. highest))
        assert.truthy(rig.lines(("stats cachedump %d 1"):format(highest))[1]:find("^ITEM key"))
        assert.equal(ITEMS, count_right())
    end)

    it("can be asked for at the start beyond 63 classes", function()
        rig.start("-m", "64", "-f", "1.02", "--slab-classes=200")
        assert.equal("200", geometry().classes)
    end)

    it("drops nothing for pages that slow readers hold, and automove nothing for the change", function()
        local BIG <const>, MIDDLE <const>, SMALL <const>, READERS <const>, PAGE_ITEMS <const> = 10, 150, 12000, 5, 11
        rig.start("-m", "32", "-o", "slab_geometry_rate=100,no_slab_geometry_auto,slab_automove=utility")
        local function items()
            return tonumber(rig.stats().curr_items)
        end
        fill("big", BIG, function() return 1000000 end)
        fill("middle", MIDDLE, function() return 90000 end)
        fill("small", SMALL, function() return 300 end)
        assert.equal(BIG + MIDDLE + SMALL, items())
        local readers = {}
        for i = 1, READERS do
            local keys = { "big" .. i }
            for j = 1, 12 do
                keys[#keys + 1] = "middle" .. (i - 1) * 12 + j
            end
            readers[i] = rig.connect()
            assert(readers[i]:send("get " .. table.concat(keys, " ") .. "\r\n"))
            assert.equal("VALUE", readers[i]:receive(5))
        end
        assert.equal("OK", rig.ask("slabs geometry factor 1.3 force"))
        local now
        patience.wait_for("the change to come to what is held", function()
            now = geometry()
            return now.ranges_done == now.ranges and tonumber(now.pages_in_use) >= 30
        end)
        assert.equal("draining", now.state)
        assert.truthy(items() >= BIG + MIDDLE + SMALL - PAGE_ITEMS, "items that are left: " .. items())
        for _, reader in ipairs(readers) do
            reader:close()
        end
        settle()
        assert.truthy(items() >= BIG + MIDDLE + SMALL - PAGE_ITEMS, "items that are left: " .. items())
        local moves = rig.stats("moves")
        assert.equal("0", moves.evicted)
    end)

    it("rests and goes on", function()
        rig.start("-m", "64", "-o", "no_slab_geometry_auto")
        store_all()
        -- As slowly as it goes, and in one packet, so that it has not ended before it is paused.
        assert.equal("OK", rig.ask("config set slab_geometry_rate 2"))
        assert.equal("OK", rig.ask("slabs geometry auto\r\nslabs geometry pause"))
        assert.equal("OK", (rig.connection:receive("*l")))
        assert.equal("paused", geometry().state)
        assert.equal(ITEMS, count_right())
        assert.equal("OK", rig.ask("config set slab_geometry_rate 100"))
        assert.equal("OK", rig.ask("slabs geometry resume"))
        settle()
        assert.equal(ITEMS, count_right())
    end)
end)
