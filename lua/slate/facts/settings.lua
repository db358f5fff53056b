-- SPDX-License-Identifier: BSD-3-Clause
--- The settings that can change while a server runs: their limits, and how they are read and shown. Pure.
-- slate.facts.settings_change has the values that may be sent, and the commands.
--
-- To add one, add a row. Names and texts are those of `stats settings`, of slated's `stats config`, or our own: policy,
-- class_policy, geometry, lru_tune. Three facts of a server matter, its who: { version, slated, store }, as of
-- Client:identify.
local automove = require "slate.facts.automove"
local gather = require "slate.base.gather"
local stats = require "slate.facts.stats"

local M = {}

local MIB <const> = 1 << 20
local NEEDS_SLATED <const> = "needs slated"
local NO_FLASH <const> = "slated has no storage on flash"
local U32_MOST <const> = 4294967295

local POLICIES <const> = {
    slru = "memcached's: hot, warm and cold queues", lru = "the item that was not read for longest goes first",
    bag = "lru in bags, with less work at a hit", fifo = "the oldest item goes first, read or not",
    clock = "fifo, and an item that was read gets one more round",
    clock2 = "fifo, and an item gets a round more for each read, up to 3",
    clock3 = "fifo, and an item gets a round more for each read, up to 7",
    sieve = "a hand takes the first item that was not read since it came by",
    s3fifo = "items not read while they are new go early",
    s3skip = "s3fifo; for items read only right after they were stored",
    s3wide = "s3fifo; for items that are read again only after a while",
    s3loop = "s3fifo; for loops and scans that come again",
    tinylfu = "of a new and an old item the one with fewer reads goes",
    none = "evicts nothing: a full cache refuses stores",
    s3auto = "the one of s3fifo, s3skip, s3wide and s3loop that misses least",
}

