-- SPDX-License-Identifier: BSD-3-Clause
-- The console's events for states that begin and end.
local alarms = require "slate.console.alarms"

describe("the console's alarms", function()
    it("say that a class starves no more once it is judged again, not while its pages have just moved", function()
        local told, watch = {}, alarms.new()
        local model = { wall_s = 1000, note = function(_, _, _, text) told[#told + 1] = text end }
        local now_s = 0
        local function pass(seconds, state)
            model.rows = { [5] = { state = state } }
            for _ = 1, seconds do
                now_s = now_s + 1
                model.at_s = now_s
                watch:follow(model)
            end
        end
        pass(10, "starving")
        pass(20, "measuring")
        pass(10, "starving")
        assert.same({ "class 5 starves" }, told)
        pass(10, "evicting")
        assert.same({ "class 5 starves", "class 5 starves no more" }, told)
    end)
end)
