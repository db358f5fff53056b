-- SPDX-License-Identifier: BSD-3-Clause
-- The statistics of slated: memcached's names in memcached's order, and its own under names of their own.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local server = require "support.server"
local wire = require "support.wire"

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

-- Lines of `stats` that are there only with what they tell of: the option that takes them away, and their names.
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

-- slated, and the memcached 1.6.45 that it follows, where one is built.
local function programs()
    local list = { server.slated() }
    list[2] = server.memcached() == "build/peer/memcached" and server.memcached() or nil
    return list
end

local ask, connect, lines_of = wire.ask, wire.connect, wire.lines

describe("slated's stats", function()
    local one, peer, connection

    local function start(...)
        one = server.start({ args = { ... } })
        connection = connect(one.address)
    end

    after_each(function()
        if connection then
            connection:close()
        end
        for _, started in ipairs({ one or false, peer or false }) do
            if started then
                started:stop()
            end
        end
        one, peer, connection = nil, nil, nil
    end)

    it("hold memcached's names in memcached's order", function()
        start()
        assert.same(fixture()["stats"], (wire.stats(connection)))
        assert.same(fixture()["stats settings"], (wire.stats(connection, "settings")))
        assert.equal("STORED", ask(connection, "set k 0 0 1\r\nv"))
        local items = wire.stats(connection, "items")
        local slabs = wire.stats(connection, "slabs")
        for _, names in ipairs({ items, slabs }) do
            for i, name in ipairs(names) do
                names[i] = name:gsub("^items:%d+:", "items:N:"):gsub("^%d+:", "N:")
            end
        end
        assert.same(fixture()["stats items"], items)
        assert.same(fixture()["stats slabs"], slabs)
    end)

    it("hold what the memcached at hand prints, name by name", function()
        if server.memcached() ~= "build/peer/memcached" then
            pending("memcached 1.6.45 is not built (tests/bench/peer builds it)")
            return
        end
        start()
        peer = server.start({ binary = server.memcached() })
        local theirs = connect(peer.address)
        assert.same((wire.stats(theirs)), (wire.stats(connection)))
        -- Its settings leave out what it was built without; what it has stands in the same order.
        local wanted = wire.stats(theirs, "settings")
        theirs:close()
        local at = 1
        for _, name in ipairs((wire.stats(connection, "settings"))) do
            if name == wanted[at] then
                at = at + 1
            end
        end
        assert.equal(#wanted + 1, at, "missing or out of order: " .. tostring(wanted[at]))
    end)

    it("leave out what an option took away, as memcached does", function()
        for option, left_out in pairs(LEFT_OUT) do
            start("-o", option)
            assert.same(without(fixture()["stats"], left_out), (wire.stats(connection)), option)
            connection:close()
            one:stop()
        end
        start()
        assert.equal("OK", ask(connection, "lru_crawler disable"))
        assert.same(without(fixture()["stats"], CRAWLED), (wire.stats(connection)))
    end)

    it("leave out what the memcached at hand leaves out", function()
        if server.memcached() ~= "build/peer/memcached" then
            pending("memcached 1.6.45 is not built (tests/bench/peer builds it)")
            return
        end
        for option in pairs(LEFT_OUT) do
            start("-o", option)
            peer = server.start({ binary = server.memcached(), args = { "-o", option } })
            local theirs = connect(peer.address)
            assert.same((wire.stats(theirs)), (wire.stats(connection)), option)
            theirs:close()
            connection:close()
            peer:stop()
            one:stop()
        end
    end)

    it("show files that were not given and the mode of certificates in memcached's words", function()
        start()
        local _, plain = wire.stats(connection, "settings")
        assert.equal("(null)", plain.ssl_chain_cert)
        assert.equal("(null)", plain.ssl_key)
        assert.equal("NULL", plain.ssl_ca_cert)
        assert.equal("0", plain.ext_compact_under)
        for mode, shown in ipairs({ "1", "3", "7" }) do
            one:stop()
            connection:close()
            start("-o", "ssl_verify_mode=" .. mode)
            assert.equal(shown, select(2, wire.stats(connection, "settings")).ssl_verify_mode)
        end
    end)

    it("count what a meta command makes and compares as memcached does", function()
        -- What is sent, and what of these figures it changes; the same holds for memcached 1.6.45.
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
            one = server.start({ binary = binary })
            connection = connect(one.address)
            local _, before = wire.stats(connection)
            for _, step in ipairs(steps) do
                ask(connection, step[1])
                local _, after = wire.stats(connection)
                for _, name in ipairs(figures) do
                    assert.equal(step[name] or 0, tonumber(after[name]) - tonumber(before[name]),
                        binary .. " " .. step[1] .. ": " .. name)
                end
                before = after
            end
            connection:close()
            one:stop()
        end
    end)

    it("count a miss where a meta get finds no memory for what it would make, as memcached does", function()
        for _, binary in ipairs(programs()) do
            one = server.start({ binary = binary, args = { "-M", "-m", "2" } })
            connection = connect(one.address)
            local function key(i) return ("k"):rep(200) .. ("%08d"):format(i) end
            local stored = 0
            while ask(connection, ("set %s 0 0 0\r\n"):format(key(stored))) == "STORED" do
                stored = stored + 1
            end
            local _, before = wire.stats(connection)
            assert.equal("EN", ask(connection, ("mg %s N30"):format(key(stored))))
            local _, after = wire.stats(connection)
            assert.equal(1, after.get_misses - before.get_misses, binary)
            assert.equal(0, after.get_hits - before.get_hits, binary)
            connection:close()
            one:stop()
        end
    end)

    it("show idle_kicks only with an idle timeout, after auth_errors", function()
        start("-o", "idle_timeout=60")
        local names = wire.stats(connection)
        local place
        for i, name in ipairs(names) do
            place = name == "idle_kicks" and i or place
        end
        assert.equal("auth_errors", names[place - 1])
        assert.equal("bytes_read", names[place + 1])
    end)

    it("leave out the lines of queues when the policy is flat", function()
        start("-o", "no_lru_maintainer")
        assert.equal("STORED", ask(connection, "set k 0 0 1\r\nv"))
        for _, name in ipairs((wire.stats(connection, "items"))) do
            assert.is_nil(name:find("hot"), name)
            assert.is_nil(name:find("moves_"), name)
        end
    end)

    it("describe every line they print", function()
        start("-o", "idle_timeout=60,temporary_ttl=5")
        assert.equal("STORED", ask(connection, "set k 0 0 1\r\nv"))
        local described = {}
        for _, line in ipairs(lines_of(connection, "stats describe")) do
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
            for _, name in ipairs((wire.stats(connection, table_name ~= "general" and table_name or nil))) do
                local key = table_name .. ":" .. name:gsub("^items:%d+:", ""):gsub("^%d+:", "")
                assert.truthy(described[key], key .. " is not described")
                count = count + 1
            end
        end
        assert.truthy(count > 150, "only " .. count .. " lines were looked at")
    end)

    it("count from the start again after stats reset, and keep what is true now", function()
        start()
        repeat -- whoever looked whether the server is up has hung up, but the server may not have seen it yet
            local _, now = wire.stats(connection)
        until now.curr_connections == "1"
        assert.equal("STORED", ask(connection, "set k 0 0 1\r\nv"))
        assert.same({ "VALUE k 0 1", "v", "END" }, lines_of(connection, "get k"))
        assert.equal("OK", ask(connection, "flush_all 1000"))
        local _, before = wire.stats(connection)
        assert.equal("1", before.cmd_set)
        assert.equal("1", before.cmd_flush)
        assert.equal("RESET", ask(connection, "stats reset"))
        local _, after = wire.stats(connection)
        for _, name in ipairs({ "cmd_get", "cmd_set", "cmd_flush", "get_hits", "total_items", "total_connections" }) do
            assert.equal("0", after[name], name)
        end
        assert.equal("1", after.curr_items)
        assert.equal("1", after.curr_connections)
    end)

    it("count the ages of what was evicted from the start again after stats reset", function()
        start("-m", "2", "-o", "slab_automove=0")
        local value = ("v"):rep(100000)
        for i = 1, 60 do
            assert.equal("STORED", ask(connection, ("set k%d 0 0 %d\r\n%s"):format(i, #value, value)))
        end
        assert.truthy(#wire.stats(connection, "evictions") > 0)
        assert.equal("RESET", ask(connection, "stats reset"))
        assert.equal(0, #wire.stats(connection, "evictions"))
    end)

    it("of slated's own take no words that they do not know", function()
        start()
        for _, name in ipairs({ "slated", "policies", "moves", "automove", "geometry", "whatif", "evictions" }) do
            assert.equal("CLIENT_ERROR usage: stats " .. name, ask(connection, "stats " .. name .. " x"))
        end
    end)

    it("answer a beginning of some sub-commands and the whole word of the others", function()
        start()
        assert.equal("STAT maxbytes 67108864", lines_of(connection, "stats s")[1])
        assert.equal("STAT maxbytes 67108864", lines_of(connection, "stats se")[1])
        assert.equal("RESET", ask(connection, "stats r"))
        assert.equal("CLIENT_ERROR usage: stats detail on|off|dump", ask(connection, "stats d"))
        assert.equal("CLIENT_ERROR bad command line", ask(connection, "stats c"))
        for _, word in ipairs({ "sl", "i", "siz", "slatedx", "polici", "nonsense", "settingsx" }) do
            assert.equal("ERROR", ask(connection, "stats " .. word), word)
        end
    end)

    it("name each connection once, listeners first", function()
        start()
        local other = connect(one.address)
        assert.equal("VERSION 1.6.45", ask(other, "version"))
        local names, values = wire.stats(connection, "conns")
        assert.equal("conn_listening", values[names[1]:match("^%d+") .. ":state"])
        local addresses, listening = 0, 0
        for name, value in pairs(values) do
            addresses = addresses + (name:find(":addr$") and 1 or 0)
            listening = listening + (value == "conn_listening" and 1 or 0)
            if name:find("addr$") then
                assert.equal("unix:" .. one.address, value)
            end
        end
        assert.truthy(addresses >= 3)
        assert.equal(1, listening)
        other:close()
    end)

    it("count operations by key prefix while detail is on", function()
        start("-D", "/")
        ask(connection, "set a/1 0 0 1\r\nv")
        lines_of(connection, "get a/1 a/2 plain")
        ask(connection, "delete a/1")
        assert.same({ "PREFIX a get 2 hit 1 set 1 del 1", "END" }, lines_of(connection, "stats detail dump"))
        assert.equal("OK", ask(connection, "stats detail off"))
        lines_of(connection, "get a/1")
        assert.same({ "PREFIX a get 2 hit 1 set 1 del 1", "END" }, lines_of(connection, "stats detail dump"))
    end)

    it("draw a histogram of item sizes when asked to at the start", function()
        start("-o", "track_sizes")
        for i = 1, 5 do
            ask(connection, ("set small%d 0 0 10\r\n%s"):format(i, ("x"):rep(10)))
        end
        ask(connection, ("set large 0 0 1000\r\n%s"):format(("x"):rep(1000)))
        local _, sizes = wire.stats(connection, "sizes")
        assert.same({ ["64"] = "5", ["1056"] = "1" }, sizes)
    end)

    it("go on in pieces when a dump is long, and others are served meanwhile", function()
        start("-t", "1")
        local ITEMS <const> = 30000
        for from = 1, ITEMS, 1000 do
            local batch = {}
            for i = from, from + 999 do
                batch[#batch + 1] = ("set item-%06d 0 0 4 noreply\r\nabcd\r\n"):format(i)
            end
            connection:send(table.concat(batch))
        end
        assert.equal("VERSION 1.6.45", ask(connection, "version"))
        connection:send("lru_crawler metadump all\r\n")
        local other = connect(one.address)
        local function other_is_served()
            assert.same({ "VALUE item-000001 0 4", "abcd", "END" }, lines_of(other, "get item-000001"))
        end
        other_is_served()
        local seen, count = {}, 0
        assert.equal("OK", connection:receive("*l"))
        for line in function() return connection:receive("*l") end do
            if line == "END" then
                break
            end
            local key = line:match("^key=(%S+) exp=%-1 la=%d+ cas=%d+ fetch=%l+ cls=%d+ size=%d+ flags=0 $")
            assert.truthy(key and not seen[key], "not a line of a dump, or a key twice: " .. line)
            seen[key] = true
            count = count + 1
            if count % 100 == 0 then -- the dump goes on although somebody asks all the time
                other_is_served()
            end
        end
        other:close()
        assert.equal(ITEMS, count)
        assert.equal("VERSION 1.6.45", ask(connection, "version"))
    end)

    it("count every look at an expired item as such, and as never read only what nobody looked up", function()
        start("-o", "no_lru_maintainer,no_lru_crawler") -- nobody else looks
        local looks = { ["get k"] = "END", ["delete k"] = "NOT_FOUND", ["incr k 1"] = "NOT_FOUND",
            ["touch k 1"] = "NOT_FOUND", ["gat 1 k"] = "END", ["mg k v"] = "EN", ["md k"] = "NF", ["ma k"] = "NF",
            ["append k 0 0 1\r\nx"] = "NOT_STORED", ["replace k 0 0 1\r\nx"] = "NOT_STORED" }
        local count = 0
        for look, answer in pairs(looks) do
            assert.equal("STORED", ask(connection, "set k 0 -1 1\r\nx"))
            assert.equal(answer, ask(connection, look))
            count = count + 1
            local _, values = wire.stats(connection)
            assert.same({ tostring(count), "0" }, { values.get_expired, values.expired_unfetched }, look)
        end
    end)

    it("show a client whose value has not come whole as one that sends it", function()
        start()
        local sender = connect(one.address)
        assert.equal("MN", ask(sender, "mn"))
        local function states()
            local of = {}
            for _, line in ipairs(lines_of(connection, "stats conns")) do
                local state = line:match(":state (%S+)$")
                of[#of + 1] = state
            end
            table.sort(of)
            return table.concat(of, " ")
        end
        local function becomes(want)
            local deadline = os.time() + 60 -- only a hang takes that long
            repeat
                local now = states()
            until now == want or os.time() > deadline
            assert.equal(want, states())
        end
        becomes("conn_listening conn_parse_cmd conn_read")
        for _, bytes in ipairs({ 10, 100000 }) do
            sender:send(("set k 0 0 %d\r\nabc"):format(bytes))
            becomes("conn_listening conn_nread conn_parse_cmd")
            assert.equal("STORED", ask(sender, ("x"):rep(bytes - 3)))
            becomes("conn_listening conn_parse_cmd conn_read")
        end
    end)

    it("end a dump when the client leaves in the middle of it", function()
        start()
        local sets = {}
        for i = 1, 20000 do
            sets[i] = ("set item-%06d 0 0 4 noreply\r\nabcd\r\n"):format(i)
        end
        connection:send(table.concat(sets))
        assert.equal("VERSION 1.6.45", ask(connection, "version"))
        for _ = 1, 5 do
            local other = connect(one.address)
            other:send("lru_crawler metadump all\r\n")
            assert.equal("OK", other:receive("*l"))
            other:close()
        end
        assert.equal("VERSION 1.6.45", ask(connection, "version"))
    end)
end)
