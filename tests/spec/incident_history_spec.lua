-- SPDX-License-Identifier: BSD-3-Clause
-- Incidents of recordings, and the changes that are tied to them.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local history = require "slate.judge.history"
local loads = require "support.loads"
local record = require "slate.facts.record"
local record_line = require "slate.facts.record_line"
local snapshot = require "slate.facts.snapshot"
local snapshots = require "support.snapshots"
local story = require "slate.report.story"
local view = require "slate.judge.view"

local HOUR_S <const> = 3600

local server, watched, words, changed = loads.server, loads.watched, loads.words, loads.changed

describe("incidents of a recording", function()
    before_each(function() math.randomseed(loads.SEED) end)

    -- The snapshots of a load as the lines of a recording; a text is read back as `doctor --recording` reads it.
    local function recorded(of, seconds)
        local one, chain, lines = server(of), record_line.chain(true), {}
        while one.t <= seconds do
            lines[#lines + 1] = chain:encode(one:sample()) .. "\n"
        end
        return table.concat(lines)
    end

    local function read_back(text)
        local file <close> = io.tmpfile()
        file:write(text)
        file:seek("set")
        return record.read(file, "torn")
    end

    it("are none in recordings that were torn within lines, and went on", function()
        for _, of in ipairs({ loads.CALM[3][2], loads.CALM[5][2], loads.CALM[7][2] }) do
            local text, kept = recorded(of, of == loads.CALM[7][2] and 3000 or 300), 0
            for i = 1, 12 do
                local from = math.random(#text)
                local to = text:find("\n", math.min(#text, from + math.random(({ 9, 900, 9000 })[i % 3 + 1]) - 1))
                local list = read_back(text:sub(1, from) .. text:sub((to or #text) + i % 2))
                kept = kept + (list and 1 or 0)
                for _, episode in ipairs(list and history.of(list, nil, {}) or {}) do
                    assert.is_nil(episode.is_incident, ("%s SEED=%d"):format(episode.what, loads.SEED))
                end
            end
            assert.is_true(kept > 6, kept)
        end
    end)

    it("are none where the load is another after a gap, and findings of both sides are two", function()
        local function of(t)
            local is_later = t > 200
            return { rate = 2000, ratio = is_later and 0.3 or 0.8, items = is_later and 2e4 or 1e5,
                step_s = t == 200 and HOUR_S or 2 }
        end
        assert.equal("", words((watched(of, HOUR_S + 400))))
        local list, times = read_back(recorded(of, HOUR_S + 400)), {}
        local function starves(known)
            local name = known.now.time_s % 20 < 10 and "starving" or "no_relief"
            return { { name = name, class = 5, severity = "warning", what = name, todo = "-", hits_lost_per_s = 1 } }
        end
        for _, episode in ipairs(assert(history.of(list, starves, {}))) do
            times[#times + 1] = ("%s %d"):format(episode.what, episode.last_s - episode.first_s)
            assert.is_true(episode.cost_hits <= 200, episode.cost_hits)
        end
        assert.same({ "starving 200", "starving 200" }, times)
    end)

    it("are findings of a live server for a minute, and lead the history by their cost", function()
        local one, observer, list = server(changed(function(state, since_s)
            state.flush = since_s == 0 and 1 or 0
            state.ratio = since_s < 3 and 0.1 or since_s < 60 and 0.45 or 0.77
            return state
        end, 2000, 0.77)), view.observer(), {}
        local lasts_s, few_s = 0, nil
        for _ = 0, 250 do
            local now = one:sample()
            list[#list + 1] = assert(snapshot.decode(snapshot.encode(now)))
            observer:observe(now)
            for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do
                lasts_s = lasts_s + (finding.name == "flush" and 1 or 0)
                assert.not_equal("hits_fell", finding.name, "the flush has its fall of hits")
                few_s = finding.name == "hits" and (few_s or one.t - 101) or few_s
            end
        end
        assert.is_true(lasts_s >= 60 and lasts_s <= 70, lasts_s)
        assert.is_true(few_s >= 10, "the mean of ten seconds has none of the time before the flush")
        local refusal = { name = "out_of_memory", severity = "critical", what = "refuses", todo = "-" }
        local found = assert(history.of(list, function(known)
            refusal.hits_lost_per_s = 40
            return known.now.time_s == list[50].time_s and { refusal } or {}
        end, { { time_s = list[49].time_s, what = "1 page moved", who = "eve@web1", id = 2 } }))
        assert.same({ "flush", "out_of_memory" }, { found[1].name, found[2].name })
        assert.near(0.32 * 2000 * 60 + 0.35 * 2000 * 3, found[1].cost_hits, 3000)
        assert.equal("about 40 hits lost; at the moment of change 2: 1 page moved, by eve@web1",
            history.about(found[2]))
        assert.is_nil(found[1].change)
        local flush = { time_s = list[1].time_s + found[1].first_s, what = "flush_all now", name = "flush_all" }
        local function todo_of() return history.of(list, function() return {} end, { flush })[1].todo end
        assert.truthy(todo_of():find("^find the client"))
        flush.who = "bob@web2"
        assert.equal("ask the author; -F forbids flush_all", todo_of())
    end)

    it("of hits and items that come with a change name the way back, and a restart its settings", function()
        local one, list = server(changed(function(state, since_s)
            state.items, state.restart = since_s < 60 and 5e4 or 1e5, since_s == 60
            return state
        end, 2000, 0.77)), {}
        for _ = 0, 170 do
            list[#list + 1] = one:sample()
            list[#list].settings = { maxbytes = (one.t > 100 and one.t < 165 and 32 or 64) << 20, oldest = 0 }
            if one.t > 160 and one.t < 165 then
                list[#list].settings = list[#list - 1].settings -- as in a recording, until the settings are read anew
            end
        end
        local set = { id = 3, time_s = list[101].time_s - 0.5, server = "here", what = "set", name = "maxbytes",
            was = 64 << 20, is = 32 << 20, who = "eve@web1" }
        local function told(entries)
            local texts = {}
            for _, found in ipairs(history.of(list, function() return {} end, story.changes(list, entries))) do
                texts[found.name] = ("%s -> %s"):format(history.about(found):gsub("^[^;]*hits lost; ", ""), found.todo)
                texts.what_of_restart = found.name == "restart" and found.what or texts.what_of_restart
            end
            return texts
        end
        local found = told({ set })
        assert.equal("at the moment of change 3: maxbytes: 67108864 → 33554432, by eve@web1 -> if the change did it: "
            .. "slatectl undo 3", found.items_fell)
        assert.equal("the server restarted and lost 50000 items; restarted with another memory limit (32 MiB → 64 MiB)",
            found.what_of_restart)
        assert.matches("^ *-> find the reason", found.restart)
        assert.truthy(told({}).items_fell:find("author not known -> items were deleted", 1, true))
        for i, now in ipairs(list) do
            now.general.limit_maxbytes = i <= 100 and 64 << 20 or 32 << 20
        end
        assert.equal("at the moment of change 3: maxbytes: 67108864 → 33554432, by eve@web1 -> take the memory back if "
            .. "its hits are missed: slatectl undo 3", told({ set }).items_fell)
        assert.truthy(told({}).items_fell:find("are missed: slatectl set maxbytes=64", 1, true))
    end)

    it("of a recording have no server's address as author, and slated's predictions are no changes", function()
        local list = {}
        for i = 1, 3 do
            list[i] = snapshots.make(100 + i, {}, { pid = 1, uptime = 100 + i, cmd_flush = i // 2 })
        end
        list[2].changes = { { who = "unix:/run/slated.sock", what = "flush_all", is = "now" },
            { who = "tuner", what = "prediction", is = "maxbytes 64 to 8: within" } }
        local changes = story.changes(list, {})
        assert.equal(1, #changes)
        local flush = history.of(list, function() return {} end, changes)[1]
        assert.equal("at the moment of a change: flush_all now, author not known", history.about(flush))
        assert.truthy(flush.todo:find("^find the client"))
    end)

    it("are tied to changes that slatetop has read later, each told once, at its own time", function()
        local list = {}
        for i = 1, 9 do
            list[i] = snapshots.make(100 + i, {}, { pid = 1, uptime = 100 + i, cmd_flush = i > 2 and 1 or 0,
                time = 5000 + i, limit_maxbytes = i > 2 and 64 << 20 or 32 << 20 }, { maxbytes = 1, verbosity = 0 })
        end
        list[9].settings = { maxbytes = 2, verbosity = 1 }
        list[9].changes = { { who = "10.0.0.7:4711", what = "flush_all", is = "now", time_s = 5002.5 },
            { who = "10.0.0.7:4711", what = "maxbytes", was = "1", is = "2", time_s = 5002.75 } }
        local changes = story.changes(list, {})
        assert.same({ "flush_all now", 101.5, "maxbytes: 1 → 2", 101.75, "verbosity: 0 → 1", 109 }, { changes[1].what,
            changes[1].time_s, changes[2].what, changes[2].time_s, changes[3].what, changes[3].time_s })
        assert.equal(3, #changes)
        local flush = history.of(list, function() return {} end, changes)[1]
        assert.equal("ask the author; -F forbids flush_all", flush.todo)
    end)

    it("leave the changes that are tied to none as notes, an author's page moves at one time as one", function()
        local eve, tied = "eve@web1", { time_s = 49, what = "flush_all now", who = "bob@web2", name = "flush_all" }
        local told = { { name = "flush", change = tied } }
        history.add_changes(told, { { time_s = 10, what = "1 page moved", who = eve }, tied,
            { time_s = 50, what = "1 page moved", who = eve }, { time_s = 51, what = "verbosity: 1", name = "-" },
            { time_s = 60, what = "2 pages moved", who = eve } }, 5)
        local texts = {}
        for i = 2, #told do
            texts[i - 1] = ("%d to %d: %s"):format(told[i].first_s, told[i].last_s, told[i].what)
        end
        assert.same({ "5 to 5: 1 page moved, by eve@web1", "45 to 55: 1 page moved and 1 more change, by eve@web1",
            "46 to 46: verbosity: 1, author not known" }, texts)
    end)
end)
