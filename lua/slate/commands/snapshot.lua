-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl snapshot [-o FILE]: everything the server says of itself at one moment, a recording of one line.
local must = require("slate.base.failure").must

local M = {}

function M.declare(command)
    command:option("-o --output", "The file to write; it must not exist. Default: standard output"):argname("FILE")
end

function M.run(context, parsed)
    local now = must(context:look())
    if not parsed.output then
        context:out(require("slate.facts.snapshot").encode(now), "\n")
        return 0
    end
    local writer, message, code = require("slate.facts.record").create(parsed.output)
    if not writer then
        return nil, (message:gsub(", or %-%-append to continue it", "")), code
    end
    must(writer:append(now))
    writer:close()
    context:say("a snapshot was written to " .. parsed.output)
    return 0
end

return M
