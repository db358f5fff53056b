-- SPDX-License-Identifier: BSD-3-Clause
--- Settings that can be changed while a server runs: checked before, verified after, and how to go back.
--
-- A change is { name, was, is (texts, as the server writes them), lines = the commands to send }. Names are those of
-- `stats settings`. A slated takes every setting that it calls a runtime one (`config set`), a memcached those of
-- LINES. What would crash some version of memcached is refused here.
local stats = require "slate.facts.stats"

local M = {}

local MIB <const> = 1 << 20

local function number(least, most)
    return function(text)
        local n = tonumber(text)
        if n and n >= least and n <= most then
            return text
        end
        return nil, ("a number from %g to %g"):format(least, most)
    end
end

local function whole(least, most)
    return function(text)
        local n = text:find("^%-?%d+$") and math.tointeger(tonumber(text))
        if n and n >= least and n <= most then
            return text
        end
        return nil, ("a whole number from %d to %d"):format(least, most)
    end
end

local function yes_no(text)
    local word = ({ yes = "yes", on = "yes", ["1"] = "yes", no = "no", off = "no", ["0"] = "no" })[text]
    return word, "yes or no"
end

local function megabytes(text)
    local amount, unit = text:match("^(%d+)([kmgtKMGT]?)$")
    local scale = { [""] = 1, k = 1 << 10, m = MIB, g = 1 << 30, t = 1 << 40 }
    local bytes = math.tointeger((tonumber(amount) or 0) * scale[(unit or ""):lower()]) or 0
    if bytes >= 8 * MIB and bytes % MIB == 0 then
        return tostring(bytes)
    end
    return nil, "a number of bytes, or one with k, m, g or t: whole megabytes, at least 8m"
end

-- "lru tune" takes all four at once.
local TUNE <const> = { "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor" }
local function tune(name)
    return function(text, settings)
        local words = { "lru tune" }
        for i, each in ipairs(TUNE) do
            words[i + 1] = each == name and text or tostring(settings[each])
        end
        return table.concat(words, " ")
    end
end

local function format(pattern)
    return function(text) return pattern:format(text) end
end

-- How memcached is told, and what it takes. The window is bounded because versions 1.6.34 to 1.6.44 crash beyond.
local LINES <const> = {
    slab_automove = { check = whole(0, 2), line = format("slabs automove %s") },
    slab_automove_ratio = { check = number(0.01, 1), line = format("slabs automove ratio %s") },
    slab_automove_window = { check = whole(3, 1800), line = format("slabs automove window %s") },
    slab_automove_freeratio = { check = number(0, 1), line = format("slabs automove freeratio %s") },
    maxbytes = { check = megabytes, line = function(text) return "cache_memlimit " .. tonumber(text) // MIB end,
        own_line = function(text) return "config set maxbytes " .. text:lower() end }, -- refuses with the bounds it has
    lru_crawler = { check = yes_no, line = function(text)
        return "lru_crawler " .. (text == "yes" and "enable" or "disable")
    end },
    lru_crawler_sleep = { check = whole(0, 1000000), line = format("lru_crawler sleep %s") },
    lru_crawler_tocrawl = { check = whole(0, 4294967295), line = format("lru_crawler tocrawl %s") },
    lru_segmented = { check = yes_no, line = function(text)
        return "lru mode " .. (text == "yes" and "segmented" or "flat")
    end },
    temporary_ttl = { check = whole(-1, 2147483647), line = format("lru temp_ttl %s") },
    hot_lru_pct = { check = whole(1, 80), line = tune "hot_lru_pct" },
    warm_lru_pct = { check = whole(1, 80), line = tune "warm_lru_pct" },
    hot_max_factor = { check = number(0.01, 1000), line = tune "hot_max_factor" },
    warm_max_factor = { check = number(0.01, 1000), line = tune "warm_max_factor" },
    verbosity = { check = whole(0, 2), line = format("verbosity %s") },
    detail_enabled = { check = yes_no, line = function(text)
        return "stats detail " .. (text == "yes" and "on" or "off")
    end },
}

local ALIASES <const> = { automove = "slab_automove", memory = "maxbytes" }

