-- SPDX-License-Identifier: BSD-3-Clause
-- The guards of trials.
local bounds = require "slate.judge.bounds"

describe("a guard", function()
    -- Figures of ten seconds, by which a difference of a few per cent is no chance.
    local function seen(figures)
        local spreads = {}
        for name in pairs(figures) do spreads[name] = 1 end
        figures.for_s, figures.error, figures.spreads = 10, figures.hit_ratio and 0.001, spreads
        return figures
    end

    it("of losses is crossed by automove 2, which drops thousands of items a second, where nobody named one", function()
        local function lost(items_per_s)
            return seen({ evictions_per_s = 40, hit_ratio = 0.7, item_loss_per_s = items_per_s })
        end
        assert.equal("lost items 40 -> 9830/s, over the bound of +50 %",
            bounds.first_guard_crossed(bounds.default_guards(), lost(40), lost(9830)))
        assert.is_nil(bounds.first_guard_crossed(bounds.default_guards(), lost(40), lost(50)))
    end)

    it("of evictions or losses that nobody named waits while hits are up by a point, until the time is over", function()
        local before = seen({ evictions_per_s = 1000, item_loss_per_s = 1000, hit_ratio = 0.66 })
        local by_default, by_terms = bounds.default_guards(), bounds.guards_of_terms(20, 1)
        local named, words = { assert(bounds.parse_guard("ev+50%")) }, "evictions 1000 -> 1800/s, over the bound of "
        for _, case in ipairs({ { by_default, 0.69 }, { by_terms, 0.69 }, { by_terms, 0.665, "+20 %" },
            { by_default, 0.665, "+50 %" }, { by_default, nil, "+50 %" }, { named, 0.69, "+50 %" } }) do
            local now = seen({ evictions_per_s = 1800, item_loss_per_s = 1800, hit_ratio = case[2] })
            assert.equal(case[3] and words .. case[3] or nil, (bounds.first_guard_crossed(case[1], before, now)))
            if not case[3] then
                assert.equal(words .. (case[1] == by_terms and "+20 %" or "+50 %") .. ", which was allowed because "
                    .. "hits rose", bounds.first_guard_spared(case[1], before, now))
            end
        end
    end)

    it("is crossed by a change for the worse alone", function()
        local function crossed(text, before, now)
            return bounds.first_guard_crossed({ assert(bounds.parse_guard(text)) }, before, now) ~= nil
        end
        local calm, busy = seen({ evictions_per_s = 1000, hit_ratio = 0.9 }),
            seen({ evictions_per_s = 1300, hit_ratio = 0.87 })
        assert.is_true(crossed("ev+20%", calm, busy))
        assert.is_false(crossed("ev+50%", calm, busy))
        assert.is_true(crossed("ev+250", calm, busy))
        assert.equal("evictions 1000 -> 34501/s, over the bound of +50 %", bounds.first_guard_crossed(
            { assert(bounds.parse_guard("ev+50%")) }, calm, seen({ evictions_per_s = 34501 })))
        assert.is_false(crossed("ev+20%", busy, calm))
        assert.is_true(crossed("hit-2", calm, busy))
        assert.is_true(crossed("hit-2%", calm, busy))
        assert.is_true(crossed("hit-2%", calm, seen({ hit_ratio = 0 })))
        assert.is_false(crossed("hit-4", calm, busy))
        assert.is_false(crossed("hit-4%", calm, busy))
        assert.is_false(crossed("hit-2", busy, calm))
        assert.is_false(crossed("oom+0", calm, busy)) -- unknown
        for _, text in ipairs({ "ev", "ev-20%", "hit+2", "nonsense+1", "ev+" }) do
            assert.is_nil((bounds.parse_guard(text)))
        end
    end)

    it("is crossed beyond its bound by three standard errors, and what is within them may be chance", function()
        local guards = { assert(bounds.parse_guard("hit-1")), assert(bounds.parse_guard("ev+20%")),
            assert(bounds.parse_guard("oom+0")) }
        local before = seen({ hit_ratio = 0.5, evictions_per_s = 100, out_of_memory_per_s = 0 })
        for _, case in ipairs({ { { hit_ratio = 0.4861 }, "hits 50.0 -> 48.6 %, over the bound of -1 points" },
            { { hit_ratio = 0.4857 }, true }, -- 3 errors of 0.001 and 0.001 are 0.42 points
            { { evictions_per_s = 135 }, "evictions 100 -> 135/s, over the bound of +20 %" },
            { { evictions_per_s = 136 }, true }, -- 3 errors of 1.2 times 1000 and of 1200 are 154
            { { out_of_memory_per_s = 0.1 }, true } }) do
            local now = seen(case[1])
            assert.equal(case[2] == true, bounds.first_guard_crossed(guards, before, now) ~= nil)
            assert.equal(case[2] ~= true and case[2] .. ", which may be chance" or nil,
                case[2] ~= true and bounds.first_guard_spared(guards, before, now) or nil)
        end
        before.spreads.hit_ratio = 9 -- hits of single samples varied three times as much as by chance
        assert.is_nil(bounds.first_guard_crossed(guards, before, seen({ hit_ratio = 0.478 })))
        assert.truthy(bounds.first_guard_crossed(guards, before, seen({ hit_ratio = 0.477 })))
    end)
end)
