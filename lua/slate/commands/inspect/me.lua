-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl me KEY: the server's data about one item, without counting as a use.
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("key", "The key."):argname("KEY")
end

-- The item of an answer's words "KEY exp=-1 la=3 cas=7 fetch=no cls=5 size=120".
local function item_of(words)
    local fields = {}
    for i = 2, #words do
        local name, value = words[i]:match("^(%l+)=(%S+)$")
        if name then
            fields[name] = value
        end
    end
    local expires_in_s = math.tointeger(tonumber(fields.exp))
    if expires_in_s and expires_in_s < -1 then -- memcached 1.6.18 reports the time with the opposite sign
        expires_in_s = -expires_in_s
    end
    return {
        class = math.tointeger(tonumber(fields.cls)), size_bytes = math.tointeger(tonumber(fields.size)),
        expires_in_s = expires_in_s and expires_in_s >= 0 and expires_in_s or nil,
        idle_s = math.tointeger(tonumber(fields.la)), cas = fields.cas,
        fetched = fields.fetch and fields.fetch == "yes",
    }
end

local function out_text(context, item)
    context:out(context:pairs({
        { "class", item.class or "-" },
        { "size", item.size_bytes and units.plural(item.size_bytes, "byte") .. " with its header and key" or "-" },
        { "expires", item.expires_in_s and "in " .. units.age(item.expires_in_s) or "never" },
        { "last used", item.idle_s and units.age(item.idle_s) .. " ago" or "-" },
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
    local item = item_of(reply.flags)
    if context.json then
        item.server, item.key = context.server.name, parsed.key
        context:out_json("slate/item/1", item)
    else
        out_text(context, item)
    end
    return 0
end

return M
