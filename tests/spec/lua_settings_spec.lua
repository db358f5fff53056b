-- SPDX-License-Identifier: BSD-3-Clause
-- The table of settings: which server accepts which setting, and how a setting is sent, read back and shown by
-- slatetop.
local act_shown = require "slate.act.shown"
local settings = require "slate.facts.settings"
local settings_change = require "slate.facts.settings_change"
local shown = require "slate.facts.settings_shown"

local STOCK <const> = [[
STAT maxbytes 67108864
STAT verbosity 0
STAT slab_reassign yes
STAT slab_automove 0
STAT slab_automove_ratio 0.80
STAT slab_automove_window 30
STAT slab_automove_freeratio 0.010
STAT lru_crawler yes
STAT lru_crawler_sleep 100
STAT lru_crawler_tocrawl 0
STAT lru_maintainer_thread yes
STAT lru_segmented yes
STAT hot_lru_pct 20
STAT warm_lru_pct 40
STAT hot_max_factor 0.20
STAT warm_max_factor 2.00
STAT temp_lru no
STAT temporary_ttl 61
STAT detail_enabled no
STAT growth_factor 1.25
]]
local WHO <const> = { version = "1.6.45" }
local SLATED <const> = { version = "1.6.45", slated = "0.1.0" }
local CONFIG <const> = [[
STAT maxbytes:value 67108864
STAT maxbytes:min 8388608
STAT maxbytes:max 268435456
STAT maxbytes:source runtime
STAT slab_automove:value off
STAT slab_automove:choices off|ratio|eviction|lra|lua:NAME
STAT sample_rate:value 0.01
STAT policy:value s3fifo
STAT policy:choices lru|slru|s3fifo|sieve|s3auto
]]
local POLICIES <const> = "STAT s3fifo:active yes\r\nSTAT sieve:active no\r\nSTAT class:5:policy lru\r\n"

local function why_not(name, value, who, replies)
    return shown.check_shown(who or WHO, replies or { settings = STOCK }, name, value)
end

-- The row of a setting in the Tune view.
local function row(name, who, replies, class_id)
    for _, one in ipairs(shown.list(who or WHO, replies or { settings = STOCK }, class_id or 0)) do
        if one.name == name then
            return one
        end
    end
end

