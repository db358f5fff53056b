-- SPDX-License-Identifier: BSD-3-Clause
-- The statistics of slated: memcached's names in memcached's order, and its own under names of their own.
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"
local world = require "support.world"

local FIXTURE <const> = "tests/fixtures/memcached-1.6.45-stats.txt"

-- The fixture's names by section.
local function fixture()
    local sections, title = {}, nil
    for line in io.lines(FIXTURE) do
        local section = line:match("^%[(.+)%]$")
        if section then
            title = section
            sections[title] = {}
        elseif title and line ~= "" then
            table.insert(sections[title], line)
        end
    end
    return sections
end

-- Lines of `stats` that depend on a feature: the option that removes the feature, and the lines' names.
local MAINTAINED <const> = "lru_maintainer_juggles evicted_active moves_to_cold moves_to_warm moves_within_lru "
    .. "direct_reclaims lru_bumps_dropped "
local CRAWLED <const> = "lru_crawler_running lru_crawler_starts "
local MOVED <const> = "slab_reassign_rescues slab_reassign_chunk_rescues slab_reassign_inline_reclaim "
    .. "slab_reassign_busy_items slab_reassign_busy_deletes slab_reassign_busy_nomem slab_reassign_last_busy_status "
    .. "slab_reassign_running slabs_moved "
local LEFT_OUT <const> = {
    no_lru_crawler = CRAWLED,
    no_lru_maintainer = MAINTAINED,
    ["no_lru_maintainer,no_lru_crawler"] = MAINTAINED .. CRAWLED,
    no_slab_reassign = MOVED,
    no_maxconns_fast = "rejected_connections ",
    no_modern = MAINTAINED .. CRAWLED .. MOVED .. "rejected_connections ",
    ["no_modern,lru_crawler"] = MAINTAINED .. MOVED .. "rejected_connections ",
    ["slab_automove=0"] = "",
}

