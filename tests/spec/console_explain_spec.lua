-- SPDX-License-Identifier: BSD-3-Clause
-- `?` in slatetop: every figure that a view shows has an explanation.
require "support.world"
local cells = require "slate.console.cells"
local class_columns = require "slate.console.draw.class_columns"
local explain = require "slate.console.overlay.explain"
local model_facts = require "slate.console.model"
local screens = require "screens"
local view_list = require "slate.console.view_list"

describe("an explanation", function()
    it("is there for every figure that a view shows", function()
        local names = { "class" }
        for i, row in ipairs(view_list.LIST) do
            names[i + 1] = row.name
        end
        for _, name in ipairs(names) do
            local ui = view_list.ui()
            local terms, current = explain.terms_of(view_list.module(name), ui)
            assert.truthy(terms[current], name)
            for _, term in ipairs(terms) do
                assert.truthy(explain.entry(term), ("%s: %s"):format(name, term))
            end
        end
        for _, column in ipairs(class_columns.LIST) do
            assert.truthy(explain.entry("class." .. column.name), column.name)
        end
        for _, metric in ipairs(model_facts.METRICS) do
            assert.truthy(explain.entry(metric.name), metric.name)
        end
        assert.is_nil(explain.entry("no_such_term"))
    end)

    it("begins with the figure under the cursor, and goes on to the next", function()
        local ui = view_list.ui()
        view_list.open(ui, view_list.index("classes"))
        explain.open(ui, view_list.current(ui))
        local function after(command, width, height)
            explain.command(nil, ui, command)
            local grid = cells.new(width or 80, height or 24)
            explain.draw(nil, ui, grid)
            return screens.text(grid), grid
        end
        local text = after("none")
        for _, words in ipairs({ "class.ev (11 of ", "what     Live items thrown out of this class.",
            "source   stats items: evicted" }) do
            assert.truthy(text:find(words, 1, true), words)
        end
        assert.truthy(after("next_field"):find("class.usedpct", 1, true))
        after("previous_field")
        assert.truthy(after("previous_field"):find("class.sets", 1, true))
        local grid
        for _ = 1, 100 do
            text, grid = after("down", 40, 10)
        end
        assert.truthy(text:find("also ", 1, true))
        assert.equal(0, grid.clipped)
        after("cancel")
        assert.is_false(ui.explain.is_open)
    end)
end)
