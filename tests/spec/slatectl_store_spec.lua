-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl on a slated whose store has no classes of chunk sizes: no line on classes is printed.
local command = require "support.command"
local dkjson = require "dkjson"
local pipeline = require "support.pipeline"

for _, store in ipairs({ "heap", "blocks" }) do
    describe("slatectl on --store=" .. store, function()
        local ctl = command.beside(setup, teardown, { args = { "-m", "32", "--store=" .. store } })

        setup(function()
            local quiet = pipeline(ctl.client)
            for i = 1, 300 do quiet:set("item-" .. i, ("x"):rep(300 + i)) end
            assert(quiet:finish())
        end)

        local function refuses(arguments)
            local code, out, err = ctl.run(arguments)
            assert.equal(3, code, arguments .. ": " .. out .. err)
            assert.equal("", out, arguments)
            assert.truthy(err:find("need[s]? %-%-store=slab[;,] this server has " .. store), arguments .. ": " .. err)
        end

        it("refuses commands that need sizes of chunks", function()
            for _, arguments in ipairs({ "sizes", "sizes --json", "advise sizes", "advise sizes --from metadump",
                "geometry auto" }) do
                refuses(arguments)
            end
        end)

        it("lists no chunk sizes, and says why", function()
            local out = ctl.succeed("geometry")
            assert.truthy(out:find("no chunks have sizes in --store=" .. store, 1, true), out)
            assert.falsy(out:find("CHUNK", 1, true), out)
            assert.same({}, dkjson.decode((ctl.succeed("geometry --json"))).classes)
        end)

        it("refuses commands that need pages that move", function()
            for _, arguments in ipairs({ "policy run burst --once --interval 20ms",
                "policy run burst --apply --once --interval 20ms", "plan --policy burst", "plan --move 1:2",
                "move 1 2", "move 1 2 --dry-run --interval 20ms", "advise automove --interval 20ms", "automove ratio",
                "set slab_automove=1" }) do
                refuses(arguments)
            end
        end)

        it("prints pages only where classes have pages", function()
            if store == "heap" then
                refuses("pages")
                refuses("pages --json")
            else
                assert.truthy(ctl.succeed("pages"):find("1 page of 32", 1, true))
            end
        end)

        it("prints the sizes of items by a dump of their keys, without classes", function()
            local out = ctl.succeed("sizes --from metadump")
            assert.truthy(out:find("300 items", 1, true), out)
            assert.truthy(out:find("TO BYTES", 1, true), out)
        end)
    end)
end
