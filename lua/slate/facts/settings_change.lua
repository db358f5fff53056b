-- SPDX-License-Identifier: BSD-3-Clause
--- Changes of settings: those that a server can make, the values that it accepts, and the commands. Pure.
-- slate.facts.settings has the table of settings, and describes who, values and traits.
local gather = require "slate.base.gather"
local settings = require "slate.facts.settings"
local stats = require "slate.facts.stats"

local M = {}

local MIB <const> = 1 << 20
local HOT_AND_WARM_MOST_PCT <const> = 80

-- True if a version such as "1.6.45" is 1.6.`patch` or later.
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

-- memcached shows the settings of storage on flash even without such storage.
local function lacks_storage(row, values)
    return row.name:find("^ext_") and not values.extstore_limit_maxbytes
end

--- Why a setting cannot change on this server, in a few words, and a code; nil if it can.
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
        return who.is_past and "not recorded" or "not reported here", "unsupported"
    elseif is_of_lru(row) and values.lru_maintainer_thread == "no" then
        return "needs a start with -o lru_maintainer", "refused"
    elseif row.name == "slab_automove" and values.slab_reassign == "no" then
        return "needs a start with -o slab_reassign", "refused"
    end
end

--- The least, the most and the choices of a row on this server, in the server's form.
function M.limits(row, traits)
    local least, most = tonumber(traits[row.name .. ":min"]), tonumber(traits[row.name .. ":max"])
    local choices = traits[row.name .. ":choices"]
    if row.name == "class_policy" then -- the choices of `policy`, except s3auto
        choices = (traits["policy:choices"] or ""):gsub("|s3auto", "")
    elseif row.name == "verbosity" then -- higher levels log nothing more
        most = nil
    end
    return least or row.least, most or row.most, choices or row.choices or ""
end

local SWITCHES <const> = { on = "yes", ["1"] = "yes", off = "no", ["0"] = "no" }
local BYTES_ENDLESS <const> = 1000000000 * MIB -- a memcached does not report how much its machine has
local SCALES <const> = { [""] = 1, k = 1 << 10, m = MIB, g = 1 << 30, t = 1 << 40 }

