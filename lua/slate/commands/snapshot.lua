-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl snapshot [-o FILE]: everything the server says of itself at one moment, a recording of one line.
local M = {}

function M.declare(command)
    command:option("-o --output", "The file to write; it must not exist. Default: standard output"):argname("FILE")
end

function M.run(context, parsed)
    local now, message, code = context:look()
    if not now then
        return nil, message, code
    end
    if not parsed.output then
        context:out(require("slate.facts.snapshot").encode(now), "\n")
        return 0
    end
    local writer
    writer, message, code = require("slate.facts.record").create(parsed.output)
    if not writer then
        return nil, (message:gsub(", or %-%-append to continue it", "")), code
    end
    local ok
    ok, message, code = writer:append(now)
    writer:close()
    if not ok then
        return nil, message, code
    end
    context:say("a snapshot was written to " .. parsed.output)
    return 0
end

return M
