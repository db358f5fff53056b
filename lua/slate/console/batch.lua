-- SPDX-License-Identifier: BSD-3-Clause
--- Batch mode: the overview and the class table as plain text, JSON or comma-separated values, without a terminal.
local cells = require "slate.console.cells"
local class_state = require "slate.console.draw.class_state"
local class_table = require "slate.console.draw.class_table"
local columns = require "slate.console.draw.class_columns"
local figure = require "slate.console.figure"
local fleet = require "slate.console.fleet"
local gather = require "slate.base.gather"
local health = require "slate.console.health"
local json = require "slate.base.json"
local metrics = require("slate.console.metrics").OF_SERVER
local printable = require("slate.wire.request").printable
local server_facts = require "slate.console.server"
local snapshot = require "slate.facts.snapshot"
local timeline = require "slate.console.timeline"
local units = require "slate.base.units"

local M = {}

local EXIT <const> = require("slate.console.options").EXIT
local WINDOW_S <const>, FIRST_REPLY_S <const>, TURN_S <const>, METRICS_A_LINE <const> = 1, 5, 0.1, 3
-- A longer turn waited for standard output, or slatetop was stopped: that is no silence of a server.
local LISTENS_MOST_S <const> = 1

local function overview(model)
    local now, lines = model.now, {}
    for i, metric in ipairs(metrics) do
        lines[i] = ("%-18s %7s%s"):format(metric.label, figure.metric(metric, model:metric(metric.name)),
            (i % METRICS_A_LINE == 0 or i == #metrics) and "\n" or "   ")
    end
    local general = now.general
    lines[#lines + 1] = ("memory             %s of %s, %s items, %s pages in the pool\n"):format(
        units.bytes_in_words(snapshot.item_bytes(now)), units.bytes_in_words(general.limit_maxbytes),
        figure.count(general.curr_items), figure.count(general.slab_global_page_pool))
    return table.concat(lines)
end

-- A text right-aligned by columns of the screen, not by bytes: "·" and "Δ" are one column wide.
local function right(text, width)
    return (" "):rep(width - cells.width_of(text) + 1) .. text
end

local function class_lines(model)
    local shown = table.move(columns.LIST, 1, #columns.LIST, 1, {})
    local own, order = columns.own(model.rules), class_table.state()
    table.move(own, 1, #own, #shown + 1, shown)
    order.sort, order.is_ascending = columns.named("class"), true
    local lines = { {} }
    for i, column in ipairs(shown) do
        lines[1][i] = right(column.head, column.width)
    end
    lines[1][#shown + 1] = "  STATE\n"
    for _, class in ipairs(class_table.rows(model, order)) do
        local line = gather.values(shown, function(column)
            return right(columns.text(column, model, class, WINDOW_S), column.width)
        end)
        line[#shown + 1] = ("  %s\n"):format(class_state.word(model:row(class.id)))
        lines[#lines + 1] = line
    end
    for i, line in ipairs(lines) do
        lines[i] = table.concat(line)
    end
    return table.concat(lines)
end

--- A sample as plain text. frame: its model, wall_s (its time of day), now_s and interval_s.
function M.text(frame)
    local model = frame.model
    local lines = { ("%s  %s  %s %s\n"):format(os.date("%Y-%m-%d %H:%M:%S", frame.wall_s // 1), model.server,
        server_facts.software(model.now), server_facts.version(model.now)) }
    for _, line in ipairs(health.lines(frame)) do
        lines[#lines + 1] = ("%-6s %s\n"):format(health.told(line.tone).word, line.text)
    end
    return table.concat(lines) .. overview(model) .. class_lines(model) .. "\n"
end

-- A value of a column in the unit of the table; nil when it is unknown, or of a counter that went back. Only a change
-- may be negative.
local function value_of(column, model, class)
    local value = columns.shown_value(column, model, class, WINDOW_S)
    return value and (value >= 0 or column.form == "delta") and value or nil
end

local function classes_of(model)
    return gather.values(model.now.classes, function(class) return class.id > 0 and class or nil end)
end

--- A sample as a line of JSON: the snapshot, and what slatetop adds. Unknown values are null: absent is not zero.
function M.json(frame)
    local model = frame.model
    local one = { schema = snapshot.SCHEMA, time_s = frame.wall_s, health = json.array(), rates = {},
        figures = json.array() }
    for name, value in pairs(model.now) do
        one[name] = one[name] or value
    end
    for i, line in ipairs(health.lines(frame)) do
        one.health[i] = { severity = health.told(line.tone).word, text = line.text }
    end
    for _, metric in ipairs(metrics) do
        local value = model:metric(metric.name)
        one.rates[metric.name] = value and value >= 0 and value or json.null
    end
    for i, class in ipairs(classes_of(model)) do
        one.figures[i] = { state = class_state.word(model:row(class.id)) }
        for _, column in ipairs(columns.LIST) do
            one.figures[i][column.name] = value_of(column, model, class) or json.null
        end
    end
    return snapshot.encode(one) .. "\n"
end

local function csv_field(text)
    return text:find('[,"\r\n]') and '"' .. text:gsub('"', '""') .. '"' or text
end

--- The names of the columns of M.csv.
function M.csv_heads()
    local heads = { "time_s", "server" }
    for _, column in ipairs(columns.LIST) do
        heads[#heads + 1] = column.name
    end
    return table.concat(heads, ",") .. ",state\r\n"
end

--- A sample as comma-separated values, a line each class; unknown values are empty.
function M.csv(frame)
    local model, lines = frame.model, {}
    for i, class in ipairs(classes_of(model)) do
        local fields = { ("%.3f"):format(frame.wall_s), csv_field(model.server) }
        for _, column in ipairs(columns.LIST) do
            local value = value_of(column, model, class)
            fields[#fields + 1] = value and ("%.14g"):format(value) or ""
        end
        fields[#fields + 1] = class_state.word(model:row(class.id)) .. "\r\n"
        lines[i] = table.concat(fields, ",")
    end
    return table.concat(lines)
end

local Batch = {}
Batch.__index = Batch

function Batch:complain(text)
    self.core.files.write_error(("slatetop: %s\n"):format(printable(text)))
end

-- Writes a sample in the options' format. False when standard output takes no more.
function Batch:put(model, wall_s, now_s)
    local options = self.options
    local frame = { model = model, wall_s = wall_s, now_s = now_s, interval_s = options.interval_s }
    local text = options.json and M.json(frame) or options.csv and M.csv(frame) or M.text(frame)
    if options.csv and not self.has_heads then
        text, self.has_heads = M.csv_heads() .. text, true
    end
    local ok, code = self.core.write_out(text)
    self.exit_code = ok and self.exit_code or code
    return ok
end

-- Prints a new sample of one server. False when standard output takes no more.
function Batch:step(session, state, now_s, wall_s)
    session:step(now_s)
    local wants = { inquiries = {}, unhurried = {}, curves_first = {}, orders = {} }
    health.wants(session.model, now_s, wants) -- the inquiries that the screen sends, too
    session:want(wants, now_s)
    if session.has_sample and not session.poller:is_steady() then
        session.has_sample = false -- it has no rates, or rates over too short a time
    end
    if session.has_sample then
        session.has_sample = false
        state.printed, state.limit_s = state.printed + 1, self.listened_s + self.patience_s
        return self:put(session.model, wall_s, now_s)
    end
    session:finish(now_s, wall_s)
    return true
end

-- Why a server is given up; nil: it is not. A lost connection ends it: scripts must notice.
local function why_given_up(session, state, listened_s)
    local client = session.connection.client
    if client:state() == "down" and client:note() ~= "" then
        return client:note()
    elseif session.poller.refusal then
        return ("%s refuses to answer: %s"):format(session.address, session.poller.refusal)
    elseif listened_s >= state.limit_s then
        return session.address .. " does not answer"
    end
end

-- One turn for all servers; true when the work is done.
function Batch:turn(watched, now_s, wall_s)
    local left = 0
    watched:step_lists(now_s)
    watched:read(now_s)
    for i, session in ipairs(watched.sessions) do
        local state = self.states[i] or { printed = 0, limit_s = self.patience_s }
        self.states[i] = state
        if not state.is_done then
            if not self:step(session, state, now_s, wall_s) then
                return true
            end
            local why = state.printed < self.options.snapshots and why_given_up(session, state, self.listened_s)
            if why then
                self:complain(why)
                self.exit_code = EXIT.no_server
            end
            state.is_done = why or state.printed >= self.options.snapshots
            left = left + (state.is_done and 0 or 1)
            if state.is_done then
                session:close()
            end
        end
    end
    if #watched.sessions == 0 and self.listened_s >= self.patience_s then
        self:complain(watched:note() ~= "" and watched:note() or "the list of servers did not arrive")
        self.exit_code = EXIT.no_server
        return true
    end
    return #watched.sessions > 0 and left == 0
end

-- What to wait for, and until when: servers that are done are closed.
local function wait(core, watched, states, now_s)
    local polled, due_s = {}, now_s + TURN_S
    for i, session in ipairs(watched.sessions) do
        if not (states[i] and states[i].is_done) then
            session:polled(polled)
            due_s = math.min(due_s, session:due_s() or due_s)
        end
    end
    for _, list in ipairs(watched.lists) do
        polled[#polled + 1] = list.lookup
    end
    return core.link.wait(polled, due_s, true)
end

-- Runs until every server has printed its snapshots or is given up.
function Batch:run_servers()
    local core, options = self.core, self.options
    local watched = fleet.of_core(core)
    for _, server in ipairs(options.servers) do
        if not watched:add(server) then
            self:complain("out of memory, or too many lists of servers")
            return EXIT.internal
        end
    end
    if options.record then
        local ok, why = watched.sessions[1]:record_to(options.record)
        if not ok then
            self:complain(why)
            return EXIT.output
        end
    end
    core.term.catch_interrupts()
    local now_s, wall_s = core.link.now_s(), core.link.wall_s()
    self.states, self.listened_s, self.patience_s = {}, 0, FIRST_REPLY_S + options.interval_s
    while not self:turn(watched, now_s, wall_s) do
        local began_s = now_s
        now_s, wall_s = wait(core, watched, self.states, now_s)
        self.listened_s = self.listened_s + math.min(now_s - began_s, LISTENS_MOST_S)
        if core.term.signal() then
            return EXIT.interrupted
        end
    end
    if #watched.sessions > 0 and watched:note() ~= "" then -- e.g. more servers than fit
        self:complain(watched:note())
    end
    watched:close()
    return self.exit_code
end

-- Prints as many moments as the options want, from --at on; without --at the last ones.
function Batch:run_replay()
    local options = self.options
    local session, why = self.core.open_replay(options.replay)
    if not session then
        self:complain(why)
        return EXIT.usage
    end
    while session:loaded_ratio() < 1 do
        session:step(0)
    end
    local line, tape = timeline.new(), session.tape
    line:hold(tape)
    if options.at_s then
        line:seek_from_start(tape, options.at_s)
    else
        line:step(tape, 1 - options.snapshots)
    end
    for i = 1, options.snapshots do
        local model = line:model(tape, session.model, 0)
        if not self:put(model, line.wall_s, model.at_s) or line.index == tape.last then
            break
        elseif i < options.snapshots then
            line:step(tape, 1)
        end
    end
    if session.bad_lines > 0 then
        self:complain(("%s of %s skipped: no snapshots, or changes since one"):format(
            units.plural(session.bad_lines, "line"), options.replay))
    end
    session:close()
    return self.exit_code
end

--- Prints snapshots; returns the exit code. core: of slate.console.app, and `write_out(text)`, which returns true, or
--- false and the exit code.
function M.run(options, core)
    local batch = setmetatable({ options = options, core = core, exit_code = EXIT.ok }, Batch)
    return options.replay and batch:run_replay() or batch:run_servers()
end

return M
