-- SPDX-License-Identifier: BSD-3-Clause
-- `-o like_memcached`: figures and names of memcached 1.6.45 on which scripts, dashboards and tests rely are the same
-- on slated. Compared with the lists of tests/fixtures, and against a memcached 1.6.45 where one is built.
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"
require "support.world"

local CLASSES <const> = "tests/fixtures/memcached-1.6.45-classes.txt"
local NAMES <const> = "tests/fixtures/memcached-1.6.45-stats.txt"
local PEER <const> = "build/peer/memcached"
-- Of `stats settings`: the addresses, and features that either was built without.
local OWN_SETTINGS <const> = { inter = true, domain_socket = true }
local OPTIONS <const> = {
    "", "-f 2", "-f 1.07", "-n 100", "-n 1", "-n 500 -f 1.5", "-I 4m", "-C", "-o slab_chunk_max=256", "-o no_modern",
    "-o slab_sizes=100-200-1000", "-o no_chunked_items", "-m 1024 -I 128m", "-I 16k -o slab_chunk_max=8",
}

describe("-o like_memcached", function()
    local running = {}

    local function start(binary, ...)
        local one = server.start({ binary = binary, args = { ... } })
        running[#running + 1] = one
        return wire.connect(one.address), one
    end

    local function like(...) return start(nil, "-o", "like_memcached", ...) end

    local function needs_peer()
        if server.memcached() ~= PEER then
            pending("memcached 1.6.45 is not built (tests/bench/peer builds it)")
            return true
        end
    end

    local function words_of(text)
        local words = {}
        for word in text:gmatch("%S+") do words[#words + 1] = word end
        return words
    end

    -- The lines of the class table that a server with these words prints with -vv.
    local function class_table(binary, words)
        local connection, one = start(binary, "-vv", table.unpack(words_of(words)))
        connection:close()
        return patience.wait_for("the class table", function()
            local log, lines = one:log(), {}
            for line in log:gmatch("[^\n]+") do lines[#lines + 1] = line:match("^slab class .*") end
            -- slated's log is written while it serves: this line comes after the table
            return #lines > 0 and (binary == PEER or log:find(" serves: memory=", 1, true)) and lines
        end)
    end

    after_each(function()
        for _, one in ipairs(running) do one:stop() end
        running = {}
    end)

    it("has memcached's 39 classes, from 96 bytes to 512 KiB", function()
        local kept = {}
        for line in io.lines(CLASSES) do kept[#kept + 1] = line end
        local classes = class_table(nil, "-o like_memcached")
        assert.same(kept, classes)
        assert.equal(39, #classes)
        assert.truthy(classes[1]:find("chunk size        96 perslab   10922", 1, true))
        assert.truthy(classes[39]:find("chunk size    524288 perslab       2", 1, true))
    end)

    it("has the classes of the memcached at hand, whatever shapes them", function()
        if needs_peer() then
            return
        end
        for _, words in ipairs(OPTIONS) do
            assert.same(class_table(PEER, words), class_table(nil, "-o like_memcached " .. words), words)
        end
    end)

    it("has memcached's general statistics and no other, and keeps its own in stats slated", function()
        local kept, inside = {}, false
        for line in io.lines(NAMES) do
            if line:find("^%[") then
                inside = line == "[stats]"
            elseif inside and line ~= "" then
                kept[#kept + 1] = line
            end
        end
        local connection = like()
        assert.same(kept, (wire.stats(connection)))
        local _, own = wire.stats(connection, "slated")
        assert.equal("slru", own.policy)
        connection:close()
        connection = like("-o", "no_lru_maintainer,no_lru_crawler")
        assert.equal(84, #(wire.stats(connection)))
        connection:close()
    end)

    it("has memcached's settings, value by value", function()
        local connection = like()
        local _, ours = wire.stats(connection, "settings")
        connection:close()
        assert.equal("1", ours.slab_automove)
        assert.equal("murmur3", ours.hash_algorithm)
        if needs_peer() then
            return
        end
        for _, words in ipairs({ "-t 4", "-o no_modern", "-C -M -F -X -f 2 -n 100 -R 5 -c 100 -b 5",
            "-o hash_algorithm=jenkins,idle_timeout=5,hashpower=20,slab_automove=2,temporary_ttl=5,track_sizes" }) do
            local args = words_of(words)
            connection = start(PEER, table.unpack(args))
            local names, theirs = wire.stats(connection, "settings")
            connection:close()
            connection = like(table.unpack(args))
            _, ours = wire.stats(connection, "settings")
            connection:close()
            for _, name in ipairs(names) do
                if not OWN_SETTINGS[name] then
                    assert.equal(theirs[name], ours[name], words .. ": " .. name)
                end
            end
        end
    end)

    local function store(connection, first, last, value)
        local sets = {}
        for i = first, last do
            sets[#sets + 1] = ("set k%d 0 0 %d noreply\r\n%s\r\n"):format(i, #value, value)
        end
        assert(connection:send(table.concat(sets)))
        assert.equal("MN", wire.ask(connection, "mn"))
    end

    it("counts pages from none at the start, as memcached does", function()
        local connection = like()
        local function pages()
            local _, general = wire.stats(connection)
            local _, slabs = wire.stats(connection, "slabs")
            return tonumber(general.slab_global_page_pool), tonumber(slabs.total_malloced), tonumber(slabs.active_slabs)
        end
        assert.same({ 0, 0, 0 }, { pages() })
        store(connection, 1, 30000, "v") -- three pages of the first class
        assert.same({ 0, 3 << 20, 1 }, { pages() })
        assert.equal("OK", wire.ask(connection, "slabs reassign 1 0"))
        patience.wait_for("the page", function() return (pages()) == 1 end)
        assert.equal(3 << 20, select(2, pages()))
        connection:close()
    end)

    -- Calls f with a connection to slated and, if built, to memcached 1.6.45.
    local function on_each(words, f)
        for _, binary in ipairs({ server.slated(), server.memcached() == PEER and PEER or nil }) do
            local args = binary == PEER and {} or { "-o", "like_memcached" }
            local connection, one = start(binary, table.unpack(table.move(words, 1, #words, #args + 1, args)))
            f(connection, binary)
            connection:close()
            one:stop()
        end
    end

    local function stat(connection, name) return tonumber((select(2, wire.stats(connection)))[name]) end

    it("counts a yield after each -R requests of more", function()
        for requests, yields in pairs({ [2] = 2, [4] = 1, [6] = 0 }) do
            on_each({ "-R", tostring(requests) }, function(connection, binary)
                assert(connection:send(("mn\r\n"):rep(6)))
                for _ = 1, 6 do assert.equal("MN", connection:receive("*l")) end
                assert.equal(yields, stat(connection, "conn_yields"), requests .. " requests a turn of " .. binary)
            end)
        end
    end)

    it("evicts the oldest of few items first, and retains items that were read twice", function()
        local value = ("v"):rep(1000000)
        for _, words in ipairs({ {}, { "-o", "no_lru_maintainer" } }) do
            on_each(words, function(connection)
                store(connection, 1, 40, value)
                for _ = 1, #words == 0 and 2 or 0 do -- memcached's flat list notes a read once a minute
                    for i = 1, 5 do assert.equal("HD", wire.ask(connection, "mg k" .. i)) end
                end
                for i = 41, 80 do store(connection, i, i, value) end
                local oldest
                for i = #words == 0 and 6 or 1, 80 do
                    local here = wire.ask(connection, ("me k%d"):format(i)) ~= "EN"
                    oldest = oldest or here and i or nil
                    assert.equal(oldest ~= nil, here, "k" .. i)
                end
                assert.is_true(oldest > 10)
                for i = 1, #words == 0 and 5 or 0 do
                    assert.not_equal("EN", wire.ask(connection, "me k" .. i))
                end
            end)
        end
    end)

    it("counts moved pieces of values, and pages given back", function()
        on_each({}, function(connection)
            store(connection, 1, 40, ("v"):rep(600000))
            for i = 1, 40, 2 do assert.equal("DELETED", wire.ask(connection, "delete k" .. i)) end
            local _, slabs = wire.stats(connection, "slabs")
            patience.wait_for("the page", function()
                wire.ask(connection, "slabs reassign 39 0")
                return stat(connection, "slabs_moved") > 0
            end)
            patience.wait_for("the mover", function() return stat(connection, "slab_reassign_running") == 0 end)
            assert.equal(stat(connection, "slabs_moved"), stat(connection, "slab_reassign_chunk_rescues"))
            assert.equal(slabs.total_malloced, (select(2, wire.stats(connection, "slabs"))).total_malloced)
        end)
    end)

    it("gives way to later options, and requires slabs", function()
        local connection = like("--policy", "s3fifo", "-o", "slab_automove=2")
        local _, ours = wire.stats(connection, "settings")
        assert.equal("2", ours.slab_automove)
        assert.equal("s3fifo", select(2, wire.stats(connection, "slated")).policy)
        connection:close()
        local _, _, code = os.execute(server.slated() .. " " .. server.USER
            .. " -o like_memcached --store heap </dev/null >/dev/null 2>&1")
        assert.equal(64, code)
    end)
end)
