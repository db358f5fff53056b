-- SPDX-License-Identifier: BSD-3-Clause
--- The running console: the servers, the screen and the operator's choices. Keys come in by slate.console.actions; the
--- loop calls `step` and `draw`.
---
--- core: what the machine gives, the modules `term`, `files` and `link`; and `open_session(server)` and
--- `open_replay(path)`, which return sessions.
local actions = require "slate.console.actions"
local cells = require "slate.console.cells"
local fleet = require "slate.console.fleet"
local gather = require "slate.base.gather"
local model = require "slate.console.model"
local options_of = require "slate.console.options"
local past = require "slate.console.past"
local places = require "slate.base.places"
local screen = require "slate.console.screen"
local sending = require "slate.console.sending"
local server_facts = require "slate.console.server"
local settings_file = require "slate.console.settings_file"
local timeline = require "slate.console.timeline"
local view_list = require "slate.console.view_list"

local M = {}

local MESSAGE_S <const> = 8
local GATHER_S <const> = 0.05 -- news of this time go into one frame

local App = {}
App.__index = App

--- An app without servers; `open` opens them. options: of slate.console.options.
--- Fields: options, core, fleet, replay (the session of a recording; nil: the fleet is watched), open (the session on
--- the screen; nil until a list is looked up), timeline, mark, rows (of the fleet as last drawn), ui, theme, is_dirty,
--- is_done, exit_code.
function M.new(options, core)
    local app = setmetatable({ options = options, core = core, rows = {}, timeline = timeline.new(),
        ui = view_list.ui(), message = "", under_way = "", nobody = model.new(""), wall_s = 0, is_dirty = true,
        is_done = false, exit_code = options_of.EXIT.ok }, App)
    app.fleet = fleet.of_core(core)
    return app
end

--- Shows a line for the operator, for eight seconds.
function App:report(text, now_s)
    self.message, self.message_until_s, self.is_dirty = text, now_s + MESSAGE_S, true
end

--- The model of the open server; an empty one while the lists of servers are still looked up.
function App:live()
    return self.open and self.open.model or self.nobody
end

function App:shows_fleet()
    return self.ui.view == view_list.index("fleet") and not self.ui.class_is_open
end

--- True if the screen shows the past. Fleet is live only, while the open server may be paused.
function App:is_past()
    return self.timeline.is_past and not (self:shows_fleet() and not self.replay)
end

--- True if the screen shows figures or events of all servers.
function App:shows_all()
    return self:shows_fleet() or self.ui.view == view_list.index("events") and self.ui.from == "fleet"
end

--- Why changes cannot be sent, in two words; nil: they can.
function App:locked()
    if self.options.read_only then
        return "READ-ONLY"
    end
    local now = self:live().now
    local is_for_marked = view_list.is_open(self.ui, "review") and self.ui.review.is_for_marked -- each is checked
    if now and not is_for_marked and not server_facts.may_change(now) then
        return now.role == "write" and "ROLE write" or "ROLE read"
    end
end

--- The data from which views draw the screen, of the moment shown (README.md).
function App:frame(now_s)
    local open, live, line, is_past = self.open, self:live(), self.timeline, self:is_past()
    local shown = is_past and line:model(open.tape, live, (self.core.term.size())) or live
    return {
        model = shown, live = live, under_way = self.under_way, audit_path = self.audit_path,
        now_s = is_past and shown.at_s or now_s, interval_s = self.options.interval_s,
        retry_s = open and open:retry_s() or 0, wall_s = self.wall_s,
        moment_s = is_past and line.wall_s or self.wall_s, locked = self:locked(),
        trial_left_s = open and open.changes and open.changes:trial_left_s(now_s),
        past = is_past and { from_s = open.tape:wall_s(open.tape.first),
            to_s = open.tape:wall_s(open.tape.last) } or nil,
        paused_s = line:chosen_s(),
        is_past = is_past, is_replay = self.replay ~= nil, plays = line.plays,
        is_recorded = open ~= nil and open.record ~= nil,
        loaded_ratio = self.replay and self.replay:loaded_ratio() or 1,
        mark = self.mark, servers = self.rows, fleet_note = self.fleet:note(), probes = open and open.probes,
        watch = open and open.watch and open.watch.log, key_count = open and open.key_count, message = self.message,
    }
