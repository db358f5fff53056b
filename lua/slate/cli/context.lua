-- SPDX-License-Identifier: BSD-3-Clause
--- The context of a sub-command of slatectl: its options, its connection, and its output.
-- Standard output has data, standard error messages.
local gather = require "slate.base.gather"

local M = {}

local Context = {}
Context.__index = Context
Context.__name = "slate.cli.context"

--- options: servers (a list, from units.parse_server), server, its first, and lists, the words for them (of
-- slate.wire.addresses.parse), is_named, true if any server was named; timeout_s; trace and read_only (booleans);
-- format ("json", "jsonl", "csv" or nil for text); color ("auto", "always" or "never"; nil is auto); and the launcher's
-- version and bin_dir.
-- The field json is true if the output is for a program. lines: a list that gets the output in place of standard
-- output.
function M.new(options)
    options.json = options.format ~= nil
    options.command = {} -- undo takes all changes of this command as one: slate.facts.audit
    return setmetatable(options, Context)
end

--- A context like this one for another server, whose name begins each of its notes.
function Context:of(server)
    local own = gather.copy(self)
    own.server, own.servers, own.who = server, { server }, nil
    own.print_note = function(_, text) self:print_note(server.name .. ": " .. text) end
    return setmetatable(own, Context)
end

local function check_output(ok, problem)
    if not ok then
        error({ message = "cannot write the output: " .. problem, code = "output" }, 0)
    end
end