local function without(names, left_out)
    local kept = {}
    for _, name in ipairs(names) do
        if not (" " .. left_out):find(" " .. name .. " ", 1, true) then
            kept[#kept + 1] = name
        end
    end
    return kept
end

-- slated and, where one is built, memcached 1.6.45.
local function programs()
    local list = { server.slated() }
    list[2] = server.memcached() == "build/peer/memcached" and server.memcached() or nil
    return list
end

local ask = wire.ask

describe("slated's stats", function()
    local rig, peer = require("support.rig").new(after_each), require("support.rig").new(after_each)

    it("hold memcached's names in memcached's order", function()
        rig.start()
        assert.same(fixture()["stats"], rig.names())
        assert.same(fixture()["stats settings"], rig.names("settings"))
        assert.equal("STORED", rig.ask("set k 0 0 1\r\nv"))
        local items, slabs = rig.names("items"), rig.names("slabs")
        for _, names in ipairs({ items, slabs }) do
            for i, name in ipairs(names) do
                names[i] = name:gsub("^items:%d+:", "items:N:"):gsub("^%d+:", "N:")
            end
        end
        assert.same(fixture()["stats items"], items)
        assert.same(fixture()["stats slabs"], slabs)
    end)

    it("have the names of the memcached at hand, in its order, and no others of its build", function()
        if server.memcached() ~= "build/peer/memcached" then
            pending("memcached 1.6.45 is not built (tests/bench/peer builds it)")
            return
        end
        rig.start()
        peer.binary = server.memcached()
        peer.start()
        assert.same(peer.names(), rig.names())
        -- memcached's settings leave out features that it was built without; the others are in the same order.
        local wanted, at = peer.names("settings"), 1
        for _, name in ipairs(rig.names("settings")) do
            at = at + (name == wanted[at] and 1 or 0)
        end
        assert.equal(#wanted + 1, at, "missing or out of order: " .. tostring(wanted[at]))
        for option, left_out in pairs(LEFT_OUT) do
            peer.start("-o", option)
            assert.same(without(fixture()["stats"], left_out), peer.names(), option)
        end
    end)

    it("lack the lines of a feature that an option removed, as memcached's do", function()
        for option, left_out in pairs(LEFT_OUT) do
            rig.start("-o", option)
            assert.same(without(fixture()["stats"], left_out), rig.names(), option)
        end
        rig.start()
        patience.wait_for("the crawler to rest", function() return rig.ask("lru_crawler disable") == "OK" end)
        assert.same(without(fixture()["stats"], CRAWLED), rig.names())
    end)

    it("show files that were not given and the mode of certificates in memcached's words", function()
        rig.start()
        local plain = rig.stats("settings")
        assert.same({ "(null)", "(null)", "NULL", "0" },
            { plain.ssl_chain_cert, plain.ssl_key, plain.ssl_ca_cert, plain.ext_compact_under })
        for mode, shown in ipairs({ "1", "3", "7" }) do
            rig.start("-o", "ssl_verify_mode=" .. mode)
            assert.equal(shown, rig.stats("settings").ssl_verify_mode)
        end
    end)

    it("count the items that a meta command makes and compares, as memcached does", function()
        -- A request, and the changes that it makes to these figures; the same holds for memcached 1.6.45.
        local figures <const> = { "cmd_get", "cmd_set", "cmd_touch", "get_hits", "get_misses", "touch_hits",
            "touch_misses", "cas_hits", "cas_misses", "cas_badval", "incr_misses", "decr_misses", "delete_misses" }
        local steps <const> = {
            { "mg a N30", cmd_get = 1, get_hits = 1 }, { "mg b N30 T50", cmd_touch = 1, touch_hits = 1 },
            { "mg c T50", cmd_get = 1, get_misses = 1 }, { "ma d N0 J3" }, { "ma e N0 MD" },
            { "ma f", incr_misses = 1 },
            { "ms k 1 E77\r\nv", cmd_set = 1 }, { "ms k 1 C1\r\nw", cmd_set = 1, cas_badval = 1 },
            { "ms k 1 MA C1\r\nw", cmd_set = 1 }, { "ms k 1 MR C1\r\nw", cmd_set = 1, cas_badval = 1 },
            { "ms no 1 C1\r\nw", cmd_set = 1, cas_misses = 1 }, { "md k C1", delete_misses = 1 },
            { "ms k 1 C77\r\nw", cmd_set = 1, cas_hits = 1 },
        }
        for _, binary in ipairs(programs()) do
            rig.binary = binary
            rig.start()
            local before = rig.stats()
            for _, step in ipairs(steps) do
                rig.ask(step[1])
                local after = rig.stats()
                for _, name in ipairs(figures) do
                    assert.equal(step[name] or 0, tonumber(after[name]) - tonumber(before[name]),
                        binary .. " " .. step[1] .. ": " .. name)
                end
                before = after
            end
        end
    end)

    it("count a miss where a meta get has no memory for a new item, as memcached does", function()
        for _, binary in ipairs(programs()) do
            rig.binary = binary
            rig.start("-M", "-m", "2")
            local function key(i) return ("k"):rep(200) .. ("%08d"):format(i) end
            local stored = 0
            while rig.ask(("set %s 0 0 0\r\n"):format(key(stored))) == "STORED" do
                stored = stored + 1
            end
            local before = rig.stats()
            assert.equal("EN", rig.ask(("mg %s N30"):format(key(stored))))
            local after = rig.stats()
            assert.equal(1, after.get_misses - before.get_misses, binary)
            assert.equal(0, after.get_hits - before.get_hits, binary)
        end
    end)

    it("show idle_kicks with an idle timeout, after auth_errors, and no queues where the policy is flat", function()
        rig.start("-o", "idle_timeout=60,no_lru_maintainer")
        assert.truthy(table.concat(rig.names(), " "):find(" auth_errors idle_kicks bytes_read ", 1, true))
        assert.equal("STORED", rig.ask("set k 0 0 1\r\nv"))
        for _, name in ipairs(rig.names("items")) do
            assert.is_nil(name:find("hot") or name:find("moves_"), name)
        end
    end)

    it("describe every line they print", function()
        rig.start("-o", "idle_timeout=60,temporary_ttl=5")
        assert.equal("STORED", rig.ask("set k 0 0 1\r\nv"))
        local described = {}
        for _, line in ipairs(rig.lines("stats describe")) do
            local name, kind, unit, help = line:match("^STAT (%S+) (%l+) (%S+) (.+)$")
            if name then
                assert.truthy(kind == "counter" or kind == "gauge" or kind == "text", line)
                assert.truthy(unit and #help > 3, line)
                described[name] = true
            end
        end
        local count = 0
        for _, table_name in ipairs({ "general", "items", "slabs", "slated", "moves", "automove",
            "geometry" }) do
            for _, name in ipairs(rig.names(table_name ~= "general" and table_name or nil)) do
                local key = table_name .. ":" .. name:gsub("^items:%d+:", ""):gsub("^%d+:", "")
                assert.truthy(described[key], key .. " is not described")
                count = count + 1
            end
        end
        assert.truthy(count > 150, "only " .. count .. " lines were looked at")
    end)

    it("count the ages of evicted items from the start again after stats reset", function()
        rig.start("-m", "2", "-o", "slab_automove=0")
        assert.equal(0, (rig.store("k", 60, 100000)))
        assert.truthy(#rig.names("evictions") > 0)
        assert.equal("RESET", rig.ask("stats reset"))
        assert.equal(0, #rig.names("evictions"))
    end)

    it("show as a class's age how long its oldest item has been there, also one that was read just now", function()
        rig.start()
        assert.equal("STORED", rig.ask("set a 0 0 1\r\nx"))
        world.pass(100)
        assert.equal("HD", rig.ask("mg a"))
        assert.matches("items:1:age 10[01]", table.concat(rig.lines("stats items"), " "))
    end)

    it("of slated's own take no words that they do not know", function()
        rig.start()
        for _, name in ipairs({ "slated", "policies", "moves", "automove", "geometry", "whatif", "evictions" }) do
            assert.equal("CLIENT_ERROR usage: stats " .. name, rig.ask("stats " .. name .. " x"))
        end
    end)

    it("count every look-up of an expired item as such, and as never read only items without a look-up", function()
        rig.start("-o", "no_lru_maintainer,no_lru_crawler") -- no other thread looks items up
        local looks = { ["get k"] = "END", ["delete k"] = "NOT_FOUND", ["incr k 1"] = "NOT_FOUND",
            ["touch k 1"] = "NOT_FOUND", ["gat 1 k"] = "END", ["mg k v"] = "EN", ["md k"] = "NF", ["ma k"] = "NF",
            ["append k 0 0 1\r\nx"] = "NOT_STORED", ["replace k 0 0 1\r\nx"] = "NOT_STORED" }
        local count = 0
        for look, answer in pairs(looks) do
            assert.equal("STORED", rig.ask("set k 0 -1 1\r\nx"))
            assert.equal(answer, rig.ask(look))
            count = count + 1
            local values = rig.stats()
            assert.same({ tostring(count), "0" }, { values.get_expired, values.expired_unfetched }, look)
        end
    end)

    it("show a client with an incomplete value as one that is sending", function()
        rig.start()
        local sender = rig.connect()
        assert.equal("MN", ask(sender, "mn"))
        local function states()
            local of = {}
            for _, line in ipairs(rig.lines("stats conns")) do
                of[#of + 1] = line:match(":state (%S+)$")
            end
            table.sort(of)
            return table.concat(of, " ")
        end
        local function becomes(want) patience.wait_for(want, function() return states() == want end) end
        becomes("conn_listening conn_parse_cmd conn_read")
        for _, bytes in ipairs({ 10, 100000 }) do
            sender:send(("set k 0 0 %d\r\nabc"):format(bytes))
            becomes("conn_listening conn_nread conn_parse_cmd")
            assert.equal("STORED", ask(sender, ("x"):rep(bytes - 3)))
            becomes("conn_listening conn_parse_cmd conn_read")
        end
    end)

end)
