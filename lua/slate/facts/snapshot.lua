-- SPDX-License-Identifier: BSD-3-Clause
--- A snapshot: all figures that a decision, a chart or a screen may use, and their time.
--
-- One snapshot is one table and one line of JSON, schema "slate/snapshot/1":
--
--     schema    "slate/snapshot/1"
--     time_s    seconds since 1970 of the observer's clock, a float: when the figures were true
--     time_error_s
--               how far time_s may be from that; not in JSON, absent in recordings
--     server    the address of the server
--     version   the version that the server reports ("1.6.45")
--     slated    slated's own version; absent on memcached
--     role, store
--               of slated: what it lets this client do, and its --store; absent if not requested
--     general   `stats`, name to value
--     pages_limit, pages_free
--               pages that the server may have, and pages that no class has
--     settings  `stats settings`, name to value; absent if not requested
--     classes   list by class id: { id, chunk_size, total_pages, used_chunks, age, evicted, ... },
--               `stats slabs` and `stats items` merged, names unchanged
--     totals    the values of `stats slabs` that belong to no class
--     changes   in recordings of a slated: changes since the snapshot before (slate.facts.changes); absent without any
--
-- A value that the server does not report is absent. New names may appear; a name never changes its meaning under the
-- same schema.
local failure = require "slate.base.failure"
local faults = require "slate.facts.faults"
local gather = require "slate.base.gather"
local request = require "slate.wire.request"
local stats = require "slate.facts.stats"

local M = {}

M.SCHEMA = "slate/snapshot/1"
--- So many more samples follow the last one of a series while the time of its figures is too uncertain for rates, each
-- after `untimed_s`.
M.LATE_MOST = 3

local CLASS_MOST <const>, TIME_END_S <const> = 255, 1e11
local UPTIME_ERROR_S <const>, ERROR_RATIO <const> = 1, 1 / 4
local KEY_ORDER <const> = {
    "schema", "time_s", "server", "version", "slated", "role", "store", "pages_limit", "pages_free", "id", "general",
    "settings", "classes", "totals", "changes",
}

-- The links of a proxy's threads to backends that are down: the reply lists no others.
local function bad_links(reply)
    local sum = 0
    for name, value in pairs(stats.figures(reply)) do
        sum = sum + (name:find("^bad_") and value or 0)
    end
    return sum
end

--- Builds a snapshot from replies: a table from group ("", "slabs", "items", "settings", "slated", "proxybe") to lines
-- or one text. about: time_s, server, slated. Pure.
function M.build(groups, about)
    local classes, totals = stats.classes(groups.slabs, groups.items)
    local general = stats.figures(groups[""] or {})
    local version = general.version or about.version
    local own = groups.slated and stats.flat(groups.slated) or {}
    faults.leave_out(version, general)
    general.proxy_links_bad = groups.proxybe and bad_links(groups.proxybe) or nil
    local one = {
        schema = M.SCHEMA,
        time_s = about.time_s,
        server = about.server,
        version = version,
        slated = about.slated or next(own) and (own.slated_version or "?") or nil,
        role = own.role,
        store = own.store,
        general = general,
        settings = groups.settings and stats.settings(groups.settings) or nil,
        classes = classes,
        totals = totals,
    }
    one.pages_limit, one.pages_free = require("slate.base.policy_core").pages(one)
    return one
end

--- Sets the time of a snapshot and its error: its figures are of a moment between the request and the last reply, as
-- long after an earlier snapshot as the server's uptime says, which is in whole seconds. before: that one, or nil.
function M.set_time(one, before, sent_s, received_s)
    local was_s, is_s = before and before.server == one.server and before.general.uptime, one.general.uptime
    if was_s and is_s and is_s >= was_s then
        local about_s, error_s = before.time_s + is_s - was_s, UPTIME_ERROR_S + (before.time_error_s or 0)
        local least_s, most_s = math.max(sent_s, about_s - error_s), math.min(received_s, about_s + error_s)
        if least_s <= most_s then
            sent_s, received_s = least_s, most_s
        end
    end
    one.time_s, one.time_error_s = (sent_s + received_s) / 2, (received_s - sent_s) / 2
end

--- The seconds until a snapshot like the later one has a time since the earlier one that is known to a quarter. Replies
-- that are equally late err by the same.
function M.untimed_s(before, after)
    local error_s = math.abs((after.time_error_s or 0) - (before.time_error_s or 0))
    return math.max(0, error_s / ERROR_RATIO - (after.time_s - before.time_s))
end

--- True if the time between two snapshots is known to a quarter, so that rates mean something.
function M.is_timed(before, after)
    return M.untimed_s(before, after) == 0
end

