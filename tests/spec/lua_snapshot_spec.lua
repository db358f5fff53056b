-- SPDX-License-Identifier: BSD-3-Clause
local snapshots = require "support.snapshots"
local in_slatetop <const>, make <const> = snapshots.in_slatetop, snapshots.make
local snapshot = require "slate.facts.snapshot"

describe("snapshot", function()
    it("is built from raw lines alone", function()
        local one = snapshot.build({
            [""] = { "STAT pid 7", "STAT version 1.6.45" },
            slabs = { "STAT 1:chunk_size 96", "STAT active_slabs 1" }, items = { "STAT items:1:number 2" },
        }, { time_s = 5.5, server = "here:1" })
        assert.same({
            schema = "slate/snapshot/1", time_s = 5.5, server = "here:1", version = "1.6.45",
            general = { pid = 7, version = "1.6.45" }, classes = { { id = 1, chunk_size = 96, number = 2 } },
            totals = { active_slabs = 1 },
        }, one)
    end)

    it("is built from replies as texts, too", function()
        local one = snapshot.build({
            [""] = "STAT pid 7\r\nSTAT version 1.6\027[2Jx\r\nSTAT cmd_get -5\r\nSTAT cmd_set abc\r\nSTAT uptime \r\n"
                .. "STAT\r\ngarbage\r\nSTAT get_hits 12x\r\nSTAT evictions 99999999999999999999999\r\nSTAT bytes 7",
            slabs = "STAT 4:chunk_size 96\r\nSTAT 4:total_pages 9007199254740992\r\nSTAT 256:total_pages 3\r\n"
                .. "STAT 999999999999999999999:total_pages 3\r\nSTAT :x 1\r\nSTAT 5: 1\r\nSTAT 255:total_pages 9\r\n"
                .. "STAT 255:chunk_size 0\r\nSTAT active_slabs 1\r\nSTAT total_malloced x\r\nEND\r\n",
            items = "STAT items:4:number 2\r\nSTAT items:4:age -1\r\nSTAT items:4:evicted 7z\r\nEND\r\n",
            slated = "STAT slated_version 0.1.0\r\nSTAT role read\r\nSTAT store heap\r\nEND\r\n",
            proxybe = "STAT bad_one 2\r\nSTAT bad_two 1\r\nEND\r\n",
        }, { time_s = 5 })
        assert.same({
            schema = "slate/snapshot/1", time_s = 5, version = "1.6?[2Jx", slated = "0.1.0", role = "read",
            store = "heap", general = { pid = 7, version = "1.6?[2Jx", bytes = 7, proxy_links_bad = 3 },
            classes = { { id = 4, chunk_size = 96, number = 2 }, { id = 255, total_pages = 9 } },
            totals = { active_slabs = 1 },
        }, one)
        assert.same(one, snapshot.decode(snapshot.encode(one)))
    end)

    it("survives a round trip through one line of JSON", function()
        local one = make(10.25, { [1] = { chunk_size = 96 }, [12] = { age = 3 } }, { evictions = 3 }, { maxbytes = 64 })
        local line = snapshot.encode(one)
        assert.is_nil(line:find("\n"))
        assert.equal('{"schema":"slate/snapshot/1","time_s":10.25,', line:sub(1, 44))
        assert.same(one, snapshot.decode(line))
        assert.truthy(snapshot.encode(make(1, {})):find('"classes":[]', 1, true))
    end)

    it("of a recording has printable texts, as that of a live server has, whatever the recording holds", function()
        local esc <const> = "\27[2J"
        local one = make(10, { [1] = { chunk_size = 96, total_pages = 1 } }, { version = esc .. "a", libevent = esc },
            { hash_algorithm = esc, slab_automove = esc })
        one.version, one.slated, one.role, one.store, one.server = esc, esc, esc, esc, "/tmp/ü" .. esc
        one.changes = { { number = 1, time_s = 9, who = esc, what = esc, was = esc, is = esc } }
        local read = snapshot.decode(snapshot.encode(one))
        local shown <const> = "?[2J"
        assert.same({ shown, shown, shown, shown, "/tmp/ü" .. shown, shown .. "a", shown, shown, shown },
            { read.version, read.slated, read.role, read.store, read.server, read.general.version,
                read.general.libevent, read.settings.hash_algorithm, read.settings.slab_automove })
        assert.same({ shown, shown, shown, shown },
            { read.changes[1].who, read.changes[1].what, read.changes[1].was, read.changes[1].is })
        local printed = in_slatetop({ one })
        assert.is_nil(printed:find("[\0-\9\11-\31\127]"), printed)
        assert.truthy(printed:find("/tmp/ü?[2J  slated ?[2J", 1, true), printed)
        local _, problem = snapshot.decode('{"schema":"slate/snapshot/1","time_s":1,"general":{"\\u001b[2J":-1},'
            .. '"classes":[]}')
        assert.equal("?[2J in general is -1: no server reports that", problem)
    end)

    it("refuses lines that are something else, with the reason", function()
        for line, reason in pairs({
            ["[1,2]"] = "schema is nil", ["7"] = "not a JSON object",
            ['{"schema":"slate/snapshot/2"}'] = "this program reads slate/snapshot/1",
            ['{"schema":"slate/snapshot/1"}'] = "are missing",
            ['{"schema":"slate/snapshot/1","time_s":1,"general":{},"classes":[{"id":2},{"id":1}]}'] = "ascending ids",
            ['{"schema":"slate/snapshot/1","time_s":1,"general":{},"classes":[{"id":"x"}]}'] = "ascending ids",
        }) do
            local one, problem = snapshot.decode(line)
            assert.is_nil(one)
            assert.truthy(problem:find(reason, 1, true), problem)
        end
    end)
end)

