-- SPDX-License-Identifier: BSD-3-Clause
--- The candidates for a word of a command line: for the shells' completion.
--
-- slatectl's own words come from its parser, those of the other programs from their --describe. Classes and settings
-- come from the server, which has SERVER_TIMEOUT_S to answer: without an answer there are none.
local find = require "slate.base.find"
local gather = require "slate.base.gather"

local M = {}

--- A candidate that means: complete names of files.
M.FILES = ":files"

M.SERVER_TIMEOUT_S = 0.3

-- A candidate: { word, description }.
local function row(word, about)
    return { word, about or "" }
end

-- A list made of a function's result for each element of another list.
local function each(list, make)
    local rows = {}
    for i, one in ipairs(list) do rows[i] = make(one) end
    return rows
end

local function rows_of(words) return each(words, row) end

-- Lists of rows by the name of an argument; from: { context =, server = text or nil, word = the word to complete }.
local VALUES = {}

-- A client of the server; of the first one if there are several, or a name stands for several.
local function client_of(from)
    local server = from.server or from.context.server
    if type(server) == "string" then
        local first = require("slate.wire.names").resolve(server:match("^[^,]*")) or ""
        server = require("slate.base.units").parse_server(first:match("^[^,]*"))
    end
    local options = require("slate.wire.access").options(os.getenv)
    return server and options and require("slate.wire.client").connect(server, {
        timeout_s = M.SERVER_TIMEOUT_S, user = options.user, password = options.password, tls = options.tls })
end

-- True if the server answers and is no slated.
local function is_memcached(from)
    local client <close> = client_of(from)
    local who = client and client:identify()
    return who and not who.slated
end

local function stats_of(from, group)
    local client <close> = client_of(from)
    return client and client:stats(group) or {}
end

