-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet pilot POLICY: runs a policy beside every server of a fleet, until something speaks against it.
local addresses = require "slate.wire.addresses"
local bounds = require "slate.judge.bounds"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local WATCH_S <const>, INTERVAL_S <const>, REFRESH_S <const>, RETRY_S <const> = 30, 1, 10, 10
local LEAST_INTERVAL_S <const>, PAGES_PER_MINUTE <const>, PORT <const> = 0.01, 10, 9151

function M.declare(command)
    command:argument("policy", "A name, or a file that ends in .lua; see slatectl policy list."):argname("POLICY")
    command:argument("setting", "Settings of the policy: name=value."):args("*"):argname("SETTING")
    command:flag("--apply", "Move pages. Without it the policy decides and explains, and nothing is sent.")
    command:option("--guard", "Take a move back and stop on all servers when one changes by more: ev+20%, "
        .. "ev+100, loss+20%, oom+0 or hit-2 (points); may be given again. Default: ev+50%, loss+50%, hit-5 and oom+0")
        :argname("GUARD"):count("*"):convert(bounds.parse_guard)
    command:option("--watch", "How long a server is watched after a move. Default: 30s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--interval", "Time between two samples. Default: 1s"):argname("TIME"):convert(units.parse_duration)
    command:option("--refresh", "How often names and files of servers are looked at again. Default: 10s")
        :argname("TIME"):convert(units.parse_duration)
    command:option("--retry", "How soon a server that does not answer is tried again. Default: 10s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--for", "End after this long."):argname("TIME"):convert(units.parse_duration):target("for_s")
    command:option("--per-minute", ("At most this many pages of a server in any minute. Default: %d"):format(
        PAGES_PER_MINUTE)):argname("N"):convert(units.whole(1))
    command:option("--listen", ("Serve /metrics on this address: HOST, HOST:PORT or :PORT. Default: 127.0.0.1:%d")
        :format(PORT)):args("?"):argname("ADDRESS")
        :convert(function(text) return addresses.parse_listen(text, PORT) end)
end

local function place(id)
    return id == 0 and "the pool" or "class " .. id
end

-- Tells decisions: every one as JSON; for people moves, and why there are none where that is news.
local function teller(context, name)
    local last = {}
    return function(flight, decision)
        if context.json then
            context:out_json("slate/fleet-pilot/1", { server = flight.name, policy = name,
                time_s = decision.time_s, why = decision.why,
                moves = require("slate.base.json").array(decision.moves) })
            return
        end
        local at = os.date("%H:%M:%S", decision.time_s // 1)
        for _, one in ipairs(decision.moves) do
            context:out(("%s  %s: %s from %s to %s: %s; %s\n"):format(at, flight.name, units.plural(one.pages, "page"),
                place(one.from), place(one.to), one.reason, one.outcome or one.state))
        end
        local why = #decision.moves == 0 and (decision.why or "it gave no reason") or nil
        if why and why ~= last[flight.name] then
            context:out(("%s  %s: nothing moves: %s\n"):format(at, flight.name, why))
        end
        last[flight.name] = why
        context:flush()
    end
end

-- The contexts of the servers there are now, each once.
local function contexts_of(context)
    local list, seen = {}, {}
    for _, server in ipairs(context.servers) do
        if not seen[server.name] then
            seen[server.name], list[#list + 1] = true, context:of(server)
        end
    end
    return list
end

-- The task that looks after the others: which servers there are, and when it is over.
local function look_after(context, pilot, parsed)
    local clock = require "slate.base.clock"
    local began_s, refresh_s = clock.steady_s(), math.max(parsed.refresh or REFRESH_S, LEAST_INTERVAL_S)
    while not pilot.is_over do
        pilot:serve(contexts_of(context))
        local again_s = clock.steady_s() + refresh_s
        while not pilot.is_over and clock.steady_s() < again_s do
            clock.sleep(math.min(0.1, refresh_s))
            if parsed.for_s and clock.steady_s() >= began_s + parsed.for_s then
                pilot:finish()
            elseif not pilot:has_work() then
                pilot:finish("no server is left to act on")
            end
        end
        if not pilot.is_over then
            context:renew_servers()
        end
    end
end

local function summary(pilot)
    local decisions, pages = 0, 0
    for _, flight in ipairs(pilot.list) do
        decisions, pages = decisions + flight.decisions, pages + flight.pages
    end
    return ("%s on %s: %s %s%s"):format(units.plural(decisions, "decision"), units.plural(#pilot.list, "server"),
        units.plural(pages, "page"), pilot.options.apply and "moved" or "would have moved",
        pilot.options.apply and "" or "; with --apply they are moved")
end

local function fly(context, pilot, parsed, socket)
    local together = require "slate.wire.together"
    local tasks = { function() look_after(context, pilot, parsed) end }
    if socket then
        tasks[2] = function()
            require("slate.cli.httpd").run(socket, function(request)
                return require("slate.cli.pilot_metrics").page(pilot, request)
            end, function(message) context:say(message) end, function() return pilot.is_over end)
        end
    end
    local finished, raised = pcall(together.run, tasks)
    local failed = pilot:give_back()
    if not finished then
        error(raised, 0)
    end
    context:say(summary(pilot))
    if pilot.why then
        return nil, ("hands off: %s%s"):format(pilot.why, failed > 0 and "; automove could not be given back on all "
            .. "servers" or ""),
            "no"
    end
    return failed > 0 and 1 or 0
end

--- Exits with 0 when time is over; with 1 when something spoke against the policy, or no server is left.
function M.run(context, parsed)
    local takeover = require "slate.fleet.takeover"
    if takeover.is_guard() then
        return takeover.guard(context)
    end
    local file = require "slate.policy.file"
    local options = { log = function(text) io.stderr:write("policy: ", text, "\n") end }
    local policy = must(file.open(parsed.policy, options))
    local settled, wrong = policy:start(parsed.setting)
    if not settled then
        return nil, ("policy %s: %s"):format(policy.name, wrong), "usage"
    end
    local socket, port
    if parsed.listen then
        local at = parsed.listen[1] or addresses.parse_listen("", PORT)
        socket, port = require("slate.cli.httpd").listen(at.host, at.port)
        if not socket then
            return nil, port, "connect"
        end
        context:say(("serving http://%s:%d/metrics"):format(at.host:find(":", 1, true) and "[" .. at.host .. "]"
            or at.host, port))
    end
    local pilot = require("slate.fleet.pilot").new({
        name = policy.name, apply = parsed.apply,
        start = function() -- each server's has variables of its own
            return assert(file.load(policy.text, policy.name, options)):start(parsed.setting)
        end,
        guards = #parsed.guard > 0 and parsed.guard or bounds.default_guards(), watch_s = parsed.watch or WATCH_S,
        interval_s = math.max(parsed.interval or INTERVAL_S, LEAST_INTERVAL_S), retry_s = parsed.retry or RETRY_S,
        pages_per_minute = parsed.per_minute or PAGES_PER_MINUTE, note = require("slate.facts.audit").note,
        told = teller(context, policy.name),
        changed = function(flight)
            context:say(("%s: %s%s"):format(flight.name, flight.state, flight.why and ": " .. flight.why or ""))
        end,
    })
    context.summary = function() return summary(pilot) end
    return fly(context, pilot, parsed, socket)
end

return M