--- The rows, in the order of slatetop's Tune view:
--
--     name      our own, or of `stats settings`
--     label     on the screen; term: its entry in man/explain.txt, if that is not the name
--     words     the command that sets it on memcached and on slated; if absent, `config set`, on slated alone
--     least, most, step
--               of a number, which is whole if the step is, unless is_broken; slated reports its own limits
--     choices   "a|b", of texts; slated reports its own choices
--     shown     from the server's texts to the screen's; sent: from the server's texts to the command's
--     about     the effect of each choice, in words, by the screen's text; of automove: slate.facts.automove
--     unit      of a number of bytes: the unit on the screen
--     from      the first 1.6.x of memcached that can change it
--     stock, slated
--               why it cannot change on memcached, on slated
M.ROWS = {
    { name = "slab_automove", label = "automove mode", words = "slabs automove", choices = "0|1|2",
        shown = { ["0"] = "off", ["1"] = "ratio", ["2"] = "eviction" } },
    { name = "slab_automove_ratio", label = "automove ratio", words = "slabs automove ratio", least = 0.01, most = 1,
        step = 0.05 },
    -- Beyond these bounds 1.6.34 to 1.6.44 crash.
    { name = "slab_automove_window", label = "automove window s", words = "slabs automove window", least = 3,
        most = 1800, step = 5, from = 34 },
    { name = "slab_automove_freeratio", label = "automove freeratio", words = "slabs automove freeratio", least = 0,
        most = 1, step = 0.005, from = 34 },
    { name = "policy", label = "eviction policy", words = "evict policy", about = POLICIES,
        stock = NEEDS_SLATED .. "; lru mode is the choice here" },
    { name = "class_policy", label = "policy of one class", term = "policy", words = "evict policy", about = POLICIES,
        stock = NEEDS_SLATED },
    { name = "geometry", label = "chunk sizes", term = "growth_factor", words = "slabs geometry",
        stock = NEEDS_SLATED .. "; or a restart with -f, -n, -o slab_sizes",
        about = { auto = "the server fits the sizes to the items", ["factor N"] = "each size is N times the one before",
            ["sizes N,N"] = "these sizes", pause = "the change under way waits", resume = "the change goes on",
            revert = "the sizes before the last change" } },
    { name = "slab_geometry_auto", label = "automatic sizes", choices = "no|yes", stock = NEEDS_SLATED,
        about = { no = "the sizes stay until somebody changes them", yes = "the server fits the sizes to the items" } },
    { name = "slab_geometry_rate", label = "geometry rate %/s", least = 2, most = 100, step = 2, is_broken = true,
        stock = NEEDS_SLATED },
    { name = "hot_lru_pct", label = "lru hot %", least = 1, most = 80, step = 5 },
    { name = "warm_lru_pct", label = "lru warm %", least = 1, most = 80, step = 5 },
    { name = "hot_max_factor", label = "lru hot age factor", least = 0.01, most = 1000, step = 0.1 },
    { name = "warm_max_factor", label = "lru warm age factor", least = 0.01, most = 1000, step = 0.5 },
    { name = "lru_segmented", label = "lru mode", words = "lru mode", choices = "no|yes",
        shown = { no = "flat", yes = "segmented" }, sent = { no = "flat", yes = "segmented" },
        slated = "follows the policy",
        about = { flat = "one queue a class: what was not read for longest goes first",
            segmented = "hot, warm and cold queues: items read once push out no others" } },
    { name = "temporary_ttl", label = "lru temp_ttl s", term = "temp_lru", words = "lru temp_ttl", least = -1,
        most = 2147483647, step = 10, shown = { ["-1"] = "off" } },
    { name = "maxbytes", label = "memory limit MiB", term = "memory.limit", words = "cache_memlimit", least = 8 * MIB,
        most = 1000000000 * MIB, step = 16 * MIB, unit = MIB },
    { name = "lru_crawler", label = "crawler", words = "lru_crawler", choices = "no|yes",
        about = { no = "expired items stay until somebody meets them", yes = "a thread frees expired items" },
        sent = { no = "disable", yes = "enable" } },
    { name = "lru_crawler_sleep", label = "crawler sleep us", words = "lru_crawler sleep", least = 0, most = 1000000,
        step = 100 },
    { name = "lru_crawler_tocrawl", label = "crawler tocrawl", words = "lru_crawler tocrawl", least = 0,
        most = 4294967295, step = 1000 },
    { name = "sample_rate", label = "sample rate", least = 0, most = 1, step = 0.01, stock = NEEDS_SLATED },
    { name = "verbosity", label = "verbosity", words = "verbosity", least = 0, most = 2, step = 1 },
    { name = "detail_enabled", label = "stats by prefix", words = "stats detail", choices = "no|yes",
        about = { no = "nothing is counted by prefix", yes = "counts requests by the prefix of the key" },
        sent = { no = "off", yes = "on" } },
    -- The settings of storage on flash are last: slatetop leaves them out on a server without it.
    { name = "ext_item_size", label = "flash item size", words = "extstore item_size", least = 1, most = MIB,
        step = 128, slated = NO_FLASH },
    { name = "ext_item_age", label = "flash item age s", words = "extstore item_age", least = 0, most = U32_MOST,
        step = 60, slated = NO_FLASH },
    { name = "ext_low_ttl", label = "flash low ttl s", words = "extstore low_ttl", least = 0, most = U32_MOST,
        step = 60, slated = NO_FLASH },
    { name = "ext_recache_rate", label = "flash recache rate", words = "extstore recache_rate", least = 0,
        most = U32_MOST, step = 100, slated = NO_FLASH },
    { name = "ext_max_frag", label = "flash max frag", words = "extstore max_frag", least = 0, most = 1, step = 0.05,
        slated = NO_FLASH },
    { name = "ext_drop_unread", label = "flash drop unread", words = "extstore drop_unread", choices = "no|yes",
        sent = { no = "0", yes = "1" }, slated = NO_FLASH },
    { name = "ext_compact_under", label = "flash compact under", words = "extstore compact_under", least = 0,
        most = U32_MOST, step = 1, slated = NO_FLASH },
    { name = "ext_drop_under", label = "flash drop under", words = "extstore drop_under", least = 0, most = U32_MOST,
        step = 1, slated = NO_FLASH },
    { name = "ext_max_sleep", label = "flash max sleep us", words = "extstore max_sleep", least = 1, most = U32_MOST,
        step = 10000, slated = NO_FLASH }, -- at 0 its threads never sleep
}

