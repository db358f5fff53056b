-- SPDX-License-Identifier: BSD-3-Clause
--- The actions of keys and of the pointer in the running console. What changes a server goes through
--- slate.console.sending, what moves in time through slate.console.past. Modules that the first screen does not need
--- are loaded when they are used.
local cells = require "slate.console.cells"
local gather = require "slate.base.gather"
local keys = require "slate.console.keys"
local past = require "slate.console.past"
local screen = require "slate.console.screen"
local sending = require "slate.console.sending"
local view_list = require "slate.console.view_list"

local M = {}

local WHEEL_ROWS <const>, NAMES_MOST <const> = 3, 3
local NO_KEY <const> = utf8.char(0xFFFD) -- in place of a code without a name

--- In Fleet, keys act on the row under the cursor, whose server becomes the open one; those of changes on the marked
--- rows, if there are any. is_held: the cursor stays on that server, wherever its row goes.
function M.follow_row(app, is_held)
    if not app:shows_fleet() or view_list.is_open(app.ui, "review") then
        return
    end
    local selected = view_list.module("fleet").selected(app.rows, app.ui)
    if selected then
        sending.choose_server(app, selected)
        app.ui.fleet.cursor = is_held and selected or app.ui.fleet.cursor
    end
end

local function set_theme(app, theme, now_s)
    app.theme = theme
    app:report(app.core.term.set_theme(theme) and "theme: " .. cells.themes[theme]
        or "no colours here: mono is the only theme", now_s)
end

local function toggle_mouse(app, now_s)
    app.has_mouse = not app.has_mouse
    app.core.term.set_mouse(app.has_mouse)
    app:report(app.has_mouse and "mouse on: Shift selects text, M releases it"
        or "mouse off: the terminal has it", now_s)
end

-- Why a stream may not be watched: versions of memcached have faults that would crash the server; nil: it may.
local function why_unwatched(session, stream)
    local fault = require("slate.console.question").ask(session.model, "slate.judge.attention", "watch_automove",
        { change = { name = "watch", value = stream } })[1]
    return fault and fault.text
end

local function count_keys(app, now_s)
    local session = app.open
    local now = session and session.model.now
    if not now or app.replay or now.slated and not app.ui.hotkeys.opened then
        app:report(now and not app.replay and "slated reports its hot keys; to watch who asks for one, Enter opens it"
            or "there is no server whose keys could be counted", now_s)
    elseif not (session.key_count and session.key_count:is_under_way()) then
        session:count_keys(why_unwatched(session, "fetchers"))
    end
end

-- Switches to the next stream, and after the last to none; drops the previous stream's events.
local function next_stream(app, now_s)
    local session = app.open
    if not session or app.replay then
        app:report("a recording has no streams", now_s)
        return
    end
    local streams = require("slate.console.watch_log").STREAMS
    local now, next_name = session.watch and session.watch.log.stream, streams[1]
    for i, name in ipairs(streams) do
        if name == now then
            next_name = streams[i + 1]
        end
    end
    session:watch_stream(next_name, next_name and why_unwatched(session, next_name))
    if not next_name then
        app:report("nothing is watched", now_s)
    end
end

