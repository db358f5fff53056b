-- SPDX-License-Identifier: BSD-3-Clause
--- The command line of slatetop. The parser, the file of settings, --help and the lists of the man page come from one
--- table. Files and the environment are read by slate.console.files, which callers hand in as `files`.
local address = require "slate.console.address"
local cells = require "slate.console.cells"
local find = require "slate.base.find"
local names = require "slate.wire.names"
local places = require "slate.base.places"
local settings_file = require "slate.console.settings_file"
local units = require "slate.base.units"
local wrap = require("slate.base.table").wrap

local M = {}

local LEAST_S <const>, MOST_S <const>, MOST_SNAPSHOTS <const> = 0.1, 3600, 1000000
local CREDENTIALS_BYTES <const>, TLS_PATH_BYTES <const> = 249, 511
local MOUSE <const> = { "auto", "yes", "no" }

--- The exit codes and their meanings.
M.EXIT = { ok = 0, usage = 64, no_server = 69, internal = 70, output = 74, interrupted = 130 }
local EXIT_ROWS <const> = {
    { M.EXIT.ok, "success; also when the reader of the output has gone" },
    { M.EXIT.usage, "wrong use, or no terminal" },
    { M.EXIT.no_server, "no connection to a server, in batch mode; the others are printed" },
    { M.EXIT.internal, "out of memory" },
    { M.EXIT.output, "output that can't be written" },
    { M.EXIT.interrupted, "interrupted by a signal" },
}

-- The values of options: each function takes the options and the argument; returns true, or nil and a message.

