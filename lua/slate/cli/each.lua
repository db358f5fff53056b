-- SPDX-License-Identifier: BSD-3-Clause
--- One command on many servers: it runs on all at once, and prints their outputs in the order of the servers.
local command_line = require "slate.cli.command_line"
local caught = require("slate.base.failure").caught
local gather = require "slate.base.gather"

local M = {}

-- Options for one server only: the command would not end, or the next server would overwrite the file.
local FOR_ONE <const> = { watch = "-w repeats for one server; many are shown by 'slatectl fleet'",
    output = "-o writes what one server says" }

--- Runs a command for each server.
-- command: a module of slate.commands; parsed: its arguments; options: of slate.cli.context, without the server.
-- Returns the worst exit code; or nil, message, code.
function M.run(command, parsed, servers, options)
    for name, why in pairs(FOR_ONE) do
        if parsed[name] then
            return nil, why, "usage"
        end
    end
    local contexts, tasks, terminals = {}, {}, {}
    for i, server in ipairs(servers) do
        local own = gather.copy(options, { server = server, servers = { server }, lines = {}, terminals = terminals })
        contexts[i] = require("slate.cli.context").new(own)
        tasks[i] = function() return caught(command.run, contexts[i], parsed) end
    end
    local worst, has_heading = 0, false
    for i, result in ipairs(require("slate.wire.together").run(tasks)) do
        local context, exit_code = contexts[i], result[1]
        local text = table.concat(context.lines)
        context.lines = nil
        if not context.format then
            local head = context:paint("head", ("==> %s <=="):format(context.server.name))
            context:out(i > 1 and "\n" or "", head, "\n", text)
        elseif text ~= "" then
            context:out(context.format == "csv" and has_heading and text:gsub("^[^\n]*\n", "", 1) or text)
            has_heading = true
        end
        context:flush()
        if not exit_code then
            context:print_note(tostring(result[2]))
            exit_code = command_line.EXIT[result[3]] or command_line.EXIT.internal
        end
        worst = math.max(worst, exit_code)
    end
    return worst
end

return M
