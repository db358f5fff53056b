-- SPDX-License-Identifier: BSD-3-Clause
--- Rules of an operator's own: a file in Lua with alarms and columns, beside those of slate.judge.doctor.
--- slate-rules(7) tells how to write one.
--
-- The file runs in the sandbox of policies (slate.base.sandbox), under their limits. It is given copies. A file that
-- does not load, and a rule that fails, is one message, and is not asked again.
local core = require "slate.base.policy_core"
local doctor = require "slate.judge.doctor"
local sandbox = require "slate.base.sandbox"

local M = {}

local NAME <const>, NAME_BYTES <const> = "^[%w_-]+$", 48
local MOST_RULES <const>, MOST_COLUMNS <const>, MOST_FINDINGS <const> = 64, 8, 16
local TITLE_BYTES <const> = 12
local SEVERITIES <const> = { critical = true, warning = true, note = true }

--- The path of the file: SLATE_RULES, else slate/rules.lua under XDG_CONFIG_HOME or ~/.config; nil without a home.
function M.path(environment)
    environment = environment or os.getenv
    local config = environment("XDG_CONFIG_HOME") or environment("HOME") and environment("HOME") .. "/.config"
    return environment("SLATE_RULES") or config and config .. "/slate/rules.lua"
end

local function deep_copy(value)
    if type(value) ~= "table" then
        return value
    end
    local copy = {}
    for key, inner in pairs(value) do
        copy[key] = deep_copy(inner)
    end
    return copy
end

-- What rules may look at, of slate.judge.doctor's about.
local SEEN <const> = { "now", "before", "per_s", "general", "settings", "rows", "starves", "moves", "automove",
    "geometry", "expired_items" }

local function copy_of(about)
    local copy = { interval_s = about.rates and about.rates.interval_s }
    for _, name in ipairs(SEEN) do
        copy[name] = deep_copy(about[name])
    end
    copy.by_id = {}
    for _, row in ipairs(copy.rows) do
        copy.by_id[row.id] = row
    end
    return copy
end

local function check_list(list, what, most, check)
    if list == nil then
        return {}
    elseif type(list) ~= "table" or #list > most then
        error(("%s is a list of at most %d"):format(what, most), 0)
    end
    for i, one in ipairs(list) do
        local problem = type(one) ~= "table" and "is no table" or check(one)
        if problem then
            error(("%s %d %s"):format(what, i, problem), 0)
        end
    end
    return list
end

local function check_rule(one)
    if type(one.name) ~= "string" or not one.name:find(NAME) or #one.name > NAME_BYTES then
        return ("wants a name of up to %d letters, digits, - and _"):format(NAME_BYTES)
    end
    return type(one.check) ~= "function" and "wants a function check" or nil
end

local function check_column(one)
    if type(one.title) ~= "string" or #one.title < 1 or #one.title > TITLE_BYTES or one.title:find("[^%g]") then
        return ("wants a title of up to %d letters"):format(TITLE_BYTES)
    end
    return type(one.value) ~= "function" and "wants a function value" or nil
end

local Rules = {}
Rules.__index = Rules
Rules.__name = "slate.judge.rules"

--- Makes rules of source text. name: for messages. options: log (function of a printed line), limits.
-- Returns { rules, columns }, or nil and a message.
function M.load(text, name, options)
    options = options or {}
    local box = sandbox.new(options.log, options.limits)
    local chunk, problem = box:load(text, name)
    if not chunk then
        return nil, problem
    end
    local ok, rules, columns = box:call(function()
        local value = chunk()
        if type(value) ~= "table" then
            error(("the file returns a %s, not a table with rules"):format(type(value)), 0)
        end
        return check_list(value.rules, "rule", MOST_RULES, check_rule),
            check_list(value.columns, "column", MOST_COLUMNS, check_column)
    end)
    if not ok then
        return nil, rules
    end
    return setmetatable({ box = box, rules = rules, columns = columns, off = {} }, Rules)
end

--- Reads and loads a file. Returns the rules; or nil, message, code.
function M.open(path, options)
    local file, problem = io.open(path, "rb")
    if not file then
        return nil, "cannot read " .. problem, "input"
    end
    local text, unreadable = file:read(core.LIMITS.source_bytes + 1)
    file:close()
    if unreadable or text and #text > core.LIMITS.source_bytes then
        return nil, unreadable and ("cannot read %s: %s"):format(path, unreadable)
            or ("%s is longer than %d KiB"):format(path, core.LIMITS.source_bytes >> 10), "input"
    end
    local rules, broken = M.load(text or "", path:gsub("^.*/", ""), options)
    if not rules then
        return nil, broken, "no"
    end
    return rules
end

--- The operator's rules; nil where there is no file. say(message): told when it is broken, and it is left out then.
function M.own(say)
    local path = M.path()
    local file = path and io.open(path, "rb")
    if not file then
        return nil
    end
    file:close()
    local rules, message = M.open(path)
    if not rules then
        say(("the rules are switched off: %s"):format(message))
        return nil
    end
    rules.say = say
    return rules
end

-- Takes a finding of a rule in; raises an error with what is wrong with it.
local function checked(rule, severity, what, todo, class)
    if not SEVERITIES[severity] then
        error(("a severity is critical, warning or note, not '%s'"):format(tostring(severity)), 0)
    elseif type(what) ~= "string" or what == "" or todo ~= nil and type(todo) ~= "string" then
        error("a finding is a severity, a sentence, and what to do about it", 0)
    elseif class ~= nil and math.type(class) ~= "integer" then
        error("a finding's class is an id", 0)
    end
    return { name = rule.name, severity = severity, what = core.printable(what), class = class,
        todo = core.printable(todo or "a rule of your own") }
end

function Rules:switch_off(name, problem)
    self.off[name] = problem
    if self.say then
        self.say(("rule %s is switched off: %s"):format(name, problem))
    end
end

--- What the rules find, the worst first. known: as for slate.judge.doctor. A rule that fails is switched off: in the
-- field off by its name stands why.
function Rules:findings(known)
    local about, list = doctor.about(known), {}
    for _, rule in ipairs(self.rules) do
        local found = {}
        local ok, problem = true, nil
        if not self.off[rule.name] then
            ok, problem = self.box:call(rule.check, copy_of(about), function(...)
                if #found == MOST_FINDINGS then
                    error(("more than %d findings"):format(MOST_FINDINGS), 0)
                end
                found[#found + 1] = checked(rule, ...)
            end)
        end
        if not ok then
            self:switch_off(rule.name, problem)
        else
            table.move(found, 1, #found, #list + 1, list)
        end
    end
    return doctor.sort(list)
end

--- The values of the columns for each row of slate.judge.view.classes: { [id] = { [title] = number or text } }. known:
-- as for slate.judge.doctor.
function Rules:values(known)
    local about, values = doctor.about(known), {}
    for _, row in ipairs(about.rows) do
        values[row.id] = {}
    end
    for _, column in ipairs(self.columns) do
        local ok, problem = self.box:call(function()
            local copy = copy_of(about)
            for _, row in ipairs(copy.rows) do
                local value = column.value(row, copy)
                if value ~= nil and type(value) ~= "number" and type(value) ~= "string" then
                    error(("the column is a %s, not a number or a text"):format(type(value)), 0)
                end
                values[row.id][column.title] = type(value) == "string" and core.printable(value) or value
            end
        end)
        if not ok then
            self:switch_off(column.title, problem)
        end
    end
    return values
end

return M