function VALUES.CLASS(from)
    local rows = {}
    for _, line in ipairs(stats_of(from, "slabs")) do
        local id, bytes = line:match("^STAT (%d+):chunk_size (%d+)")
        if id then
            rows[#rows + 1] = row(id, ("chunks of %s bytes"):format(bytes))
        end
    end
    return rows
end

function VALUES.SRC(from)
    return { row("any", "the server's choice"), row("pool", "the global page pool"),
        table.unpack(VALUES.CLASS(from)) }
end

function VALUES.DST(from)
    return { row("pool", "the global page pool"), table.unpack(VALUES.CLASS(from)) }
end

function VALUES.PART(from)
    return each(stats_of(from, "settings"), function(line) return row(line:match("^STAT (%S+) (.*)")) end)
end

-- The choices of a setting, if it has any.
local function choices_of(from, name)
    local settings = require "slate.facts.settings"
    local known = settings.row(name)
    if known and known == settings.row("slab_automove") then
        return VALUES.MODE(from)
    end
    local _, traits = settings.values({ config = stats_of(from, "config") })
    local _, _, choices = require("slate.facts.settings_change").limits(known or { name = name }, traits)
    local rows = {}
    for choice in (choices or ""):gmatch("[^|]+") do
        rows[#rows + 1] = row(known and settings.shown_choices(known, choice) or choice)
    end
    return rows
end

-- Names, each with "=", after which a value follows; once the word has a "=", values.
VALUES["NAME=VALUE"] = function(from)
    local name = from.word:match("^([%w_]+)=")
    local rows = name and choices_of(from, name) or VALUES.PART(from)
    for _, one in ipairs(rows) do
        one[1] = name and name .. "=" .. one[1] or one[1] .. "="
    end
    rows[#rows + 1] = not name and row("policy=", "slated's eviction policy") or nil
    return rows
end

function VALUES.POLICY()
    local rows = rows_of(require("slate.policy.file").names())
    rows[#rows + 1] = row(M.FILES)
    return rows
end

function VALUES.LUA_MODE()
    return each(require("slate.policy.file").names(), function(name) return row("lua:" .. name, "a policy in Lua") end)
end

function VALUES.MODE(from)
    local rows, is_stock = {}, is_memcached(from)
    for _, mode in ipairs(require("slate.facts.automove").MODES) do
        rows[#rows + 1] = (mode.number or not is_stock and mode.name ~= "lua:") and row(mode.name) or nil
    end
    return is_stock and rows or table.move(VALUES.LUA_MODE(), 1, 99, #rows + 1, rows)
end

-- Servers with names, the default, that of SLATE_SERVER, and those that slatectl or slatetop changed before.
function VALUES.SERVER()
    local seen, rows = {}, {}
    local function add(name, about)
        if name and not seen[name] then
            seen[name] = true
            rows[#rows + 1] = row(name, about)
        end
    end
    local names = require "slate.wire.names"
    local addresses, order = names.load()
    for _, name in ipairs(addresses and order or {}) do
        add(name, addresses[name])
    end
    add(os.getenv("SLATE_SERVER"), "SLATE_SERVER")
    add("127.0.0.1:11211", "the default")
    local audit = require "slate.facts.audit"
    for _, entry in ipairs(audit.read(audit.path(os.getenv)) or {}) do
        add(type(entry.server) == "string" and entry.server, "changed before")
    end
    rows[#rows + 1] = row(M.FILES) -- sockets
    return rows
end
VALUES.ADDRESS = VALUES.SERVER

function VALUES.COMMAND()
    return each(require("slate.cli.command_line").COMMANDS, function(one) return row(one.name, one.summary) end)
end

function VALUES.TERM()
    return each(require("slate.facts.explain").list(), function(one)
        return row(type(one) == "table" and one.name or one)
    end)
end

function VALUES.GROUP(from)
    local stats = require "slate.facts.stats"
    local rows, more = rows_of(stats.GROUPS), is_memcached(from) and {} or rows_of(stats.SLATED_GROUPS)
    return table.move(more, 1, #more, #rows + 1, rows)
end

for _, name in ipairs({ "FILE", "FOLDER", "TRACE", "OLD", "NEW", "PATH", "file", "path" }) do
    VALUES[name] = function() return { row(M.FILES) } end
end

-- Arguments whose name tells a reader their content, by the argument with the same candidates.
local BY_ARGUMENT = { term = "TERM", setting = { set = "NAME=VALUE" } }

local function values_of(argument, command, from)
    if argument.choices then
        return rows_of(argument.choices)
    end
    local name = BY_ARGUMENT[argument.name]
    name = type(name) == "table" and name[command] or name
    local values = VALUES[type(name) == "string" and name or argument.argname]
    return values and values(from) or {}
end

-- The fields of an argparse argument or option that completion uses.
local function plain(element)
    local argname = element._argname
    return {
        name = element._name, choices = element._choices,
        argname = type(argname) == "table" and argname[1] or argname or (element._name or ""):upper(),
        most = element._maxargs, words = element._public_aliases or element._aliases, about = element._description,
    }
end

local function option_named(options, word)
    for _, option in ipairs(options) do
        if find.place(option.words, word) then
            return option
        end
    end
    return nil
end

local function option_rows(options)
    local rows = {}
    for _, option in ipairs(options) do
        for _, alias in ipairs(option.words) do
            rows[#rows + 1] = row(alias, (option.about or ""):gsub("%s+", " "):sub(1, 100))
        end
    end
    return rows
end

-- Rows for a word --OPTION=VALUE; nil if the option does not exist or takes no value.
local function of_joined(options, word, from)
    local name, rows = word:match("^(%-%-[%w-]+)="), {}
    local option = name and option_named(options, name)
    if not option or not (option.argname or option.choices) then
        return nil
    end
    for _, value in ipairs(values_of(option, nil, from)) do
        rows[#rows + 1] = value[1] ~= M.FILES and row(name .. "=" .. value[1], value[2]) or nil
    end
    return rows
end

-- The second words of commands in two words that begin with this one: "warm" of fleet-warm.
local function second_words(first)
    local rows = {}
    for _, one in ipairs(require("slate.cli.command_line").COMMANDS) do
        local second = one.name:match("^" .. first:gsub("%p", "%%%0") .. "%-(.+)$")
        rows[#rows + 1] = second and row(second, one.summary) or nil
    end
    return rows
end

local of_described

-- For slatectl: splits the words into the last word and those before it, and completes the last.
local function of_slatectl(context, words)
    local main = require "slate.cli.command_line"
    local last = words[#words] or ""
    local before = main.join_names(table.move(words, 1, #words - 1, 1, {}))
    local at = main.find_command(before)
    if at and before[at] == "bench" then -- which hands its options to another program
        return of_described(context, "slate-load", table.move(words, at + 1, #words, 1, {}))
    end
    local parser = main.parser(at and before[at])
    local options, command = each(parser._options, plain), nil
    for _, one in ipairs(parser._commands) do
        if at and one._name == before[at] then
            command = { name = one._name, arguments = each(one._arguments, plain) }
            table.move(each(one._options, plain), 1, #one._options, #options + 1, options)
        end
    end
    local from, place, i = { context = context, word = last }, 0, 1
    while i <= #before do
        local option = option_named(options, before[i])
        if option and option.most > 0 then
            from.server = option.words[1] == "-s" and before[i + 1] or from.server
            if i == #before then
                return values_of(option, nil, from)
            end
            i = i + 1
        elseif not option and at and i > at then
            place = place + 1
        end
        i = i + 1
    end
    if last:sub(1, 1) == "-" then
        return of_joined(options, last, from) or option_rows(options)
    elseif not command then
        return VALUES.COMMAND()
    end
    for _, argument in ipairs(command.arguments) do
        if place < argument.most then
            local rows = values_of(argument, command.name, from)
            return place == 0 and table.move(second_words(command.name), 1, 99, #rows + 1, rows) or rows
        end
        place = place - argument.most
    end
    return {}
end

-- The options of another program, from its --describe: { words =, argname =, choices =, sub = } each.
local function described(context, program)
    local shell = require "slate.base.shell"
    local pipe = io.popen(shell.word((context.bin_dir or ".") .. "/" .. program) .. " --describe 2>/dev/null")
    local options = {}
    for line in pipe:lines() do
        local fields = {}
        for field in (line .. "\t"):gmatch("(.-)\t") do
            fields[#fields + 1] = field
        end
        local option = { words = {}, about = fields[#fields] }
        if program == "slated" then
            for word in (" " .. fields[2]):gmatch(" (%-%-?[%w-]+)") do
                option.words[#option.words + 1] = word
            end
            option.sub = fields[2]:match("^%-o (%S+)$")
            local choices = fields[7]:find("|", 1, true) and fields[7]
            option.choices = choices and choices:gmatch("[^|]+") and {} or nil
            for word in (choices or ""):gmatch("[^|]+") do
                option.choices[#option.choices + 1] = word
            end
            local alone = fields[3] == "flag" or fields[3] == "action" or fields[3] == "count"
            option.argname = not alone and (fields[3] == "mode" and "MODE" or fields[7]) or nil
        elseif program == "slatetop" and fields[1] == "option" then
            for word in fields[2]:gmatch("%-%-?[%w-]+") do
                option.words[#option.words + 1] = word
            end
            option.argname = fields[2]:match(" (%u+)$")
        elseif program == "slatetop" and fields[1] == "choice" then -- these lines follow the options
            local of = option_named(options, fields[2])
            of.choices = of.choices or {}
            table.insert(of.choices, fields[3])
        elseif program == "slate-load" then
            option.words[1] = "--" .. fields[1]
            option.argname = fields[2] ~= "" and fields[2] or nil
        end
        options[#options + 1] = (#option.words > 0) and option or nil
    end
    pipe:close()
    return options
end

-- Completes the last sub-option in the list of -o.
local function sub_options(options, list, from)
    local rows, head, word = {}, list:match("^(.*,)([^,]*)$")
    head, word = head or "", word or list
    local name = word:match("^([%w_]+)=")
    for _, option in ipairs(options) do
        if option.sub and name == option.sub then
            for _, value in ipairs(values_of(option, nil, from)) do
                rows[#rows + 1] = row(value[1] == M.FILES and M.FILES or head .. name .. "=" .. value[1], value[2])
            end
        elseif option.sub and not name then
            rows[#rows + 1] = row(head .. option.sub .. (option.argname and "=" or ""), option.about)
        end
    end
    return rows
end

function of_described(context, program, words)
    local options, last, before = described(context, program), words[#words] or "", words[#words - 1]
    local from = { context = context, word = last }
    local option = before and option_named(options, before)
    if program == "slated" and (before == "-o" or before == "--extended") then
        return sub_options(options, last, from)
    elseif option and option.argname then
        return values_of(option, nil, from)
    elseif last:sub(1, 1) == "-" then
        local joined = of_joined(options, last, from)
        if joined then
            return joined
        end
        local own = gather.values(options, function(one) return not one.sub and one or nil end)
        return option_rows(own)
    end
    return program == "slatetop" and VALUES.SERVER() or {}
end

--- Rows { word, description } for the last of the words, which may be empty, of a command line of `program`. Leaves out
-- rows that do not begin with that word, or that a shell would change. The word M.FILES means that files may be
-- completed, too.
function M.of(context, program, words)
    local rows = program == "slatectl" and of_slatectl(context, words) or
        (program == "slated" or program == "slatetop" or program == "slate-load")
        and of_described(context, program, words) or {}
    local last, chosen = words[#words] or "", {}
    for _, one in ipairs(rows) do
        local word = one[1]
        if word and (word == M.FILES or word:sub(1, #last) == last and not word:find("[^%w_.,:=/@%%+%-%[%]]")) then
            chosen[#chosen + 1] = one
        end
    end
    return chosen
end

return M