-- Takes a server or a list of servers by its address.
local function add_address(options, text)
    if #options.servers == address.MOST_SERVERS then
        return nil, ("at most %d servers: '%.80s' is too many"):format(address.MOST_SERVERS, text)
    end
    local server, problem = address.parse(text)
    options.servers[#options.servers + 1] = server
    return server, problem
end

-- Takes addresses with commas between them, as in slatectl, and the operator's own names. A path may hold commas.
local function add_servers(options, text)
    if text:find(",", 1, true) and not text:find("/", 1, true) then
        for word in (text .. ","):gmatch("([^,]*),") do
            if word == "" then
                return nil, ("an address is missing in '%.80s'"):format(text)
            end
            local ok, problem = add_servers(options, word)
            if not ok then
                return nil, problem
            end
        end
        return true
    end
    local files = options.files
    local addresses, problem = names.resolve(text, { environment = files.environment, read_file = files.read })
    if not addresses then
        return nil, problem
    elseif addresses == text then
        return add_address(options, text)
    end
    for one in addresses:gmatch("[^,]+") do
        local ok, wrong = add_address(options, one)
        if not ok then
            return nil, wrong
        end
    end
    return true
end

local function number_of(text, least, most)
    local number = units.parse_decimal(text)
    return number and number >= least and number <= most and number or nil
end

local function take_delay(options, text)
    local seconds = number_of(text, LEAST_S, MOST_S)
    options.interval_s = seconds and (seconds * 1000 + 0.5) // 1 / 1000
    return seconds, ("--delay takes seconds from 0.1 to 3600, not '%.40s'"):format(text)
end

local function take_snapshots(options, text)
    options.snapshots = text:find("^%d+$") and number_of(text, 1, MOST_SNAPSHOTS)
    return options.snapshots, ("--iterations takes a number from 1 to %d, not '%.40s'"):format(MOST_SNAPSHOTS, text)
end

local function take_at(options, text)
    options.at_s = number_of(text, 0, 1e9)
    return options.at_s, ("--at takes seconds from the beginning, not '%.40s'"):format(text)
end

local function take_theme(options, text)
    options.theme = find.place(cells.themes, text)
    return options.theme,
        ("there is no theme '%.40s': default, light, colour-blind, high-contrast, mono"):format(text)
end

local function take_mouse(options, text)
    options.mouse = text
    return find.place(MOUSE, text), ("mouse is yes, no or auto, not '%.40s'"):format(text)
end

--- "user password" from the first line of a file of users, which may have one of slated's roles behind the password, as
--- memcached and slated read it; or nil and a message.
function M.credentials(text, path)
    local line = text:match("^[^\r\n]*")
    local before, role = line:match("^(.+):([^:]*)$")
    if before and before:find(":", 1, true) and (role == "read" or role == "write" or role == "admin") then
        line = before
    end
    local user, password = line:match("^([^:]+):(.+)$")
    if not user or #line > CREDENTIALS_BYTES or line:find(" ", 1, true) then
        return nil, ("the first line of %.80s is not user:password of at most %d bytes"):format(path, CREDENTIALS_BYTES)
    end
    return user .. " " .. password
end

local function take_password_file(options, path)
    local text, problem = options.files.read_secret(path, CREDENTIALS_BYTES + 10)
    if not text or text == "" then
        return nil, ("cannot read the password in %.80s: %s"):format(path, problem or "it is empty")
    end
    options.credentials, problem = M.credentials(text, path)
    return options.credentials, problem
end

-- A function that takes the path of a certificate or of a key.
local function tls_path(field)
    return function(options, path)
        options[field] = path
        return path ~= "" and #path <= TLS_PATH_BYTES, ("'%.40s' is no path of a certificate or key"):format(path)
    end
end

-- letter, name, argument (nil: a switch), whether the file of settings may have it, help; take: a function as above;
-- nil: the switch or the argument is stored under the name, with _ for -.
local ROWS <const> = {
    { "s", "server", "ADDRESS", true,
        "host, host:port, [v6]:port, tls://host:port, /path of a UNIX socket; dns:name:port or file:path for several "
        .. "servers; or a name in ~/.config/slate/servers (127.0.0.1:11211); may be given often", take = add_servers },
    { "d", "delay", "SECONDS", true, "time between refreshes, 0.1 to 3600 (1)", take = take_delay },
    { "b", "batch", nil, false, "print plain text instead of opening the console" },
    { "n", "iterations", "N", false, "batch mode: how many snapshots to print (1)", take = take_snapshots },
    { "j", "json", nil, false, "batch mode with one JSON object a line" },
    { "v", "csv", nil, false, "batch mode with the table of classes as comma-separated values" },
    { "w", "record", "FILE", false, "append every snapshot to a recording, as slatectl does" },
    { "p", "replay", "FILE", false, "show a recording in place of a server" },
    { "t", "at", "SECONDS", false, "replay: begin paused, this many seconds after the beginning", take = take_at },
    { "l", "audit-log", "FILE", false, "the record of changes ($SLATE_AUDIT, $XDG_STATE_HOME/slate/audit.log, or below "
        .. "~/.local/state)" },
    { "P", "password-file", "FILE", true, "log in with the user:password in the first line of the file",
        take = take_password_file },
    { "S", "tls", nil, true, "speak TLS with every server, as with tls:// before its name" },
    { "A", "tls-ca", "FILE", true, "certificates to trust ($SLATE_TLS_CA, or the system's)", take = tls_path "tls_ca" },
    { "E", "tls-cert", "FILE", true, "client certificate, for a server that requires one ($SLATE_TLS_CERT)",
        take = tls_path "tls_cert" },
    { "K", "tls-key", "FILE", true,
        "key of the client certificate ($SLATE_TLS_KEY, or in the file of the certificate)",
        take = tls_path "tls_key" },
    { "r", "read-only", nil, true, "never send a command that changes the server" },
    { "a", "ascii", nil, true, "draw with ASCII only" },
    { "m", "mono", nil, true, "no colours; also when NO_COLOR is set" },
    { "C", "theme", "NAME", true, "default, light, colour-blind, high-contrast or mono", take = take_theme },
    { "M", "mouse", "WHEN", true, "yes, no, or auto: not over ssh (auto)", take = take_mouse },
    { "N", "no-state", nil, true, "begin with the defaults, not with the state of the last run, and keep no state" },
    { "c", "config", "FILE", false, "settings to read in place of the usual file" },
    { "D", "describe", nil, false, "print the tables of options, keys, columns and exit codes, tab-separated" },
    { "h", "help", nil, false, "print this text" },
    { "V", "version", nil, false, "print the version" },
}
local BY_LETTER <const>, BY_NAME <const> = {}, {}
for _, row in ipairs(ROWS) do
    row.letter, row.name, row.argument, row.is_in_file, row.help = table.unpack(row, 1, 5)
    BY_LETTER[row.letter], BY_NAME[row.name] = row, row
end

local function take(options, row, argument)
    if row.take then
        local ok, problem = row.take(options, argument)
        return ok and true, problem
    end
    options[row.name:gsub("%-", "_")] = argument or true
    return true
end

-- The row of a long option: of its name, or of the only name that begins so.
local function row_of(name)
    local found = BY_NAME[name]
    for _, row in ipairs(found and {} or ROWS) do
        if row.name:sub(1, #name) == name then
            if found then
                return nil
            end
            found = row
        end
    end
    return found
end

-- Splits words as getopt_long does: calls option(row, argument, word) and operand(word), until one returns false.
-- A row of nil: there is no such option; an argument of nil: none is there.
local function split(words, option, operand)
    local i, goes_on, options_end = 1, true, false
    -- The argument of an option: the rest of its word, or else the next word.
    local function argument_of(row, rest)
        if row.argument and not rest then
            i = i + 1
            rest = words[i]
        end
        return rest
    end
    while goes_on and i <= #words do
        local word = words[i]
        local name, value = word:match("^%-%-([^=]+)=?(.*)$")
        if options_end or word == "-" or word:sub(1, 1) ~= "-" then
            goes_on = operand(word)
        elseif word == "--" then
            options_end = true
        elseif name then
            local row = row_of(name)
            local has_value = word:find("=", 1, true) ~= nil
            row = row and (row.argument or not has_value) and row or nil
            goes_on = option(row, row and argument_of(row, has_value and value or nil), word)
        else
            local at = 2
            while goes_on and at <= #word do
                local row = BY_LETTER[word:sub(at, at)]
                local rest = row and row.argument and at < #word and word:sub(at + 1) or nil
                goes_on = option(row, row and argument_of(row, rest), word)
                at = rest and #word + 1 or at + 1
            end
        end
        i = i + 1
    end
end

local PRINTS <const> = { describe = true, help = true, version = true }

-- The path in --config: its file is read before the other options. Then true if the words only print and end, for which
-- no file is read.
local function config_in(words)
    local path, only_prints
    split(words, function(row, argument)
        path = row and row.name == "config" and argument or path
        only_prints = only_prints or row and PRINTS[row.name]
        return true
    end, function() return true end)
    return path, only_prints
end

-- Takes a setting of the file: its name is a long option's, and a switch takes yes or no.
local function take_setting(options, name, value)
    local row = BY_NAME[name]
    if not (row and row.is_in_file) then
        return nil, ("there is no setting '%.40s'; man slatetop lists them"):format(name)
    elseif row.argument or value == "yes" then
        return take(options, row, row.argument and value)
    end
    return value == "no", ("%s is yes or no, not '%.40s'"):format(name, value)
end

-- Reads the file of settings: the given one, or else the usual one, which need not be there. A file that cannot be read
-- may say read-only, so it ends the program.
local function read_config(options, given, only_prints)
    local path = given or places.path("options", options.files.environment)
    if not path or only_prints then
        return true
    end
    local text, problem, is_missing = settings_file.read(options.files, path)
    if text then
        return settings_file.each(text, path, function(name, value) return take_setting(options, name, value) end)
    end
    return not given and is_missing or nil, problem .. ": its settings, such as read-only, are unknown"
end

local function read_words(options, words)
    local problem
    split(words, function(row, argument, word)
        if not row then
            problem = ("unknown option '%.40s'"):format(word)
        elseif row.argument and not argument then
            problem = ("option '%.40s' needs an argument"):format(word)
        else
            local ok, wrong = take(options, row, argument)
            problem = not ok and wrong or nil
        end
        return not problem
    end, function(word)
        local ok, wrong = add_servers(options, word)
        problem = not ok and wrong or nil
        return not problem
    end)
    return not problem, problem
end

-- Checks that the options fit together, and fills in the usual server and TLS.
local function check_together(options)
    local servers = options.servers
    if options.replay and (#servers > 0 or options.record) then
        return nil, "--replay takes no server and records nothing"
    elseif options.json and options.csv then
        return nil, "--json and --csv exclude each other"
    elseif options.at_s and not options.replay then
        return nil, "--at needs --replay"
    elseif not options.replay and #servers == 0 then
        add_address(options, "")
    end
    for _, server in ipairs(options.tls and servers or {}) do
        local ok, problem = address.with_tls(server)
        if not ok then
            return nil, problem
        end
    end
    if options.record and (#servers > 1 or servers[1].is_list) then
        return nil, "--record takes one server, so that a recording is about one"
    end
    return options
end

--- Reads the file of settings, then the words of the command line, which count for more: servers named there take the
--- place of those in the file. Returns the options, or nil and one sentence:
---
--- `servers` (of slate.console.address; none only with `replay`), `interval_s`, `snapshots`, `theme` (index in
--- cells.themes; nil: none is named), `mouse` (auto, yes, no), `credentials` ("user password"), and those of ROWS by
--- name: switches true or nil, arguments as written.
function M.parse(words, files)
    local options = { files = files, servers = {}, interval_s = 1, snapshots = 1, mouse = "auto" }
    local ok, problem = read_config(options, config_in(words))
    if not ok then
        return nil, problem
    end
    local in_file = options.servers
    options.servers = {}
    ok, problem = read_words(options, words)
    if not ok then
        return nil, problem
    end
    if #options.servers == 0 and not options.replay then
        options.servers = in_file
    end
    options.batch = options.batch or options.json or options.csv
    return check_together(options)
end

--- The files of certificates and keys, and the password, as slate.console.link.access takes them. Options count for
--- more than the environment.
function M.access(options)
    local function path_of(given, variable)
        local named = options.files.environment(variable)
        return given or named ~= "" and named or nil
    end
    return { credentials = options.credentials, ca = path_of(options.tls_ca, "SLATE_TLS_CA"),
        cert = path_of(options.tls_cert, "SLATE_TLS_CERT"), key = path_of(options.tls_key, "SLATE_TLS_KEY") }
end

local HELP_COLUMN <const>, HELP_WIDTH <const> = 27, 80

local function long_form(row)
    return row.argument and ("--%s %s"):format(row.name, row.argument) or "--" .. row.name
end

--- The text of --help.
function M.help()
    local lines = { "usage: slatetop [options] [ADDRESS ...]",
        "A console for slated and memcached: shows slab classes and moves pages.", "" }
    for _, row in ipairs(ROWS) do
        lines[#lines + 1] = ("  -%s, %-20s %s"):format(row.letter, long_form(row),
            wrap(row.help, HELP_COLUMN, HELP_WIDTH):sub(HELP_COLUMN + 1))
    end
    lines[#lines + 1] = "\nIn the console F1 lists the keys, and ? explains the figures.\n\nExit status:"
    for _, row in ipairs(EXIT_ROWS) do
        lines[#lines + 1] = ("  %3d  %s"):format(table.unpack(row))
    end
    return table.concat(lines, "\n") .. "\n"
end

--- The tables of options, keys, columns, rates and exit codes as tab-separated lines: kind, name, (key), meaning.
function M.describe()
    local keys = require "slate.console.keys"
    local lines = {}
    local function add(...)
        lines[#lines + 1] = table.concat({ ... }, "\t")
    end
    for _, row in ipairs(ROWS) do
        add("option", ("-%s, %s"):format(row.letter, long_form(row)), row.help)
    end
    for _, row in ipairs(ROWS) do
        if row.is_in_file then
            add("setting", row.name, row.help)
        end
    end
    for _, theme in ipairs(cells.themes) do
        add("choice", "--theme", theme)
    end
    for _, word in ipairs(MOUSE) do
        add("choice", "--mouse", word)
    end
    for _, row in ipairs(keys.rows) do
        add("key", keys.names(row), row.help)
    end
    for _, column in ipairs(require("slate.console.draw.class_columns").LIST) do
        add("column", column.head, column.name, column.meaning)
    end
    for _, column in ipairs(require("slate.console.draw.fleet_table").COLUMNS) do
        add("fleet", column.head, column.name, column.meaning)
    end
    for _, metric in ipairs(require("slate.console.metrics").OF_SERVER) do
        add("rate", metric.label, metric.name, metric.meaning)
    end
    for _, row in ipairs(EXIT_ROWS) do
        add("exit", table.unpack(row))
    end
    return table.concat(lines, "\n") .. "\n"
end

return M
