-- SPDX-License-Identifier: BSD-3-Clause
--- Runs slatectl: a command line becomes a call of its command, and each failure a message and an exit code.
local command_line = require "slate.cli.command_line"
local must = require("slate.base.failure").must

local M = {}

M.DEFAULT_TIMEOUT_S = 5

--- Runs a command line. launcher: { version =, bin_dir = }.
-- Returns the exit code and the message for standard error, if any.
local function dispatch(arguments, launcher)
    local parsed, row, words = command_line.parse(arguments)
    collectgarbage("restart")
    if not parsed then
        return nil, row, words
    elseif not row then
        io.stderr:write(command_line.parser():get_usage(), "\n")
        return nil, "a command is needed; see 'slatectl help'", "usage"
    end
    if parsed.csv and row.no_rows then
        return nil, ("%s has no rows: use --json"):format(row.name), "usage"
    end
    local lists = must(command_line.server_lists(parsed))
    local servers = must(require("slate.wire.addresses").expand(lists))
    if #servers > 1 and not (row.many or row.each) then
        return nil, ("%s speaks to one server, %d are given"):format(row.name, #servers), "usage"
    end
    local module = command_line.module_of(row)
    if row.name == "bench" then
        return module.pass_through(words, servers[1], parsed, launcher)
    end
    local options = {
        timeout_s = parsed.timeout or M.DEFAULT_TIMEOUT_S, trace = parsed.trace,
        format = parsed.json and "json" or parsed.jsonl and "jsonl" or parsed.csv and "csv" or nil,
        color = parsed.color, read_only = parsed.read_only, version = launcher.version, bin_dir = launcher.bin_dir,
        is_named = #parsed.server > 0 or os.getenv("SLATE_SERVER") ~= nil,
    }
    if #servers > 1 and row.each then
        return require("slate.cli.each").run(module, parsed, servers, options)
    end
    options.lists, options.servers, options.server = lists, servers, servers[1]
    M.context = require("slate.cli.context").new(options)
    return module.run(M.context, parsed)
end

-- An error raised on purpose is a table; all others are our mistakes, or Ctrl-C.
local function explain(raised)
    if type(raised) == "table" and raised.message then
        return raised
    elseif tostring(raised):find("interrupted!", 1, true) then
        return { message = "interrupted", code = "interrupted" }
    end
    return { message = debug.traceback("internal error: " .. tostring(raised), 2), code = "internal" }
end

local EBADF <const> = 9

-- A connection must not get the number of a closed standard stream: output would go to the server. So each closed
-- stream is opened for reading only: that holds the number, and a write fails.
local function hold_standard_streams()
    for _, stream in ipairs({ io.stdin, io.stdout, io.stderr }) do
        local _, _, problem = stream:seek()
        if problem == EBADF then
            M.held = { io.open("/dev/null", "r"), M.held }
        end
    end
end

--- Runs a command line and returns the exit code; prints every failure.
function M.main(arguments, launcher)
    hold_standard_streams()
    collectgarbage("stop") -- the start leaves no garbage: what it loads is used to the end
    local ok, exit_code, message, code = xpcall(dispatch, explain, arguments, launcher)
    collectgarbage("restart")
    if not ok then
        message, code = exit_code.message, exit_code.code
        exit_code = nil
        if code == "interrupted" and M.context and M.context.summary then
            message = message .. ": " .. M.context.summary()
        end
    end
    if exit_code == 0 and M.context and M.context.command.is_unrecorded then
        exit_code = command_line.EXIT.output -- scripts that count on undo have to know
    end
    if exit_code then
        local flushed, problem = io.stdout:flush()
        if not flushed then
            exit_code, message, code = nil, "cannot write the output: " .. problem, "output"
        end
    end
    if code == "output" and message and message:find("Broken pipe", 1, true) then -- slatectl stats | head
        return 0
    elseif exit_code then
        return exit_code
    end
    io.stderr:write("slatectl: ", require("slate.base.table").for_terminal(tostring(message)), "\n")
    return command_line.EXIT[code] or command_line.EXIT.internal
end

return M
