-- SPDX-License-Identifier: BSD-3-Clause
-- Keys of slatetop: each means one thing in one place, none but a capital sends, and every place can be left.
local keys = require "slate.console.keys"

local SCOPES <const> = { "overview", "classes", "events", "fleet", "diff", "tune", "class", "pages", "sizes", "curves",
    "hotkeys", "latency", "review", "filter", "help", "columns", "explain", "value", "why", "palette", "picker" }

describe("keys", function()
    it("mean one thing in one place", function()
        local taken = {}
        for _, row in ipairs(keys.rows) do
            for scope in pairs(row.scopes) do
                for _, key in ipairs(row.keys) do
                    local place = scope .. " " .. key
                    assert.is_nil(taken[place], ("'%s' and '%s' share %s"):format(taken[place], row.help, place))
                    taken[place] = row.help
                    assert.equal(row.command, keys.command(key, scope))
                end
            end
        end
        assert.is_nil(keys.command("y", "review"))
        assert.is_nil(keys.command("m", "no such scope"))
    end)

    it("have a twin for every function key, a name, and a line that fits the help at 80 columns", function()
        for _, row in ipairs(keys.rows) do
            assert(not keys.bar_key(row):find "^f%d" or #row.keys > 1, row.help)
            assert(#row.help <= 54, row.help)
            for _, key in ipairs(row.keys) do assert(keys.label(key) ~= "?" or key == "?", key) end
        end
    end)

    it("send by a capital, in a review only, and never by Enter", function()
        for _, row in ipairs(keys.rows) do
            if row.command == "send" then
                assert.same({ { "S" }, { review = true } }, { row.keys, row.scopes })
            end
        end
        for _, scope in ipairs(SCOPES) do assert.not_equal("send", keys.command("enter", scope)) end
    end)

    it("that change a server are in no key bar while nothing can be sent", function()
        local function has_move(...)
            for _, row in ipairs(keys.bar(...)) do
                if row.command == "move_pages" then
                    return true
                end
            end
            return false
        end
        assert.is_true(has_move("overview", false, nil))
        assert.is_false(has_move("overview", false, "READ-ONLY"))
        assert.is_false(has_move("overview", true, nil))
    end)

    it("always give a way out", function()
        for _, scope in ipairs(SCOPES) do
            local out = keys.command("ctrl-c", scope) or keys.command("escape", scope)
            assert(out == "quit" or out == "cancel", scope)
        end
    end)

    it("have the names that operators know", function()
        for key, label in pairs { f10 = "F10", ["ctrl-l"] = "^L", escape = "Esc", m = "m", ["?"] = "?" } do
            assert.equal(label, keys.label(key))
        end
        assert.equal("f5", keys.of_command "move_pages")
        assert.equal("F6 s >", keys.names { keys = { "f6", "s", ">" } })
        assert.equal("f5", keys.bar_key { keys = { "m", "f5" } })
    end)

    it("move through a list and leave it at neither end", function()
        for i, step in ipairs { { 6, 21, "up", 5 }, { 6, 21, "down", 7 }, { 6, 21, "page_down", 16 },
            { 6, 21, "page_up", 1 }, { 16, 21, "page_down", 21 }, { 6, 21, "top", 1 }, { 6, 21, "bottom", 21 },
            { 26, 21, "quit", 21 }, { 1, 0, "bottom", 1 } } do
            local from, last, command, to = table.unpack(step)
            assert.equal(to, keys.step(from, keys.move_rows(command, 10), last), "step " .. i)
        end
    end)

    it("show the row of the cursor, and no empty row while there are rows", function()
        for _, case in ipairs { { 1, 1, 5, 3, 1 }, { 1, 7, 5, 20, 3 }, { 9, 4, 5, 20, 4 }, { 19, 20, 5, 20, 16 } } do
            local top, cursor, rows, count, expected = table.unpack(case)
            assert.equal(expected, keys.top(top, cursor, rows, count))
        end
    end)

    it("edit a typed line", function()
        assert.equal("ab", keys.typed("a", 8, nil, "b"))
        assert.equal("a ", keys.typed("a", 8, nil, "space"))
        assert.equal("", keys.typed("a", 8, "back", "backspace"))
        assert.equal("", keys.typed("", 8, "back", "backspace"))
        assert.is_nil(keys.typed("a", 1, nil, "b"))
        assert.is_nil(keys.typed("a", 8, nil, "left"))
        assert.is_nil(keys.typed("a", 8, nil, "é"))
    end)
end)