describe("rates", function()
    local before = make(100, { [1] = { evicted = 10, age = 5 }, [2] = { evicted = 1 } },
        { cmd_get = 100, threads = 4 })

    it("are counters' differences per second", function()
        local after = make(102, { [1] = { evicted = 30, age = 7 }, [2] = { evicted = 1 } },
            { cmd_get = 300, threads = 4 })
        local rates = snapshot.rates(before, after)
        assert.equal(2, rates.interval_s)
        assert.is_false(rates.reset)
        assert.equal(100, rates.general.cmd_get_per_s)
        assert.same({ { id = 1, evicted_per_s = 10 }, { id = 2, evicted_per_s = 0 } }, rates.classes)
    end)

    it("leave out figures that are no counter or missing on either side", function()
        local after = make(101, { [1] = { evicted = 10, age = 7 }, [3] = { evicted = 5 } },
            { threads = 4, cmd_set = 9 })
        local rates = snapshot.rates(before, after)
        assert.is_nil(rates.general.threads_per_s)
        assert.is_nil(rates.general.cmd_get_per_s)
        assert.is_nil(rates.general.cmd_set_per_s)
        assert.same({ { id = 1, evicted_per_s = 0 }, { id = 3 } }, rates.classes)
    end)

    it("are unknown for a class whose counter went back", function()
        local after = make(101, { [1] = { evicted = 4 }, [2] = { evicted = 2 } }, { cmd_get = 100, threads = 4 })
        local rates = snapshot.rates(before, after)
        assert.same({ { id = 1 }, { id = 2, evicted_per_s = 1 } }, rates.classes)
    end)

    it("are unknown after a restart, never huge or negative", function()
        local restarted = make(101, { [1] = { evicted = 3 } }, { pid = 2, cmd_get = 900 })
        local reset = make(101, {}, { cmd_get = 5 })
        for _, after in ipairs({ restarted, reset }) do
            local rates = snapshot.rates(before, after)
            assert.is_true(rates.reset)
            assert.same({}, rates.general)
            assert.same({}, rates.classes)
        end
    end)

    -- A snapshot that a server of this uptime sent; 1000 gets a second.
    local function sent(uptime_s, earlier, sent_s, received_s)
        local one = make(0, {}, { uptime = uptime_s, cmd_get = 1000 * uptime_s })
        snapshot.set_time(one, earlier, sent_s, received_s)
        return one
    end

    it("are of the time at which the figures were true, which the server's uptime tells of a late reply", function()
        local first = sent(100, nil, 10, 10.002)
        assert.near(10.001, first.time_s, 1e-9)
        assert.near(0.001, first.time_error_s, 1e-9)
        local on_its_way = sent(101, first, 11, 14) -- the reply was late, the server was not
        assert.is_true(on_its_way.time_s > 11 and on_its_way.time_s < 11.6, on_its_way.time_s)
        local stopped = sent(110, first, 11, 20) -- the server was late
        assert.is_true(stopped.time_s > 19.4 and stopped.time_s <= 20, stopped.time_s)
        assert.near(1000, snapshot.rates(first, stopped).general.cmd_get_per_s, 100)
        assert.is_nil(snapshot.rates(first, on_its_way).general.cmd_get_per_s, "between 11 and 12 s, since 10 s")
        assert.near(1000, snapshot.rates(first, sent(104, on_its_way, 14, 14)).general.cmd_get_per_s, 1)
        local restarted = sent(3, first, 11, 14)
        assert.same({ 12.5, 1.5 }, { restarted.time_s, restarted.time_error_s })
        assert.is_true(snapshot.rates(first, restarted).reset)
    end)

    it("are known over a way that is always slow", function()
        local first = sent(100, nil, 10, 10.8)
        assert.near(1000, snapshot.rates(first, sent(101, first, 11, 11.8)).general.cmd_get_per_s, 1)
    end)

    it("are known of a server that became late: slatectl takes one more sample, when it must", function()
        local clock <const> = require "slate.base.clock"
        local context = require("slate.cli.context").new({ server = { name = "here" } })
        local now_s, slept, sleep = 10, {}, clock.sleep
        function clock.sleep(seconds)
            now_s, slept[#slept + 1] = now_s + seconds + 0.001, seconds
        end
        function context.snapshot()
            local one, late_s = make(0, {}, { cmd_get = math.floor(1000 * now_s) }), #slept < 3 and 0 or 0.4
            snapshot.set_time(one, nil, now_s, now_s + late_s)
            now_s = now_s + late_s
            return one
        end
        local after, first, rates = context:pair({}, 0.02)
        clock.sleep = sleep
        assert.is_true(slept[#slept] > slept[1])
        assert.is_true(snapshot.is_timed(first, after))
        assert.near(1000, rates.general.cmd_get_per_s, 251)
    end)

    it("show a restart only by a pid or an uptime that both report", function()
        local function is_restart(pid, uptime, next_pid, next_uptime)
            return snapshot.is_restart({ general = { pid = pid, uptime = uptime } },
                { general = { pid = next_pid, uptime = next_uptime } })
        end
        assert.same({ true, true, true, true }, { is_restart(1, 50, 2, 51), is_restart(1, 50, 1, 3),
            is_restart(1, nil, 2, nil), is_restart(nil, 50, nil, 3) })
        assert.same({ false, false, false, false, false, false }, { is_restart(1, 50, 1, 50),
            is_restart(1, 50, 1, nil), is_restart(1, nil, 1, 3), is_restart(1, 50, nil, 51), is_restart(nil, 50, 1, 51),
            is_restart() })
    end)

    it("have an error of time that JSON has not", function()
        assert.is_nil(snapshot.encode(sent(100, nil, 10, 11)):find("error", 1, true))
    end)

    it("need time to have passed", function()
        local rates, message = snapshot.rates(before, before)
        assert.is_nil(rates)
        assert.truthy(message:find("order of time", 1, true))
    end)

    it("refuses a line with fields of other types than readers expect, with a sentence", function()
        local whole = '{"schema":"slate/snapshot/1","time_s":1%s,"general":{"a":%s},"classes":[{"id":1,"b":%s}]}'
        local read <const> = require("slate.facts.snapshot").decode
        assert.truthy(read(whole:format(',"server":"a:1","pages_limit":64,"pages_free":0',
            '1,"rusage_user":0.5,"cmd_get":5.0', "1")))
        for line, message in pairs({
            [whole:format(',"server":1', "1", "1")] = "server is no string",
            [whole:format(',"slated":[]', "1", "1")] = "slated is no string",
            [whole:format(',"pages_limit":1.5', "1", "1")] = "pages_limit is no integer",
            [whole:format(',"pages_free":"64"', "1", "1")] = "pages_free is no integer",
            [whole:format("", "[1]", "1")] = "a in general is a table: no server reports that",
            [whole:format("", "true", "1")] = "a in general is true: no server reports that",
            [whole:format("", "1", "true")] = "b of class 1 is true: no server reports that",
            [whole:format("", "1", "1e300")] = "b of class 1 is 1e+300: no server reports that",
            [whole:format("", "1", '1,"chunk_size":0')] = "chunk_size of class 1 is 0: no server reports that",
            [whole:format("", "1", "{}")] = "b of class 1 is a table: no server reports that",
            [whole:format("", "1", "-5")] = "b of class 1 is -5: no server reports that",
            [whole:format("", "1", "1.5")] = "b of class 1 is 1.5: no server reports that",
            [whole:format("", '1,"cmd_get":-5', "1")] = "cmd_get in general is -5: no server reports that",
            [whole:format("", '1,"cmd_get":0.5', "1")] = "cmd_get in general is 0.5: no server reports that",
            [whole:format("", '1,"cmd_get":"\\u001b7"', "1")] = "cmd_get in general is ?7: no server reports that",
            [whole:format(',"settings":{"maxconns":-1}', "1", "1")]
                = "maxconns in settings is -1: no server reports that",
        }) do
            assert.same({ n = 2, nil, message }, table.pack(read(line)))
        end
    end)
end)
