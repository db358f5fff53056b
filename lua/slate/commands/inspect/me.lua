-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl me KEY: the server's data about one item, without counting as a use.
local item_facts = require "slate.facts.item"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("key", "The key."):argname("KEY")
end

local function out_text(context, item)
    context:out(context:pairs({
        { "class", item.class or "-" },
        { "size", item.size_bytes and units.plural(item.size_bytes, "byte") .. " with its header and key" or "-" },
        { "expires", item.expires_in_s and "in " .. units.age(item.expires_in_s) or "never" },
        { "last used", item_facts.last_used(item) },
        { "read", item.fetched and "since it was stored" or "not since it was stored" },
        { "cas", item.cas or "-" },
    }))
end

--- Exits with 1 if the server has no such item.
function M.run(context, parsed)
    local client = must(context:connect())
    local reply, message, code = client:meta("me", parsed.key)
    if not reply then
        return nil, code == "unsupported" and "this server does not know 'me': it needs memcached 1.6 or slated"
            or message, code
    elseif reply.status ~= "ME" then
        return nil, ("no item has the key '%s'"):format(parsed.key), "no"
    end
    local item = item_facts.parse(reply.flags)
    item.server, item.key = context.server.name, parsed.key
    return context:answer("slate/item/1", item, function() out_text(context, item) end)
end

return M
