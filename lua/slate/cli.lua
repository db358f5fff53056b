-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl's command line: one table of sub-commands, the options they share, and the exit codes.
--
-- A sub-command is a module with declare(command), which adds its arguments to an argparse
-- command, and run(context, arguments), which returns an exit code or nil, message, code.
-- Only the module of the command that was asked for is loaded: starting up takes most of the time.
local M = {}

--- The sub-commands, in the order of `slatectl help`.
M.COMMANDS = {
    { name = "top", summary = "the server at a glance: rates, memory, the classes that matter, advice" },
    { name = "classes", summary = "a table of the slab classes with rates" },
    { name = "stats", summary = "a group of statistics as the server reports it" },
    { name = "settings", summary = "the server's settings" },
    { name = "move", summary = "move pages between slab classes, and verify that they moved" },
    { name = "automove", summary = "show or set how the server moves pages by itself" },
    { name = "record", summary = "record snapshots into a file" },
    { name = "chart", summary = "draw a recording, or the live server, with gnuplot" },
    { name = "bench", summary = "load a server with slate-load" },
    { name = "version", summary = "print the version of slatectl, or of the server" },
    { name = "help", summary = "show how to use slatectl or one of its commands" },
}

--- Exit codes by the error codes of the library.
M.EXIT = {
    no = 1, server = 1, unsupported = 3, usage = 64, connect = 69, timeout = 69, closed = 69,
    protocol = 69, missing = 69, internal = 70, chart = 70, output = 74, input = 74, busy = 75, refused = 77,
    interrupted = 130,
}

local DEFAULT_SERVER <const> = "127.0.0.1:11211"

local SHARED_HELP <const> = "These options may stand before or after the command."

local function module_of(name)
    return require("slate.commands." .. name)
end

--- The argparse parser. Commands other than `chosen` have only their name and summary.
function M.parser(chosen)
    local units = require "slate.units"
    local parser = require "argparse"("slatectl", "Inspect and tune the slab caches slated and memcached.")
    parser:command_target("command"):require_command(false):help_max_width(100)
    parser:epilog(SHARED_HELP .. " slatectl help COMMAND explains a command; slatectl(1) is the manual.")
    parser:option("-s --server", "host:port, [v6address]:port or /path/to.sock; also SLATE_SERVER. Default: "
        .. DEFAULT_SERVER):argname("SERVER"):convert(units.parse_server)
    parser:option("--timeout", "Wait at most this long for an answer, such as 500ms or 10s. Default: 5s")
        :argname("TIME"):convert(units.parse_duration)
    parser:flag("--json", "Write JSON instead of text.")
    parser:flag("--trace", "Print every command sent to the server on standard error.")
    parser:flag("--version", "Print the version and exit.")
    for _, row in ipairs(M.COMMANDS) do
        local command = parser:command(row.name):summary(row.summary)
        if row.name == chosen then
            command:description(row.summary:sub(1, 1):upper() .. row.summary:sub(2) .. ".")
            module_of(row.name).declare(command)
        end
    end
    return parser
end

local TAKES_VALUE <const> = { ["-s"] = true, ["--server"] = true, ["--timeout"] = true }

--- The position of the command's name among the arguments, or nil.
function M.find_command(arguments)
    local i = 1
    while i <= #arguments do
        local word = arguments[i]
        if word:sub(1, 1) ~= "-" then
            return i
        end
        i = i + (TAKES_VALUE[word] and 2 or 1)
    end
    return nil
end

-- argparse takes a leading minus for an option, but -1 is a source of pages.
local function protect_minus_one(arguments, at)
    local copy = table.move(arguments, 1, #arguments, 1, {})
    for i = at, #copy do
        if copy[i] == "-1" then
            copy[i] = "any"
        end
    end
    return copy
end

local function server_of(parsed, environment)
    if parsed.server then
        return parsed.server
    end
    local from_environment = environment("SLATE_SERVER")
    local server, problem = require("slate.units").parse_server(from_environment or DEFAULT_SERVER)
    if not server then
        return nil, "SLATE_SERVER: " .. problem
    end
    return server
end

local function parse(arguments, at)
    local chosen = at and arguments[at]
    if chosen == "move" then
        arguments = protect_minus_one(arguments, at)
    end
    local parser = M.parser(chosen)
    local ok, parsed = parser:pparse(arguments)
    if not ok then
        return nil, parsed
    end
    return parsed, parser
end

--- Runs a command line. launcher: { version =, bin_dir = }.
-- Returns the exit code and the message for standard error, if any.
local function dispatch(arguments, launcher)
    local at = M.find_command(arguments)
    if at and arguments[at] == "bench" then
        -- slate-load has options of its own: nothing after the word belongs to us.
        return module_of("bench").pass_through(arguments, at, launcher, M.parser())
    end
    local parsed, parser = parse(arguments, at)
    if not parsed then
        return nil, parser:gsub("\n", ". ") .. "; see 'slatectl help'", "usage"
    end
    local name = parsed.version and "version" or parsed.command
    if not name then
        io.stderr:write(parser:get_usage(), "\n")
        return nil, "a command is needed; see 'slatectl help'", "usage"
    end
    local server, problem = server_of(parsed, os.getenv)
    if not server then
        return nil, problem, "usage"
    end
    M.context = require("slate.context").new({
        server = server, timeout_s = parsed.timeout or 5, json = parsed.json, trace = parsed.trace,
        version = launcher.version, bin_dir = launcher.bin_dir,
    })
    return module_of(name).run(M.context, parsed)
end

-- The reader of our output may have had enough (slatectl stats | head): that is no failure.
local function is_broken_pipe(problem)
    return problem and problem:find("Broken pipe", 1, true) ~= nil
end

-- An error that was raised on purpose is a table; all else is a mistake of ours, or Ctrl-C.
local function explain(raised)
    if type(raised) == "table" and raised.message then
        return raised
    elseif tostring(raised):find("interrupted!", 1, true) then
        return { message = "interrupted", code = "interrupted" }
    end
    return { message = debug.traceback("internal error: " .. tostring(raised), 2), code = "internal" }
end

--- Runs a command line and returns the exit code; whatever went wrong has been said.
function M.main(arguments, launcher)
    local ok, exit_code, message, code = xpcall(dispatch, explain, arguments, launcher)
    if not ok then
        message, code = exit_code.message, exit_code.code
        exit_code = nil
        if code == "interrupted" and M.context and M.context.summary then
            message = message .. ": " .. M.context.summary()
        end
    end
    if exit_code then
        local flushed, problem = io.stdout:flush()
        if not flushed then
            exit_code, message, code = nil, "cannot write the output: " .. problem, "output"
        end
    end
    if code == "output" and is_broken_pipe(message) then
        return 0
    elseif exit_code then
        return exit_code
    end
    io.stderr:write("slatectl: ", tostring(message), "\n")
    return M.EXIT[code] or M.EXIT.internal
end

return M
