-- SPDX-License-Identifier: BSD-3-Clause
-- The choices that slatetop saves from run to run.
require "support.world" -- its interpreter has slate.console.cells
local class_table = require "slate.console.draw.class_table"
local columns = require "slate.console.draw.class_columns"
local places = require "slate.base.places"
local remembered = require "slate.console.remembered"

describe("slatetop's choices", function()
    it("come back", function()
        local chosen, read = class_table.state(), class_table.state()
        chosen.sort, chosen.is_ascending, chosen.filter = columns.named("age"), true, "ev>0 size>=1000"
        chosen.choice[columns.named("waste")], chosen.choice[columns.named("sets")] = "always", "never"
        chosen.order[1], chosen.order[2] = chosen.order[2], chosen.order[1]
        local text = remembered.text(chosen, 3)
        assert.equal(3, remembered.read(text, "file", read))
        assert.equal(text, remembered.text(read, 3))
        assert.same({ "size", "never" }, { read.order[1].name, read.choice[columns.named("sets")] })
    end)

    for _, wrong in ipairs({ "sort = bananas up", "sort = age", "theme = bananas", "columns = age age",
        "columns = bananas", "filter = >>", "sort = age upwards", "rubbish" }) do
        it("stay as they were after " .. wrong, function()
            local read = class_table.state()
            local before = remembered.text(read, 1)
            local theme, problem = remembered.read(("theme = light\nfilter = ev>0\n%s\n"):format(wrong), "broken", read)
            assert.is_nil(theme)
            assert.truthy(problem:find("^broken:3: "), problem)
            assert.equal(before, remembered.text(read, 1))
        end)
    end

    it("pass over the names of other versions, and put columns of later ones last", function()
        local read = class_table.state()
        assert.same({ nil, nil }, { remembered.read("", "file", read) })
        assert.equal(2, remembered.read("window_s = 100\ntheme = light\ncolumns = age -hits\n", "file", read))
        assert.same({ "age", "hits", #columns.LIST }, { read.order[1].name, read.order[2].name, #read.order })
    end)

    it("are in a file below the operator's folder of states", function()
        local function path(variables)
            return places.path("remembered", function(name) return variables[name] end)
        end
        assert.equal("/state/slate/slatetop", path({ XDG_STATE_HOME = "/state", HOME = "/home/me" }))
        assert.equal("/home/me/.local/state/slate/slatetop", path({ XDG_STATE_HOME = "relative", HOME = "/home/me" }))
        assert.is_nil(path({}))
    end)
end)