--- Takes a snapshot of a server in one round trip.
-- options: server (name to record), slated (as found by identify), settings (true to request them too), before (an
-- earlier snapshot of the server); nil for none.
-- Returns the snapshot, or nil, message, code.
function M.take(client, options)
    failure.wants_table(client, "snapshot.take(client, options) wants a client of client.connect")
    options = options or {}
    local wanted = { "", "slabs", "items" }
    if options.settings then
        wanted[4] = "settings"
    end
    local time_s <const> = require("slate.base.clock").time_s
    local sent_s = time_s()
    local groups, refused, code = client:stats_groups(wanted)
    if not groups then
        return nil, refused, code
    end
    if refused[""] then
        return nil, table.unpack(refused[""], 1, 2)
    end
    local one = M.build(groups, { server = options.server, slated = options.slated })
    M.set_time(one, options.before, sent_s, time_s())
    return one
end

--- One line of JSON, without the newline. Keys always come in the same order.
function M.encode(snapshot)
    local json = require "slate.base.json"
    local written = gather.copy(snapshot)
    written.time_error_s = nil
    json.array(written.classes)
    return json.encode(written, KEY_ORDER)
end

--- True if a number can be the time of a snapshot.
function M.is_time(seconds)
    return type(seconds) == "number" and seconds >= 0 and seconds < TIME_END_S
end

-- The first name of figures, in order, with a value that no server reports; nil if there is none.
local function wrong_name(figures, is_right)
    local wrong
    for name, value in pairs(figures) do
        if not is_right(name, value) and (not wrong or tostring(name) < tostring(wrong)) then
            wrong = name
        end
    end
    return wrong
end

-- A wrong value, to quote.
local function printable(value)
    return type(value) == "table" and "a table" or stats.printable(tostring(value)):sub(1, 30)
end

local function check_classes(classes)
    local last_id = -1
    for _, class in ipairs(classes) do
        if type(class) ~= "table" or math.type(class.id) ~= "integer" or class.id <= last_id
            or class.id > CLASS_MOST then
            return nil, "classes are not a list of records with ascending ids"
        end
        local wrong = wrong_name(class, stats.class_figure)
        if wrong then
            return nil, ("%s of class %d is %s: no server reports that"):format(printable(wrong), class.id,
                printable(class[wrong]))
        end
        last_id = class.id
    end
    return true
end

local PARTS <const> = { { "general", stats.is_figure }, { "totals", stats.is_figure },
    { "settings", stats.is_setting } }
local FIELDS <const> = { server = "string", version = "string", slated = "string", role = "string", store = "string",
    pages_limit = "integer",
    pages_free = "integer" }

-- Checks that the fields about the whole server, if present, have the types that readers expect.
local function check_fields(value)
    for name, kind in pairs(FIELDS) do
        local one = value[name]
        if one ~= nil and type(one) ~= kind and math.type(one) ~= kind then
            return nil, ("%s is no %s"):format(name, kind)
        end
    end
    for _, part in ipairs(PARTS) do
        local wrong = wrong_name(value[part[1]] or {}, part[2])
        if wrong then
            return nil, ("%s in %s is %s: no server reports that"):format(printable(wrong), part[1],
                printable(value[part[1]][wrong]))
        end
    end
    return true
end

--- Reads one line of JSON. Returns the snapshot, or nil and a message.
function M.decode(line)
    local value, problem = require("slate.base.json").decode(line)
    if type(value) ~= "table" then
        return nil, problem or "not a JSON object"
    elseif value.schema ~= M.SCHEMA then
        return nil, ("schema is %s, this program reads %s"):format(tostring(value.schema), M.SCHEMA)
    elseif type(value.time_s) ~= "number" or type(value.general) ~= "table" or type(value.classes) ~= "table" then
        return nil, "time_s, general or classes are missing"
    elseif not M.is_time(value.time_s) then
        return nil, "time_s is no time"
    elseif type(value.totals or {}) ~= "table" or type(value.settings or {}) ~= "table" then
        return nil, "totals or settings are no tables"
    elseif value.changes and not require("slate.facts.changes").are_valid(value.changes) then
        return nil, "changes are no list of changes"
    end
    local ok, message = check_fields(value)
    if ok then
        ok, message = check_classes(value.classes)
    end
    if not ok then
        return nil, message
    end
    for _, texts in ipairs({ value, value.general, value.settings or {}, table.unpack(value.changes or {}) }) do
        for name, text in pairs(texts) do -- a recording may hold anything
            texts[name] = type(text) == "string" and request.printable(text) or text
        end
    end
    return value
end

local RATE_NAMES <const> = {}
for name in pairs(stats.COUNTERS) do
    RATE_NAMES[name] = name .. "_per_s"
end

local function rates_of(before, after, interval_s)
    local rates = { id = after.id }
    for name, value in next, after do
        local rate_name = RATE_NAMES[name]
        local earlier = rate_name and before[name]
        if earlier and value >= earlier then
            rates[rate_name] = (value - earlier) / interval_s
        end
    end
    return rates
end

local function went_back(before, after)
    for name in pairs(stats.COUNTERS) do
        if math.type(before[name]) and math.type(after[name]) and after[name] < before[name] then
            return true
        end
    end
    return false
end

--- The time at which the server's process started, by its own clock; nil if it is not reported. general: `stats`.
function M.started_s(general)
    return general.time and general.uptime and general.time - general.uptime
end

