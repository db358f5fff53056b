-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl delete KEY: removes one item.
local must = require("slate.base.failure").must

local M = {}

function M.declare(command)
    command:argument("key", "The key."):argname("KEY")
end

--- Exits with 1 if there was no such item.
function M.run(context, parsed)
    local client = must(context:connect())
    local was_there, message, code = client:delete(parsed.key)
    if was_there == nil then
        return nil, message, code
    elseif not was_there then
        return nil, ("no item has the key '%s'"):format(parsed.key), "no"
    elseif context.json then
        context:out_json("slate/delete/1", { server = context.server.name, key = parsed.key })
    else
        context:out(("deleted %s\n"):format(parsed.key))
    end
    return 0
end

return M
