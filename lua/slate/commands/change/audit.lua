-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl audit: the recorded changes, with their outcomes and the accuracy of predictions.
local audit = require "slate.facts.audit"
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local steps = require "slate.act.steps"
local units = require "slate.base.units"

local M = {}

local DEFAULT_LIST <const> = 20
local KINDS <const> = { "move", "set", "geometry" }

function M.declare(command)
    command:option("--last", ("Only the last N of the selected changes. Default: %d"):format(DEFAULT_LIST))
        :argname("N"):convert(units.whole(1))
    command:option("--since", "Only changes made within this time, such as 2h or 7d."):argname("TIME")
        :convert(units.parse_duration)
    command:option("--kind", "Only changes of a kind: " .. table.concat(KINDS, ", ") .. "."):choices(KINDS)
        :argname("KIND")
    command:flag("--all", "Changes of all servers, also where one is named by --server or SLATE_SERVER.")
    command:flag("--accuracy", "How far predictions of moves, memory and policies were off, over all selected "
        .. "changes; memory and policies as the server has compared them since its start.")
end

local function what_of(entry)
    if entry.what == "geometry" then
        return entry.is
    end
    return entry.what == "set" and steps.changed_words(entry)
        or steps.words({ kind = "move", src = entry.src, dst = entry.dst, pages = entry.pages })
end

-- The names of the servers whose changes to list, as a set and a list; nil for all servers.
local function selected_servers(context, parsed)
    if parsed.all or not context.is_named then
        return nil
    end
    local names, list = {}, {}
    for i, server in ipairs(context.servers) do
        names[server.name], list[i] = true, server.name
    end
    return names, list
end

-- The entries that match all options, and the number of those that match except for their server.
local function chosen(entries, parsed, names)
    local since_s = parsed.since and require("slate.base.clock").time_s() - parsed.since
    local list, elsewhere = {}, 0
    for _, entry in ipairs(entries) do
        local is_selected = (not since_s or entry.time_s >= since_s) and (not parsed.kind or entry.what == parsed.kind)
        if is_selected and names and not names[entry.server] then
            elsewhere = elsewhere + 1
        elseif is_selected then
            list[#list + 1] = entry
        end
    end
    return list, elsewhere
end

-- The selection of changes, as a sentence for people.
local function scope(shown, selected, servers, elsewhere)
    local words = ("%d of %s, of %s"):format(shown, units.plural(selected, "change"), servers
        and table.concat(servers, ", ") or "all servers")
    return elsewhere > 0 and ("%s; --all shows %d of other servers, too"):format(words, elsewhere) or words
end

local function list(context, entries, most, words)
    local shown = table.move(entries, math.max(1, #entries - most + 1), #entries, 1, {})
    if context.json then
        context:out_json("slate/changes/1", { changes = require("slate.base.json").array(shown) })
        return 0
    end
    local rows = gather.values(shown, function(entry)
        return { entry.id, os.date("%Y-%m-%d %H:%M:%S", math.floor(entry.time_s)), entry.server,
            what_of(entry) .. (entry.undoes and (" (undoes %d)"):format(entry.undoes) or "")
                .. (entry.unknown and ": sent, outcome unknown" or "")
                .. (entry.outcome and ": " .. entry.outcome or ""), entry.who or "-" }
    end)
    context:out(#rows == 0 and "no such change is on record\n" or context:table("ID|TIME<|SERVER<|CHANGE<|BY<", rows))
    context:out(words(#rows), "\n")
    return 0
end

-- The kinds of predictions: the name in JSON, in words, and whether an entry is of the kind.
local PREDICTED <const> = {
    { "moves", "moves", function(entry) return entry.what == "move" end },
    { "memory", "memory", function(entry) return entry.what == "set" and entry.name == "maxbytes" end },
    { "policies", "policies", function(entry) return entry.what == "set" and entry.name == "policy" end },
}

-- The comparisons of memory and policies by the servers themselves, as further entries, and why a server has none.
local function compared(context, parsed)
    local all, why = {}, {}
    for _, one in ipairs(parsed.kind and parsed.kind ~= "set" and {} or must(context:contexts_of({}))) do
        local client, message = one:open()
        local seen
        if client and one.who.slated then
            seen, message = require("slate.facts.changes").compared(client)
        end
        if client then
            client:close()
            message = one.who.slated and message or "only a slated compares its predictions of them"
        end
        for _, entry in ipairs(seen or {}) do
            entry.server, all[#all + 1] = one.server.name, entry
        end
        why[#why + 1] = not seen and ("%s: %s"):format(one.server.name, message) or nil
    end
    return (chosen(all, parsed)), why
end

-- How many changes of memory and policies on record no server has compared with their prediction.
local function count_uncompared(entries, seen)
    local count = 0
    for _, entry in ipairs(entries) do
        local is_predicted = PREDICTED[2][3](entry) or PREDICTED[3][3](entry)
        for _, one in ipairs(seen) do
            is_predicted = is_predicted and not (one.server == entry.server and one.name == entry.name
                and one.is == tostring(entry.is) and one.time_s >= entry.time_s - 1)
        end
        count = count + (is_predicted and 1 or 0)
    end
    return count
end

local function accuracy_words(name, found)
    local words = found.predictions == 0 and "no prediction was compared with what came"
        or ("%s; half were off by %.1f points of hits or less, nine of ten by %.1f; %d of %d came true between their "
            .. "least and their most, where 19 of 20 are meant to"):format(units.plural(found.predictions,
            "prediction"), found.median * 100, found.p90 * 100, found.within, found.predictions)
    return ("%s: %s%s\n"):format(name, words, found.left_out > 0
        and ("; %d left out: not judged, or the cache filled, or the load changed"):format(found.left_out) or "")
end

local function accuracy(context, parsed, entries, words)
    local seen, why = compared(context, parsed)
    local uncompared, kinds = count_uncompared(entries, seen), {}
    local all = table.move(entries, 1, #entries, #seen + 1, table.move(seen, 1, #seen, 1, {}))
    for _, kind in ipairs(PREDICTED) do
        local of_kind = gather.values(all, function(entry) return kind[3](entry) and entry or nil end)
        kinds[kind[1]] = audit.accuracy(of_kind)
    end
    if context.json then
        local found = audit.accuracy(all)
        found.kinds, found.uncompared = kinds, uncompared
        context:out_json("slate/accuracy/1", found)
        return 0
    end
    for _, kind in ipairs(PREDICTED) do
        context:out(accuracy_words(kind[2], kinds[kind[1]]))
    end
    if uncompared > 0 then
        context:out(("%s of memory or policies not compared: that takes four turnovers of the cache, a prediction "
            .. "before the change, and no other change or restart meanwhile\n"):format(
            units.plural(uncompared, "change")))
    end
    for _, message in ipairs(why) do
        context:print_note("memory and policies: " .. message)
    end
    context:out(words(#entries), "\n")
    return 0
end

function M.run(context, parsed)
    local names, servers = selected_servers(context, parsed)
    local entries, elsewhere = chosen(must(audit.read(audit.path())), parsed, names)
    local function words(shown)
        return scope(shown, #entries, servers, elsewhere)
    end
    if parsed.accuracy then
        return accuracy(context, parsed, entries, words)
    end
    return list(context, entries, parsed.last or DEFAULT_LIST, words)
end

return M
