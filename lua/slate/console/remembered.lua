-- SPDX-License-Identifier: BSD-3-Clause
--- The operator's choices on the screens, saved from run to run: the theme, and the columns, order and filter of the
--- class table. They are in one small file of settings; a save replaces the whole file.
local cells = require "slate.console.cells"
local columns = require "slate.console.draw.class_columns"
local filter = require "slate.console.draw.class_filter"
local gather = require "slate.base.gather"
local settings_file = require "slate.console.settings_file"

local M = {}

local FILTER_BYTES <const> = 79
local HEAD <const> = "# What slatetop was left with. Remove the file, or start with --no-state, to begin with the "
    .. "defaults.\n"
local SIGNS <const> = { always = "+", never = "-" }
local CHOICES <const> = { ["+"] = "always", ["-"] = "never" }

--- The choices as the text of the file. classes: the class table's part of ui; theme: an index in cells.themes.
function M.text(classes, theme)
    local lines, names = { "theme = " .. cells.themes[theme] }, {}
    if classes.sort.name then -- the operator's own columns may differ in the next run
        lines[2] = ("sort = %s %s"):format(classes.sort.name, classes.is_ascending and "up" or "down")
    end
    for i, column in ipairs(classes.order) do
        names[i] = (SIGNS[classes.choice[column]] or "") .. column.name -- always or never shown
    end
    lines[#lines + 1] = "columns = " .. table.concat(names, " ")
    lines[#lines + 1] = "filter = " .. classes.filter
    return HEAD .. table.concat(lines, "\n") .. "\n"
end

-- By name: take(chosen, value) reads a value; false: it is wrong.
local TAKE <const> = {}

function TAKE.theme(chosen, value)
    for i, name in ipairs(cells.themes) do
        chosen.theme = name == value and i or chosen.theme
    end
    return cells.themes[chosen.theme] == value
end

function TAKE.sort(chosen, value)
    local name, direction = value:match("^(%S+) (%a+)$")
    chosen.sort, chosen.is_ascending = columns.named(name), direction == "up"
    return chosen.sort and (direction == "up" or direction == "down")
end

-- Takes each column once. Columns that the file lacks, of a later version, come last.
function TAKE.columns(chosen, value)
    local order, choice, named = {}, {}, {}
    for sign, name in value:gmatch("([+-]?)(%S+)") do
        local column = columns.named(name)
        if not column or named[column] then
            return false
        end
        order[#order + 1], choice[column], named[column] = column, CHOICES[sign], true
    end
    for _, column in ipairs(columns.LIST) do
        order[#order + 1] = not named[column] and column or nil
    end
    chosen.order, chosen.choice = order, choice
    return true
end

function TAKE.filter(chosen, value)
    chosen.filter = value
    return #value <= FILTER_BYTES and filter.parse(value)
end

--- Reads the text of the file into the class table's part of ui. Returns the theme, nil if the file names none; other
--- versions' names are passed over. A mistake changes nothing: nil and a message.
function M.read(text, path, classes)
    local chosen = {}
    local ok, problem = settings_file.each(text, path, function(name, value)
        local is_right = not TAKE[name] or TAKE[name](chosen, value)
        return is_right, ("%s can't be '%.40s'"):format(name, value)
    end)
    if not ok then
        return nil, problem
    end
    local theme = chosen.theme
    chosen.theme = nil
    gather.copy(chosen, classes)
    return theme
end

return M
