-- SPDX-License-Identifier: BSD-3-Clause
-- Twins in the world, by which benches measure the effect of one change.
local world = require "support.world"

describe("twins of tests/bench/laboratory.lua", function()
    it("have equal hits without a change, and one has more once it gets pages that it needs", function()
        if not world.is_there then
            pending("runs in build/world/lua")
            return
        end
        local lab <close> = require("laboratory").new("shift", 1, 2)
        local function hits_pct_of_3_s()
            local was, pct = lab:counts(), {}
            lab:pass(3)
            for i, now in ipairs(lab:counts()) do
                pct[i] = 100 * (now.hits - was[i].hits) / (now.gets - was[i].gets)
            end
            return pct
        end
        local alike = hits_pct_of_3_s()
        assert.is_true(math.abs(alike[1] - alike[2]) < 0.1, table.concat(alike, " and "))
        local old, needy
        for _, class in ipairs(lab:take(2).classes) do
            old = (not old or class.total_pages > old.total_pages) and class or old
            needy = (not needy or class.get_hits > needy.get_hits) and class or needy
        end
        assert.equal("OK", lab.clients[2]:command(("slabs reassign %d %d 20"):format(old.id, needy.id)))
        local other = hits_pct_of_3_s()
        assert.is_true(other[2] > other[1] + 1, table.concat(other, " and "))
    end)
end)
