-- SPDX-License-Identifier: BSD-3-Clause
-- A figure that a server does not report, in one sample or ever, is unknown to the judgement, which goes on with the
-- others: nothing fails, and no figure is made up.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local incident = require "slate.judge.incident"
local snapshots = require "support.snapshots"
local view = require "slate.judge.view"

local SAMPLES <const>, GAP <const> = 40, 30

-- A steady server of a thousand gets a second; damage(snapshot, i) takes figures from the i-th of its samples.
local function samples_of(damage)
    local list = {}
    for i = 1, SAMPLES do
        local class = snapshots.full(4, 10 * i, { get_hits = 800 * i, cmd_set = 90 * i, mem_requested = 3900000,
            evicted_unfetched = i, evicted_time = 90, reclaimed = i, free_chunks_end = 0 })
        list[i] = snapshots.make(1000 + i, { [5] = class, [6] = class }, { cmd_get = 1000 * i, get_hits = 800 * i,
            get_misses = 200 * i, cmd_set = 100 * i, cmd_touch = i, cmd_flush = 1, curr_items = 8000, bytes = 7000000,
            evictions = 20 * i, limit_maxbytes = 8 << 20, uptime = 9000 + i, slabs_moved = 3, curr_connections = 5,
            max_connections = 1024, rejected_connections = 0, listen_disabled_num = 0, evicted_unfetched = i,
            accepting_conns = 1, store_no_memory = 0, total_items = 100 * i, slab_global_page_pool = 0 },
            { slab_automove = 1, slab_reassign = true, maxbytes = 8 << 20, oldest = 0 })
        damage(list[i], i)
    end
    return list
end

-- What is judged of samples: the news of incidents, and the last findings.
local function judged(list)
    local one, news, before = view.observer(), {}, nil
    local findings
    for _, now in ipairs(list) do
        one:observe(now)
        table.move(one.news, 1, #one.news, #news + 1, news)
        findings = attention.findings(one, {})
        doctor.findings({ now = now, before = before, one = one })
        before = now
    end
    return news, findings
end

local function has_text(list, words)
    for _, one in ipairs(list) do
        if one.text:find(words, 1, true) then
            return true
        end
    end
    return false
end

describe("the judgement of a server that lacks a figure", function()
    local first = samples_of(function() end)[1]

    for _, part in ipairs({ "general", "settings", "class" }) do
        it("goes on, whichever of its figures lacks always, at first or in one sample: " .. part, function()
            local names = {}
            for name in pairs(part == "class" and first.classes[1] or first[part]) do
                names[#names + 1] = name ~= "id" and name or nil
            end
            assert.is_true(#names >= 4)
            for _, name in ipairs(names) do
                for _, lacks in ipairs({ function() return true end, function(i) return i == 1 end,
                    function(i) return i == GAP end }) do
                    local ok, news = pcall(judged, samples_of(function(now, i)
                        local all = part == "class" and now.classes or { now[part] }
                        for _, figures in ipairs(lacks(i) and all or {}) do figures[name] = nil end
                    end))
                    assert.same({ true, {} }, { ok, news }, name)
                end
            end
        end)
    end

    it("says that hits are not checked while gets are not reported, and checks them again after that", function()
        local function without_gets(until_sample)
            return samples_of(function(now, i)
                if i >= GAP and i <= until_sample then
                    now.general.cmd_get = nil
                end
            end)
        end
        local _, findings = judged(without_gets(SAMPLES))
        assert.is_true(has_text(findings, "not checked: hits"))
        local news
        news, findings = judged(without_gets(GAP))
        assert.same({}, news)
        assert.is_false(has_text(findings, "not checked"))
    end)

    it("finds no fall of hits by a sample without gets", function()
        local watch = incident.watch()
        local list = samples_of(function(now, i)
            now.general.cmd_get = i < GAP and now.general.cmd_get or nil
        end)
        for _, now in ipairs(list) do assert.same({}, watch:add(now)) end
        assert.is_nil(watch:fell())
    end)
end)