-- Each check returns the server's text, or nil and a description of valid values.
local function check_bytes(text, least, most)
    local amount, unit = text:match("^(%d+)([kmgtKMGT]?)$")
    local bytes = (tonumber(amount) or 0) * SCALES[(unit or ""):lower()]
    if bytes >= least and bytes <= most and bytes % MIB == 0 then
        return ("%.0f"):format(bytes)
    end
    return nil, ("a number of bytes, or one with k, m, g or t, %s: whole megabytes"):format(
        most < BYTES_ENDLESS and ("from %.0fm to %.0fm"):format(least // MIB, most // MIB)
        or ("of at least %.0fm"):format(least // MIB))
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
    text = choices == "no|yes" and SWITCHES[text] or text
    local word = text
    if row.words == "evict policy" then
        word = text:match("^%S+") or "" -- after it: the class of class_policy, the classes of policy
    end
    if row.name == "slab_automove" and (text:find("^[012]$")
        or text:find("^lua:.") and text ~= "lua:NAME" and choices:find("lua:", 1, true)) then
        return text
    end
    for choice in choices:gmatch("[^|]+") do
        if choice == word and not choice:find("NAME", 1, true) then -- NAME stands for a name
            return text
        end
    end
    return nil, "one of " .. settings.shown_choices(row, choices)
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

-- A limit across two settings: the hot and warm queues leave a part of the memory to the others.
local function check_shares(hot, warm)
    if (tonumber(hot) or 0) + (tonumber(warm) or 0) > HOT_AND_WARM_MOST_PCT then
        return nil, ("hot and warm of at most %d together"):format(HOT_AND_WARM_MOST_PCT)
    end
    return true
end

local check

local function check_tune(text, traits)
    local words = gather.words(text)
    if #words ~= #settings.TUNE then
        return nil, "four: " .. table.concat(settings.TUNE, ", ")
    end
    for i, name in ipairs(settings.TUNE) do
        local ok, takes = check(settings.row(name), words[i], {}, traits)
        if not ok then
            return nil, ("four, of which %s is %s"):format(name, takes)
        end
    end
    local ok, takes = check_shares(words[1], words[2])
    return ok and text, takes
end

function check(row, text, values, traits)
    local least, most, choices = M.limits(row, traits)
    if row.name == "lru_tune" then
        return check_tune(text, traits)
    elseif row.name == "geometry" then
        return check_geometry(text)
    elseif row.unit then
        return check_bytes(text, least, most)
    elseif not row.step then
        return check_choice(row, text, choices)
    elseif row.name == "temporary_ttl" and text:find("^%-1 %d+$") then
        return text -- off, and the seconds to store for later
    end
    local ok, takes = check_number(row, text, least, most)
    if ok and row.name == "hot_lru_pct" then
        ok, takes = check_shares(text, values.warm_lru_pct)
    elseif ok and row.name == "warm_lru_pct" then
        ok, takes = check_shares(values.hot_lru_pct, text)
    end
    return ok and text, takes
end

--- Checks if a text may be sent. Returns the server's text for it; or nil, a message and a code. who, values and
-- traits: of the server. called: the name of the setting in the message.
function M.check(row, text, who, values, traits, called)
    local why, code = M.refusal(row.name == "lru_tune" and settings.row("hot_lru_pct") or row, who, values,
        row.name == "geometry" or settings.value(values, row.name, text))
    if text == "" or text:find("%c") then
        return nil, "a value is one line that is not empty", "usage"
    elseif why then
        return nil, ("%s: %s"):format(called, why), code
    end
    local is, takes = check(row, text, values, traits)
    if not is then
        local is_whole = not row.unit or text:find("^%d+$") and tonumber(text) % row.unit == 0
        local given = is_whole and settings.shown(row, text) or text
        given = row.shown and given:gsub("^%S+", row.shown) or given
        return nil, ('%s takes %s, not "%s"'):format(called, takes, given:sub(1, 30)), "usage"
    end
    return is
end

-- The commands for "POLICY ID=POLICY,…"; nil if the text is malformed. The first one sets the policy of all classes.
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

--- The commands that set a checked text; nil if it is malformed.
function M.lines(row, text, who, values)
    local name = row.name
    if name == "policy" then
        return policy_lines(text)
    elseif name == "lru_tune" then
        return { "lru tune " .. text }
    elseif row.label and is_of_lru(row) and not row.words then
        local words = { "lru tune" }
        for _, each in ipairs(settings.TUNE) do
            words[#words + 1] = each == name and text or values[each] or ""
        end
        return { table.concat(words, " ") }
    elseif name == "temporary_ttl" and text:find(" ") then -- turning it off keeps the seconds
        return { row.words .. text:match(" %d+$"), row.words .. " -1" }
    elseif who.slated and (row.slated or not row.words) then
        return { ("config set %s %s"):format(name, text) }
    end
    local sent = row.sent and row.sent[text] or row.unit and settings.shown(row, text) or text
    return { ("%s %s"):format(row.words, sent) }
end

local function names_of(values)
    local names = gather.values(settings.ROWS, function(row)
        return not row.stock and values[row.name] and not lacks_storage(row, values) and row.name or nil
    end)
    table.sort(names)
    return table.concat(names, ", ")
end

-- A number as slated reads it for a setting of this type; nil if it is none.
local function number_of_type(kind, text)
    local amount, unit = text:match("^(%+?%d+%.?%d*)([kmgtKMGT]?)[iI]?[bB]?$")
    if kind ~= "bytes" then
        return stats.number(text)
    end
    return amount and tonumber(amount:match("[%d.]+")) * SCALES[unit:lower()]
end

local NUMBERS <const> = { whole = true, count = true, number = true } -- types whose values are nothing else
local YES_OR_NO <const> = "yes|on|1|true|no|off|0|false"

-- What a setting of slated that has no row takes, if the value is out of its range or none of its choices; nil where
-- only the server can tell.
local function wrong_without_row(traits, name, value)
    local kind, choices = traits[name .. ":type"], traits[name .. ":choices"]
    local least, most = tonumber(traits[name .. ":min"]), tonumber(traits[name .. ":max"])
    choices = kind == "flag" and YES_OR_NO or choices
    if choices then
        return not ("|" .. choices .. "|"):find("|" .. value .. "|", 1, true) and "one of " .. choices or nil
    end
    local number = number_of_type(kind, value)
    local is_wrong = least and most and (number and (number < least or number > most)
        or not number and NUMBERS[kind])
    return is_wrong and ("a number from %.10g to %.10g"):format(least, most) or nil
end

-- Plans a setting of slated that has no row. Rules between settings, and texts, the server checks alone.
local function plan_without_row(values, traits, name, value, who)
    local takes = wrong_without_row(traits, name, value)
    if values[name] == nil then
        return nil, ("this server has no setting %s"):format(name), "unsupported"
    elseif not who.slated then
        return nil, ("memcached cannot change %s while it runs (needs slated); it can: %s"):format(name,
            names_of(values)), "unsupported"
    elseif takes then
        return nil, ('%s takes %s, not "%.30s"'):format(name, takes, value), "usage"
    end
    return { name = name, was = values[name], is = value, lines = { ("config set %s %s"):format(name, value) },
        is_unchecked = true }
end

-- The first policy of a text that the server does not list; nil: there is none, or it lists none.
local function unknown_policy(text, choices)
    for name in text:gmatch("%f[%w_][%a_][%w_]*") do
        if choices and not ("|" .. choices .. "|"):find("|" .. name .. "|", 1, true) then
            return name
        end
    end
end

local CHECKED_BY_SLATED <const> = { policy = true, class_policy = true, lru_segmented = true }

-- A text that restores the old value exactly, if `was` itself does not.
local function back_of(row, was, traits)
    local seconds = traits["temporary_ttl:kept"]
    if row.name == "temporary_ttl" and was == "-1" and seconds and seconds ~= "-1" then
        return "-1 " .. seconds
    elseif row.unit and tonumber(was) and tonumber(was) % row.unit ~= 0 then -- memcached takes only whole units
        return settings.text(row, settings.shown(row, was))
    end
end

--- Plans a change. Returns { name, was, is (texts of the server), back (see slate.facts.audit), lines, is_unchecked
-- (the server may refuse it all the same) }, or nil, message, code; sends nothing.
function M.plan(values, traits, name, value, who)
    local row = settings.row(name)
    name = row and row.name or name
    local was = settings.value(values, name, value)
    if value:find("%c") or value == "" then
        return nil, "a value is one line that is not empty", "usage"
    elseif not row then
        return plan_without_row(values, traits, name, value, who)
    elseif name == "class_policy" and values.class_policy and not was then
        return nil, ("class_policy wants a policy and a class, as in 'class_policy=sieve 5', not '%s'"):format(
            value), "usage"
    elseif was == nil and (name == "policy" or name == "class_policy") then
        return nil, "memcached has no eviction policies to choose from: that needs slated", "unsupported"
    elseif was == nil then
        return nil, ("this server has no setting %s"):format(name), "unsupported"
    end
    local is, choices = row.unit and value or settings.text(row, value), traits["policy:choices"]
    local unknown = (name == "policy" or name == "class_policy") and unknown_policy(is, choices)
    if unknown then
        return nil, ('%s takes one of %s, not "%.30s"'):format(name, choices, unknown), "usage"
    end
    if not (who.slated and CHECKED_BY_SLATED[name]) then
        local message, code
        is, message, code = M.check(row, is, who, values, traits, name)
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
        back = back_of(row, was, traits), is_unchecked = name == "class_policy" or nil }
end

return M
