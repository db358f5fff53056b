-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's health lines are the findings of slatectl doctor: the same sentences, of the same snapshots.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local view = require "slate.judge.view"
local recordings = require "support.recordings"
local snapshots = require "support.snapshots"

-- What slatetop calls wrong at the end of these snapshots: severity and sentence.
local function by_slatetop(list)
    local found, text = {}, snapshots.in_slatetop(list)
    for line in text:gmatch("[^\n]+") do
        local severity, words = line:match("^(%u%u%u%u?) +(.*)$")
        if not severity then
            severity, words = line:match("^(note)  +(.*)$")
        end
        if severity then
            found[#found + 1] = severity .. " " .. words
        end
    end
    return found, text
end

local SEVERITIES <const> = { critical = "BAD", warning = "WARN", note = "note" }

-- What slatectl doctor finds in them, what slatetop adds of automove, and how it names further classes that starve.
local function by_doctor(list)
    local one, found, starving = snapshots.seen(list), {}, {}
    for _, finding in ipairs(doctor.findings(attention.known_of(one))) do
        if finding.name == "starving" then
            starving[#starving + 1] = finding
        else
            found[#found + 1] = SEVERITIES[finding.severity] .. " " .. finding.what
        end
    end
    local others = {}
    for i, finding in ipairs(starving) do
        if i == 1 then
            found[#found + 1] = "BAD " .. finding.what
        else
            others[#others + 1] = tostring(finding.class)
        end
    end
    if #others > 0 then
        found[#found + 1] = ("BAD class%s %s starve%s, too"):format(#others > 1 and "es" or "",
            table.concat(others, ", "), #others > 1 and "" or "s")
    end
    if #starving > 0 and one.now.settings.slab_automove == 0 then
        found[#found + 1] = "WARN automove is off, so only you move pages"
    end
    local not_looked_at = doctor.not_looked_at_words(doctor.not_looked_at(attention.known_of(one)))
    found[#found + 1] = not_looked_at and "note " .. not_looked_at
    return found
end

describe("slatetop and slatectl doctor", function()
    for _, case in ipairs(recordings.CASES) do
        it("say the same of " .. case.name, function()
            local list = recordings.load(case.name)
            for _, last in ipairs({ 5, 30, #list }) do
                local part = table.move(list, 1, last, 1, {})
                local top, text = by_slatetop(part)
                local expected = by_doctor(part)
                table.sort(top)
                table.sort(expected)
                assert.are.same(expected, top, ("after %d snapshots: %s"):format(last, text))
            end
        end)
    end

    it("name the class first that starves most, and the same one until another evicts twice as much", function()
        local one, was, named = view.observer(), nil, 0
        for _, now in ipairs(recordings.load("demo")) do
            one:look(now)
            local by_id, most = {}, 0
            for _, row in ipairs(one.rows) do
                by_id[row.id] = row
                most = row.starves and math.max(most, row.mean_evicted_per_s) or most
            end
            local finding = one.before and attention.findings(one, {})[1]
            local id = finding and math.tointeger(tonumber(finding.text:match("^class (%d+) starves")))
            if id then
                named = named + 1
                local evicts = by_id[id].mean_evicted_per_s
                assert.is_true(evicts == most or id == was and 2 * evicts > most, finding.text)
            end
            was = id
        end
        assert.is_true(named > 30)
    end)

    it("name the key of the table for further classes that starve", function()
        local one = snapshots.seen(table.move(recordings.load("demo"), 1, 85, 1, {}))
        local list = attention.findings(one, {})
        assert.are.same({ "class 1 starves, too", "2" }, { list[2].text, list[2].key })
    end)

    it("tell further classes that no move is advised for in one line, and their keys help on memcached", function()
        local one = view.observer()
        for i = 0, 20 do -- class 1 has stopped; five classes evict what nobody reads
            local classes = { [1] = { chunk_size = 96, total_pages = 60, used_chunks = 600000,
                total_chunks = 655320, number = 600000, age = 5000 + i } }
            for id = 4, 8 do
                classes[id] = { chunk_size = 100 * id, total_pages = 2, used_chunks = 2000, total_chunks = 2000,
                    number = 2000, cmd_set = 900 * i, get_hits = i, evicted = 900 * i, evicted_unfetched = 890 * i,
                    age = 2 }
            end
            local now = snapshots.make(1000 + i, classes, { cmd_get = 1000 * i, get_hits = 100 * i,
                get_misses = 900 * i, uptime = 9000 + i, limit_maxbytes = 64 << 20 }, {})
            now.totals.total_malloced = 72 << 20
            one:look(now)
        end
        local told, keys = {}, {}
        for _, finding in ipairs(attention.findings(one, {})) do
            told[finding.label] = (told[finding.label] or 0) + 1
            keys[finding.label] = finding.key or "none"
        end
        assert.are.equal(2, told.no_relief)
        assert.are.same({ "2", "none", "3" }, { keys.no_relief, keys.hits, keys.held })
    end)

    it("name the key that helps", function()
        local one = snapshots.seen(table.move(recordings.load("calcified"), 1, 20, 1, {}))
        local list = attention.findings(one, {})
        assert.are.same({ "bad", "starving", "m" }, { list[1].tone, list[1].label, list[1].key })
        assert.are.same({ "warn", "t" }, { list[#list - 1].tone, list[#list - 1].key })
        assert.are.equal("unknown", list[#list].label)
    end)

    it("tell the hit ratio of the last ten seconds, which the overview shows, not that of the last one", function()
        local one, gets, hits = view.observer(), 0, 0
        for i = 0, 20 do
            one:look(snapshots.make(1000 + i, {}, { cmd_get = gets, get_hits = hits, get_misses = gets - hits,
                uptime = 9000 + i }, {}))
            gets, hits = gets + 1000, hits + (i == 19 and 100 or 460)
        end
        local said = {}
        for _, finding in ipairs(attention.findings(one, {})) do
            said[finding.label or ""] = finding.text
        end
        assert.equal("only 42% of the reads find their item", said.hits)
    end)

    it("tell what a limit of the process leaves items", function()
        local one = snapshots.seen(table.move(recordings.load("demo"), 1, 5, 1, {}))
        local text = "STAT process_limit 209715200\r\nSTAT items_asked 209715200\r\nSTAT items_limit 125829120\r\n"
            .. "STAT items 125829120\r\n"
        local said = {}
        for _, finding in ipairs(attention.findings(one, { memory = text })) do
            said[finding.label or ""] = finding.text
        end
        assert.truthy(said.process:find("^items may take 120M of the 200M asked for"))
    end)
end)
