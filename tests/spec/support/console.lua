-- SPDX-License-Identifier: BSD-3-Clause
--- The running console without a terminal: its servers have figures, and answer nothing.
for _, name in ipairs({ "link", "files" }) do -- modules in C that only slatetop has: nothing here uses them
    package.loaded["slate.console." .. name] = package.loaded["slate.console." .. name] or {}
end
local app_of = require "slate.console.app"
local assert = require "luassert"
local gather = require "slate.base.gather"
local options = require "slate.console.options"
local screens = require "screens"
local tape = require "slate.console.tape"

local M = {}

local app

local function nothing() end

--- Before each claim. texts: the files, by path; environment: its variables; term: the terminal.
function M.begin()
    M.texts, M.environment = {}, { HOME = "/home/me" }
    M.term = { open = function() return true end, size = function() return 80, 24 end, is_ascii = nothing,
        show = nothing, set_theme = function() return true end, set_mouse = nothing }
end

-- A session whose model has seen a server.
local function session_of(server)
    local one = screens.model("memcached-1.6.18")
    one.server = server.name
    local session = { address = server.name, server = server, model = one, tape = tape.new(), record_name = "",
        polled = nothing, step = nothing, read = nothing, finish = nothing, due_s = nothing, retry_s = nothing,
        hurry = function(self, now_s)
            self.hurried_s = self.model.link == "down" and now_s or nil
            return self.hurried_s ~= nil
        end,
        close = function(self) self.is_closed = true end }
    session.changes = { begun = {}, words = function() return "" end, take_news = nothing,
        trial_left_s = nothing, is_busy = nothing, accept_trial = nothing,
        propose = function() return nil, "nothing to undo" end,
        begin = function(self, ...) table.insert(self.begun, { ... }) return true end }
    function session.want(_, wants) session.wants = wants end
    function session.record_to(_, path) session.record, session.record_name = {}, path return true end
    function session.record_end() session.record = nil end
    function session.watch_stream(_, stream, why)
        session.watch = stream and { log = { stream = stream, note = why or "", lines = {}, shown = 0, lost = 0 } }
    end
    session.tape:add(one.now, { at_s = 12, reply_ms = 0.4, wall_s = 1002 })
    return session
end

--- The console after the command line `slatetop LINE`.
function M.open(line)
    local files = { environment = function(name) return M.environment[name] end, write_error = nothing,
        read = function(path) return M.texts[path], "No such file or directory", M.texts[path] == nil end,
        replace = function(path, text) M.texts[path] = text return true end }
    app = app_of.new(assert(options.parse(gather.words(line), files)), { term = M.term, files = files,
        link = { now_s = function() return 12 end }, open_session = session_of })
    assert(app:start())
    app:step(12.1, 1002)
    return app
end

--- Presses keys, each drawn.
function M.press(...)
    for _, key in ipairs({ ... }) do
        app:key(key, 12.2)
        app:draw(12.2)
    end
end

--- The screen as text.
function M.screen()
    return screens.text(app.grid)
end

function M.assert_shows(text)
    assert.truthy(M.screen():find(text, 1, true), M.screen())
end

return M
