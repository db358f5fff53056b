-- SPDX-License-Identifier: BSD-3-Clause
--- The program slatetop: reads the command line, opens what it names, and runs the console or batch mode.
local build = require "slate.console.build"
local files = require "slate.console.files"
local link = require "slate.console.link"
local options_of = require "slate.console.options"
local printable = require("slate.wire.request").printable
local term = require "slate.console.term"

local M = {}

local EXIT <const> = options_of.EXIT
-- One more than slate.judge.rules takes, so that it refuses a longer file.
local RULES_MOST_BYTES <const> = (256 << 10) + 1
-- Of all tapes: an hour of 40 busy classes of 32 servers.
local TAPES_BYTES <const>, TAPES_LEAST <const> = 192 << 20, 8

-- Control characters of a file or a server do not reach the terminal.
local function complain(text)
    files.write_error(("slatetop: %s\n"):format(printable(text)))
end

-- Writes to standard output. True; or false and the exit code: a reader that has gone is no error.
local function write_out(text)
    local ok, why, has_reader_gone = files.write_out(text)
    if not ok and not has_reader_gone then
        complain("cannot write: " .. why)
    end
    return ok or false, (ok or has_reader_gone) and EXIT.ok or EXIT.output
end

-- Obeys options that print and end: the exit code; nil when the program goes on.
local function print_and_leave(options)
    local text = options.help and options_of.help() or options.describe and options_of.describe()
        or options.version and ("slatetop %s\n"):format(build.version)
    if text then
        return select(2, write_out(text))
    end
end

-- The rules of the operator (of slate.judge.rules); nil if there is no file: then their modules are not loaded.
local function own_rules()
    local path = require("slate.base.places").path("rules", files.environment)
    local text, why, is_missing
    if path then
        text, why, is_missing = files.read(path, RULES_MOST_BYTES)
    end
    if path and not is_missing then
        why = not text and ("cannot read %s: %s"):format(path, why) or nil
        return require("slate.judge.rules").for_screen(path, text, why)
    end
end

-- What the console and batch mode get of the machine.
local function core_of(options)
    local session = require "slate.console.session"
    local access, rules = link.access(options_of.access(options)), own_rules()
    for _, server in ipairs(options.servers) do
        if server.tls then
            local ok, why = access:load()
            if not ok then
                return nil, why
            end
        end
    end
    local tape_bytes = TAPES_BYTES // math.max(#options.servers, TAPES_LEAST)
    local about = { access = access, interval_s = options.interval_s, tape_bytes = tape_bytes, rules = rules,
        audit = options.audit_log or require("slate.base.places").path("audit", files.environment) }
    return { term = term, files = files, link = link, write_out = write_out,
        open_session = function(server) return session.new(server, about) end,
        open_replay = function(path) return session.replay(path, about) end }
end

-- Handles the signals that have come; those that end the program set its exit code.
local function take_signals(app)
    local signal = term.signal()
    while signal do
        if signal == "winch" then
            term.resize()
            app.is_dirty = true
        else
            app.is_done, app.exit_code = true, EXIT.interrupted
        end
        signal = term.signal()
    end
end

local function take_keys(app, now_s)
    local key, is_pasted = term.key()
    while key and not app.is_done do
        if app.is_dirty and (key == "S" or key == "pointer") then
            app:draw(now_s) -- the screen shows what is sent, even to a fast key
        end
        if is_pasted then
            app:paste(key, now_s)
        elseif key == "pointer" then
            local act, y, x = term.pointer()
            app:pointer(act, y, x, now_s)
        else
            app:key(key, now_s)
        end
        key, is_pasted = term.key()
    end
end

local function take_turns(app)
    local now_s, wall_s = link.now_s(), link.wall_s()
    app.wall_s = wall_s
    app:draw(now_s)
    collectgarbage("restart")
    while not app.is_done do
        if app.is_dirty or app.draw_s and now_s >= app.draw_s then
            app:draw(now_s)
        end
        now_s, wall_s = link.wait(app:polled(), app:due_s(now_s))
        if term.is_gone() then
            return
        end
        take_signals(app)
        app.wall_s = wall_s
        take_keys(app, now_s)
        app:step(now_s, wall_s)
    end
end

local function run_console(options, core)
    local app = require("slate.console.app").new(options, core)
    local ok, why, code = app:start()
    if not ok then
        complain(why)
        return EXIT[code]
    end
    take_turns(app)
    term.close()
    app:save_choices()
    app:leave()
    return app.exit_code
end

--- Runs slatetop with the words of its command line. Returns the exit code.
function M.run(words)
    local options, problem = options_of.parse(words, files)
    if not options then
        complain(problem .. "; --help lists the options")
        return EXIT.usage
    end
    local code = print_and_leave(options)
    if code then
        return code
    end
    local core, why = core_of(options)
    if not core then
        complain(why)
        return EXIT.usage
    end
    if options.batch then
        collectgarbage("restart")
        return require("slate.console.batch").run(options, core)
    end
    return run_console(options, core)
end

return M
