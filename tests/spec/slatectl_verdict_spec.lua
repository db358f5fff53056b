-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl move and set with --verdict: what came of a change is told, and stands on record.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local pipeline = require "support.pipeline"
local server = require "support.server"

for _, kind in ipairs(server.all()) do
    describe("slatectl --verdict on " .. kind.name, function()
        local ctl = command.beside(setup, teardown, {
            binary = kind.binary, args = { "-m", "32", "-o", "slab_automove=0" }, pages = 2,
        })

        it("tells hits before and after a move, also in JSON and in the list of changes", function()
            local function reads(seconds)
                local batch = pipeline(ctl.client)
                for _ = 1, 1000 * seconds do
                    batch:get("nothing")
                end
                batch:run()
            end
            local code, out = ctl.run("move 12 5 1 --verdict 3s --json", reads)
            local set_code, set_out = 0, nil
            if kind.is_slated then -- a command is as good as another, and each takes its time
                set_code, set_out = ctl.run("set slab_automove=1 --verdict 3s", reads)
            end
            assert.equal(0, code, out)
            local outcome = dkjson.decode(out).outcome
            assert.equal(0, outcome.hit_ratio_before)
            assert.equal(0, outcome.hit_ratio_after)
            assert.truthy(outcome.words:find("hits 0.0%, as before", 1, true), outcome.words)
            assert.near(0, outcome.predicted_change, 0.001) -- of keys that are not there no page makes hits
            assert.truthy(ctl.succeed("audit --accuracy"):find("^1 prediction; half were off by 0.0 points"))
            local _, listed = ctl.run("audit")
            assert.truthy(listed:find("hits 0.0%, as before", 1, true), listed)
            assert.equal(0, set_code, set_out)
            assert.truthy(not set_out or set_out:find("\nhits 0.0%, as before", 1, true), set_out)
            local undo_code, undone = ctl.run("undo") -- what came of it is no change
            assert.equal(0, undo_code, undone)
            assert.truthy(undone:find(kind.is_slated and "slab_automove" or "class 5 to class 12", 1, true), undone)
        end)

        it("refuses a time that is too short, too long or none, before anything is sent", function()
            for _, time in ipairs({ "1s", "2m", "soon" }) do
                local code, _, err = ctl.run("set slab_automove=1 --verdict " .. time)
                assert.equal(64, code, err)
            end
        end)
    end)
end
