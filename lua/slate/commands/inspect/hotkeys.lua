-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl hotkeys [COUNT]: the keys with the most requests and the most bytes read.
local clock = require "slate.base.clock"
local hotkeys = require "slate.facts.hotkeys"
local must = require("slate.base.failure").must
local table_text = require "slate.base.table"
local units = require "slate.base.units"

local M = {}

local COLUMNS <const> = "REQ/S|LEAST|MOST|SHARE|READ/S|LEAST|MOST|SHARE|KEY<"
local COUNT <const>, POLL_S <const> = 20, 0.1

function M.declare(command)
    command:argument("count", ("How many, at most %d. Default: %d"):format(hotkeys.MOST, COUNT)):args("?")
        :argname("COUNT"):convert(units.whole(1, hotkeys.MOST))
    command:option("--by", "Order: requests, or bytes read. Default: requests"):choices({ "requests", "bytes" })
        :argname("FIGURE")
    command:option("--for", ("Count every request from now on for this long, by `watch fetchers`; slated reports its "
        .. "last ten seconds without. Default for memcached: %ds"):format(hotkeys.WATCH_S)):argname("TIME")
        :convert(function(text)
            local for_s, problem = units.parse_duration(text)
            if for_s == 0 then
                return nil, "nothing can be counted in no time: --for takes a time above 0"
            end
            return for_s, problem
        end):target("for_s")
end

-- Lines that the server's log dropped so far; nil if the server counts none.
local function dropped(client)
    return (require("slate.facts.stats").read(client) or {}).log_worker_dropped
end

-- The addresses of the connections by number; none if the server does not name them.
local function addresses(client)
    return hotkeys.addresses(require("slate.facts.stats").text_of(client:stats("conns")))
end

-- Counts for so long, or until an interrupt. Returns the counter's result, and a function that tells who asked for a
-- key; or nil, message, code.
local function count_requests(context, other, for_s)
    local before = dropped(other)
    local client <close> = must(context:connect())
    local line, message, code = client:command("watch fetchers")
    if line ~= "OK" then
        return nil, line and ("the server refuses to be watched: %s"):format(
            require("slate.wire.request").printable(line)) or message, line and "refused" or code
    end
    local named = addresses(other)
    local counter, started_s = hotkeys.counter(), clock.steady_s()
    repeat
        local at_s = clock.steady_s()
        line, message, code = client.transport:receive_line(math.min(started_s + for_s, at_s + POLL_S))
        if line then
            counter:take(line)
        elseif code ~= "timeout" then
            return nil, message, code
        end
    until at_s >= started_s + for_s
    local seconds, after = clock.steady_s() - started_s, before and dropped(other)
    local named_after = addresses(other)
    return counter:result(seconds, after and math.max(0, after - before)), function(key)
        return counter:who(key, named, named_after)
    end
end

-- The cells of a figure of a key: a second, at least, at most, and the share of all; "-" where it is not known.
local function figure_cells(one, figure, all, seconds, form)
    local least, most, middle = hotkeys.bounds(one, figure)
    if not (least and seconds and seconds > 0) then
        return "-", "-", "-", "-"
    end
    return form(middle / seconds), form(least / seconds), form(most / seconds),
        all and all > 0 and units.percent(math.min(middle / all, 1), 1) or "-"
end

local function out_keys(context, hot, is_watched)
    local rows = {}
    for i, one in ipairs(hot.keys) do
        local cells = { figure_cells(one, "requests", hot.requests, hot.seconds, units.rate) }
        table.move({ figure_cells(one, "bytes", hot.bytes, hot.seconds, units.bytes_in_words) }, 1, 4, 5, cells)
        cells[9] = one.key
        rows[i] = cells
    end
    context:out_table(is_watched and COLUMNS:gsub("READ", "≤READ") or COLUMNS, rows)
end

-- Below the table, because the addresses take a line or more: who asks for each key.
local function out_who(context, keys)
    local lines = {}
    for _, one in ipairs(keys) do
        lines[#lines + 1] = one.who and one.who[1]
            and table_text.wrap(one.key .. ": " .. hotkeys.who_words(one.who), 2) or nil
    end
    if lines[1] then
        context:out("who asks:\n" .. table.concat(lines, "\n") .. "\n")
    end
end

-- The sample, in words.
local function sample_words(hot, is_watched)
    local seconds = hot.seconds and (" of the last %.1f s"):format(hot.seconds) or ""
    if not is_watched then
        return ("sample: %s of %d requests%s"):format(hot.noted or "some", hot.requests, seconds)
    end
    return ("%d requests, gets and stores, counted in %.1f s: ≤READ/S is at most; %s"):format(hot.noted,
        hot.seconds, hot.lost == 0 and "none lost"
        or hot.lost and ("%d lost, %s, which are taken to be like the others"):format(hot.lost,
            units.percent(hot.lost / math.max(hot.lost + hot.noted, 1), 1)) or "this server does not count lost ones")
end

function M.run(context, parsed)
    local client = must(context:open())
    local is_watched = parsed.for_s ~= nil or not context.who.slated
    local for_s = parsed.for_s or hotkeys.WATCH_S
    if is_watched then
        context:print_note(("counting every request for %g s, which takes processor time of the server: see slatectl(1)"
            ):format(for_s))
    end
    local hot, who_of
    if is_watched then
        hot, who_of = must(count_requests(context, client, for_s))
    else
        hot = must(hotkeys.read(client))
    end
    client:close()
    hotkeys.sort(hot.keys, parsed.by, parsed.count or COUNT)
    for _, one in ipairs(hot.keys) do
        one.who = who_of and who_of(one.key)
        one.key = hotkeys.shown_key(one.key)
    end
    if context.json then
        local array = require("slate.base.json").array
        hot.server, hot.time_s, hot.keys = context.server.name, clock.time_s(), array(hot.keys)
        for _, one in ipairs(hot.keys) do
            one.who = one.who and array(one.who)
            for _, at in ipairs(one.who or {}) do
                at.ports = array(at.ports)
            end
        end
        context:out_json("slate/hotkeys/1", hot)
    elseif #hot.keys > 0 then
        out_keys(context, hot, is_watched)
        out_who(context, hot.keys)
        context:out(sample_words(hot, is_watched) .. "\n")
    end
    if #hot.keys == 0 then
        return nil, is_watched and ("no key was requested more than by chance in %.1f s"):format(hot.seconds)
            or "no key is hot: none was requested more than by chance in the last ten seconds", "no"
    end
    return 0
end

return M
