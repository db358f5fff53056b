-- SPDX-License-Identifier: BSD-3-Clause
--- Settings of a running server: read, changed and verified. slate.facts.settings_change has the values they accept.
local settings = require "slate.facts.settings"

local M = {}

--- The settings as the server writes them, with slated's own and its eviction policies: values and traits, of
-- slate.facts.settings.values; or nil, message, code. who: of Client:identify; each program is queried only for the
-- groups that it knows.
function M.read(client, who)
    local wanted = { "settings", "", "config", "policies" }
    if who then
        wanted = who.slated and { "settings", "config", "policies" } or { "settings", "" }
    end
    local groups, refused, code = client:stats_groups(wanted)
    if not groups then
        return nil, refused, code
    elseif not groups.settings then
        return nil, table.unpack(refused.settings, 1, 2)
    end
    groups.general = groups[""]
    return settings.values(groups)
end

-- Words of answers by which a server forbids an order, rather than finds it wrong.
local FORBIDDEN <const> = { "not allowed", "disabled", "authent", "cannot change" }

--- Why a server refused an order that it knows, from its answer: "usage", a word of the order is wrong; "refused", such
-- orders are not allowed; or "unsupported", the server's store has nothing that the order would change.
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

--- Turns the answer to an order that the server knows into a message, and a code of `blame` or of slate.wire.request.
function M.refusal(line)
    local request = require "slate.wire.request"
    local limit_problem = line:match("^MEMLIMIT_[%u_]+ (.+)$") -- memcached's words for cache_memlimit
    if limit_problem then
        return "the server takes no such limit: " .. request.printable(limit_problem), "usage"
    end
    local message, code = request.refusal(line)
    if code == "refused" or code == "unsupported" then
        code = M.blame(line)
    end
    return message or "unexpected reply: " .. request.printable(line), code or "protocol"
end

-- Some servers show a new value a moment after their OK: memcached's crawler stops in a thread of its own.
local SHOWN_WITHIN_S <const>, PAUSE_S <const> = 3, 0.04

--- Reads a setting back until it has the wanted value, change.is, for up to a second: true; or nil, message, code
-- ("no": it has another value), and the value that it has instead.
function M.await(client, change, who)
    local clock = require "slate.base.clock"
    local until_s = clock.steady_s() + SHOWN_WITHIN_S
    while true do
        local values, message, code = M.read(client, who)
        if not values then
            return nil, message, code
        end
        local now = settings.value(values, change.name, change.is)
        -- With s3auto, classes keep their own policies: the policy of the whole decides.
        local has_whole = change.name == "policy" and (now or ""):match("^%S+") == change.is
        if has_whole or settings.same(change.name, change.is, now or "") then
            change.is = now
            return true
        elseif clock.steady_s() > until_s then
            return nil, ("the server answered OK, but %s is %s"):format(change.name,
                settings.named(change.name, now)), "no", now
        end
        clock.sleep(PAUSE_S)
    end
end

--- Sends a change (of slate.facts.settings_change.plan) and reads the setting back: true; or nil, message, code if the
-- server refused or does not have the value afterwards, and then the value that it has, if a line of the change was
-- made. change.is becomes the value that the server reports.
function M.apply(client, change, who)
    for i, line in ipairs(change.lines) do
        local reply, message, code = client:command(line)
        if not reply then
            return nil, message, code
        elseif reply ~= "OK" then
            message, code = M.refusal(reply)
            local values = i > 1 and M.read(client, who)
            local now = values and settings.value(values, change.name, change.is) or nil
            return nil, ("%s %s %s: %s"):format(change.name, now and "is" or "stays",
                settings.named(change.name, now or change.was), message), code, now
        end
    end
    return M.await(client, change, who)
end

return M
