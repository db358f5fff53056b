-- SPDX-License-Identifier: BSD-3-Clause
-- The console's events for states that begin and end.
local alarms = require "slate.console.alarms"

describe("the console's alarms", function()
    local told, pass

    before_each(function()
        local watch, now_s = alarms.new(), 0
        local model = { wall_s = 1000, note = function(_, kind, _, text) told[#told + 1] = kind .. ": " .. text end }
        told = {}
        function pass(seconds, state)
            model.rows = { [5] = { state = state } }
            for _ = 1, seconds do
                now_s = now_s + 1
                model.at_s = now_s
                watch:follow(model)
            end
        end
    end)

    it("say that a class starves no more once it is judged again, not while its pages have just moved", function()
        pass(10, "starving")
        pass(20, "measuring")
        pass(10, "starving")
        assert.same({ "alarm: class 5 starves" }, told)
        pass(10, "evicting")
        assert.same({ "alarm: class 5 starves", "state: class 5 starves no more" }, told)
    end)

    it("call a class that starves again an alarm only after a minute in which it did not", function()
        for _ = 1, 10 do
            pass(10, "starving")
            pass(20, "evicting")
        end
        local alarm = "alarm: class 5 starves"
        assert.same({ 20, alarm, "state: class 5 starves" }, { #told, told[1], told[3] })
        pass(60, "evicting")
        pass(10, "starving")
        assert.equal(alarm, told[21])
    end)
end)
