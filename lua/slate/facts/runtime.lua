-- SPDX-License-Identifier: BSD-3-Clause
--- Settings of a running server: read, changed and verified. What each of them takes is in slate.facts.settings.
local settings = require "slate.facts.settings"

local M = {}

--- The settings as the server writes them, those of slated alone and its eviction policies among them: values and what
-- slated tells besides, of slate.facts.settings.values; or nil, message, code.
function M.read(client)
    local groups, refused, code = client:stats_groups({ "settings", "config", "policies" })
    if not groups then
        return nil, refused, code
    elseif not groups.settings then
        return nil, table.unpack(refused.settings, 1, 2)
    end
    return settings.values(groups)
end

-- What a server forbids, rather than finds wrong.
local FORBIDDEN <const> = { "not allowed", "disabled", "authent", "cannot change" }

--- What is to blame for an order that a server knows and refused, by what it answered: "usage", a word of it is wrong;
-- "refused", such orders are not allowed; or "unsupported", its store has nothing that they would change.
function M.blame(answer)
    if answer:find("needs? %-%-store=") then
        return "unsupported"
    end
    for _, word in ipairs(FORBIDDEN) do
        if answer:find(word, 1, true) then
            return "refused"
        end
    end
    return "usage"
end

--- Says what is wrong with an order that the server knows by its answer: a message, and a code of `blame` or of
-- slate.wire.client.
function M.refusal(line)
    local limit_problem = line:match("^MEMLIMIT_[%u_]+ (.+)$") -- memcached's words for cache_memlimit
    if limit_problem then
        return "the server takes no such limit: " .. limit_problem, "usage"
    end
    local message, code = require("slate.wire.client").refusal(line)
    if code == "refused" or code == "unsupported" then
        code = M.blame(line)
    end
    return message or "unexpected reply: " .. line, code or "protocol"
end

--- Sends a change (of slate.facts.settings.plan) and reads the setting back: true; or nil, message, code when the
-- server refused it or does not have the value afterwards. change.is becomes what the server says.
function M.apply(client, change)
    for _, line in ipairs(change.lines) do
        local reply, message, code = client:command(line)
        if not reply then
            return nil, message, code
        elseif reply ~= "OK" then
            message, code = M.refusal(reply)
            return nil, ("%s stays %s: %s"):format(change.name, change.was, message), code
        end
    end
    local values, message, code = M.read(client)
    if not values then
        return nil, message, code
    end
    local now = settings.value(values, change.name, change.is)
    -- With auto, classes keep their own.
    local has_whole = change.name == "policy" and (now or ""):match("^%S+") == change.is
    if not has_whole and not settings.same(change.name, change.is, now or "") then
        return nil, ("the server answered OK, but %s is %s"):format(change.name, now), "no"
    end
    change.is = now
    return true
end

return M