-- Connects to the open server, where all are shown to each, at once if it is down.
local function reconnect(app, now_s)
    local names, hurried, is_of_all = {}, {}, app:shows_all()
    for _, session in ipairs(is_of_all and app.fleet.sessions or { app.open }) do
        if session:hurry(now_s) then
            names[#names + 1], hurried[#hurried + 1] = session.model.server, session
        end
    end
    local what = names[1] and require("slate.console.marked").names(names, NAMES_MOST)
    app.connecting = what and { to = what, sessions = hurried, text = "connecting to " .. what }
    app:report(what and app.connecting.text
        or (is_of_all and "no server is down" or app:live().server .. " is not down") .. ", or it is tried right now",
        now_s)
end

-- A stopped console takes no trial back.
local function suspend(app, now_s)
    if gather.any(app.fleet.sessions, function(session) return session.changes:is_busy() end) then
        app:report("not while a change or a trial is on: K keeps the trial, u takes it back", now_s)
    else
        app.core.term.suspend()
    end
end

local function step_view(by)
    return function(app)
        view_list.open(app.ui, (app.ui.view - 1 + by) % #view_list.LIST + 1)
    end
end

local function open_overlay(name)
    return function(app, now_s)
        view_list.module(name).open(app.ui, (view_list.current(app.ui)), app:frame(now_s))
    end
end

-- By command: act(app, now_s); may return an intent.
local ACTIONS <const> = {
    quit = function(app) app.is_done = true end,
    help = open_overlay "help", palette = open_overlay "palette", why = open_overlay "why",
    explain = open_overlay "explain", filter = open_overlay "filter",
    next_view = step_view(1), previous_view = step_view(-1),
    mouse = toggle_mouse, streams = next_stream, reconnect = reconnect, count_keys = count_keys,
    theme = function(app, now_s) set_theme(app, app.theme % #cells.themes + 1, now_s) end,
    redraw = function(app) app.core.term.redraw() end,
    suspend = suspend,
    automove = function(app, now_s)
        sending.aim(app)
        return require("slate.console.propose").automove(app:frame(now_s))
    end,
    accept_trial = sending.accept_trial, go_back = past.go_back,
    undo = function(app, now_s) sending.propose(app, "undo", now_s) end,
    redo = function(app, now_s) sending.propose(app, "redo", now_s) end,
}
for i, view in ipairs(view_list.LIST) do
    ACTIONS[view.open] = function(app) view_list.open(app.ui, i) end
end

-- Commands that prepare a change.
local OF_CHANGES <const> = { move_pages = true, automove = true, undo = true, redo = true, review = true, more = true,
    less = true, choose = true, edit = true }
local run_command

-- By kind: what a view, an overlay or a command requests.
local INTENTS <const> = {
    review = function(app, intent, now_s) sending.review(app, intent.plan, now_s) end,
    pick = function(app, intent)
        view_list.module("picker").open(app.ui, intent.name, intent.at, function(value)
            return { kind = "review", plan = { { name = intent.name, value = value } } }
        end, sending.aim(app), intent.proposed)
    end,
    say = function(app, intent, now_s) app:report(intent.text or intent[1], now_s) end,
    open_server = function(app, intent)
        sending.choose_server(app, intent.server)
        app.ui.fleet.cursor = intent.server
        view_list.enter(app.ui)
    end,
    open_moment = function(app, intent, now_s)
        sending.choose_server(app, intent.server)
        local tape = app.open.tape
        if tape.last < tape.first or intent.wall_s < tape:wall_s(tape.first) // 1 then
            app:report("no figures of that moment are kept", now_s)
            return
        end
        view_list.enter(app.ui, app.timeline:chosen_s() or false)
        app.timeline:seek_event(tape, intent.wall_s)
    end,
    copy = function(app, intent, now_s)
        app.core.term.copy(intent.text)
        app:report("copied, if the terminal takes OSC 52: " .. intent.text, now_s)
    end,
    command = function(app, intent, now_s)
        run_command(app, intent.command, now_s)
        if intent.words then
            app:report(intent.words, now_s)
        end
    end,
    theme = function(app, intent, now_s) set_theme(app, intent.theme, now_s) end,
}

local function apply(app, intent, now_s)
    if intent then
        INTENTS[intent.kind](app, intent, now_s)
    end
end

function run_command(app, command, now_s)
    if OF_CHANGES[command] and not sending.is_live(app, now_s) or past.command(app, command, now_s) then
        return
    end
    local act = ACTIONS[command]
    if act then
        apply(app, act(app, now_s), now_s)
    else
        apply(app, view_list.current(app.ui).command(app:frame(now_s), app.ui, command), now_s)
    end
end

-- Not for Esc, which operators press to close whatever is open, nor for codes that are no key.
local function report_unknown(app, key, now_s)
    if key ~= "escape" and key ~= NO_KEY then
        app:report(("%s does nothing in %s: F1 lists the keys, : finds a command by its name"):format(keys.label(key),
            view_list.current(app.ui).name), now_s)
    end
end

-- The scopes in which a line is typed.
local LINES <const> = { filter = true, value = true, palette = true }

-- The overlay that gets a key in a scope; nil: the view, or its typed line, does.
local function overlay_of(ui, scope)
    if view_list.is_open(ui, "help") then -- also over a review, from which help opens
        return "help"
    end
    return view_list.is_open(ui, scope) and scope or nil
end

-- The command of a key that opens a view over overlays without a change, which it closes; else nil.
local function view_behind(ui, overlay, command, key)
    local of_view = not command and overlay ~= "review" and not LINES[overlay] and not view_list.is_open(ui, "review")
        and not (overlay == "help" and ui.help.is_searched) and keys.command(key, view_list.current(ui).scope)
    return of_view and of_view:find("^view_") and of_view or nil
end

--- Acts on a key.
function M.key(app, key, now_s)
    local ui = app.ui
    app.message, app.is_dirty = "", true
    M.follow_row(app, true)
    local scope = screen.scope(ui)
    local command, overlay = keys.command(key, scope), overlay_of(ui, scope)
    if app:is_past() and scope == view_list.current(ui).scope then
        command = keys.command(key, "past") or command
    end
    local of_view = overlay and view_behind(ui, overlay, command, key)
    if of_view then
        ui[overlay].is_open = false
        run_command(app, of_view, now_s)
    elseif overlay == "review" and command == "send" then
        sending.send(app, now_s)
    elseif overlay == "review" and command == "help" then
        ACTIONS.help(app)
    elseif overlay then
        apply(app, view_list.module(overlay).command(app:frame(now_s), ui, command, key), now_s)
    elseif scope == "value" then
        view_list.module("tune").edit(app:frame(now_s), ui, command, key)
    elseif command then
        run_command(app, command, now_s)
    else
        report_unknown(app, key, now_s)
    end
end

--- Acts on a character of pasted text: it is typed where a line is open. No pasted key does anything else.
function M.paste(app, key, now_s)
    if not LINES[screen.scope(app.ui)] then
        app:report("pasted text does nothing here: slatetop takes it where a line is typed, after : or /", now_s)
    elseif key == "space" or key:find("^[ -~]$") then
        M.key(app, key, now_s)
    end
end

--- Acts on the pointer: act is "click", "wheel_up" or "wheel_down", at a cell. While a review is open, the pointer does
--- nothing: a slip of the mouse sends nothing.
function M.pointer(app, act, y, x, now_s)
    if view_list.is_open(app.ui, "review") or not app.grid then
        return
    elseif act ~= "click" then
        for _ = 1, WHEEL_ROWS do
            M.key(app, act == "wheel_up" and "up" or "down", now_s)
        end
        return
    end
    local kind, value = app.grid:hot_at(y, x)
    if kind == "key" then
        M.key(app, screen.clicked_keys[value], now_s)
    elseif kind == "view" then
        view_list.open(app.ui, value)
    elseif kind == "time" then
        app.timeline:seek(app.open.tape, require("slate.console.scrubber").wall_s(x))
    elseif kind == "sort" or kind == "row" then
        local view = view_list.current(app.ui)
        if view.click then
            view.click(app.ui, kind, value)
        end
        M.follow_row(app, true)
    end
    app.is_dirty = true
end

return M
