-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's health lines are the findings of slatectl doctor: the same sentences, of the same snapshots; and the
-- findings of both in recordings.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local view = require "slate.judge.view"
local recordings = require "support.recordings"
local server = require "support.server"
local snapshots = require "support.snapshots"

-- slatetop's warnings at the end of the first lines of a recording: severity and sentence.
local function by_slatetop(name, lines)
    local found, path = {}, os.tmpname()
    local text = server.capture(("gzip -dc %s | head -n %d >%s; %s -b --replay %s 2>&1"):format(recordings.path(name),
        lines, path, snapshots.SLATETOP, path))
    os.remove(path)
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

-- The findings of slatectl doctor, slatetop's additional ones on automove, and slatetop's names of further classes that
-- starve.
local function by_doctor(one)
    local found, starving = {}, {}
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

local loaded_by_name = {}

local function loaded(name)
    loaded_by_name[name] = loaded_by_name[name] or recordings.load(name)
    return loaded_by_name[name]
end

describe("slatetop and slatectl doctor", function()
    for number = 1, #recordings.CASES, 3 do -- both use the same rules, so a few findings show that slatetop has all
        local case = recordings.CASES[number]
        it("say the same of " .. case.name, function()
            local list, one = loaded(case.name), view.observer()
            for i = 1, case.finds and 60 or 30 do
                one:observe(list[i])
                if i == 30 or i == 60 then
                    local top, text = by_slatetop(case.name, i)
                    local expected = by_doctor(one)
                    table.sort(top)
                    table.sort(expected)
                    assert.are.same(expected, top, ("after %d snapshots: %s"):format(i, text))
                end
            end
        end)
    end

    -- The findings that a recording must have, and by when; every other warning is a false alarm.
    for _, case in ipairs(recordings.CASES) do
        it(("find %s in %s"):format(case.finds and case.finds.name or "nothing", case.name), function()
            local alarms, found = {}, nil
            for _, episode in ipairs(require("slate.judge.history").findings_over(loaded(case.name))) do
                if case.finds and episode.name == case.finds.name then
                    found = found or episode
                elseif episode.severity ~= "note" and not (case.also or {})[episode.name] then
                    alarms[#alarms + 1] = ("%s at %d s: %s"):format(episode.name, episode.first_s, episode.what)
                end
            end
            assert.equal("", table.concat(alarms, "; "))
            if case.finds then
                local late_s = assert(found).first_s - case.finds.since_s
                assert.is_true(late_s >= 0 and late_s <= recordings.FOUND_WITHIN_S, ("%.1f s"):format(late_s))
            end
        end)
    end

    it("name the key that helps", function()
        local one = snapshots.seen(table.move(loaded("calcified"), 1, 20, 1, {}))
        local list = attention.findings(one, {})
        assert.are.same({ "bad", "starving", "m" }, { list[1].tone, list[1].label, list[1].key })
        assert.are.same({ "warn", "t" }, { list[#list - 1].tone, list[#list - 1].key })
        assert.are.equal("unknown", list[#list].label)
    end)
end)