end

-- Choices as the text of their file.
local function remembered_text(classes, theme)
    return require("slate.console.remembered").text(classes, theme)
end

-- Takes the choices of the last run. If the file has a mistake, the screen says so, and none is taken. Without a file
-- the module is not loaded.
local function load_remembered(app)
    local options, files = app.options, app.core.files
    local path = places.path("remembered", files.environment)
    local text, theme, problem, is_missing
    app.remembered_path = not options.no_state and path or nil
    if app.remembered_path then
        text, problem, is_missing = settings_file.read(files, path)
        if text then
            theme, problem = require("slate.console.remembered").read(text, path, app.ui.classes)
        end
        if problem and not is_missing then -- without the folder of the path, which may be as wide as the screen
            local folder = path:match("^.*/")
            local words = problem:sub(1, #folder) == folder and problem:sub(#folder + 1) or problem
            app:report(words .. ": starting with the defaults", 0)
            app.message_until_s = math.huge -- until a key comes: at the start the operator may not look yet
        end
    end
    app.theme = options.theme or theme or 1
    app.first = { theme = app.theme, text = text and remembered_text(app.ui.classes, app.theme) }
end

-- Opens the recording, or the servers.
local function open_servers(app)
    local options = app.options
    if options.replay then
        local problem
        app.replay, problem = app.core.open_replay(options.replay)
        if not app.replay then
            return nil, problem, "usage"
        end
        app.open, app.seeks = app.replay, options.at_s ~= nil
        app.timeline:step(app.open.tape, 0)
        app.timeline.plays, app.timeline.due_s = not options.at_s, app.core.link.now_s()
    end
    for _, server in ipairs(options.servers) do
        if not app.fleet:add(server) then
            return nil, "too many lists of servers", "internal"
        end
    end
    app.open = app.open or app.fleet.sessions[1]
    if options.record then
        local ok, problem = app.open:record_to(options.record)
        if not ok then
            return nil, problem, "output"
        end
    end
    return true
end

--- Takes all steps that may fail before the first screen. True; or nil, a message and a name of options.EXIT.
function App:start()
    local options, core = self.options, self.core
    local environment = core.files.environment
    self.audit_path = options.audit_log or places.path("audit", environment) or ""
    local ok, problem, code = open_servers(self)
    if not ok then
        return nil, problem, code
    end
    -- Over ssh the terminal's own selection is worth more than slatetop's mouse.
    self.has_mouse = options.mouse == "yes" or options.mouse == "auto" and not environment("SSH_CONNECTION")
    load_remembered(self)
    ok, problem = core.term.open({ is_ascii = options.ascii, is_mono = options.mono, has_mouse = self.has_mouse,
        theme = self.theme })
    if not ok then
        return nil, problem, "usage"
    end
    if #options.servers > 1 or #self.fleet.lists > 0 then
        view_list.open(self.ui, view_list.index("fleet"))
    end
    return true
end

--- Draws the screen on the terminal.
function App:draw(now_s)
    local term = self.core.term
    local width, height = term.size()
    if not self.grid or self.grid.width ~= width or self.grid.height ~= height then
        self.grid = cells.new(width, height, term.is_ascii())
    end
    if self:shows_all() or view_list.is_open(self.ui, "palette") then
        self.rows = require("slate.console.fleet_rows").all(self.fleet.sessions, now_s, self.options.interval_s)
    end
    actions.follow_row(self, false)
    screen.draw(self:frame(now_s), self.ui, self.grid)
    term.show(self.grid)
    self.is_dirty, self.draw_s, self.is_drawn = false, nil, true
end

-- Answers of a refresh come in several pieces, and those of several servers together: one frame shows them all.
local function draw_soon(app, now_s)
    app.draw_s = math.min(app.draw_s or math.huge, now_s + GATHER_S)
end

-- What the screen needs of a server. One that is marked in the fleet also gets the inquiries about settings.
local function wants_of(app, session, is_marked, now_s)
    local wants = { inquiries = {}, unhurried = {}, curves_first = {}, orders = {} }
    if session == app.open and not app:is_past() then -- a paused screen keeps its answers
        wants = screen.wants(app.ui)
        require("slate.console.health").wants(session.model, now_s, wants)
    end
    for _, name in ipairs(is_marked and require("slate.console.marked").INQUIRIES or {}) do
        wants.inquiries[name] = true
    end
    return wants
end

local function step_session(app, session, is_marked, now_s)
    session:step(now_s)
    if app.is_drawn then -- what was drawn decides what the next screen needs
        session:want(wants_of(app, session, is_marked, now_s), now_s)
    end
    session:finish(now_s, app.wall_s)
    if session.has_sample and #app.fleet.sessions == 1 then
        app.is_dirty = true -- a whole refresh
    elseif session.has_news and (session == app.open or app:shows_all()) then
        draw_soon(app, now_s)
    end
    session.has_news, session.has_sample = false, false
end

-- Drops servers that left their lists. Rows, marks and the cursor hold places, so they change.
local function drop_left(app)
    local place = app.fleet:drop_left(app.open)
    while place do
        local of, set = app.ui.fleet, {}
        for i in pairs(of.marked) do
            if i ~= place then
                set[i > place and i - 1 or i] = true
            end
        end
        of.marked = set
        if of.cursor and of.cursor >= place then
            of.cursor = of.cursor > place and of.cursor - 1 or nil
        end
        app.rows, app.is_dirty = {}, true
        place = app.fleet:drop_left(app.open)
    end
end

-- Says that servers are connected, while the screen says that they are to be: app.connecting { to, sessions, text }.
local function show_connected(app, now_s)
    local of = app.connecting
    if of and not gather.any(of.sessions, function(session) return session.model.link ~= "up" end) then
        app.connecting = nil
        if app.message == of.text then
            app:report("connected to " .. of.to, now_s)
        end
    end
end

--- Does all that is due at a time: servers, outcomes of changes, time that plays. wall_s: the time of day.
function App:step(now_s, wall_s)
    self.wall_s = wall_s
    if now_s // 1 ~= self.tick_s then
        self.tick_s = now_s // 1
        draw_soon(self, now_s)
    end
    if self.message ~= "" and now_s >= self.message_until_s then
        self.message, self.is_dirty = "", true
    end
    if self.replay then
        step_session(self, self.replay, false, now_s)
    elseif self.fleet:step_lists(now_s) then
        self.is_dirty, self.open = true, self.open or self.fleet.sessions[1]
    end
    drop_left(self)
    self.fleet:read(now_s)
    local of_fleet = rawget(self.ui, "fleet") -- its module is loaded when the view is shown
    for i, session in ipairs(self.fleet.sessions) do
        step_session(self, session, of_fleet and of_fleet.marked[i], now_s)
    end
    self.is_drawn = false
    show_connected(self, now_s)
    sending.show_outcomes(self, now_s)
    if self.open and self.timeline:tick(self.open.tape, now_s) then
        self.is_dirty = true
    elseif self.open and not self.is_dirty then -- what a key changed is drawn first
        self.timeline:prepare(self.open.tape, self:live())
    end
    past.seek_once_loaded(self)
end

--- The time until which nothing is due, at most the next full second: the title has a clock.
function App:due_s(now_s)
    local due_s = now_s // 1 + 1
    for _, one in ipairs({ self.fleet:due_s() or due_s, self.replay and self.replay:due_s() or due_s,
        self.timeline:next_s(self.open and self.open.tape) or due_s, self.draw_s or due_s }) do
        due_s = math.min(due_s, one)
    end
    return due_s
end

--- What slate.console.link.wait waits for.
function App:polled()
    local polled = {}
    self.fleet:add_polled(polled)
    return polled
end

--- Saves the choices if they changed. A console without changes leaves no file, and does not undo another console's
--- choices.
function App:save_choices()
    if not self.remembered_path then
        return
    end
    local first = self.first.text or remembered_text(view_list.module("classes").state(), self.first.theme)
    local text = remembered_text(self.ui.classes, self.theme)
    local ok, problem = true, nil
    if text ~= first then
        ok, problem = self.core.files.replace(self.remembered_path, text)
    end
    if not ok then
        self.core.files.write_error(("slatetop: cannot remember what you chose in %s: %s\n"):format(
            self.remembered_path, problem))
    end
end

App.key, App.paste, App.pointer, App.leave = actions.key, actions.paste, actions.pointer, sending.leave

return M