--- True if the server was restarted between two snapshots, by what both report.
function M.is_restart(before, after)
    local a, b = before.general, after.general
    return a.pid and b.pid and a.pid ~= b.pid or a.uptime and b.uptime and a.uptime > b.uptime or false
end

--- True if the server was restarted, or its counters reset, between two snapshots.
function M.is_reset(before, after)
    return M.is_restart(before, after) or went_back(before.general, after.general)
end

--- The classes of a snapshot, or of rates, by id.
function M.by_id(snapshot)
    return gather.map(snapshot.classes, "id")
end

--- The pages of a class, or of the pool with the id 0; nil if the server does not report them.
function M.pages_of(snapshot, id)
    if id == 0 then
        local pool = snapshot.general.slab_global_page_pool
        return math.type(pool) and pool or nil
    end
    return (M.by_id(snapshot)[id] or {}).total_pages
end

--- The classes of an earlier snapshot by id, without those whose id now belongs to other chunk sizes: a slated changes
-- chunk sizes while it serves.
function M.earlier_by_id(before, after)
    local classes = M.by_id(before)
    for _, class in ipairs(after.classes) do
        local was = classes[class.id]
        if was and was.chunk_size and class.chunk_size and was.chunk_size ~= class.chunk_size then
            classes[class.id] = nil
        end
    end
    return classes
end

--- True if the server reports its classes, even if it has none yet; or nil, message, code.
function M.reports_classes(snapshot)
    local totals, first = snapshot.totals or {}, snapshot.classes[1] or {}
    if snapshot.slated or first.total_pages or first.number or totals.active_slabs or totals.total_malloced then
        return true
    end
    return nil, "this server does not report its classes", "unsupported"
end

--- True if a server reports which classes have pages.
function M.reports_pages(snapshot)
    return not gather.any(snapshot.classes, function(class) return not class.total_pages end)
        and M.reports_classes(snapshot) == true
end

--- The stores that a server refused for want of memory: counted for the whole since 1.6.13, by class before; nil if
-- neither is reported.
function M.refused_stores(snapshot)
    local sum = snapshot.general.store_no_memory
    for _, class in ipairs(sum and {} or snapshot.classes) do
        sum = class.outofmemory and (sum or 0) + class.outofmemory or sum
    end
    return sum
end

--- The connections that a server refused or delayed at its limit; nil if neither is reported, or both are miscounted.
function M.refused_connections(snapshot)
    if faults.miscounted(snapshot.version) == "rejected_connections" then
        return nil
    end
    local refused, made_to_wait = snapshot.general.rejected_connections, snapshot.general.listen_disabled_num
    return refused and made_to_wait and refused + made_to_wait or refused or made_to_wait
end

--- The memory of items in bytes: memcached's `bytes` also counts values on flash. nil if unknown.
function M.item_bytes(now)
    local bytes, flash = now.general.bytes, now.general.extstore_bytes_used
    return bytes and flash and math.max(0, bytes - flash) or bytes
end

--- The growth of a counter between two tables of figures; nil if it is unknown or began again at 0.
function M.growth(before, after, name)
    local was, is = before[name], after[name]
    return math.type(was) and math.type(is) and is >= was and is - was or nil
end

-- The increase a second of f(snapshot); nil if it is not reported, or fell.
local function rate_of(f, before, after, interval_s)
    local was, is = f(before), f(after)
    return was and is and is >= was and (is - was) / interval_s or nil
end

--- The rates per second between two snapshots of one server.
-- Returns { interval_s =, reset =, is_known =, general = { evictions_per_s =, ... }, classes = a list of { id =,
-- evicted_per_s =, ... }, refused_stores_per_s =, refused_connections_per_s = }; NAME_per_s is of counter NAME.
-- A counter that is missing on either side has no rate. After a restart or `stats reset` no rate is known at all and
-- `reset` is true; none is known either if the time between the two is not: `is_known` is false then. Returns nil and a
-- message if no time has passed.
function M.rates(before, after)
    failure.wants_table(before, "snapshot.rates(before, after) wants two snapshots")
    failure.wants_table(after, "snapshot.rates(before, after) wants two snapshots")
    local interval_s = after.time_s - before.time_s
    if interval_s <= 0 then
        return nil, "the two snapshots are not in order of time"
    end
    local result = { interval_s = interval_s, reset = M.is_reset(before, after), general = {}, classes = {} }
    result.is_known = not result.reset and M.is_timed(before, after)
    if not result.is_known then
        return result
    end
    for _, one in ipairs({ before, after }) do -- recordings and slatetop's reader have these figures
        faults.leave_out(one.version, one.general)
    end
    result.general = rates_of(before.general, after.general, interval_s)
    result.refused_stores_per_s = rate_of(M.refused_stores, before, after, interval_s)
    result.refused_connections_per_s = rate_of(M.refused_connections, before, after, interval_s)
    local earlier = M.earlier_by_id(before, after)
    for i, class in ipairs(after.classes) do
        -- A class that the earlier snapshot did not list has no rates: its earlier counts are unknown.
        result.classes[i] = rates_of(earlier[class.id] or {}, class, interval_s)
    end
    return result
end

return M
