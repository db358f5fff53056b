-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl watch CLASS...: the server's own stream of events, and the number of lost ones.
local clock = require "slate.base.clock"
local gather = require "slate.base.gather"
local hotkeys = require "slate.facts.hotkeys"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local CLASSES <const> = { "fetchers", "mutations", "evictions", "deletions", "connevents", "sysevents" }
local POLL_S <const> = 0.1
-- Names of the log's fields, and our names, with units.
local FIELDS <const> = {
    key = "key", type = "type", status = "status", cmd = "command", fetch = "fetched", ttl = "ttl_s",
    la = "last_access_s", clsid = "class", cfd = "connection", size = "size_bytes", rip = "address",
    transport = "transport", reason = "reason", src = "src", dst = "dst", state = "state", what = "what", was = "was",
    is = "is", by = "by",
}
-- Fields that the server escapes as in a URI; those of a change have text for people.
local ESCAPED <const> = { key = true, what = true, was = true, is = true, by = true }
local NUMBERS <const> = { ttl_s = true, last_access_s = true, class = true, connection = true,
    size_bytes = true, src = true, dst = true }
-- The fields of an event that people see, in this order, after its type and key.
local SHOWN <const> = { "command", "status", "class", "size_bytes", "ttl_s", "last_access_s", "fetched", "connection",
    "address", "transport", "reason", "src", "dst", "state", "what", "was", "is", "by" }

function M.declare(command)
    command:argument("classes", "Kinds of events: " .. table.concat(CLASSES, ", ") .. ". Default: evictions")
        :args("*"):argname("CLASS"):convert(function(text)
            if text:find("^%l+$") then
                return text
            end
            return nil, ("'%s' is not a kind of events"):format(text)
        end)
    command:option("--for", "Stop after this long. Default: when interrupted"):argname("TIME")
        :convert(units.parse_duration):target("for_s")
    command:option("--count", "Stop after N events."):argname("N"):convert(units.whole(1))
    command:option("--where", "Only events of which a field has this value, such as class=5 or key=user:42; "
        .. "may be given again."):argname("FIELD=VALUE"):count("*"):convert(function(text)
            local field, value = text:match("^([%l_]+)=(.+)$")
            if field then
                return { field, value }
            end
            return nil, ("'%s' is not FIELD=VALUE, such as class=5"):format(text)
        end)
end

--- One line of the log: an event, or { skipped = lines that this watcher lost }; nil for another line. Pure.
function M.parse(line)
    local skipped = line:match("^skipped=(%d+)")
    if skipped then
        return { skipped = math.tointeger(tonumber(skipped)) }
    end
    local seconds, micros = line:match("^ts=(%d+)%.(%d+) ")
    if not seconds then
        return nil
    end
    local event = { time_s = tonumber(seconds) + tonumber(micros) / 1e6 }
    for name, value in line:gmatch("%f[%l](%l+)=(%S+)") do
        local field = FIELDS[name]
        if NUMBERS[field] then
            event[field] = math.tointeger(tonumber(value))
        elseif ESCAPED[field] then
            event[field] = hotkeys.shown_key(hotkeys.key_of(value))
        elseif field then
            event[field] = value
        end
    end
    return event
end

local function wanted(event, conditions)
    return not gather.any(conditions, function(one) return tostring(event[one[1]]) ~= one[2] end)
end

local function out_event(context, event)
    if context.json then
        event.server = context.server.name
        context:out_json("slate/event/1", event)
        return
    end
    local words = { os.date("%H:%M:%S", math.floor(event.time_s)) .. (".%03d"):format(
        math.floor(event.time_s % 1 * 1000)), event.type or "-", event.key }
    for _, name in ipairs(SHOWN) do
        if event[name] ~= nil then
            words[#words + 1] = name .. "=" .. event[name]
        end
    end
    context:out((table.concat(words, " "):gsub("%c", "?")), "\n")
    context:flush()
end

-- The server's counts of events sent and lost so far, for all watchers; nil if the server counts none.
local function counts_of(client)
    local general = require("slate.facts.stats").read(client) or {}
    return general.log_worker_dropped and {
        dropped = general.log_worker_dropped, skipped = general.log_watcher_skipped or 0,
    }
end

local function is_known(classes)
    for _, class in ipairs(classes) do
        if not ((" " .. table.concat(CLASSES, " ") .. " "):find(" " .. class .. " ", 1, true)) then
            return false
        end
    end
    return true
end

local function begin(context, classes)
    local client = must(context:connect())
    local line = must(client:command("watch " .. table.concat(classes, " ")))
    if line ~= "OK" then
        local refused, refusal_code = require("slate.wire.client").refusal(line)
        return nil, ("the server cannot watch %s (%s); kinds of events are %s"):format(table.concat(classes, " "),
            require("slate.wire.request").printable(line), table.concat(CLASSES, ", ")),
            not is_known(classes) and "usage" or refused and refusal_code or "protocol"
    end
    return client
end

-- Reads events until the time or the count is reached. Returns true, or nil, message, code.
local function follow(context, client, parsed, sofar)
    local until_s = parsed.for_s and clock.steady_s() + parsed.for_s or math.huge
    while clock.steady_s() < until_s and sofar.events < (parsed.count or math.huge) do
        local line, message, code = client.transport:receive_line(math.min(until_s, clock.steady_s() + POLL_S))
        local event = line and M.parse(line)
        if not line and code ~= "timeout" then
            return nil, message, code
        elseif event and event.skipped then
            sofar.skipped = sofar.skipped + event.skipped
        elseif event and wanted(event, parsed.where) then
            sofar.events = sofar.events + 1
            out_event(context, event)
        end
    end
    return true
end

local function summary(sofar, before, after, seconds)
    local text = ("%s in %.1f s"):format(units.plural(sofar.events, "event"), seconds)
    local dropped = before and after and math.max(0, after.dropped - before.dropped)
    if not dropped then
        return text .. "; this server does not count lost events"
    end
    local lost = sofar.skipped + dropped
    return ("%s; %s (the server's log dropped %.0f, this end was too slow for %d)"):format(text,
        lost == 0 and "none lost" or ("%.0f lost, %s"):format(lost, units.percent(lost / (lost + sofar.events), 1)),
        dropped, sofar.skipped)
end

function M.run(context, parsed)
    local classes = #parsed.classes > 0 and parsed.classes or { "evictions" }
    local other = must(context:open())
    local fault = require("slate.facts.faults").of_watch(context.who, classes)
    if fault then
        context:print_note("caution: " .. fault)
    end
    local before = counts_of(other)
    local client = must(begin(context, classes))
    local sofar, started_s = { events = 0, skipped = 0 }, clock.steady_s()
    context.summary = function()
        return summary(sofar, before, counts_of(other), clock.steady_s() - started_s)
    end
    local ok, message, code = follow(context, client, parsed, sofar)
    client:close()
    context:print_note(context.summary())
    other:close()
    must(ok, message, code)
    return 0
end

return M