describe("a setting", function()
    -- 1.6.34 to 1.6.44 crash on a window of 0 or a huge one; older ones answer an error.
    it("gets no value on which some version crashes", function()
        for version, knows_it in pairs({ ["1.4.25"] = false, ["1.5.22"] = false, ["1.6.18"] = false,
            ["1.6.33"] = false, ["1.6.34"] = true, ["1.6.41"] = true, ["1.6.44"] = true, ["1.6.45"] = true,
            ["2.0.0"] = true, x = false }) do
            local who = { version = version }
            for _, wrong in ipairs({ "0", "2", "-1", "1801", "4294967295", "99999999999999999999", "nan", "inf", "1e3",
                "", "10 ", "10\r\nflush_all", "0x20", "10.5" }) do
                assert.is_string(why_not("slab_automove_window", wrong, who), version .. " " .. wrong)
                assert.is_nil((settings_change.plan(settings.values({ settings = STOCK }), {},
                    "slab_automove_window", wrong, who)))
            end
            assert.equal(knows_it, why_not("slab_automove_window", "7", who) == nil, version)
        end
    end)

    it("refuses before anything is sent a policy that the server does not list, and quotes what was typed", function()
        local values = { policy = "s3fifo", class_policy = "s3fifo", maxbytes = "67108864" }
        local function why(name, value)
            return select(2, settings_change.plan(values, { ["policy:choices"] = "lru|s3fifo|sieve" }, name, value,
                SLATED))
        end
        assert.equal('policy takes one of lru|s3fifo|sieve, not "auto"', why("policy", "auto"))
        assert.equal('policy takes one of lru|s3fifo|sieve, not "arc"', why("policy", "lru 5=arc"))
        assert.equal('class_policy takes one of lru|s3fifo|sieve, not "arc"', why("class_policy", "arc 5"))
        assert.is_nil(why("policy", "lru 5=sieve,12=s3fifo"))
        assert.is_nil(why("class_policy", "sieve 5"))
        assert.truthy(why("memory", "1e99"):find('not "1e99"', 1, true))
    end)

    it("of slated without a row is refused as the server would, or left to its check in words", function()
        local values = { share = "10", on_off = "no", kind = "a", room = "0", path = "/" }
        local traits = { ["share:type"] = "whole", ["share:min"] = "1", ["share:max"] = "90", ["on_off:type"] = "flag",
            ["kind:choices"] = "a|b", ["kind:type"] = "choice", ["room:type"] = "bytes", ["room:min"] = "0",
            ["room:max"] = "4398046511104", ["path:type"] = "text" }
        for case, why in pairs({ ["share 999"] = "share takes a number from 1 to 90", ["share -1"] = "share takes",
            ["share x"] = "share takes", ["on_off maybe"] = "on_off takes one of yes|on",
            ["kind c"] = "kind takes one of", ["room 5t"] = "room takes",
            ["share +5"] = true, ["share 90"] = true, ["on_off on"] = true,
            ["kind b"] = true, ["room 5%"] = true, ["room auto"] = true, ["room 1.5g"] = true, ["path x"] = true }) do
            local name, value = case:match("^(%S+) (.+)$")
            local plan, message, code = settings_change.plan(values, traits, name, value, SLATED)
            if why == true then
                assert.is_true(assert(plan, message).is_unchecked, case)
            else
                assert.equal("usage", code, case)
                assert.truthy(message:find(why, 1, true), message)
            end
        end
        assert.is_true(settings_change.plan({ policy = "lru", class_policy = "lru" }, {}, "class_policy", "sieve 999",
            SLATED).is_unchecked)
        assert.is_nil(settings_change.plan({ verbosity = "0" }, {}, "verbosity", "1", SLATED).is_unchecked)
    end)

    it("has limits, and rules between settings", function()
        local right = { slab_automove = { "2" }, slab_automove_ratio = { "0.5" }, lru_tune = { "10 30 0.2 2" },
            maxbytes = { "8", "1000000000" }, temporary_ttl = { "30" }, lru_segmented = { "flat" }, verbosity = { "1" },
            hot_lru_pct = { "40" } }
        local wrong = { slab_automove = { "3", "utility", "lua:x", "ratio 0.7", "1 0.7" },
            slab_automove_ratio = { "1.5", "0", "." },
            lru_tune = { "50 31 0.2 2", "10 30 0 2", "10 30", "10 30 0.2 2 1" },
            maxbytes = { "7", "1000000001", "x", "99999999999999999999" }, temporary_ttl = { "off", "x" },
            lru_segmented = { "round", "flat 1" }, verbosity = { "9" }, policy = { "sieve" }, geometry = { "auto" },
            class_policy = { "sieve 4" }, no_such_setting = { "1" }, hot_lru_pct = { "41", "0" },
            warm_lru_pct = { "61" } }
        for name, values in pairs(right) do
            for _, value in ipairs(values) do
                assert.is_nil(why_not(name, value), name .. " " .. value)
            end
        end
        for name, values in pairs(wrong) do
            for _, value in ipairs(values) do
                assert.is_string(why_not(name, value), name .. " " .. value)
            end
        end
    end)

    it("has limits and choices of its own on slated, and none of its store's lack", function()
        local replies = { settings = STOCK, config = CONFIG, policies = POLICIES }
        local memory = row("maxbytes", SLATED, replies)
        assert.truthy(why_not("maxbytes", "7"):find("of MiB, or one with k, m, g or t, of at least 8m", 1, true))
        assert.same({ 8, 256, "runtime", "64" }, { memory.least, memory.most, memory.source, memory.now })
        assert.is_string(why_not("maxbytes", "257", SLATED, replies))
        assert.is_nil(why_not("maxbytes", "256", SLATED, replies))
        for _, mode in ipairs({ "lra", "2", "lua:mine" }) do
            assert.is_nil(why_not("slab_automove", mode, SLATED, replies), mode)
        end
        assert.is_string(why_not("slab_automove", "lua:", SLATED, replies))
        assert.is_nil(why_not("policy", "sieve", SLATED, replies))
        assert.is_nil(why_not("geometry", "factor 1.08", SLATED, replies))
        local rate = { settings = STOCK, config = "STAT slab_geometry_rate:value 50.00" }
        assert.is_nil(why_not("slab_geometry_rate", "2.00", SLATED, rate), "as slated writes it")
        assert.is_string(why_not("geometry", "factor", SLATED, replies))
        assert.equal("lru|slru|s3fifo|sieve", row("class_policy", SLATED, replies, 5).choices)
        assert.equal("follows the policy", row("lru_segmented", SLATED, replies).refusal)
        local heap = { version = "1.6.45", slated = "0.1.0", store = "heap" }
        for _, name in ipairs({ "slab_automove", "slab_geometry_rate", "geometry" }) do
            assert.equal("needs --store=slab; this server has heap", row(name, heap, replies).refusal)
        end
    end)

    it("that cannot change says why", function()
        for _, name in ipairs({ "policy", "geometry", "sample_rate" }) do
            assert.truthy(row(name).refusal:find("needs slated", 1, true), name)
        end
        assert.equal("needs memcached 1.6.34 or later", row("slab_automove_window", { version = "1.6.18" }).refusal)
        assert.equal("not reported here", row("verbosity", WHO, { settings = "STAT maxbytes 67108864" }).refusal)
        local fixed = STOCK:gsub("reassign yes", "reassign no"):gsub("maintainer_thread yes", "maintainer_thread no")
        assert.equal("needs a start with -o slab_reassign", row("slab_automove", WHO, { settings = fixed }).refusal)
        assert.equal("needs a start with -o lru_maintainer", row("warm_lru_pct", WHO, { settings = fixed }).refusal)
        assert.equal("verbosity is 0 already: choose another value", why_not("verbosity", "0"))
    end)

    it("is set by memcached's own words on either server", function()
        local values = settings.values({ settings = STOCK })
        for _, case in ipairs({
            { "slab_automove_ratio", "0.6", "slabs automove ratio 0.6" },
            { "hot_lru_pct", "10", "lru tune 10 40 0.20 2.00" },
            { "lru_tune", "10 30 0.2 2.0", "lru tune 10 30 0.2 2.0" }, { "temporary_ttl", "30", "lru temp_ttl 30" },
            { "temporary_ttl", "off", "lru temp_ttl -1" },
            { "temporary_ttl", "-1 61", "lru temp_ttl 61; lru temp_ttl -1" },
            { "maxbytes", "80m", "cache_memlimit 80" }, { "memory", "83886080", "cache_memlimit 80" },
            { "lru_crawler", "no", "lru_crawler disable" }, { "detail_enabled", "on", "stats detail on" },
            { "lru_segmented", "no", "lru mode flat" }, { "automove", "1", "slabs automove 1" },
        }) do
            local change, message = settings_change.plan(values, {}, case[1], case[2], WHO)
            assert.equal(case[3], table.concat(assert(change, message).lines, "; "))
        end
        local function lines(name, value)
            local list = {}
            for i, each in ipairs(act_shown.lines(SLATED, { settings = STOCK }, { name = name, value = value })) do
                list[i] = each.line
            end
            return table.concat(list, "; ")
        end
        assert.equal("evict policy s3fifo; evict policy sieve 5", lines("policy", "s3fifo 5=sieve"))
        assert.equal("config set sample_rate 0.5", lines("sample_rate", "0.5"))
        assert.equal("slabs geometry factor 1.08", lines("geometry", "factor 1.08"))
        assert.equal("lru tune 20 30 0.20 2.00", lines("warm_lru_pct", "30"))
        assert.equal("cache_memlimit 80", lines("maxbytes", "80"))
    end)

    it("is known by the names that Tune shows, and a text is split behind the longest", function()
        for text, wanted in pairs({ ["automove ratio 0.7"] = "slab_automove_ratio=0.7", ["automove ratio"] =
            "slab_automove=ratio", ["automove ratio "] = "slab_automove_ratio=", ["automove mode 1"] =
            "slab_automove=1", ["automove  2"] = "slab_automove=2", ["Automove Window s 20"] =
            "slab_automove_window=20", ["memory limit 64"] = "maxbytes=64", ["memory limit MiB 64"] = "maxbytes=64",
            ["memory 64"] = "maxbytes=64", ["lru hot 30"] = "hot_lru_pct=30", ["crawler sleep 200"] =
            "lru_crawler_sleep=200", ["crawler no"] = "lru_crawler=no", ["lru warm age factor 3"] =
            "warm_max_factor=3", ["lru tune 10 30 0.2 2"] = "lru_tune=10 30 0.2 2", ["policy of class 9 sieve"] =
            "class_policy=sieve 9", ["policy lru 5=sieve"] = "policy=lru 5=sieve", ["some name 1"] = "some=name 1",
            verbosity = "nil=nil" }) do
            local name, value = settings.split(text)
            assert.equal(wanted, ("%s=%s"):format(name, value), text)
        end
        for _, each in ipairs(settings.ROWS) do
            assert.equal(each.name, settings.split(each.label .. " 1"))
        end
        assert.equal("slab_automove_ratio", settings_change.plan(settings.values({ settings = STOCK }), {},
            "automove ratio", "0.7", WHO).name)
    end)

    it("is read to the digits that the server shows", function()
        assert.is_true(settings.same("slab_automove_ratio", "0.555", "0.56"))
        assert.is_false(settings.same("slab_automove_ratio", "0.54", "0.56"))
        assert.is_true(settings.same("slab_automove", "ratio", "1"))
        assert.is_true(settings.same("lru_tune", "20 40 0.2 2", "20 40 0.20 2.00"))
        assert.is_false(settings.same("lru_tune", "20 41 0.2 2", "20 40 0.20 2.00"))
        assert.is_false(settings.same("maxbytes", "67108864", "67108865"))
        local values = settings.values({ settings = STOCK, policies = POLICIES })
        assert.same({ "-1", "20 40 0.20 2.00", "lru 5", "s3fifo 6" }, { values.temporary_ttl,
            settings.value(values, "lru_tune", ""), settings.value(values, "class_policy", "sieve 5"),
            settings.value(values, "class_policy", "sieve 6") })
        assert.is_nil(settings.value(settings.values({ settings = "STAT hot_lru_pct 20\r\n" }), "lru_tune", ""))
        assert.same(values.maxbytes, settings.values({ settings = { "STAT maxbytes 67108864" } }).maxbytes)
    end)

    it("has no value that a terminal would obey", function()
        assert.equal("?[2Jx?", row("verbosity", WHO, { settings = "STAT verbosity \27[2Jx\xff\r\nEND\r\n" }).now)
    end)

    it("is stepped within its limits, and through its choices", function()
        local function step(name, from, by, who, replies)
            return shown.step(row(name, who, replies), from, by)
        end
        assert.equal("off", step("slab_automove", "eviction", 1))
        assert.equal("1.00", step("slab_automove_ratio", "1", 1))
        assert.equal("0.01", step("slab_automove_ratio", "0.02", -1))
        assert.equal("80", step("maxbytes", "64", 1))
        assert.equal("flat", step("lru_segmented", "segmented", 1))
        assert.equal("lra", step("slab_automove", "eviction", 1, SLATED, { settings = STOCK, config = CONFIG }))
        assert.equal("off", step("slab_automove", "lra", 1, SLATED, { settings = STOCK, config = CONFIG }))
        assert.same({ "eviction", "utility", "512", "64" }, { shown.named("slab_automove", "2"),
            shown.named("slab_automove", "utility"), shown.named("maxbytes", "512"), shown.named("no_such", "64") })
    end)

    it("of chunk sizes is stepped from factor to factor, also from one that is typed", function()
        local geometry = row("geometry", SLATED)
        local order, orders = "51 sizes", {}
        for i = 1, 8 do
            order = shown.step(geometry, order, 1)
            orders[i] = order
        end
        assert.same({ "auto", "factor 1.04", "factor 1.08", "factor 1.15", "factor 1.25", "factor 1.50", "factor 2.00",
            "auto" }, orders)
        for from, wanted in pairs({ ["factor 1.50"] = { "factor 1.25", "factor 2.00" }, auto = { "factor 2.00",
            "factor 1.04" }, ["factor 1.1"] = { "factor 1.08", "factor 1.15" }, ["factor 1.01"] = { "auto",
            "factor 1.04" }, ["factor 9"] = { "factor 2.00", "auto" }, revert = { "factor 2.00", "auto" } }) do
            assert.same(wanted, { shown.step(geometry, from, -1), shown.step(geometry, from, 1) }, from)
        end
    end)
end)
