-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl's command line: one table of sub-commands, the options they share, and the exit codes.
--
-- A sub-command is a module with declare(command), which adds its arguments to an argparse command, and run(context,
-- arguments), which returns an exit code or nil, message, code.
-- Only the module of the requested command is loaded: the start takes most of the time.
local find = require "slate.base.find"

local M = {}

--- The sub-commands, in the order of `slatectl help`: the folder of the module, `name` and `summary`. `each`: runs once
-- for each server; `many`: takes several at once.
M.COMMANDS = {
    { "inspect", "top", "the server at a glance: rates, memory, the classes that matter, advice", each = true },
    { "inspect", "classes", "a table of the slab classes with rates", each = true },
    { "inspect", "pages", "how full the pages of each class are", each = true },
    { "inspect", "items", "the items of each class by eviction queue, and the items lost", each = true },
    { "inspect", "sizes", "the sizes of the items, over the boundaries of the classes", each = true },
    { "inspect", "fit", "the class for values of a size, its waste and its state", each = true },
    { "inspect", "settings", "the server's settings", each = true },
    { "inspect", "stats", "a group of statistics as the server reports it", each = true },
    { "fleet", "fleet", "one row for each of many servers, the worst first", many = true },
    { "fleet", "fleet-where", "the server of a fleet that holds a key" },
    { "fleet", "fleet-apply", "carry a plan out on many servers, one after the other, under guards", many = true },
    { "fleet", "fleet-undo", "take a change to a fleet back, on all of its servers", many = true },
    { "fleet", "fleet-warm", "fill a cold server with the items that its peers hold" },
    { "fleet", "fleet-flush", "flush many servers, the next one when the hits of the last are back", many = true },
    { "inspect", "conns", "the open connections, the longest idle first", each = true },
    { "inspect", "hotkeys", "the keys with most requests and most bytes read", each = true },
    { "inspect", "watch", "the server's stream of events, and how many were lost" },
    { "inspect", "keys", "the keys of the server, summed up by prefix or one by one" },
    { "inspect", "get", "the value of one key" },
    { "inspect", "me", "the server's data about one item, without a use of the item" },
    { "change", "delete", "remove one item", no_rows = true },
    { "judge", "advise", "changes to make: pages, chunk sizes, memory, automove, eviction policy",
        each = true, no_rows = true },
    { "judge", "check", "compare figures with thresholds, for monitoring", many = true },
    { "judge", "doctor", "findings about the server, the worst first, with remedies", each = true },
    { "judge", "waste", "memory that holds no item, by class and by cause", each = true },
    { "predict", "curve", "the hit ratio to expect with other amounts of memory, and how sure that is", each = true },
    { "predict", "whatif", "the hit ratio that other eviction policies would have", each = true },
    { "judge", "explain", "the meaning of a figure or setting, and what to do about it", no_rows = true },
    { "change", "move", "move pages between slab classes, and verify that they moved", no_rows = true },
    { "change", "automove", "show or set how the server moves pages by itself" },
    { "inspect", "moves", "the last page moves, their reasons and their cost", each = true },
    { "change", "set", "change settings of a running server, verified and on record", no_rows = true },
    { "change", "extstore", "memcached's storage on flash: items, activity, settings" },
    { "change", "plan", "write page moves and settings to change into a file", no_rows = true },
    { "change", "apply", "carry out a plan, step by step, each verified", no_rows = true },
    { "change", "trial", "change settings for a while, and go back when a bound is crossed", no_rows = true },
    { "change", "audit", "the changes on record, with their outcome", many = true },
    { "change", "undo", "take back the changes of the last command" },
    { "change", "geometry", "show or change the chunk sizes of a live server" },
    { "change", "policy", "list, show, test, simulate or run policies in Lua" },
    { "judge", "rules", "list or test rules and columns of your own", no_rows = true },
    { "record", "record", "record snapshots into a file", no_rows = true },
    { "record", "capture", "write a sample of a server's requests into a file, as a trace", no_rows = true },
    { "record", "save", "write the items of a server into a file, while it serves", no_rows = true },
    { "record", "load", "store the items of a file, to warm a server", no_rows = true },
    { "record", "chart", "draw recordings, or live servers: pages, hits, curves, sizes", many = true, no_rows = true },
    { "record", "report", "one web page of recordings or live servers: findings, charts, changes",
        many = true, no_rows = true },
    { "predict", "simulate", "play a trace to caches of many policies and sizes, without a server" },
    { "predict", "bench", "load a server with slate-load", no_rows = true },
    { "record", "export", "the statistics for Prometheus, once or on request", many = true, no_rows = true },
    { "shell", "completion", "a script that completes commands and options in a shell", no_rows = true },
    { "shell", "version", "print the version of slatectl", no_rows = true },
    { "shell", "help", "show how to use slatectl or one of its commands" },
}
for _, row in ipairs(M.COMMANDS) do
    row.name, row.summary = row[2], row[3]