--- Writes to standard output. A closed pipe or a full disk ends the program with a raised table { message =,
-- code = "output" }, which slate.cli.main turns into an exit code.
function Context:out(...)
    if self.lines then
        table.move({ ... }, 1, select("#", ...), #self.lines + 1, self.lines)
        return
    end
    check_output(io.stdout:write(...))
end

--- Flushes the output, so that its reader gets whole records.
function Context:flush()
    if not self.lines then
        check_output(io.stdout:flush())
    end
end

--- Prints a line, or several, on standard error, each with the program's name.
function Context.print_note(_, text)
    io.stderr:write("slatectl: ", (require("slate.base.table").for_terminal(text):gsub("\n", "\nslatectl: ")), "\n")
end

local KEY_ORDER <const> = { "schema", "server", "version", "slated", "time_s", "id", "name" }

--- Prints one JSON document as a line, or its rows as lines of JSON or CSV. `fields` gets the schema's name.
function Context:out_json(schema, fields)
    fields.schema = schema
    if self.format == "json" then
        self:out(require("slate.base.json").encode(fields, KEY_ORDER), "\n")
    else
        local rows = require "slate.cli.rows"
        self:out(self.format == "csv" and rows.csv(fields, not self.has_heading) or rows.jsonl(fields, KEY_ORDER))
        self.has_heading = true
    end
    self:flush()
end

--- Prints a document: as out_json if that is requested, else by out_text(). Returns 0, the exit code of success.
function Context:answer(schema, fields, out_text)
    if self.json then
        self:out_json(schema, fields)
    else
        out_text()
    end
    return 0
end

local function tracer(mark)
    return function(line) io.stderr:write(mark, (line:gsub("%c", "?")), "\n") end
end

--- The servers that a command's arguments name; without arguments, those of --server. Or nil, message, code.
function Context:servers_of(names)
    if #names == 0 then
        return self.servers
    end
    return require("slate.wire.addresses").expand(names)
end

--- A context for each server of `servers_of`, each server once. Or nil, message, code.
function Context:contexts_of(names)
    local servers, message, code = self:servers_of(names)
    if not servers then
        return nil, message, code
    end
    local list, seen = {}, {}
    for _, server in ipairs(servers) do
        if not seen[server.name] then
            seen[server.name], list[#list + 1] = true, self:of(server)
        end
    end
    return list
end

--- Looks up the words of --server again: names whose addresses change, files that are written again. A failure is
-- printed once, and the servers stay the same.
function Context:renew_servers()
    local servers, message = require("slate.wire.addresses").expand(self.lists)
    if servers then
        self.servers = servers
    elseif message ~= self.renew_problem then
        self:print_note(message .. "; the servers stay those of before")
    end
    self.renew_problem = message
end

--- Connects again, to the server or to another one. Returns the client, or nil, message, code.
function Context:connect(server)
    local options, message, code = require("slate.wire.access").options(os.getenv)
    if not options then
        return nil, message, code
    end
    options.timeout_s, options.read_only = self.timeout_s, self.read_only
    options.trace = self.trace and tracer("> ") or nil
    options.trace_reply = self.trace and tracer("< ") or nil
    return require("slate.wire.client").connect(server or self.server, options)
end

--- Connects to the server or to another one, and identifies it: client and { version, slated }, or nil, message, code.
function Context:meet(server)
    local client, message, code = self:connect(server)
    local who
    if client then
        who, message, code = client:identify()
    end
    if not who then
        return nil, message, code
    end
    return client, who
end

--- Connects to the server as `meet` does, and stores its identity in `who`.
function Context:open()
    local client, who, code = self:meet()
    self.who = client and who or self.who
    return client, who, code
end

--- Gives a client whose connection broke another one. why: the message of the break. True, or nil, message, code.
function Context:reopen(client, why)
    self:print_note(why .. ": what came of the last command is read back")
    local other, message, code = self:open()
    if not other then
        return nil, message, code
    end
    client:take_over(other)
    return true
end

--- The snapshots of all recordings with these paths, in order of time, or nil, message, code.
function Context:recordings(paths)
    local record, all = require "slate.facts.record", {}
    for _, path in ipairs(paths) do
        local list, skipped, problem = record.load(path)
        if not list then
            return nil, skipped, problem
        elseif skipped > 0 then
            local lines = require("slate.base.units").plural(skipped, "damaged line")
            self:print_note(("%s: %s skipped; %s"):format(path, lines, problem))
        end
        table.move(list, 1, #list, #all + 1, all)
    end
    record.sort(all)
    return all
end

--- Takes a snapshot with settings over a client from `open`.
function Context:snapshot(client)
    local one, message, code = require("slate.facts.snapshot").take(client, {
        server = self.server.name, slated = self.who and self.who.slated, settings = true, before = self.taken,
    })
    self.taken = one or self.taken
    return one, message, code
end

--- A snapshot of the server, over a connection of its own; or nil, message, code.
function Context:observe()
    local client, message, code = self:open()
    if not client then
        return nil, message, code
    end
    local now
    now, message, code = self:snapshot(client)
    client:close()
    return now, message, code
end

--- Takes two snapshots `interval_s` apart, for rates; only one if interval_s is 0. Samples between them are for the
-- judge of starving classes. Returns the later one, the earlier one, the rates, the judge and the observer of all of
-- them (these four nil for a single one); or nil, message, code.
function Context:pair(client, interval_s)
    local before, message, code = self:snapshot(client)
    if not before or interval_s == 0 then
        return before, message, code
    end
    local observer, after = require("slate.judge.view").observer(), nil
    observer.judged_moves = require("slate.facts.audit").judged_moves_on_record(self.server.name)
    local starving <const> = require "slate.judge.starving"
    observer:observe(before)
    local samples, step_s = starving.samples_in(interval_s)
    local snapshot <const> = require "slate.facts.snapshot"
    local taken, more_s = 0, 0
    while taken < samples or more_s > 0 and taken < samples + snapshot.LATE_MOST do
        require("slate.base.clock").sleep(taken < samples and step_s or math.max(step_s, more_s))
        after, message, code = self:snapshot(client)
        if not after then
            return nil, message, code
        end
        taken, more_s = taken + 1, snapshot.untimed_s(before, after)
        if snapshot.is_timed(observer.now, after) then
            observer:observe(after)
            if not interval_s and not starving.has_to_observe(observer) then
                break
            end
        end
    end
    return after, before, snapshot.rates(before, after), observer.judge, observer
end

--- True if a standard stream of ours (1 or 2) is a terminal.
function Context:is_terminal(stream)
    self.terminals = self.terminals or {}
    if self.terminals[stream] == nil then
        self.terminals[stream] = require("slate.base.shell").run("test -t " .. stream) == true
    end
    return self.terminals[stream]
end

local INKS <const> = { head = "1", bad = "1;31", warn = "1;33", good = "32", dim = "2" }

--- Colours are for people at a terminal with colours: never in a pipe or a file, unless by --color=always, and never in
-- a document.
function Context:has_colour()
    if self.colours == nil then
        local no_colour, terminal = os.getenv("NO_COLOR"), os.getenv("TERM")
        local is_wanted = (no_colour == nil or no_colour == "") and terminal ~= nil and terminal ~= ""
            and terminal ~= "dumb"
        self.colours = not self.json and (self.color == "always"
            or self.color ~= "never" and is_wanted and self:is_terminal(1))
    end
    return self.colours
end

--- A text in a colour: "head", "bad", "warn", "good" or "dim"; unchanged without an ink, or without colours. The words
-- alone must be enough.
function Context:paint(ink, text)
    return ink and text ~= "" and self:has_colour() and ("\27[%sm%s\27[0m"):format(INKS[ink], text) or text
end

--- A table of slate.base.table as text. ink_of: a function from a row's number to its colour, or nil.
function Context:table(columns, rows, ink_of)
    local row = -1
    return (require("slate.base.table").render(columns, rows):gsub("[^\n]+", function(line)
        row = row + 1
        return self:paint(row == 0 and "head" or ink_of and ink_of(row), line)
    end))
end

--- Name and value pairs of slate.base.table as text, the names in the colour of heads.
function Context:pairs(list, is_prose)
    return require("slate.base.table").pairs(list, is_prose, function(name) return self:paint("head", name) end)
end

--- Writes a table.
function Context:out_table(columns, rows, ink_of)
    self:out(self:table(columns, rows, ink_of))
end

--- The columns and rows of the terminal, or nil.
function Context.terminal_size(_)
    local pipe <close> = io.popen("stty size </dev/tty 2>/dev/null")
    local rows, columns = (pipe and pipe:read("a") or ""):match("^(%d+) (%d+)")
    return math.tointeger(tonumber(columns)), math.tointeger(tonumber(rows))
end

return M
