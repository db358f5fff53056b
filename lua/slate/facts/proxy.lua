-- SPDX-License-Identifier: BSD-3-Clause
--- memcached as a proxy (-o proxy_config): its requests, and the state of its backends.
--
-- Its general statistics are those of a cache, which the proxy has only if its routes use one. `stats proxy` counts its
-- requests, `stats proxybe` names the backends marked bad. Each worker thread has its own link to each backend;
-- memcached counts links. It reports no latency of backends.
local gather = require "slate.base.gather"
local stats = require "slate.facts.stats"
local units = require "slate.base.units"

local M = {}

local GETS <const> = { "cmd_get", "cmd_gets", "cmd_gat", "cmd_gats", "cmd_mg" }
local SETS <const> = { "cmd_set", "cmd_add", "cmd_cas", "cmd_append", "cmd_prepend", "cmd_replace", "cmd_ms" }

--- True if the server of a snapshot with settings is a proxy.
function M.is_one(now)
    return (now.settings or {}).proxy_enabled == true
end

--- True for a server with a cache. The figures of a cache mean nothing of a proxy whose own cache has no items.
function M.has_cache(now)
    return not M.is_one(now) or (now.general.curr_items or 0) > 0
end

--- Parses the lines of `stats proxy` and `stats proxybe`; either may be nil. Returns { gets, sets, bad = a list of
-- { name, links }, by name }; unreported fields are absent. Pure.
function M.parse(lines, backend_lines)
    local counters, counts = {}, lines and stats.figures(lines) or {}
    for field, names in pairs({ gets = GETS, sets = SETS }) do
        for _, name in ipairs(names) do
            counters[field] = counts[name] and (counters[field] or 0) + counts[name] or counters[field]
        end
    end
    counters.bad = backend_lines and {}
    for _, line in ipairs(backend_lines or {}) do
        local name, links = line:match("^STAT bad_(.+) (%d+)$")
        if name then
            counters.bad[#counters.bad + 1] = { name = name, links = math.tointeger(tonumber(links)) }
        end
    end
    table.sort(counters.bad or {}, function(a, b) return a.name < b.name end)
    return counters
end

--- Queries a proxy, and stores the answers in the snapshot as `proxy`. Returns true; or nil, message, code.
function M.query(client, now)
    local groups, refused, code = client:stats_groups({ "proxy", "proxybe" })
    if not groups then
        return nil, refused, code
    end
    now.proxy = M.parse(groups.proxy, groups.proxybe)
    return true
end

local function increase_per_s(before, now, field, interval_s)
    local was, is = before and before.proxy and before.proxy[field], now.proxy and now.proxy[field]
    return was and is and is >= was and interval_s > 0 and (is - was) / interval_s or nil
end

--- The figures of a proxy: { requests_per_s, get_per_s, set_per_s, errors_per_s, failed_per_s (links that broke),
-- active (requests under way), links, links_bad, bad }; unreported ones are absent. before and rates may be nil.
-- slatetop stores no names of backends, but the number of bad links, as general.proxy_links_bad.
function M.of(now, before, rates)
    local general, general_rates = now.general, rates and rates.general or {}
    local interval_s = rates and not rates.reset and rates.interval_s or 0
    local bad, links_bad = now.proxy and now.proxy.bad, nil
    for _, backend in ipairs(bad or {}) do
        links_bad = (links_bad or 0) + backend.links
    end
    return {
        requests_per_s = general_rates.proxy_conn_requests_per_s, errors_per_s = general_rates.proxy_conn_errors_per_s,
        failed_per_s = general_rates.proxy_backend_failed_per_s, active = general.proxy_req_active,
        links = general.proxy_backend_total, links_bad = links_bad or bad and 0 or general.proxy_links_bad, bad = bad,
        get_per_s = increase_per_s(before, now, "gets", interval_s),
        set_per_s = increase_per_s(before, now, "sets", interval_s),
    }
end

-- Texts about the proxy's backends: a list of { text, short, tone }.
local function parts_of(seen)
    local parts = {}
    if (seen.links_bad or 0) > 0 then
        local names = gather.values(seen.bad or {}, "name")
        parts[1] = { text = ("%d of %s to backends bad%s"):format(seen.links_bad, units.plural(seen.links or
            seen.links_bad, "link"), #names > 0 and ": " .. table.concat(names, ", ") or ""), tone = "bad",
            short = ("%d bad links"):format(seen.links_bad) }
    elseif seen.links then
        parts[1] = { text = units.plural(seen.links, "link") .. " to backends", tone = "plain" }
    end
    if (seen.failed_per_s or 0) > 0 then
        parts[#parts + 1] = { text = units.rate(seen.failed_per_s) .. " links break a second", tone = "warn",
            short = "links break" }
    end
    if (seen.errors_per_s or 0) > 0 then
        parts[#parts + 1] = { text = units.rate(seen.errors_per_s) .. " errors a second", tone = "warn",
            short = "proxy errors" }
    end
    return parts
end

--- The state of the proxy's backends in words: "proxy, 2 of 8 links to backends bad: b1, b2".
function M.words(seen)
    local words = { "proxy" }
    for i, part in ipairs(parts_of(seen)) do
        words[#words + 1] = (i == 1 and ", " or "; ") .. part.text
    end
    return table.concat(words)
end

--- The same as sentences, each with its tone, the first with the request rate: a list of these texts, for slatetop.
-- seen: of M.of.
function M.sentences(seen)
    local list = parts_of(seen)
    for i, part in ipairs(list) do
        part.text = ("proxy: %s%s"):format(i == 1 and seen.requests_per_s
            and units.rate(seen.requests_per_s) .. " requests/s, " or "", part.text)
    end
    return list
end

return M
