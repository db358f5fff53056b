-- SPDX-License-Identifier: BSD-3-Clause
-- The doctor's findings: by intervals, with the server's own predictions; and over recordings.
local attention = require "slate.judge.attention"
local command = require "support.command"
local patience = require "support.patience"
local pipeline = require "support.pipeline"
local view = require "slate.judge.view"
local dkjson = require "dkjson"
local doctor = require "slate.judge.doctor"
local incident = require "slate.judge.incident"
local incident_words = require "slate.judge.incident_words"
local recordings = require "support.recordings"
local server = require "support.server"
local snapshots = require "support.snapshots"
local class, make = snapshots.class, snapshots.make

-- Every finding of this spec has words for a narrow column.
local findings_of = doctor.findings
function doctor.findings(known)
    local findings = findings_of(known)
    for _, finding in ipairs(findings) do
        assert(finding.short and #finding.short <= 17, finding.what)
    end
    return findings
end

-- The finding of this name; nil without one.
local function found(name, findings)
    for _, finding in ipairs(findings) do
        if finding.name == name then
            return finding
        end
    end
end

-- A full server that evicts 100 items a second. general: further counters after that second.
local function evicting(general, fields)
    local before = make(1000, { [5] = class({}) }, { evictions = 900, cmd_get = 5000, get_hits = 4000,
        get_misses = 1000, evicted_unfetched = 890, cmd_set = 900 })
    local after = { evictions = 1000, cmd_get = 6000, get_hits = 4800, get_misses = 1200, evicted_unfetched = 990,
        cmd_set = 1000 }
    for name, value in pairs(general or {}) do after[name] = value end
    local now = make(1001, { [5] = class({ evicted = 100 }) }, after, { slab_automove = 0 })
    now.slated = "0.1.0"
    local known = { now = now, before = before }
    for name, value in pairs(fields or {}) do known[name] = value end
    return known
end

describe("the doctor on memory", function()
    it("does not find memory short when the evicted items were never read", function()
        assert.same({}, doctor.findings(evicting()))
    end)

    it("names for a class that refuses stores the move to that class, and gives the same page to no other", function()
        local two = { total_pages = 2, total_chunks = 2000, used_chunks = 2000, age = 6000 }
        local before = make(1000, { [3] = class(two), [5] = class({}), [7] = class({}) }, { evictions = 0 })
        local now = make(1001, { [3] = class(two), [5] = class({ evicted = 400 }),
            [7] = class({ outofmemory = 9, age = 1 }) }, { evictions = 400 })
        local findings = doctor.findings({ now = now, before = before })
        assert.truthy(found("out_of_memory", findings).todo:find("^try slatectl move 3 7 1 "))
        assert.is_nil(found("starving", findings))
    end)

    it("finds waste before any eviction", function()
        local now = make(1, { [5] = class({ total_pages = 40, used_chunks = 40000, mem_requested = 30000000 }) },
            { limit_maxbytes = 64 << 20 })
        assert.truthy(found("waste", doctor.findings({ now = now })).what:find("is wasted", 1, true))
    end)

    it("finds expired items that still take memory", function()
        local now = make(1, { [5] = class({}) }, { curr_items = 82000 })
        local finding = found("expired", doctor.findings({ now = now, expired_items = 80000 }))
        assert.equal("note: 80000 of 82000 items have expired and still take memory",
            finding.severity .. ": " .. finding.what)
        assert.is_nil(found("expired", doctor.findings({ now = now, expired_items = 8000 })))
    end)

    it("says that expired items stay where the crawler is off and they cannot be counted", function()
        local function told(crawler, fields)
            local now = make(1, { [5] = class({}) }, { curr_items = 82000 }, { lru_crawler = crawler })
            local finding = found("expired", doctor.findings({ now = now, expired_items = fields }))
            return finding and finding.severity .. ": " .. finding.what
        end
        assert.equal("note: the crawler is off: expired items keep their memory until they are read or evicted",
            told(false))
        assert.is_nil(told(true))
        assert.is_nil(told(nil))
        assert.is_nil(told(false, 5))
    end)

    it("finds pages to and fro until a minute after one went back that had come in the five minutes before", function()
        local function told(there_s, back_s)
            local known = evicting({ time = 1001 }, { moves = {
                { from = 38, to = 37, pages = 1, time_s = 1001 - there_s },
                { from = 37, to = 38, pages = 1, time_s = 1001 - back_s } } })
            return found("moves", doctor.findings(known)) ~= nil
        end
        assert.is_true(told(290, 0))
        assert.is_true(told(60, 60))
        assert.is_false(told(320, 10))
        assert.is_false(told(310, 61))
    end)

    it("does not find pages to and fro where an operator takes a move back, and does it again", function()
        local function told(...)
            local moves = {}
            for i, mode in ipairs({ ... }) do
                local from, to = i % 2 == 1 and 5 or 7, i % 2 == 1 and 7 or 5
                moves[2 * i - 1] = { from = from, to = to, pages = 4, time_s = 900 + i, mode = mode }
                moves[2 * i] = moves[2 * i - 1]
            end
            return found("moves", doctor.findings(evicting({ time = 961 }, { moves = moves }))) ~= nil
        end
        assert.is_false(told("operator", "operator"))
        assert.is_false(told("operator", "operator", "operator"))
        assert.is_true(told("operator", "operator", "operator", "operator")) -- a program moves pages so
        assert.is_false(told("utility", "operator")) -- an operator knows better
        assert.is_true(told("operator", "utility")) -- a mode knows better
        assert.is_true(told("utility", "utility"))
    end)

    it("judges the items lost by moves in the interval, not since the start", function()
        local known = evicting({ slab_reassign_busy_deletes = 7000 })
        known.before.general.slab_reassign_busy_deletes = 7000
        assert.is_nil(found("moves", doctor.findings(known)))
        known.before.general.slab_reassign_busy_deletes = 6990
        assert.equal("page moves lose 10 items a second besides those that they evict",
            found("moves", doctor.findings(known)).what)
    end)
end)

describe("the doctor on policies", function()
    it("says that a mode of automove failed, and which one serves now", function()
        local finding = found("automove_failed", doctor.findings(evicting(nil, {
            automove = { mode = "off", failed = "lua:mine: line 3: no" } })))
        assert.equal("automove failed: lua:mine: line 3: no; now it is off", finding.what)
        assert.is_nil(found("automove_failed", doctor.findings(evicting(nil, { automove = { failed = "none" } }))))
    end)
end)

describe("the doctor on the memory of the process", function()
    local function of(process)
        return found("process", doctor.findings(evicting(nil, { process = process })))
    end

    it("finds a limit of the process that leaves items less than their own limit", function()
        local finding = of({ process_limit = 200 << 20, items_limit = 120 << 20, items_requested = 200 << 20,
            items = 120 << 20 })
        assert.equal("note", finding.severity)
        assert.equal("items may take 120 MiB of the 200 MiB given to them: the process is limited to 200 MiB, and its "
            .. "other parts take the remainder", finding.what)
        for _, none in ipairs({ { 0, 120, 120 }, { 200, 120, 0 }, { 200, 190, 190 } }) do
            assert.is_nil(of({ process_limit = none[1] << 20, items_requested = 200 << 20, items_limit = none[2] << 20,
                items = none[3] << 20 }))
        end
    end)

    it("warns of a control group that waits for memory", function()
        assert.equal("the server's control group waits for memory 25% of the time", of({ group_pressure = 25.3 }).what)
        assert.is_nil(of({ group_pressure = 9.9 }))
        assert.is_nil(of(nil))
    end)
end)

describe("the last seconds of a server, against the time before", function()
    -- A server with 100 requests a second, 80 of them hits, watched for so many seconds; `each` returns a second's
    -- counters in place of these. up_s: since its start, an hour by default.
    local function course_of(seconds, each, up_s)
        local one, gets, hits = incident.watch(), 360000, 288000
        for i = 0, seconds do
            local more = each and each(i) or {}
            gets, hits = more.gets or gets + 100, more.hits or hits + 80
            one:add(make(3600 + i, {}, { cmd_get = gets, get_hits = hits, cmd_set = 0, curr_items = 70,
                uptime = more.uptime or (up_s or 3600) + i, pid = more.pid }))
        end
        return one
    end

    it("are calm where nothing changes, seen for a second or for long", function()
        for _, seconds in ipairs({ 1, 30, 200 }) do
            local one = course_of(seconds)
            assert.is_nil(one:lately("restart"))
            assert.is_nil(one:stopped())
            assert.is_nil(one:fell())
        end
    end)

    it("show a restart for a minute, with its losses, and nothing of the time before", function()
        local function restarted(ago_s)
            local gets = 0
            return course_of(10 + ago_s, function(i)
                gets = i >= 10 and gets + 10 or 0
                return i >= 10 and { uptime = i - 8, pid = 2, gets = gets, hits = 0 } or nil
            end)
        end
        assert.equal("the server restarted and lost 70 items", incident_words.title(restarted(3):lately("restart")))
        assert.is_nil(restarted(3):fell())
        assert.truthy(restarted(60):lately("restart"))
        assert.is_nil(restarted(61):lately("restart"))
    end)

    it("tell when a restart was by the server's uptime, not by when the server was reached again", function()
        local one = view.observer()
        for _, at in ipairs({ { 1000, 500, 1 }, { 1001, 501, 1 }, { 1030, 12, 2 }, { 1031, 13, 2 } }) do
            one:observe(make(at[1], {}, { uptime = at[2], pid = at[3], curr_items = 70 }))
        end
        local finding = found("restart", doctor.findings(attention.known_of(one)))
        assert.equal("the server restarted 13s ago and lost 70 items", finding.what)
        assert.equal("restarted 13s ago", finding.short)
    end)

    it("are those seen since, where a clock was set back", function()
        local one, said = view.observer(), {}
        for i = 0, 19 do -- class 6 evicts 1,500 unread items a second; the clock is set back by 100 s
            local back_s = i >= 10 and 100 or 0
            one:observe(make(1000 + i - back_s, { [5] = snapshots.full(10, 0, { get_hits = i * 800 }),
                [6] = snapshots.full(1, i * 1500, { cmd_set = i * 1500 }) }, { evictions = i * 1500, uptime = 5000 + i,
                cmd_get = i * 1000, get_hits = i * 800, get_misses = i * 200, cmd_set = i * 1500 }))
            local findings = doctor.findings(attention.known_of(one))
            said[i] = findings[1] and findings[1].what or ""
            assert.is_nil(found("starving", findings), "no move to it is advised")
        end
        assert.equal("", said[10])
        assert.truthy(said[9]:find("^class 6 evicts items after 1s, but 1 page of class 5 would bring %-"))
        assert.equal(said[9], said[19])
    end)

    it("are of a young server whose start was not seen: of one that is up for seconds, or has few hits", function()
        local function told(uptime, evictions, hits, hits_before) -- of 100 reads, and of 100 before that
            local now = make(40, { [5] = class({}) }, { uptime = uptime, evictions = evictions, cmd_get = 200,
                get_hits = hits + (hits_before or 0), get_misses = 200 - hits - (hits_before or 0) })
            local before = make(39, { [5] = class({}) }, { uptime = uptime - 1, evictions = evictions, cmd_get = 100,
                get_hits = hits_before or 0, get_misses = 100 - (hits_before or 0) })
            return (found("young", doctor.findings({ now = now, before = before })) or {}).what
        end
        assert.equal("the server started 40s ago: hits are few until it has filled", told(40, 0, 20))
        assert.is_nil(told(40, 0, 30, 70), "hits were more before: it is another cause")
        assert.is_nil(told(40, 0, 99))
        assert.is_nil(told(40, 1, 20), "what evicts has filled")
        assert.is_nil(told(300, 0, 20))
        assert.equal("the server started 4s ago: the cache fills", told(4, 0, 99))
        assert.is_nil(told(14, 8309, 99))
        assert.is_nil((found("young", doctor.findings({ now = make(40, {}, { uptime = 82, evictions = 0 }) }))))
    end)

    it("are of a flush before them, where the server reports its time", function()
        local function said(oldest, program, flushes)
            local now = make(2000, { [5] = class({}) }, { uptime = 1000, cmd_flush = flushes or 1 },
                { oldest = oldest })
            now.slated = program
            return (found("flush", doctor.findings({ now = now })) or {}).what
        end
        assert.equal("a client sent flush_all 12s ago", said(990, "0.1.0"))
        assert.equal("a client sent flush_all 12s ago", said(1047))
        assert.is_nil(said(990, "0.1.0", 0), "of an earlier start")
        for _, none in ipairs({ 0, 1100, 900 }) do -- none yet, one that is due later, and long ago
            assert.is_nil(said(none, "0.1.0"))
        end
        assert.is_nil(said(990))
    end)

    it("show traffic that stopped, but not where none was due", function()
        local function idle_from(second)
            return course_of(100, function(i)
                return i >= second and { gets = 360000 + 100 * second, hits = 288000 + 80 * second } or nil
            end):stopped()
        end
        assert.is_nil(idle_from(98))
        local stopped = idle_from(80)
        assert.equal(21, stopped.for_s) -- from the last sample that had some
        assert.is_true(stopped.was_per_s > 80 and stopped.was_per_s <= 101)
        local one = incident.watch() -- 19 requests a second since its start, none of them while it was watched
        for i = 0, 30 do
            one:add(make(3600 + i, {}, { cmd_get = 68400, get_hits = 0, cmd_set = 0, uptime = 3600 + i }))
            assert.is_nil(one:stopped())
        end
    end)

    -- Hits that are so many in 100 reads from a second on, 80 before.
    local function fell_from(second, hits_each, seconds, up_s)
        local hits = 288000
        return course_of(seconds, function(i)
            hits = hits + (i >= second and hits_each or 80)
            return { hits = hits }
        end, up_s):fell()
    end

    it("show a hit ratio that fell to less than half, within seconds", function()
        local fell = fell_from(96, 10, 100)
        assert.near(0.8, fell.was, 0.02)
        assert.near(0.1, fell.is, 0.001)
        assert.matches("^hits fell from 80%% to 10%%$", incident_words.title(fell))
    end)

    it("show hits below half of those since the start as that, not as a fall, which was not seen", function()
        local low = fell_from(1, 10, 2)
        assert.equal("hits are 10% now; since the server's start 1h00 ago they were 80%", incident_words.line(low))
        assert.equal("hits are low", incident_words.short(low))
        assert.is_nil(fell_from(1, 41, 4), "that may be its usual load")
        assert.truthy(fell_from(1, 10, 2, 300))
        assert.is_nil(fell_from(1, 10, 2, 299), "the mean of a young server is not its usual figure")
    end)
end)

describe("the doctor on few hits", function()
    -- slatectl doctor's lines on hits, and the number of seconds that it watched. share: of reads that hit, by the
    -- second.
    local function said(share, interval_s)
        local clock = require "slate.base.clock"
        local sleep, steady_s, now_s, gets, hits, told = clock.sleep, clock.steady_s, 0, 0, 0, nil
        function clock.sleep(seconds)
            gets, hits = gets + 1000 * seconds, hits + 1000 * seconds * share(now_s)
            now_s = now_s + seconds
        end
        function clock.steady_s() return now_s end
        local context = require("slate.cli.context").new({ format = "json", server = { name = "here" }, who = {} })
        local client = { close = function() end, stats = function() return nil, "it tells nothing", "unsupported" end }
        function context.open() return client, {} end
        function context.snapshot()
            return make(1000 + now_s, {}, { cmd_get = gets, get_hits = hits, get_misses = gets - hits, uptime = 9000 })
        end
        function context.out_json(_, _, document) told = document.findings end
        local ok, problem = pcall(require("slate.commands.judge.doctor").run, context, { interval = interval_s })
        clock.sleep, clock.steady_s = sleep, steady_s
        assert(ok, problem)
        local finding = found("hits", told)
        return finding and finding.what, math.floor(now_s + 0.5)
    end

    it("samples ten seconds, as slatetop does, before it reports them", function()
        assert.same({ "only 42% of the reads find their item", 10 }, { said(function() return 0.42 end) })
        assert.same({ nil, 2 }, { said(function(at_s) return at_s < 1 and 0.4 or 0.9 end) })
        assert.same({ nil, 1 }, { said(function() return 0.9 end) })
    end)

    it("blames no keys where the server evicted in the seconds that the hits are of, though not in the last", function()
        local one = view.observer()
        for i = 0, 9 do -- its load ends within the ninth second
            local busy_s = math.min(i, 8)
            one:observe(make(1000 + i, { [5] = class({ evicted = busy_s * 100 }) }, { cmd_get = busy_s * 1000,
                get_hits = busy_s * 140, get_misses = busy_s * 860, evictions = busy_s * 100, cmd_set = busy_s * 100 }))
        end
        local finding = found("hits", doctor.findings(attention.known_of(one)))
        assert.equal("only 14% of the reads find their item", finding.what)
        assert.equal("what more memory would bring: slatectl simulate TRACE", finding.todo)
    end)
end)

describe("expired items", function()
    -- A server that lists these keys of a class; a request for a class notes its id.
    local function count(classes, listed)
        local list, asked = {}, {}
        for id, number in pairs(classes) do list[#list + 1] = { id = id, number = number } end
        table.sort(list, function(a, b) return a.id < b.id end)
        local expired = require("slate.facts.expired").count(function()
            return {
                close = function() end,
                each_line = function(_, line, _, on_line)
                    local id = tonumber(line:match("%d+$"))
                    asked[#asked + 1] = id
                    for i = 1, listed[id] do
                        if not on_line(("key=k%d exp=-1 la=1 cas=1 fetch=no cls=%d size=9"):format(i, id)) then
                            break
                        end
                    end
                    return true
                end,
            }
        end, { classes = list })
        return expired, table.concat(asked, " ")
    end

    it("are unlisted memory of a class, where that is more than half", function()
        assert.equal(8900, (count({ [3] = 9000, [5] = 4000 }, { [3] = 100, [5] = 2001 })))
        assert.equal(0, (count({ [3] = 9000 }, { [3] = 4501 })))
    end)

    it("are looked for in the largest classes first, for no more than 200,000 keys", function()
        local _, asked = count({ [3] = 900, [5] = 4000, [7] = 390000, [9] = 20000, [11] = 500000 },
            { [5] = 10, [7] = 195001, [9] = 9 })
        assert.equal("7 5", asked)
    end)
end)

for _, kind in ipairs(server.both()) do
    describe("the doctor on " .. kind.name, function()
        it("counts items that have expired and that nobody has freed, where keys can be listed", function()
            local ctl = command.beside(command.now, finally, { binary = kind.binary, args = { "-m", "64", "-o",
                "no_lru_maintainer,no_lru_crawler" } })
            local quiet = pipeline(ctl.client)
            for i = 1, 4000 do quiet:set("k" .. i, "x", { ttl_s = i <= 3500 and 1 or 0 }) end
            assert(quiet:finish())
            local function time_s() return require("slate.facts.stats").flat(ctl.client:stats()).time end
            local stored_s = time_s() -- of the server's own clock, which a busy machine delays
            patience.wait_for("the items to expire", function() return time_s() >= stored_s + 3 end)
            assert(ctl.client:command("lru_crawler enable"))
            local code, out, err = ctl.run("doctor --interval 20ms --json")
            assert.equal(0, code, err)
            local finding = found("expired", assert(dkjson.decode(out)).findings)
            assert.truthy(finding and finding.what:find("^3500 of 4000 items have expired"), out)
        end)
    end)
end

describe("a mode of automove that fails", function()
    it("has the same words in automove, check, doctor, advise and the exporter", function()
        local said = "automove failed: lua:mine: no idea; now it is utility"
        local folder = server.folder()
        server.write_file(folder .. "/mine.lua", "return { decide = function() error('no idea', 0) end }\n")
        local ctl = command.beside(command.now, function(ends)
            finally(function()
                ends()
                server.remove_folder(folder)
            end)
        end, { args = { "-m", "8", "--policy-dir=" .. folder } })
        local out = ctl.succeed("export prometheus")
        assert.truthy(out:find('\nslate_automove_mode{mode="utility"} 1\n', 1, true), out)
        assert.truthy(out:find("\nslate_automove_failed 0\n", 1, true), out)
        assert.equal("OK", ctl.client:command("slabs automove lua:mine"))
        repeat until ctl.succeed("automove"):find("\n" .. said .. "\n", 1, true)
        local code
        code, out = ctl.run("check --interval 20ms")
        assert.equal(1, code, out)
        assert.truthy(out:find("failed=1 (" .. said .. ")", 1, true), out)
        code, out = ctl.run("doctor --interval 20ms")
        assert.equal(1, code, out)
        assert.truthy(out:find("warning: " .. said .. "\n", 1, true), out)
        out = ctl.succeed("advise automove --interval 20ms")
        assert.truthy(out:find("\n\n" .. said .. ". Mend the ", 1, true), out)
        out = ctl.succeed("export prometheus")
        assert.truthy(out:find('\nslate_automove_failed{why="' .. said .. '"} 1\n', 1, true), out)
    end)
end)

describe("slatectl doctor --recording", function()
    it("prints each finding with its first and last time", function()
        local ctl = command.new()
        finally(function() ctl.remove() end)
        recordings.copy("shift1618", ctl.folder .. "/r.jsonl")
        local code, out = ctl.run("doctor --recording r.jsonl")
        assert.equal(1, code)
        local began_s = require("slate.facts.record").load(ctl.folder .. "/r.jsonl")[1].time_s
        local function clock_at(since_s) return os.date("%H:%M:%S", (began_s + since_s) // 1) end
        assert.truthy(out:gsub("%s+", " "):find(("%s to %s (43s to 1m29): warning: class 17 starves"):format(
            clock_at(43), clock_at(89)), 1, true), out)
        code, out = ctl.run("doctor --recording r.jsonl --json")
        assert.equal(1, code)
        assert.equal(17, found("starving", assert(dkjson.decode(out)).findings).class)
    end)
end)
