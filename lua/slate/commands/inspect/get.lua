-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl get KEY: the value of one key.
local must = require("slate.base.failure").must
local requests = require "slate.wire.request"

local M = {}

function M.declare(command)
    command:argument("key", "The key."):argname("KEY")
end

-- JSON is text: a value that is no text becomes base64.
local function out_json(context, key, item)
    local is_text = utf8.len(item.value) ~= nil
    context:out_json("slate/get/1", {
        server = context.server.name, key = key, bytes = #item.value, flags = item.flags, cas = item.cas,
        value = is_text and item.value or nil, value_base64 = not is_text and require("mime").b64(item.value) or nil,
    })
end

-- A terminal gets printable text, because it would obey control bytes of a value. A pipe gets the bytes unchanged.
local function out_value(context, value)
    if not context:is_terminal(1) then
        context:out(value)
        return
    end
    for line in (value .. "\n"):gmatch("(.-)\r?\n") do
        context:out(requests.printable(line), "\n")
    end
end

--- Exits with 1 if the server has no such item. As with every get, the read counts as a use.
function M.run(context, parsed)
    local client = must(context:connect())
    local item, message, code = client:get(parsed.key)
    if item == nil then
        return nil, message, code
    elseif not item then
        return nil, ("no item has the key '%s'"):format(parsed.key), "no"
    elseif context.json then
        out_json(context, parsed.key, item)
    else
        out_value(context, item.value)
    end
    return 0
end

return M
