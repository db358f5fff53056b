-- SPDX-License-Identifier: BSD-3-Clause
-- Other chunk sizes for a live server, as operators change them over the wire.
local patience = require "support.patience"
local rig = require("support.rig").new(after_each)
local wire = require "support.wire"
require "support.world"

local ITEMS <const> = 12000
local QUICK <const> = "slab_geometry_rate=100,no_slab_geometry_auto"

local function geometry() return rig.stats("geometry") end

local function store_all() assert.equal(0, (rig.store("key", ITEMS, function(i) return 590 + i % 21 end))) end

local function settle()
    patience.wait_for("the change to end", function() return geometry().state == "steady" end)
    assert.equal(ITEMS, rig.there("key", ITEMS))
end

-- How many classes are predicted.
local function predicted(words)
    local count = rig.ask("slabs geometry " .. words .. " dry"):match(
        "^PREDICTED (%d+) classes would hold %d+%.%d %% %l+ items in 16 pages, .*; sizes that no item has yet would "
        .. "waste %d+%.%d %% on average and %d+%.%d %% at most; the sizes: [%d,]+,524288$")
    return tonumber(count)
end

describe("slabs geometry", function()
    it("names the permitted sizes", function()
        rig.start("-m", "16")
        local usage <const> = "CLIENT_ERROR usage: slabs geometry factor N|sizes N,N,...|auto [CLASSES]|"
            .. "revert [force] [dry], or pause|resume"
        for answer, list in pairs({
            [usage] = { "", " better" },
            ["CLIENT_ERROR geometry factor must be from 1.01 to 100"] = { " factor", " factor 1", " factor 1.001",
                " factor 101", " factor x", " factor force" },
            ["CLIENT_ERROR geometry sizes are at most 255 numbers of bytes with commas between them"] = { " sizes",
                " sizes a", " sizes 1,,2", " sizes 100,", " sizes -1" },
            ["CLIENT_ERROR geometry auto makes from 2 to 255 classes"] = { " auto 1", " auto 256", " auto x" },
            ["CLIENT_ERROR bad command line format"] = { " pause 1", " resume dry" },
        }) do
            for _, words in ipairs(list) do
                assert.equal(answer, rig.ask("slabs geometry" .. words))
            end
        end
        for words, pattern in pairs({ ["sizes 100,600000"] = "^BADSIZES .* to 524288 bytes",
            ["sizes 200,100 force"] = "^BADSIZES ", auto = "^NOGAIN there are no items .*force$",
            revert = "^NOREVERT ", pause = "^NOTRUNNING ", resume = "^NOTPAUSED " }) do
            assert.matches(pattern, rig.ask("slabs geometry " .. words))
        end
        assert.equal("steady", geometry().state)
        rig.start("-m", "16", "-o", "no_slab_reassign")
        assert.equal("CLIENT_ERROR slab reassignment disabled", rig.ask("slabs geometry auto force"))
    end)

    it("fits the chunks to the items, loses none while there is room, and goes back", function()
        rig.start("-m", "16", "-o", QUICK)
        store_all()
        local before = geometry()
        assert.is_true(predicted("auto") > 12)
        assert.is_true(predicted("auto 12") <= 12) -- no more than requested
        assert.equal("0", geometry().generation)
        assert.equal("OK", rig.ask("slabs geometry auto"))
        settle()
        local after = geometry()
        assert.same({ "0", "0", "0" }, { after.items_dropped, after.classes_retired, after.pages_old })
        assert.truthy(tonumber(after.items_predicted) > tonumber(after.items_before), "more items were predicted")
        assert.truthy(tonumber(after.waste_now) < tonumber(after.waste_before), "the waste became less")
        local slabs, active = rig.stats("slabs"), 0
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
    end)

    it("gives classes their own policies back with the sizes", function()
        rig.start("-m", "16", "-o", QUICK)
        store_all()
        local function own() -- the policies of classes by their chunk size
            local now, list = geometry(), {}
            for name, policy in pairs(rig.stats("policies")) do
                local id = name:match("^class:(%d+):policy$")
                list[id and tonumber(now[id .. ":chunk_size"]) or 0] = id and policy or nil
            end
            return list
        end
        assert.equal("OK", rig.ask("evict policy lru 3"))
        assert.equal("OK", rig.ask("evict policy sieve 10"))
        assert.same({ [152] = "lru", [752] = "sieve" }, own())
        assert.equal("OK", rig.ask("slabs geometry sizes 320,752,4096 force"))
        settle()
        assert.same({ [752] = "sieve" }, own())
        assert.equal("OK", rig.ask("slabs geometry revert"))
        settle()
        assert.same({ [152] = "lru", [752] = "sieve" }, own())
    end)

    it("fits them by default, and no longer once other sizes are requested", function()
        local function is_on()
            return rig.lines("config get slab_geometry_auto")[1]:match("^CONFIG %S+ (%l+) runtime$")
        end
        rig.start("-m", "16", "-o", "slab_geometry_rate=100")
        for _, words in ipairs({ "factor 1.5 dry", "revert" }) do
            assert.equal("yes", is_on())
            assert.matches("^%u%u", rig.ask("slabs geometry " .. words))
        end
        assert.equal("OK", rig.ask("slabs geometry factor 1.5 force"))
        assert.same({ "no", "no" }, { is_on(), geometry().auto })
        local audit = rig.stats("audit")
        assert.same({ "slabs geometry", "39 sizes", "factor 1.5 force", "slab_geometry_auto", "yes", "no" },
            { audit["1:what"], audit["1:was"], audit["1:is"], audit["2:what"], audit["2:was"], audit["2:is"] })
        assert.equal("OK slab_geometry_auto is yes again", rig.ask("config undo"))
        assert.equal("yes", is_on())
        assert.equal("OK", rig.ask("slabs geometry revert"))
        assert.equal("no", is_on())
        patience.wait_for("the sizes of before", function() return geometry().classes == "39" end)
    end)

    it("fits them when permitted again, and shows the gain meanwhile", function()
        rig.start("-m", "16", "-o", QUICK)
        store_all()
        patience.wait_for("the gain to be told", function() return tonumber(geometry().auto_gain) > 10 end)
        assert.equal("0", geometry().generation)
        assert.equal("OK", rig.ask("config set slab_geometry_auto yes"))
        local watcher = rig.connect()
        assert.equal("OK", wire.ask(watcher, "watch sysevents"))
        patience.wait_for("a change to begin", function() return geometry().generation == "1" end)
        settle()
        local event
        repeat
            event = assert(watcher:receive("*l")):match(" type=change what=chunk%%20sizes (.*)$")
        until event
        assert.matches("^was=39%%20of%%20the%%20start is=%d+%%20fitted.* by=the%%20server%%20itself$", event)
        local audit = rig.stats("audit")
        assert.same({ "the server itself", "chunk sizes", "39 of the start" },
            { audit["2:who"], audit["2:what"], audit["2:was"] })
        assert.equal(geometry().classes .. " fitted to the items", audit["2:is"])
        assert.truthy(tonumber(geometry().waste_now) < tonumber(geometry().waste_before))
    end)

    it("makes no more classes than there may be, more than memcached has, and every one can be named", function()
        rig.start("-m", "16", "--slab-classes=24", "-o", "no_slab_geometry_auto")
        store_all()
        assert.is_true(predicted("auto") <= 24)
        rig.start("-m", "16", "-f", "1.02", "--slab-classes=200")
        assert.equal("200", geometry().classes)
        rig.start("-m", "16", "-o", QUICK)
        assert.equal("OK", rig.ask("slabs geometry factor 1.05 force"))
        local audit = rig.stats("audit")
        assert.same({ "slabs geometry", "factor 1.05 force" }, { audit["1:what"], audit["1:is"] })
        store_all()
        settle()
        assert.truthy(tonumber(geometry().classes) > 100)
        local highest = 0
        for name in pairs(rig.stats("slabs")) do
            highest = math.max(highest, tonumber(name:match("^(%d+):chunk_size$") or 0))
        end
        assert.truthy(highest > 63, "the highest class with pages is " .. highest)
        assert.equal("OK", rig.ask("lru_crawler crawl " .. highest))
        assert.matches("^ITEM key", rig.lines(("stats cachedump %d 1"):format(highest))[1])
    end)
end)
