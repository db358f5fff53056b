-- SPDX-License-Identifier: BSD-3-Clause
--- The settings that can change while a server runs: what each takes, how it is sent, read back and shown. Pure.
--
-- To add one, add a row. Names and texts are those of `stats settings`, of slated's `stats config`, or our own: policy,
-- class_policy, geometry, lru_tune. Of a server three things matter, its who: { version, slated, store }, as of
-- Client:identify.
local stats = require "slate.facts.stats"

local M = {}

local MIB <const> = 1 << 20
local NEEDS_SLATED <const> = "needs slated"
local NO_FLASH <const> = "slated has no storage on flash"
local U32_MOST <const> = 4294967295
local HOT_AND_WARM_MOST_PCT <const> = 80

--- The rows, in the order of slatetop's Tune view:
--
--     name      its own, or of `stats settings`
--     label     on the screen; term: its entry in man/explain.txt, when that is not the name
--     words     the command that sets it on memcached and on slated; without it `config set` does, of slated alone
--     least, most, step
--               of a number, a whole one when the step is, but for one that is_broken; slated tells limits of its own
--     choices   "a|b" of others; slated tells choices of its own
--     shown     what the server's text is called on the screen; sent: what it is called in the command
--     unit      of a number of bytes: what the screen counts in
--     from      the first 1.6.x of memcached that can change it
--     stock, slated
--               why it cannot change there
M.ROWS = {
    { name = "slab_automove", label = "automove mode", words = "slabs automove", choices = "0|1|2" },
    { name = "slab_automove_ratio", label = "automove ratio", words = "slabs automove ratio", least = 0.01, most = 1,
        step = 0.05 },
    -- Beyond these bounds 1.6.34 to 1.6.44 crash.
    { name = "slab_automove_window", label = "automove window s", words = "slabs automove window", least = 3,
        most = 1800, step = 5, from = 34 },
    { name = "slab_automove_freeratio", label = "automove freeratio", words = "slabs automove freeratio", least = 0,
        most = 1, step = 0.005, from = 34 },
    { name = "policy", label = "eviction policy", words = "evict policy",
        stock = NEEDS_SLATED .. "; lru mode is the choice here" },
    { name = "class_policy", label = "policy of one class", term = "policy", words = "evict policy",
        stock = NEEDS_SLATED },
    { name = "geometry", label = "chunk sizes", term = "growth_factor", words = "slabs geometry",
        stock = NEEDS_SLATED .. "; or a restart with -f, -n, -o slab_sizes" },
    { name = "slab_geometry_rate", label = "geometry rate %/s", least = 2, most = 100, step = 2, is_broken = true,
        stock = NEEDS_SLATED },
    { name = "hot_lru_pct", label = "lru hot %", least = 1, most = 80, step = 5 },
    { name = "warm_lru_pct", label = "lru warm %", least = 1, most = 80, step = 5 },
    { name = "hot_max_factor", label = "lru hot age factor", least = 0.01, most = 1000, step = 0.1 },
    { name = "warm_max_factor", label = "lru warm age factor", least = 0.01, most = 1000, step = 0.5 },
    { name = "lru_segmented", label = "lru mode", words = "lru mode", choices = "no|yes",
        shown = { no = "flat", yes = "segmented" }, sent = { no = "flat", yes = "segmented" },
        slated = "follows the policy" },
    { name = "temporary_ttl", label = "lru temp_ttl s", term = "temp_lru", words = "lru temp_ttl", least = -1,
        most = 2147483647, step = 10, shown = { ["-1"] = "off" } },
    { name = "maxbytes", label = "memory limit MiB", term = "memory.limit", words = "cache_memlimit", least = 8 * MIB,
        most = 1000000000 * MIB, step = 16 * MIB, unit = MIB },
    { name = "lru_crawler", label = "crawler", words = "lru_crawler", choices = "no|yes",
        sent = { no = "disable", yes = "enable" } },
    { name = "lru_crawler_sleep", label = "crawler sleep us", words = "lru_crawler sleep", least = 0, most = 1000000,
        step = 100 },
    { name = "lru_crawler_tocrawl", label = "crawler tocrawl", words = "lru_crawler tocrawl", least = 0,
        most = 4294967295, step = 1000 },
    { name = "sample_rate", label = "sample rate", least = 0, most = 1, step = 0.01, stock = NEEDS_SLATED },
    { name = "verbosity", label = "verbosity", words = "verbosity", least = 0, most = 2, step = 1 },
    { name = "detail_enabled", label = "stats by prefix", words = "stats detail", choices = "no|yes",
        sent = { no = "off", yes = "on" } },
    -- Those of storage on flash are the last: slatetop shows them in a view of their own.
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

-- "lru tune" takes these four at once, whether one changes or, as the setting lru_tune, all.
local TUNE <const> = { "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor" }
local LRU_TUNE <const> = { name = "lru_tune", label = "lru tune", term = "hot_lru_pct" }

local ALIASES <const> = { automove = "slab_automove", memory = "maxbytes" }
local AUTOMOVE_NUMBERS <const> = { off = "0", ratio = "1", eviction = "2" }

local by_name <const> = { lru_tune = LRU_TUNE }
for _, row in ipairs(M.ROWS) do
    by_name[row.name] = row
end

--- The row of a name, lru_tune among them, which sets four at once; nil when it has none.
function M.row(name)
    return by_name[ALIASES[name] or name]
end

-- reading -------------------------------------------------------------------------------------

--- Hands each name and text of a reply to a function: one of lines, or of one text; nil is one without any.
function M.each_stat(reply, take)
    if type(reply) == "string" then
        reply = reply:gsub("[^\r\n\x20-\x7e]", "?") -- it is shown
        for name, text in reply:gmatch("STAT (%S+) ?([^\r\n]*)") do
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

-- `policy`, that of the whole and then of classes with one of their own, "s3fifo 5=sieve,7=lru"; `class_policy`, what
-- the other classes have.
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

-- Beyond -I memcached takes the item size for 0, and writes all items there are to flash.
local function read_storage(values, told, reply)
    M.each_stat(reply, function(name, text)
        values.extstore_limit_maxbytes = name == "extstore_limit_maxbytes" and text or values.extstore_limit_maxbytes
    end)
    told["ext_item_size:max"] = values.item_size_max
end

--- What the server has, as it writes it. replies: settings, config, policies and general, each as lines or as one text,
-- as far as they are there. Returns values, a table from name to text, and what else is told: from "NAME:min",
-- "NAME:max", "NAME:choices" and "NAME:source", of slated, and from "temporary_ttl:kept" to text.
function M.values(replies)
    local values, told = {}, {}
    M.each_stat(replies.settings, function(name, text) values[name] = text end)
    if values.temp_lru == "no" then -- off is a value, too, which keeps the seconds
        told["temporary_ttl:kept"], values.temporary_ttl = values.temporary_ttl, "-1"
    end
    M.each_stat(replies.config, function(name, text)
        local setting = name:match("^(.+):value$")
        if setting then
            values[setting] = values[setting] or text
        else
            told[name] = text
        end
    end)
    read_policies(values, replies.policies)
    read_storage(values, told, replies.general)
    return values, told
end

--- What a setting is where `wanted` is asked for: "sieve 5" means the policy of class 5, and is answered in the same
-- form. nil: the server has no such setting.
function M.value(values, name, wanted)
    if name == "class_policy" then
        local id = values.class_policy and wanted:match("^[%w_-]+ (%d+)$")
        return id and ((values.policy or ""):match("[ ,]" .. id .. "=([^,]+)") or values.class_policy) .. " " .. id
    elseif name == "lru_tune" then
        local four = {}
        for i, each in ipairs(TUNE) do
            four[i] = values[each]
        end
        return #four == #TUNE and table.concat(four, " ") or nil
    end
    return values[name]
end

local function words_of(text)
    local words = {}
    for word in text:gmatch("%S+") do
        words[#words + 1] = word
    end
    return words
end

-- A number as shown has so many digits behind the point that another one means the same.
local function same_number(wanted, found)
    local digits = #(tostring(found):match("%.(%d+)$") or "")
    local room = digits > 0 and 0.5005 * 10.0 ^ -digits or 0
    return math.abs(tonumber(wanted) - tonumber(found)) <= room
end

--- Do two texts mean the same value of a setting? found: as the server has it, with the digits it shows.
function M.same(name, wanted, found)
    if name == "lru_tune" then
        local a, b = words_of(wanted), words_of(found)
        for i = 1, #TUNE do
            if not (tonumber(a[i]) and tonumber(b[i]) and same_number(a[i], b[i])) then
                return false
            end
        end
        return true
    end
    wanted = name == "temporary_ttl" and wanted:match("^%S+") or wanted
    if tonumber(wanted) and tonumber(found) then
        return same_number(wanted, found)
    elseif name == "slab_automove" then
        wanted, found = AUTOMOVE_NUMBERS[wanted] or wanted, AUTOMOVE_NUMBERS[found] or found
    end
    return wanted == found
end

-- on the screen -------------------------------------------------------------------------------

--- A server's text as the screen has it, "64" (MiB), "segmented", "off"; and the other way round.
function M.shown(row, text)
    if row.unit and tonumber(text) then
        return ("%.0f"):format(tonumber(text) // row.unit)
    end
    return row.shown and row.shown[text] or text
end

--- What the server is to be told for what a screen shows.
function M.text(row, shown)
    if row.unit and shown:find("^%d+$") then
        return ("%.0f"):format(tonumber(shown) * row.unit)
    end
    local word, rest = shown:match("^(%S*)(.*)$")
    for text, each in pairs(row.shown or {}) do
        word = each == word and text or word
    end
    return word .. rest
end

--- Choices as the screen has them.
function M.shown_choices(row, choices)
    return (choices:gsub("[^|]+", row.shown or {}))
end

-- what may be sent ----------------------------------------------------------------------------

-- "1.6.45" -> 1, 6, 45
local function is_from(version, patch)
    local major, minor, last = (version or ""):match("^(%d+)%.(%d+)%.?(%d*)")
    major, minor, last = tonumber(major), tonumber(minor), tonumber(last) or 0
    if not major then
        return false
    end
    return major > 1 or major == 1 and (minor > 6 or minor == 6 and last >= patch)
end

local function is_of_lru(row)
    return row.label:find("^lru ") ~= nil
end

-- memcached shows the settings of storage on flash where it has none, too.
local function lacks_storage(row, values)
    return row.name:find("^ext_") and not values.extstore_limit_maxbytes
end

--- Why a setting cannot change on this server, in a few words, and a code; nil when it can.
function M.refusal(row, who, values, has_value)
    local own = who.slated
    if own and row.slated or not own and row.stock then
        return own and row.slated or row.stock, "unsupported"
    elseif not own and row.from and not is_from(who.version, row.from) then
        return ("needs memcached 1.6.%d or later"):format(row.from), "unsupported"
    elseif who.store and who.store ~= "slab" and (row.name:find("^slab_") or row.name == "geometry") then
        return ("needs --store=slab; this server has %s"):format(who.store), "unsupported"
    elseif lacks_storage(row, values) then
        return "needs a start with -o ext_path", "unsupported"
    elseif not has_value then
        return "not reported here", "unsupported"
    elseif is_of_lru(row) and values.lru_maintainer_thread == "no" then
        return "needs a start with -o lru_maintainer", "refused"
    elseif row.name == "slab_automove" and values.slab_reassign == "no" then
        return "needs a start with -o slab_reassign", "refused"
    end
end

--- The least, the most and the choices of a row on this server, as it writes them.
function M.limits(row, told)
    local least, most = tonumber(told[row.name .. ":min"]), tonumber(told[row.name .. ":max"])
    local choices = told[row.name .. ":choices"]
    if row.name == "class_policy" then -- as for the whole, but auto is the whole's
        choices = (told["policy:choices"] or ""):gsub("|auto.*", "")
    elseif row.name == "verbosity" then -- more says nothing more
        most = nil
    end
    return least or row.least, most or row.most, choices or row.choices or ""
end

local SWITCHES <const> = { on = "yes", ["1"] = "yes", off = "no", ["0"] = "no" }
local SCALES <const> = { [""] = 1, k = 1 << 10, m = MIB, g = 1 << 30, t = 1 << 40 }

-- Each returns the server's text, or nil and what is taken.
local function check_bytes(text, least, most)
    local amount, unit = text:match("^(%d+)([kmgtKMGT]?)$")
    local bytes = (tonumber(amount) or 0) * SCALES[(unit or ""):lower()]
    if bytes >= least and bytes <= most and bytes % MIB == 0 then
        return ("%.0f"):format(bytes)
    end
    return nil, ("a number of bytes, or one with k, m, g or t, from %.0fm to %.0fm: whole megabytes"):format(
        least // MIB, most // MIB)
end

local function check_number(row, text, least, most)
    local is_whole = row.step >= 1 and not row.is_broken
    local number = text:find(is_whole and "^%-?%d+$" or "^%-?%d*%.?%d*$") and tonumber(text)
    if number and number >= least and number <= most then
        return text
    end
    return nil, ("a %snumber from %.10g to %.10g"):format(is_whole and "whole " or "", least, most)
end

local function check_choice(row, text, choices)
    local word = text:match("^%S+") or "" -- behind it the class of class_policy, the classes of policy
    if choices == "no|yes" then
        text = SWITCHES[text] or text
        word = text
    end
    if row.name == "slab_automove" and (text:find("^[012]$")
        or text:find("^lua:.") and choices:find("lua:", 1, true)) then
        return text
    end
    for choice in choices:gmatch("[^|]+") do
        if choice == word then
            return text
        end
    end
    return nil, "one of " .. M.shown_choices(row, choices)
end

local GEOMETRY <const> = { "factor %S", "sizes %S", "auto", "pause", "resume", "revert" }

local function check_geometry(text)
    for _, verb in ipairs(GEOMETRY) do
        if text:find("^" .. verb) then
            return text
        end
    end
    return nil, "factor N, sizes N,N,..., auto [CLASSES], pause, resume or revert"
end

-- Two limits hold between settings: queues hot and warm leave a part of the memory to the others.
local function check_shares(hot, warm)
    if (tonumber(hot) or 0) + (tonumber(warm) or 0) > HOT_AND_WARM_MOST_PCT then
        return nil, ("hot and warm of at most %d together"):format(HOT_AND_WARM_MOST_PCT)
    end
    return true
end

local check

local function check_tune(text, told)
    local words = words_of(text)
    if #words ~= #TUNE then
        return nil, "four: " .. table.concat(TUNE, ", ")
    end
    for i, name in ipairs(TUNE) do
        local ok, takes = check(by_name[name], words[i], {}, told)
        if not ok then
            return nil, ("four, of which %s is %s"):format(name, takes)
        end
    end
    local ok, takes = check_shares(words[1], words[2])
    return ok and text, takes
end

function check(row, text, values, told)
    local least, most, choices = M.limits(row, told)
    if row == LRU_TUNE then
        return check_tune(text, told)
    elseif row.name == "geometry" then
        return check_geometry(text)
    elseif row.unit then
        return check_bytes(text, least, most)
    elseif not row.step then
        return check_choice(row, text, choices)
    elseif row.name == "temporary_ttl" and text:find("^%-1 %d+$") then
        return text -- off, and the seconds that it keeps
    end
    local ok, takes = check_number(row, text, least, most)
    if ok and row.name == "hot_lru_pct" then
        ok, takes = check_shares(text, values.warm_lru_pct)
    elseif ok and row.name == "warm_lru_pct" then
        ok, takes = check_shares(values.hot_lru_pct, text)
    end
    return ok and text, takes
end

--- May a text be sent? Returns the server's text for it; or nil, a message and a code. who, values and told: of the
-- server. called: what the setting is called in the message.
function M.check(row, text, who, values, told, called)
    local why, code = M.refusal(row == LRU_TUNE and by_name.hot_lru_pct or row, who, values,
        row.name == "geometry" or M.value(values, row.name, text))
    if text == "" or text:find("%c") then
        return nil, "a value is one line that is not empty", "usage"
    elseif why then
        return nil, ("%s: %s"):format(called, why), code
    end
    local is, takes = check(row, text, values, told)
    if not is then
        return nil, ('%s takes %s, not "%s"'):format(called, takes, M.shown(row, text):sub(1, 30)), "usage"
    end
    return is
end

-- sending -------------------------------------------------------------------------------------

-- The commands that bring such a `policy` about; nil when it is none. The classes take the policy of the whole, too.
local function policy_lines(text)
    local first, own = text:match("^([%w_]+) ?([%w=,_]*)$")
    local lines, at = { "evict policy " .. (first or "") }, 1
    while first and at <= #own do
        local id, name, after = own:match("^(%d+)=([%w_]+)()", at)
        local is_well = id and (after > #own or own:find("^,%d", after))
        first, at = is_well and first, (after or at) + 1
        lines[#lines + 1] = id and ("evict policy %s %s"):format(name, id)
    end
    return first and lines
end

local function tune_line(name, text, values)
    local words = { "lru tune" }
    for _, each in ipairs(TUNE) do
        words[#words + 1] = each == name and text or values[each] or ""
    end
    return table.concat(words, " ")
end

--- The commands that set a text that was checked; nil when it has not the form of one.
function M.lines(row, text, who, values)
    local name = row.name
    if name == "policy" then
        return policy_lines(text)
    elseif name == "lru_tune" then
        return { "lru tune " .. text }
    elseif row.label and is_of_lru(row) and not row.words then
        return { tune_line(name, text, values) }
    elseif name == "temporary_ttl" and text:find(" ") then -- turning it off keeps the seconds
        return { row.words .. text:match(" %d+$"), row.words .. " -1" }
    elseif who.slated and (row.slated or not row.words) then
        return { ("config set %s %s"):format(name, text) }
    end
    return { ("%s %s"):format(row.words, row.sent and row.sent[text] or row.unit and M.shown(row, text) or text) }
end

local function names_of(values, slated)
    local names = {}
    for _, row in ipairs(M.ROWS) do
        names[#names + 1] = not row.stock and values[row.name] and not lacks_storage(row, values) and row.name or nil
    end
    table.sort(names)
    return table.concat(names, ", ") .. (slated and ", policy, class_policy and what config get calls runtime" or "")
end

-- A setting of slated that has no row: the server checks it itself.
local function plan_without_row(values, name, value, who)
    if values[name] == nil then
        return nil, ("this server has no setting %s"):format(name), "unsupported"
    elseif not who.slated then
        return nil, ("memcached cannot change %s while it runs (needs slated); it can: %s"):format(name,
            names_of(values)), "unsupported"
    end
    return { name = name, was = values[name], is = value, lines = { ("config set %s %s"):format(name, value) } }
end

local CHECKED_BY_SLATED <const> = { policy = true, class_policy = true, lru_segmented = true }

-- What sets a text again to the letter, where the text itself does not.
local function back_of(row, was, told)
    local kept = told["temporary_ttl:kept"]
    if row.name == "temporary_ttl" and was == "-1" and kept and kept ~= "-1" then
        return "-1 " .. kept
    elseif row.unit and tonumber(was) and tonumber(was) % row.unit ~= 0 then -- memcached takes whole ones only
        return M.text(row, M.shown(row, was))
    end
end

--- Plans a change. Returns { name, was, is (texts of the server), back (as in the record of changes), lines }, or nil,
-- message, code; nothing is sent.
function M.plan(values, told, name, value, who)
    name = ALIASES[name] or name
    local row, was = by_name[name], M.value(values, name, value)
    if value:find("%c") or value == "" then
        return nil, "a value is one line that is not empty", "usage"
    elseif not row then
        return plan_without_row(values, name, value, who)
    elseif name == "class_policy" and values.class_policy and not was then
        return nil, ("class_policy wants a policy and a class, such as 'sieve 5', not '%s'"):format(value), "usage"
    elseif was == nil and (name == "policy" or name == "class_policy") then
        return nil, "memcached has no eviction policies to choose from: that needs slated", "unsupported"
    elseif was == nil then
        return nil, ("this server has no setting %s"):format(name), "unsupported"
    end
    local is = row.unit and value or M.text(row, value)
    if not (who.slated and CHECKED_BY_SLATED[name]) then
        local message, code
        is, message, code = M.check(row, is, who, values, told, name)
        if not is then
            return nil, message, code
        end
    end
    local lines = M.lines(row, is, who, values)
    if not lines then
        return nil, ("policy wants a name, classes may follow, such as 's3fifo 5=sieve', not '%s'"):format(value),
            "usage"
    end
    return { name = name, was = was, is = name == "temporary_ttl" and is:match("^%S+") or is, lines = lines,
        back = back_of(row, was, told) }
end

return M
