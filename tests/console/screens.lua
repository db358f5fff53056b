-- SPDX-License-Identifier: BSD-3-Clause
--- Draws views of slatetop in a spec, of the replies in tests/console/fixtures, and compares them with the
--- reviewed screens of tests/console/screens. A spec that requires this runs in build/world/lua:
---
---     require "support.world"
---     local screens = require "screens"
---     local model = screens.look("memcached-1.6.18", 20)
---     local grid = screens.grid("views.classes", screens.frame(model), 80, 24)
---     assert.is_nil(screens.difference("Classes", 80, 24, grid))
local cells = require "slate.console.cells"
local fleet_rows = require "slate.console.fleet_rows"
local latency = require "slate.console.latency"
local model = require "slate.console.model"
local read_file = require("support.server").read_file
local snapshot = require "slate.facts.snapshot"
local view_list = require "slate.console.view_list"
require "slate.console.view_modules"

local M = {}

local ROOT <const> = "tests/console/"
-- Letters of the styles, by their numbers; a capital letter is a cell of the row under the cursor.
local LETTERS <const> = { [0] = " ", "d", "s", "t", "h", "k", "g", "o", "w", "b", "i" }
local GROUPS <const> = { ["stats"] = "", ["stats items"] = "items", ["stats slabs"] = "slabs",
    ["stats settings"] = "settings", ["stats slated"] = "slated", ["stats proxybe"] = "proxybe" }
local INQUIRIES <const> = { ["stats pages 0 4096"] = "pages", ["stats hotkeys 64"] = "hotkeys" }
for _, name in ipairs({ "moves", "automove", "policies", "evictions", "sizehist", "geometry", "curve", "config",
    "whatif", "memory" }) do
    INQUIRIES["stats " .. name] = name
end

-- fixtures ------------------------------------------------------------------------------------

--- The replies of a fixture, such as "slated-0.1-second": a table from command to text.
function M.replies(name)
    local replies, heading = {}, nil
    for line in read_file(ROOT .. "fixtures/" .. name .. ".txt"):gmatch("[^\n]*\n") do
        local new = line:match("^### (.-)\n$")
        heading = new or heading
        replies[heading] = new and "" or replies[heading] .. line
    end
    return replies
end

--- The snapshot of replies.
function M.snapshot(replies, time_s)
    local groups = {}
    for command, group in pairs(GROUPS) do
        local text = replies[command]
        groups[group] = text and not text:find("^ERROR") and text or nil
    end
    return snapshot.build(groups, { time_s = time_s })
end

--- A model that has seen both refreshes of a server, two seconds apart, the second at 12 s.
function M.model(server)
    local made = model.new("cache7:11211")
    made:set_link("up", "", 1000)
    for i, part in ipairs({ "first", "second" }) do
        local replies = M.replies(("%s-%s"):format(server, part))
        made:take(M.snapshot(replies), { at_s = 8 + 2 * i, reply_ms = 0.4, wall_s = 998 + 2 * i })
        if i == 2 and replies["stats settings"] then
            made.answers:take("settings", replies["stats settings"], { at_s = 12, is_stats = true })
        end
    end
    return made
end

--- Takes the answers of a fixture that only some views want; class_id: the class with all its statistics.
function M.take_details(of, name, class_id, at_s)
    local replies, answers = M.replies(name), of.answers
    answers:focus(class_id)
    for _, command in ipairs({ "stats settings", "stats items", "stats slabs" }) do -- in the order of a refresh
        answers:take_group(GROUPS[command], replies[command], { at_s = at_s, is_stats = true })
    end
    for command, text in pairs(replies) do
        local class = math.tointeger(tonumber(command:match("^stats curve (%d+)$")))
        local inquiry = class and "class_curves" or INQUIRIES[command]
        if inquiry then
            answers:take(inquiry, text, { at_s = at_s, is_stats = true, class_id = class })
        end
    end
end

local GAUGES <const> = { bytes = true, curr_items = true, used_chunks = true, free_chunks = true, mem_requested = true }

-- A copy of a table of numbers in which those counters go on that grew since `before`.
local function gone_on(now, before)
    local next_one = {}
    for name, value in pairs(now) do
        local was = (before or {})[name]
        local grows = math.type(value) and math.type(was) and value > was and not GAUGES[name]
            and not name:find("^number")
        next_one[name] = grows and 2 * value - was or value
    end
    return next_one
end

--- The server goes on for so many refreshes, as between the last two.
function M.go_on(of, refreshes)
    for _ = 1, refreshes do
        local now, before, classes = of.now, of.before, {}
        local earlier = snapshot.by_id(before)
        for i, class in ipairs(now.classes) do classes[i] = gone_on(class, earlier[class.id]) end
        local one = gone_on(now)
        one.general, one.totals, one.classes = gone_on(now.general, before.general), gone_on(now.totals, before.totals),
            classes
        of:take(one, { at_s = 2 * of.at_s - of.at_before_s, reply_ms = of.reply_ms, wall_s = 1002 })
    end