end

--- Exit codes by the error codes of the library.
M.EXIT = {
    no = 1, server = 1, unsupported = 3, usage = 64, form = 65, connect = 69, timeout = 69, closed = 69,
    protocol = 69, missing = 69, internal = 70, chart = 70, output = 74, file = 74, input = 74, busy = 75,
    exhausted = 75, refused = 77, interrupted = 130,
}

local DEFAULT_SERVER <const> = "127.0.0.1:11211"

local SHARED_HELP <const> = "These options may stand before or after the command."

--- The module of a sub-command.
function M.module_of(row)
    return require(("slate.commands.%s.%s"):format(row[1], (row.name:gsub("-", "_"))))
end

local function row_of(name)
    local _, row = find.by(M.COMMANDS, "name", name)
    return row
end

--- Joins a command's name in two words into one argument: `fleet warm` is fleet-warm.
function M.join_names(arguments)
    local joined, i = {}, 1
    while i <= #arguments do
        local pair = i < #arguments and arguments[i] .. "-" .. arguments[i + 1]
        local is_name = row_of(pair) ~= nil
        joined[#joined + 1] = is_name and pair or arguments[i]
        i = i + (is_name and 2 or 1)
    end
    return joined
end

--- The argparse parser. Commands other than `chosen` have only a name and a summary; with `alone` they are left out,
-- since they take most of the parser's time; "*" chooses all.
function M.parser(chosen, alone)
    local units = require "slate.base.units"
    local parser = require "argparse"("slatectl", "Inspect and tune the slab caches slated and memcached.")
    parser:command_target("command"):require_command(false):help_max_width(80)
    parser:epilog(SHARED_HELP .. " slatectl help COMMAND explains a command; slatectl(1) is the manual.")
    parser:option("-s --server", "The server: host:port, [v6address]:port, tls://host:port, /path/to.sock, or a name "
        .. "of ~/.config/slate/servers. Several for commands that read and judge: with commas between them, in "
        .. "further -s, as dns:name:port (all addresses of a name) or file:path (a server "
        .. "a line). Default: SLATE_SERVER, else " .. DEFAULT_SERVER)
        :argname("SERVER"):convert(function(text) return require("slate.wire.addresses").parse(text) end):count("*")
    parser:option("--timeout", "Wait at most this long for an answer, such as 500ms or 10s. Default: 5s")
        :argname("TIME"):convert(function(text)
            local timeout_s, problem = units.parse_duration(text)
            if timeout_s == 0 then
                return nil, "a time-out of 0 leaves a server no time to answer"
            end
            return timeout_s, problem
        end)
    parser:mutex(
        parser:flag("--json", "Write one JSON document instead of text."),
        parser:flag("--jsonl", "Write JSON, a line for each row."),
        parser:flag("--csv", "Write comma-separated values, a line for each row."))
    parser:option("--color", "Colours in text: on a terminal unless NO_COLOR is set (auto), always or never. Default: "
        .. "auto"):choices({ "auto", "always", "never" }):argname("WHEN")
    parser:flag("--read-only", "Refuse whatever could change the server.")
    parser:flag("--trace", "Print every command sent to the server, and every line answered, on standard error.")
    parser:flag("-V --version", "Print the version and exit.")
    for _, row in ipairs(M.COMMANDS) do
        local is_chosen = row.name == chosen or chosen == "*"
        if is_chosen or not alone then
            local command = parser:command(row.name):summary(row.summary)
            if is_chosen then
                command:description(row.summary:sub(1, 1):upper() .. row.summary:sub(2) .. ".")
                M.module_of(row).declare(command)
            end
        end
    end
    return parser
end

local TAKES_VALUE <const> = { ["-s"] = true, ["--server"] = true, ["--timeout"] = true, ["--color"] = true }

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

-- argparse takes a leading minus for an option. But a negative number after an option is the option's value, and the
-- option reports what is wrong with it. And -1 is a source of pages for `move`.
local function protect_negatives(arguments, chosen)
    local copy = {}
    for i, word in ipairs(arguments) do
        local last = copy[#copy] or ""
        if chosen == "move" and word == "-1" then
            copy[#copy + 1] = "any"
        elseif i > 1 and word:find("^%-%.?%d") and last:find("^%-%-%a[%w-]*$") then
            copy[#copy] = last .. "=" .. word
        else
            copy[#copy + 1] = word
        end
    end
    return copy
end

--- The lists of servers to connect to; or nil, message, code.
function M.server_lists(parsed)
    if #parsed.server > 0 then
        return parsed.server
    end
    local list, problem = require("slate.wire.addresses").parse(os.getenv("SLATE_SERVER") or DEFAULT_SERVER)
    if not list then
        return nil, "SLATE_SERVER: " .. problem, "usage"
    end
    return { list }
end

-- True if no argument before the command's name may request the help of all commands: -h, alone or in other letters.
local function asks_for_no_help(arguments, at)
    for i = 1, at - 1 do
        local word = arguments[i]
        if word:find("^%-%-h") or word:find("^%-[^-s]") then
            return false
        end
    end
    return true
end

-- True if a word is a server's address. Keys (user:17) and moves (3:5) look like one, but most addresses have dots,
-- colons or brackets, or the usual port.
local function is_address(word)
    local host, port = word:match("^([^-=]+):(%d+)$")
    return host and (host:find("[.:%]]") or host == "localhost"
        or tonumber(port) == require("slate.base.units").DEFAULT_PORT)
end

-- A hint for a refused command line if one of its words is a server's address without the option, else "".
local function server_hint(arguments)
    for i, word in ipairs(arguments) do
        if is_address(word) and not TAKES_VALUE[arguments[i - 1]] then
            return (". A server is named with --server %s."):format(word)
        end
    end
    return ""
end

--- Parses a command line. Returns the arguments, the row of the command (nil without one), and for bench, which has
-- options of its own, the words after that name; or nil, message, code.
function M.parse(arguments)
    arguments = M.join_names(arguments)
    local at = M.find_command(arguments)
    local words
    if at and arguments[at] == "bench" then
        words = table.move(arguments, at + 1, #arguments, 1, {})
        arguments, at = table.move(arguments, 1, at - 1, 1, {}), nil
    end
    local chosen = at and arguments[at]
    local row = chosen and row_of(chosen)
    local ok, parsed = M.parser(chosen, row and asks_for_no_help(arguments, at))
        :pparse(protect_negatives(arguments, chosen))
    if not ok then
        local problem = parsed:find("^unknown option '%-[.%d]") and "write -- before a negative number that is no "
            .. "option's value" or parsed:gsub("\n", ". ") .. server_hint(arguments)
        return nil, ("%s%s 'slatectl help%s'"):format(problem, problem:find("[?.]$") and " See" or "; see",
            row and " " .. row.name or ""), "usage"
    end
    return parsed, row_of(parsed.version and "version" or words and "bench" or parsed.command), words
end

return M