--- "lru tune" sends these four at once, whether one of them changes or, by the setting lru_tune, all.
M.TUNE = { "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor" }
local LRU_TUNE <const> = { name = "lru_tune", label = "lru tune", term = "hot_lru_pct" }

local AUTOMOVE_NUMBERS <const> = { off = "0", ratio = "1", eviction = "2" }
local UNITS <const> = { s = true, us = true, MiB = true, ["%"] = true, ["%/s"] = true }

--- A label without its unit, and the unit, if it has one: "automove window", "s".
function M.without_unit(label)
    local name, unit = label:match("^(.+) (%S+)$")
    return UNITS[unit] and name or label, UNITS[unit] and unit or nil
end

local by_name <const> = { lru_tune = LRU_TUNE, ["lru tune"] = LRU_TUNE }
for _, row in ipairs(M.ROWS) do
    by_name[row.label:lower()], by_name[M.without_unit(row.label)] = row, row
end
for _, row in ipairs(M.ROWS) do
    by_name[row.name] = row
end
by_name.automove, by_name.memory = by_name.slab_automove, by_name.maxbytes

--- The row of a name, or of a label as Tune has it, with or without its unit; also of lru_tune, which sets four at
-- once. nil if there is none.
function M.row(name)
    return by_name[name]
end

--- Splits "automove ratio 0.7" behind the longest name that `row` knows, else behind the first word: the setting's own
-- name, and the text of its value, which may be empty; nil if no blank follows a name.
function M.split(text)
    local name, value = text:match("^(%S+) +(.*)$")
    for before, behind in text:gmatch("()%f[ ] +()") do
        local row = M.row(text:sub(1, before - 1):lower())
        if row then
            name, value = row.name, text:sub(behind)
        end
    end
    local id, policy = text:match("^policy of class (%d+) +(.*)$") -- Tune's label once a class is chosen
    return id and "class_policy" or name, id and ("%s %s"):format(policy, id) or value
end

--- Calls take(name, text) for each statistic of a reply: a list of lines, or one text. A reply of nil has none.
function M.each_stat(reply, take)
    if type(reply) == "string" then
        for name, text in stats.printable(reply):gmatch("STAT (%S+) ?([^\r\n]*)") do
            take(name, text)
        end
        return
    end
    for _, line in ipairs(reply or {}) do
        local name, text = stats.split(line)
        if name then
            take(name, text)
        end
    end
end