end

--- A model of a fixture after so many refreshes more.
function M.look(server, refreshes)
    local made = M.model(server)
    M.go_on(made, refreshes)
    return made
end

-- the frame -----------------------------------------------------------------------------------

--- The frame of a model, as unit tests have it. fields: replace some.
function M.frame(of, fields)
    local frame = { model = of, live = of, moment_s = 1002, loaded_ratio = 1, fleet_note = "", under_way = "",
        audit_path = "/home/me/audit.log", now_s = 12.4, interval_s = 1, retry_s = 0, wall_s = 1002, message = "",
        is_past = false, is_replay = false, plays = false, is_recorded = false,
        probes = latency.new(),
        servers = fleet_rows.compare({ fleet_rows.row(1, { model = of, now_s = 12.4, interval_s = 1 }, 0) }) }
    for name, value in pairs(fields or {}) do frame[name] = value end
    return frame
end

-- reading -------------------------------------------------------------------------------------

--- Draws a view (a module's name after slate.console., such as "views.hotkeys") into a grid, in the area that the
-- screen gives it. ui: optional, the view's first state.
function M.grid(view, frame, width, height, ui)
    local grid = cells.new(width, height, false)
    require("slate.console." .. view).draw(frame, ui or view_list.ui(), grid,
        cells.area(2, 0, height - 4, width))
    return grid
end

--- A row's text without trailing blanks, and the letters of its styles.
function M.row(grid, y)
    local text, styles = grid:row(y)
    local letters = styles:gsub(".", function(byte)
        local style = byte:byte()
        local is_selected = style & cells.SELECTED ~= 0
        local letter = LETTERS[style & ~cells.SELECTED]
        return is_selected and (letter == " " and "P" or letter:upper()) or letter
    end)
    return text:match("^(.-) *$"), (letters:match("^(.-) *$"))
end

--- The whole grid as text, one line a row.
function M.text(grid)
    local lines = {}
    for y = 0, grid.height - 1 do lines[y + 1] = M.row(grid, y) end
    return table.concat(lines, "\n")
end

local function path_of(name, width, height)
    return ("%sscreens/%s-%dx%d.txt"):format(ROOT, name, width, height)
end

-- A reviewed screen as text; one that is to be written for the first time is blank.
local function text_of(path, height)
    return read_file(path) or os.getenv("SCREENS") == "update" and ("\n"):rep(height)
        or error("no reviewed screen " .. path)
end

-- The rows of a reviewed screen: { text, styles } each, the first at 0.
local function reviewed(name, width, height)
    local rows, y = {}, -1
    for line in text_of(path_of(name, width, height), height):gmatch("([^\n]*)\n") do
        if line:find("^~") then
            rows[y].styles = line:sub(2)
        else
            y = y + 1
            rows[y] = { text = line, styles = "" }
        end
    end
    return rows
end

-- Writes rows of a grid into the file of a reviewed screen, to be reviewed again.
local function update(name, grid, from, to)
    local rows = reviewed(name, grid.width, grid.height)
    local file = assert(io.open(path_of(name, grid.width, grid.height), "w"))
    for y = 0, grid.height - 1 do
        local text, styles = rows[y].text, rows[y].styles
        if y >= from and y <= to then
            text, styles = M.row(grid, y)
        end
        file:write(text, "\n", styles ~= "" and "~" .. styles .. "\n" or "")
    end
    file:close()
end

--- The first row that differs from a reviewed screen, with both forms; nil if none does. from, to: rows (default: those
-- of the view). SCREENS=update in the environment writes the rows into the file first.
function M.difference(name, width, height, grid, from, to)
    from, to = from or 2, to or height - 3
    if os.getenv("SCREENS") == "update" then
        update(name, grid, from, to)
    end
    local wanted = reviewed(name, width, height)
    for y = from, to do
        local text, styles = M.row(grid, y)
        if text ~= wanted[y].text or styles ~= wanted[y].styles then
            return ("%s at %dx%d differs in row %d:\n%s\n~%s\ninstead of\n%s\n~%s"):format(name, width, height, y, text,
                styles, wanted[y].text, wanted[y].styles)
        end
    end
end

--- The first row of a view that differs from its reviewed screens, which are of memcached 1.6.18, at both sizes; nil if
-- none does. make_ui: makes the operator's choices (default: the view's first state).
function M.unlike_reviewed(name, view, make_ui)
    local frame = M.frame(M.look("memcached-1.6.18", 20))
    for _, size in ipairs({ { 80, 24 }, { 160, 50 } }) do
        local grid = M.grid(view, frame, size[1], size[2], make_ui and make_ui())
        local difference = M.difference(name, size[1], size[2], grid)
        if difference then
            return difference
        end
    end
end

--- Claims that a text has all of these.
function M.shows(text, ...)
    for _, wanted in ipairs({ ... }) do
        assert(text:find(wanted, 1, true), ("%s\nlacks '%s'"):format(text, wanted))
    end
end

return M
