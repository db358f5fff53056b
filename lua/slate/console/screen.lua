-- SPDX-License-Identifier: BSD-3-Clause
--- The frame around every view: title, tabs, overlays, the line of messages and the key bar.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"
local view_list = require "slate.console.view_list"
require "slate.console.view_modules"

local M = {}

-- The smallest screen that is drawn; on a smaller one, one line says so.
M.LEAST_WIDTH, M.LEAST_HEIGHT = 40, 10

local WIDE_BAR_FROM <const> = 110 -- columns, from which on the key bar names all keys of a command
local ARROWS <const> = { left = "←", right = "→" } -- in a narrow key bar
local is_open = view_list.is_open

-- The time that the screen shows: "PAUSED 13:58:40, 3m12s ago".
local function past_words(frame)
    if frame.is_replay then
        return (frame.plays and "PLAYING " or "PAUSED AT ") .. os.date("%m-%d %H:%M:%S", frame.moment_s // 1),
            frame.plays and cells.TITLE or cells.WARN
    end
    return ("PAUSED %s, %s ago%s"):format(figure.clock(frame.moment_s),
        figure.age(math.max(frame.wall_s // 1 - frame.moment_s // 1, 0)),
        frame.live.link == "down" and ", now DOWN" or ""), cells.WARN
end

-- "live 1s", or for a single server the age of its figures, or the time of the next try.
local function link_words(frame, shows_fleet)
    local model = frame.model
    local age_s = model.at_s and math.max(frame.now_s - model.at_s, 0)
    if frame.is_past then
        return past_words(frame)
    elseif not shows_fleet and model.link == "down" then
        local wait_s = math.ceil(math.max((frame.retry_s or 0) - frame.now_s, 0))
        return wait_s > 0 and ("DOWN, next try in %ds"):format(wait_s) or "DOWN, trying", cells.BAD
    elseif not shows_fleet and require("slate.console.health").is_stale(frame) then
        return "STALE " .. figure.age(age_s // 1), cells.BAD
    elseif not shows_fleet and not age_s then
        return "connecting", cells.WARN
    end
    return ("live %.3gs"):format(frame.interval_s), cells.TITLE
end

local function trial_words(frame)
    local left_s = frame.trial_left_s
    if not left_s then
        return ""
    end
    return left_s <= 0 and "  TRIAL over" or ("  TRIAL %d:%02d"):format(left_s // 60, left_s // 1 % 60)
end

local function right_words(frame)
    if frame.is_replay then
        return frame.loaded_ratio < 1 and ("  loading %.0f%% "):format(100 * frame.loaded_ratio) or "  REPLAY "
    end
    return ("%s%s  %s  %s "):format(trial_words(frame), frame.is_recorded and "  rec" or "", frame.locked or "rw",
        figure.clock(frame.wall_s))
end

local function left_words(frame, shows_fleet)
    if shows_fleet then
        return (" slatetop  %d server%s"):format(#frame.servers, #frame.servers == 1 and "" or "s")
    end
    local now = frame.model.now
    return (" slatetop  %s  %s %s"):format(frame.model.server, not now and "" or now.slated and "slated" or "memcached",
        now and (now.slated or now.version) or "")
end

local function draw_title(frame, shows_fleet, grid)
    grid:fill(cells.area(0, 0, 1, grid.width), " ", cells.TITLE)
    local right = right_words(frame)
    local words, style = link_words(frame, shows_fleet)
    grid:text_right(0, grid.width, cells.TITLE, right)
    local x = grid.width - cells.width_of(right) - cells.width_of(words)
    grid:text(0, x, style, words)
    grid:text_fit(0, 0, x - 2, cells.TITLE, left_words(frame, shows_fleet))
end

-- Views whose key is a number have a tab; those with a letter only while open.
local function tabs_of(ui)
    local tabs, width = {}, 1 -- minus the last blank, plus two brackets
    for i, view in ipairs(view_list.LIST) do
        local key = keys.of_command(view.open)
        if ui.view == i or key:find("^%d$") then
            tabs[#tabs + 1] = { index = i, key = keys.label(key), title = view.title }
            width = width + cells.width_of(view.title) + 3
        end
    end
    return tabs, width
end

-- Draws names if all fit; else the name of the open view and the keys of the others.
local function draw_tabs(ui, grid)
    local x = 0
    local tabs, width = tabs_of(ui)
    for _, tab in ipairs(tabs) do
        local from = x
        if ui.view == tab.index then
            x = grid:text(1, x, cells.STRONG, ("[%s %s] "):format(tab.key, tab.title))
        else
            x = grid:text(1, x, cells.DIM, width > grid.width and tab.key .. " " or tab.key .. " " .. tab.title .. " ")
        end
        grid:hot(cells.area(1, from, 1, x - from), "view", tab.index)
    end
end

-- The keys of the bar in a scope: { shown, label, key, width, gap }; the last one, which leaves, always has room. A key
-- without a label of its own stands close to the next one.
local function bar_of(frame, ui, is_wide)
    local bar, scope = {}, M.scope(ui)
    local is_past = frame.is_past and scope == view_list.current(ui).scope
    for _, row in ipairs(keys.bar(scope, is_past, frame.locked)) do
        local key = keys.bar_key(row)
        local label = is_past and not (frame.plays and row.bar) and row.past or row.bar
        local shown = is_wide and keys.names(row) or is_past and ARROWS[key] or keys.label(key)
        local gap = label == "" and (#keys.label(key) == 1 or ARROWS[key]) and 0 or 1
        label = is_wide and label ~= "" and " " .. label or label
        gap = is_wide and (label == "" and 1 or 2) or gap
        local is_idle = scope == "review" and not view_list.module("review").has(ui.review, row.command)
        bar[#bar + 1] = not is_idle and { shown = shown, label = label, key = key, gap = gap,
            width = cells.width_of(shown) + cells.width_of(label) + gap } or nil
    end
    return bar
end

--- The keys that a click can press, by the values of their spots in the last drawing.
M.clicked_keys = {}

local function draw_keys(frame, ui, grid)
    local y, x, is_wide = grid.height - 1, 0, grid.width >= WIDE_BAR_FROM
    grid:fill(cells.area(y, 0, 1, grid.width), " ", cells.KEYBAR)
    local bar = bar_of(frame, ui, is_wide)
    local reserved = bar[#bar] and bar[#bar].width - 1 or 0
    M.clicked_keys = {}
    for i, one in ipairs(bar) do
        if i == #bar or x + one.width + reserved <= grid.width then
            local from = x
            x = grid:text(y, grid:text(y, x, cells.STRONG, one.shown), cells.KEYBAR, one.label) + one.gap
            M.clicked_keys[i] = one.key
            grid:hot(cells.area(y, from, 1, x - from - one.gap), "key", i)
        end
    end
end

-- Draws a text above the row y_end, never cut: an outcome of a change may need lines above the first.
local function draw_wrapped(grid, y_end, style, text)
    local rows = narrow.message_rows(text, grid.width)
    local area = cells.area(y_end - rows, 0, rows, grid.width)
    grid:fill(area, " ", cells.PLAIN)
    grid:paragraph(area, style, text)
end

-- Draws the typed line, and above it the reason why it was refused.
local function draw_typed(grid, what, typed, why)
    local y = grid.height - 2
    grid:text(y, 0, cells.STRONG, ("%s:%s%s_"):format(what, what ~= "" and " " or "", typed))
    if why and why ~= "" then
        draw_wrapped(grid, y, cells.BAD, why)
    end
end

-- The line that is typed: its name, text, and why it was refused; nil when none is.
local function typed_line(ui)
    local tune = rawget(ui, "tune")
    if is_open(ui, "help") and ui.help.is_searched then
        return "search", ui.help.searched
    elseif is_open(ui, "palette") then
        return "", ui.palette.typed, ui.palette.why
    elseif is_open(ui, "filter") then
        return ui.filter.label, ui.filter.typed, ui.filter.why
    elseif tune and tune.edits then
        return "new value", tune.typed, tune.typed_why
    end
end

-- The words above the key bar, and their style; nil: none.
local function line_words(frame, ui)
    local scope = view_list.current(ui).scope
    if frame.message ~= "" then
        return frame.message, cells.STRONG
    elseif frame.under_way ~= "" then
        return frame.under_way, cells.STRONG
    elseif frame.past then
        return nil
    elseif frame.paused_s then
        return ("Fleet shows now; servers stay paused at %s, . ends it"):format(figure.clock(frame.paused_s)),
            cells.WARN
    elseif frame.model.link == "down" and scope ~= "fleet" and (frame.model.now or scope ~= "overview") then
        local has_key = not frame.is_replay and require("slate.console.health").helps_connecting(frame.model)
        return (has_key and "C connects now; " or "") .. frame.model.link_note, cells.BAD
    end
end

local function draw_line(frame, ui, grid)
    local what, typed, why = typed_line(ui)
    local words, style = line_words(frame, ui)
    if what then
        draw_typed(grid, what, typed, why)
    elseif words then
        draw_wrapped(grid, grid.height - 1, style, words)
    elseif frame.past then
        require("slate.console.scrubber").draw(frame, grid)
    end
end

--- The scope that gets a key: the uppermost overlay, a line that is typed, or the view.
function M.scope(ui)
    local tune = rawget(ui, "tune")
    return is_open(ui, "help") and (ui.help.is_searched and "filter" or "help")
        or is_open(ui, "palette") and "palette" or is_open(ui, "review") and "review"
        or is_open(ui, "filter") and "filter"
        or tune and tune.edits and "value"
        or is_open(ui, "why") and "why" or is_open(ui, "columns") and "columns"
        or is_open(ui, "picker") and "picker"
        or is_open(ui, "explain") and "explain" or view_list.current(ui).scope
end

--- What the screen needs of the server beyond a refresh: a new table of wants (README.md).
function M.wants(ui)
    local wants = { inquiries = {}, unhurried = {}, class_id = ui.focus, curves_first = {}, orders = {} }
    local view = view_list.current(ui)
    for _, name in ipairs(view.inquiries or {}) do
        wants.inquiries[name] = true
    end
    if view.wants then
        view.wants(ui, wants)
    end
    for _, overlay in ipairs({ "palette", "review", "why", "picker" }) do
        if is_open(ui, overlay) then
            view_list.module(overlay).wants(ui, wants)
        end
    end
    return wants
end

-- From the lowest to the uppermost.
local DRAWN <const> = { "explain", "why", "columns", "picker", "review", "palette", "help" }

--- Draws the screen.
function M.draw(frame, ui, grid)
    grid:clear()
    if is_open(ui, "review") then
        ui.review.refusal = view_list.module("review").UNSEEN
    end
    if grid.width < M.LEAST_WIDTH or grid.height < M.LEAST_HEIGHT then
        grid:text(0, 0, cells.STRONG, ("need %dx%d"):format(M.LEAST_WIDTH, M.LEAST_HEIGHT))
        return
    end
    local view, name = view_list.current(ui)
    draw_title(frame, name == "fleet" or name == "events" and view.is_of_fleet(frame, ui), grid)
    draw_tabs(ui, grid)
    local words = not typed_line(ui) and line_words(frame, ui)
    local rows = words and narrow.message_rows(words, grid.width) or 1
    local area = cells.area(2, 0, grid.height - 3 - rows, grid.width)
    view.draw(frame, ui, grid, area)
    if name ~= "events" and name ~= "fleet" and require("slate.console.health").is_stale(frame) then
        grid:dim(area) -- so that nobody takes old figures for current ones; the title says so, too
    end
    for _, overlay in ipairs(DRAWN) do
        if is_open(ui, overlay) then
            view_list.module(overlay).draw(frame, ui, grid)
        end
    end
    draw_line(frame, ui, grid)
    draw_keys(frame, ui, grid)
end

return M