-- Reads `policy`: that of the whole and of classes with their own, "s3fifo 5=sieve,7=lru"; and `class_policy`, the
-- policy of the other classes.
local function read_policies(values, reply)
    local own = {}
    M.each_stat(reply, function(name, text)
        local id = name:match("^class:(%d+):policy$")
        own[#own + 1] = id and id .. "=" .. text
        values.class_policy = text == "yes" and name:match("^(.+):active$") or values.class_policy
    end)
    if #own > 0 then
        values.policy = ("%s %s"):format(values.policy, table.concat(own, ","))
    end
end

-- memcached takes an item size above -I as 0, and then writes all items to flash.
local function read_storage(values, traits, reply)
    M.each_stat(reply, function(name, text)
        values.extstore_limit_maxbytes = name == "extstore_limit_maxbytes" and text or values.extstore_limit_maxbytes
    end)
    traits["ext_item_size:max"] = values.item_size_max
end

--- The text of a value in the settings of a snapshot.
function M.written(value)
    if type(value) == "boolean" then
        return value and "yes" or "no"
    end
    return math.type(value) and ("%.14g"):format(value) or value
end

--- The reply to `stats settings` that has the settings of a snapshot.
function M.reply(known)
    local lines = {}
    for name, value in pairs(known) do
        lines[#lines + 1] = ("STAT %s %s\r\n"):format(name, M.written(value))
    end
    return table.concat(lines)
end

--- The settings of a server, as it writes them. replies: settings, config, policies and general, each as lines or one
-- text, or absent. Returns values, a table from name to text, and the traits of settings: from "NAME:min", "NAME:max",
-- "NAME:choices" and "NAME:source", of slated, and from "temporary_ttl:kept" to text.
function M.values(replies)
    local values, traits = {}, {}
    M.each_stat(replies.settings, function(name, text) values[name] = text end)
    if values.temp_lru == "no" then -- off is a value, too; the seconds stay for later
        traits["temporary_ttl:kept"], values.temporary_ttl = values.temporary_ttl, "-1"
    end
    M.each_stat(replies.config, function(name, text)
        local setting = name:match("^(.+):value$")
        if setting then
            values[setting] = values[setting] or text
        else
            traits[name] = text
        end
    end)
    read_policies(values, replies.policies)
    read_storage(values, traits, replies.general)
    return values, traits
end

--- The value of a setting, in the form of `wanted`: "sieve 5" is the policy of class 5, and so is the result. nil: the
-- server has no such setting.
function M.value(values, name, wanted)
    if name == "class_policy" then
        local id = values.class_policy and wanted:match("^[%w_-]+ (%d+)$")
        return id and ((values.policy or ""):match("[ ,]" .. id .. "=([^,]+)") or values.class_policy) .. " " .. id
    elseif name == "lru_tune" then
        local four = gather.values(M.TUNE, function(each) return values[each] end)
        return #four == #M.TUNE and table.concat(four, " ") or nil
    end
    return values[name]
end

-- True if two numbers are equal within the digits that the server shows.
local function same_number(wanted, found)
    local digits = #(tostring(found):match("%.(%d+)$") or "")
    local room = digits > 0 and 0.5005 * 10.0 ^ -digits or 0
    return math.abs(tonumber(wanted) - tonumber(found)) <= room
end

--- True if two texts mean the same value of a setting. found: of the server, with the digits that it shows.
function M.same(name, wanted, found)
    if name == "lru_tune" then
        local a, b = gather.words(wanted), gather.words(found)
        for i = 1, #M.TUNE do
            if not (tonumber(a[i]) and tonumber(b[i]) and same_number(a[i], b[i])) then
                return false
            end
        end
        return true
    end
    wanted = name == "temporary_ttl" and wanted:match("^%S+") or wanted
    if name == "sample_rate" and tonumber(wanted) then -- servers show all its digits: a small rate is not 0
        return tonumber(wanted) == tonumber(found)
    elseif tonumber(wanted) and tonumber(found) then
        return same_number(wanted, found)
    elseif name == "slab_automove" then
        wanted, found = AUTOMOVE_NUMBERS[wanted] or wanted, AUTOMOVE_NUMBERS[found] or found
    end
    return wanted == found
end

--- True if another client set a setting since a change on record: its value is neither that of the change nor the one
-- before. entry: of slate.facts.audit; now: the server's text.
function M.is_set_since(entry, now)
    return not (M.same(entry.name, tostring(entry.is), now) or M.same(entry.name, tostring(entry.was), now))
end

--- Converts a server's text to the screen's: "64" (MiB), "segmented", "off".
function M.shown(row, text)
    if row.unit and tonumber(text) then
        return ("%.0f"):format(tonumber(text) // row.unit)
    end
    return row.shown and row.shown[text] or text
end

--- A server's text for a person: a mode of automove by its name, another value as it is. name: of the setting.
function M.named(name, text)
    return text ~= nil and M.row(name) == by_name.slab_automove and automove.name_of(text) or text
end

--- Converts the screen's text of a value to the server's.
function M.text(row, shown)
    if row.unit and shown:find("^%d+$") then
        return ("%.0f"):format(tonumber(shown) * row.unit)
    end
    local word, tail = shown:match("^(%S*)(.*)$")
    for text, each in pairs(row.shown or {}) do
        word = each == word and text or word
    end
    return word .. tail
end

--- Converts choices to the screen's texts.
function M.shown_choices(row, choices)
    return (choices:gsub("[^|]+", row.shown or {}))
end

return M