-- What slated says beyond `stats settings`: settings of its own; `policy`, that of the whole and then of classes with
-- one of their own, "s3fifo 5=sieve,7=lru"; `class_policy`, what the other classes have.
local function read_own(values, config, policies)
    local own = {}
    for _, line in ipairs(config) do
        local name, text = stats.split(line)
        name = (name or ""):match("^(.+):value$") or ""
        values[name] = values[name] or text
    end
    for _, line in ipairs(policies) do
        local name, text = stats.split(line)
        local id = (name or ""):match("^class:(%d+):policy$")
        own[#own + 1] = id and id .. "=" .. text
        values.class_policy = text == "yes" and name:match("^(.+):active$") or values.class_policy
    end
    if #own > 0 then
        values.policy = ("%s %s"):format(values.policy, table.concat(own, ","))
    end
end

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

--- The settings as the server writes them, those of slated alone and its eviction policies among them: a table from
-- name to text; or nil, message, code.
function M.read(client)
    local groups, refused, code = client:stats_groups({ "settings", "config", "policies" })
    if not groups then
        return nil, refused, code
    elseif not groups.settings then
        return nil, table.unpack(refused.settings, 1, 2)
    end
    local values = {}
    for _, line in ipairs(groups.settings) do
        local name, text = stats.split(line)
        values[name or ""] = text
    end
    if values.temp_lru == "no" then -- off is a value, too, and the one that goes back to it
        values.temporary_ttl = "-1"
    end
    read_own(values, groups.config or {}, groups.policies or {})
    return values
end

--- What a setting is, in what `read` returned, where `wanted` is asked for: "sieve 5" means the policy of class 5, and
-- is answered in the same form. nil: the server has no such setting.
function M.value(settings, name, wanted)
    if name ~= "class_policy" then
        return settings[name]
    end
    local id = settings.class_policy and wanted:match("^[%w_]+ (%d+)$")
    return id and (settings.policy:match("[ ,]" .. id .. "=([^,]+)") or settings.class_policy) .. " " .. id
end

local function names_of(values, slated)
    local names = {}
    for name in pairs(LINES) do
        names[#names + 1] = values[name] and name or nil
    end
    table.sort(names)
    return table.concat(names, ", ") .. (slated and ", policy, class_policy and what config get calls runtime" or "")
end

--- Plans a change. settings: of `read`; slated: its version or nil.
-- Returns the change, or nil, message, code; nothing is sent.
function M.plan(settings, name, value, slated)
    name = ALIASES[name] or name
    local was, rule = M.value(settings, name, value), LINES[name]
    if value:find("[%c]") or value == "" then
        return nil, "a value is one line that is not empty", "usage"
    elseif name == "class_policy" and settings.class_policy and not was then
        return nil, ("class_policy wants a policy and a class, such as 'sieve 5', not '%s'"):format(value), "usage"
    elseif was == nil and (name == "policy" or name == "class_policy") then
        return nil, "memcached has no eviction policies to choose from: that needs slated", "unsupported"
    elseif was == nil then
        return nil, ("this server has no setting %s"):format(name), "unsupported"
    end
    local change = { name = name, was = was, is = value }
    if name == "policy" then
        change.lines = policy_lines(value)
        if not change.lines then
            return nil, ("policy wants a name, classes may follow, such as 's3fifo 5=sieve', not '%s'"):format(value),
                "usage"
        end
    elseif name == "class_policy" then
        change.lines = { "evict policy " .. value }
    elseif slated and name == "slab_automove" then
        change.lines = { "slabs automove " .. value }
    elseif slated and name ~= "maxbytes" and name ~= "detail_enabled" then -- which are checked or set as memcached's
        change.lines = { ("config set %s %s"):format(name, value) }
    elseif not rule then
        return nil, ("memcached cannot change %s while it runs (needs slated); it can: %s"):format(name,
            names_of(settings, slated)), "unsupported"
    else
        local checked, wants = rule.check(value)
        if not checked then
            return nil, ("%s wants %s, not '%s'"):format(name, wants, value), "usage"
        end
        change.is = checked
        change.lines = { slated and rule.own_line and rule.own_line(value) or rule.line(checked, settings) }
    end
    return change
end

local NAMES_OF_MODES <const> = { off = "0", ratio = "1", eviction = "2" }

local function same(name, wanted, found)
    if tonumber(wanted) and tonumber(found) then
        return math.abs(tonumber(wanted) - tonumber(found)) <= 0.005 * math.max(1e-9, math.abs(tonumber(wanted)))
    end
    return wanted == found or name == "slab_automove" and NAMES_OF_MODES[wanted] == found
        or yes_no(wanted) ~= nil and yes_no(wanted) == yes_no(found)
end

M.same = same

-- What a server forbids, rather than finds wrong.
local FORBIDDEN <const> = { "not allowed", "disabled", "authent", "cannot change" }

--- What is to blame for an order that a server knows and refused, by what it answered: "usage", a word of it is wrong;
-- "refused", such orders are not allowed; or "unsupported", its store has nothing that they would change.
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

--- Says what is wrong with an order that the server knows by its answer: a message, and a code of `blame` or of
-- slate.wire.client.
function M.refusal(line)
    local limit_problem = line:match("^MEMLIMIT_[%u_]+ (.+)$") -- memcached's words for cache_memlimit
    if limit_problem then
        return "the server takes no such limit: " .. limit_problem, "usage"
    end
    local message, code = require("slate.wire.client").refusal(line)
    if code == "refused" or code == "unsupported" then
        code = M.blame(line)
    end
    return message or "unexpected reply: " .. line, code or "protocol"
end

--- Sends a change and reads the setting back: true; or nil, message, code when the server refused it or does not have
-- the value afterwards. change.is becomes what the server says.
function M.apply(client, change)
    for _, line in ipairs(change.lines) do
        local reply, message, code = client:command(line)
        if not reply then
            return nil, message, code
        elseif reply ~= "OK" then
            message, code = M.refusal(reply)
            return nil, ("%s stays %s: %s"):format(change.name, change.was, message), code
        end
    end
    local settings, message, code = M.read(client)
    if not settings then
        return nil, message, code
    end
    local now = M.value(settings, change.name, change.is)
    -- With auto, classes keep their own.
    local has_whole = change.name == "policy" and (now or ""):match("^%S+") == change.is
    if not has_whole and not same(change.name, change.is, now or "") then
        return nil, ("the server answered OK, but %s is %s"):format(change.name, now), "no"
    end
    change.is = now
    return true
end

return M
