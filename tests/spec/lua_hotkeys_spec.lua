-- SPDX-License-Identifier: BSD-3-Clause
-- Hot keys as slatectl reads and counts them.
local hotkeys = require "slate.facts.hotkeys"

local seed = math.tointeger(tonumber(os.getenv("SEED") or "")) or os.time()

local function line(key, size)
    return ("ts=1795303361.5 gid=1 type=item_get key=%s status=found clsid=2 cfd=9 size=%d"):format(key, size)
end

local function named(hot)
    local keys = {}
    for _, one in ipairs(hot.keys) do keys[one.key] = one end
    return keys
end

describe("hot keys #SEED=" .. seed, function()
    it("are shown as they were typed, but for control characters and bytes that are not UTF-8", function()
        for escaped, shown in pairs({ ["user%3A42%2Fa%20b%25%0Ac%21"] = "user:42/a b%%0Ac!", ["p%253Aq"] = "p%3Aq",
            ["user%3A42%2F%25C3"] = "user:42/%C3", ["a%C3%BC"] = "aü", ["%FFa%C3"] = "%FFa%C3",
            ["%C2%85%E2%80%AE"] = "%C2%85%E2%80%AE" }) do
            assert.equal(shown, hotkeys.shown_key(hotkeys.key_of(escaped)))
        end
    end)

    it("are sorted by the figure shown, though an error makes the least of one 0", function()
        local keys = { { key = "a", requests = 20, error = 0 }, { key = "b", requests = 90, error = 90 } }
        hotkeys.sort(keys, "requests", 2)
        assert.same({ "b", "a" }, { keys[1].key, keys[2].key })
    end)

    it("that are read by chance alone are none", function()
        math.randomseed(seed)
        local counter = hotkeys.counter()
        for _ = 1, 5000 do counter:take(line("key" .. math.random(4000), 10)) end
        assert.truthy(#counter:result(10, 0).keys <= 1)
        for _ = 1, 12 do counter:take(line("hot", 10)) end
        counter:take(line("large", 1000))
        local keys = named(counter:result(10, 0))
        assert.same({ 12, 1000 }, { keys.hot.requests, keys.large.bytes })
    end)

    it("are counted by requests and by bytes from the stream of reads", function()
        local counter = hotkeys.counter()
        for n = 1, 100 do counter:take(line("some" .. n, 10)) end
        for _ = 1, 30 do counter:take(line("often", 10)) end
        for _ = 1, 5 do counter:take(line("large", 1000)) end
        counter:take(line("once", 10))
        counter:take("ts=1.5 gid=1 type=item_store key=b status=stored cmd=set ttl=0 clsid=3 cfd=9 size=200")
        local hot = counter:result(10, 0)
        assert.same({ 136, 6310, 136, 0 }, { hot.requests, hot.bytes, hot.noted, hot.lost })
        hotkeys.sort(hot.keys, "bytes", 2)
        assert.same({ "large", "often" }, { hot.keys[1].key, hot.keys[2].key })
        assert.same({ 5, 5, 5 }, { hotkeys.bounds(hot.keys[1]) })
        assert.same({ 300, 300, 300 }, { hotkeys.bounds(hot.keys[2], "bytes") })
        hotkeys.sort(hot.keys, "requests", 1)
        assert.same({ "often", 1 }, { hot.keys[1].key, #hot.keys })
    end)

    it("are asked for by connections, whose hosts are known if they were open all the time", function()
        local counter = hotkeys.counter()
        for connection, reads in pairs({ [1] = 50, [2] = 20, [3] = 10, [4] = 8, [5] = 6, [6] = 6 }) do
            for _ = 1, reads do counter:take((line("a%20b", 10):gsub("cfd=9", "cfd=" .. connection))) end
        end
        counter:take("ts=1.5 gid=1 type=item_get key=old status=found clsid=2 size=3")
        local function addresses(...)
            local lines = {}
            for i, text in ipairs({ ... }) do
                lines[i] = ("STAT %d:addr %s\r\nSTAT %d:listen_addr tcp:x:1\r\n"):format(i, text, i)
            end
            return hotkeys.addresses(table.concat(lines))
        end
        local before = addresses("tcp:10.0.0.7:401", "tcp:10.0.0.7:402", "unix:/run/m", "tcp6:[::1]:7", "tcp:ten:1")
        local after = addresses("tcp:10.0.0.7:401", "tcp:10.0.0.7:402", "unix:/run/m", "tcp6:[::1]:7", "tcp:ten:2")
        assert.equal("10.0.0.7 70.0 % (ports 401 50.0 %, 402 20.0 %), "
            .. "others 12.0 % (2 connections, not open all the time, or without a known address), "
            .. "unix:/run/m 10.0 % (1 connection), [::1] 8.0 % (port 7)",
            hotkeys.who_words(counter:who("a b", before, after)))
        assert.same({ {}, {} }, { counter:who("old", before, after), counter:who("none", before, after) })
        assert.equal("others 100 % (6 connections, not open all the time, or without a known address)",
            hotkeys.who_words(counter:who("a b", {}, {})))
    end)

    it("are within their bounds though most lines are lost", function()
        math.randomseed(seed)
        local within, RUNS <const> = 0, 60
        for _ = 1, RUNS do
            local counter, truth, lost = hotkeys.counter(), 0, 0
            for _ = 1, 4000 do
                local is_hot = math.random() < 0.1
                truth = truth + (is_hot and 1 or 0)
                if math.random() < 0.25 then
                    counter:take(line(is_hot and "hot" or "key" .. math.random(1000), 100))
                else
                    lost = lost + 1
                end
            end
            counter:take("skipped=" .. lost // 2)
            local hot = counter:result(10, lost - lost // 2)
            local least, most = hotkeys.bounds(named(hot).hot)
            within = within + (least <= truth and truth <= most and 1 or 0)
            assert.same({ 4000, lost }, { hot.requests, hot.lost })
            assert.truthy(most - least < 0.6 * truth)
        end
        assert.truthy(within >= RUNS * 0.85, within)
    end)

    it("say that losses are not known where the server counts none", function()
        local counter = hotkeys.counter()
        counter:take(line("a", 1))
        assert.is_nil(counter:result(1, nil).lost)
    end)

    it("are found among more keys than there is room for, with the error that this makes", function()
        local counter = hotkeys.counter()
        for n = 1, 120000 do
            counter:take(line("key" .. n, 1))
            if n % 100 == 0 then
                counter:take(line("hot", 1))
            end
            assert.truthy(counter.count <= 100000)
        end
        local one = named(counter:result(10, 0)).hot
        local least, most = hotkeys.bounds(one)
        assert.truthy(least <= 1200 and 1200 <= most and most - least < 5)
    end)

    it("of a slated without bytes and a window have neither", function()
        local hot = hotkeys.parse({ "STAT requests 9", "STAT noted 3", "STAT 1:key a%3Ab", "STAT 1:requests 5",
            "STAT 1:error 1", "STAT 1:doubt 2", "STAT 2:key c" })
        assert.same({ requests = 9, noted = 3, keys = { { key = "a:b", requests = 5, error = 1, doubt = 2 } } }, hot)
        assert.is_nil(hotkeys.bounds(hot.keys[1], "bytes"))
        assert.same({ 2, 7, 4.5 }, { hotkeys.bounds(hot.keys[1]) })
    end)
end)
