-- SPDX-License-Identifier: BSD-3-Clause
--- An operator's own rules: a file in Lua with alarms and columns, besides the checks of slate.judge.doctor.
-- slate-rules(7) describes how to write one.
--
-- The file runs in the sandbox of policies (slate.base.sandbox), under their limits, and gets copies. A file that does
-- not load, or a rule that fails, gives one message and does not run again.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local gather = require "slate.base.gather"
local places = require "slate.base.places"
local policy_box = require "slate.base.policy_box"
local sandbox = require "slate.base.sandbox"

local M = {}

-- An operator's file can replace the methods of strings while it runs: code of this module then calls these functions.
local find, format = string.find, string.format

local NAME <const>, NAME_BYTES <const> = "^[%w_-]+$", 48
local MOST_RULES <const>, MOST_COLUMNS <const>, MOST_FINDINGS <const> = 64, 8, 16
local TITLE_BYTES <const> = 12
local WIDTH_LEAST <const> = 7 -- columns on the screen: enough for any number
local NO_SUCH <const> = { [2] = true, [20] = true } -- ENOENT, ENOTDIR
local SEVERITIES <const> = { critical = true, warning = true, note = true }

-- Limits for a host that runs rules between keys and screen: for one call, and for all calls of a round together.
local HASTY <const> = { instructions = 1000000, cpu_s = 0.02, memory_bytes = 4 << 20 }
local BUDGET_S <const> = 0.05

--- The path of the file; nil if there is no home directory.
function M.path(environment)
    return places.path("rules", environment or os.getenv)
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

-- The fields of slate.judge.doctor's about that rules may read.
local SEEN <const> = { "now", "before", "general_rates", "general", "settings", "rows", "starves", "moves", "automove",
    "geometry", "expired_items" }

local function copy_of(about)
    local copy = { interval_s = about.rates and about.rates.interval_s }
    for _, name in ipairs(SEEN) do
        copy[name] = deep_copy(about[name])
    end
    copy.by_id = gather.map(copy.rows, "id")
    return copy
end

-- Copies the list: values in the file's own tables could change later, and metatables run functions of the file.
local function check_list(given, what, most, check)
    local list = sandbox.plain(given, 2)
    if list == nil then
        return {}
    elseif type(list) ~= "table" or #list > most then
        error(format("%s is a list of at most %d", what, most), 0)
    end
    for i, one in ipairs(list) do
        local problem = type(one) ~= "table" and "is no table" or check(one)
        if problem then
            error(format("%s %d %s", what, i, problem), 0)
        end
    end
    return list
end

local function check_rule(one)
    if type(one.name) ~= "string" or not find(one.name, NAME) or #one.name > NAME_BYTES then
        return format("wants a name of up to %d letters, digits, - and _", NAME_BYTES)
    end
    return type(one.check) ~= "function" and "wants a function check" or nil
end

local function check_column(one)
    if type(one.title) ~= "string" or #one.title < 1 or #one.title > TITLE_BYTES or find(one.title, "[^%g]") then
        return format("wants a title of up to %d letters", TITLE_BYTES)
    end
    return type(one.value) ~= "function" and "wants a function value" or nil
end

local Rules = {}
Rules.__index = Rules
Rules.__name = "slate.judge.rules"

--- Loads rules from source text. name: for messages. options: log (function of a printed line), limits.
-- Returns { rules, columns }, or nil and a message. A column has a width in screen columns: that of its title, 7 at
-- least.
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
            error(format("the file returns a %s, not a table with rules", type(value)), 0)
        end
        return check_list(value.rules, "rule", MOST_RULES, check_rule),
            check_list(value.columns, "column", MOST_COLUMNS, check_column)
    end)
    if not ok then
        return nil, rules
    end
    for _, column in ipairs(columns) do
        column.width = math.max(#column.title, WIDTH_LEAST)
    end
    return setmetatable({ box = box, rules = rules, columns = columns, off = {} }, Rules)
end

local function name_of(path)
    return (path:gsub("^.*/", ""))
end

local function too_long(path)
    return ("%s is longer than %d KiB"):format(path, policy_box.LIMITS.source_bytes >> 10)
end

--- Rules for slatetop, which reads the file itself: its text, or nil and the problem. They run under limits of their
-- own. A broken file gives rules that find nothing and report the fault (Rules:troubles).
function M.for_screen(path, text, problem)
    if text and #text > policy_box.LIMITS.source_bytes then
        text, problem = nil, too_long(path)
    end
    local rules
    if text then
        rules, problem = M.load(text, name_of(path), { limits = { instructions = HASTY.instructions,
            cpu_s = HASTY.cpu_s, memory_bytes = HASTY.memory_bytes } })
    end
    rules = rules or setmetatable({ rules = {}, columns = {}, off = {}, broken = policy_box.printable(problem) }, Rules)
    rules.budget_s = BUDGET_S
    return rules
end

--- Reads and loads a file. Returns the rules; or nil, message, code.
function M.open(path, options)
    local text, problem = require("slate.base.input").read(path, policy_box.LIMITS.source_bytes + 1)
    if not text then
        return nil, "cannot read " .. problem, "input"
    elseif #text > policy_box.LIMITS.source_bytes then
        return nil, too_long(path), "input"
    end
    local rules, broken = M.load(text, name_of(path), options)
    if not rules then
        return nil, broken, "no"
    end
    return rules
end

--- The operator's rules; nil if there is no file. A broken file is left out, and print_note(message) gets the reason.
function M.own(print_note)
    local path = M.path()
    if not path then
        return nil
    end
    local file, _, code = require("slate.base.input").open(path)
    if file then
        file:close()
    elseif NO_SUCH[code] then
        return nil
    end
    local rules, message = M.open(path)
    if not rules then
        print_note(("the rules are switched off: %s"):format(message))
        return nil
    end
    rules.print_note = print_note
    return rules
end

-- Checks and returns a finding of a rule; raises an error with the fault of the finding.
local function checked(rule, severity, what, todo, class)
    if not SEVERITIES[severity] then
        error(format("a severity is critical, warning or note, not '%s'", tostring(severity)), 0)
    elseif type(what) ~= "string" or what == "" or todo ~= nil and type(todo) ~= "string" then
        error("a finding is a severity, a sentence, and what to do about it", 0)
    elseif class ~= nil and math.type(class) ~= "integer" then
        error("a finding's class is an id", 0)
    end
    return { name = rule.name, severity = severity, what = policy_box.printable(what), class = class,
        todo = policy_box.printable(todo or "a rule of your own") }
end

function Rules:switch_off(name, problem)
    self.off[name] = problem
    if self.print_note then
        self.print_note(("rule %s is switched off: %s"):format(name, problem))
    end
end

--- One sentence for each thing that is switched off: the file, or rules and columns of the file.
function Rules:troubles()
    local list = { self.broken and "the rules are switched off: " .. self.broken or nil }
    for name, problem in pairs(self.off) do
        list[#list + 1] = ("rule %s is switched off: %s"):format(name, problem)
    end
    table.sort(list)
    return list
end

-- Begins a round of all rules, or all columns: the processor time spent, and the rule that took most.
local function begin_round(self)
    self.round = { spent_s = 0, most_s = -1 }
end

-- Calls a function of the file under the limits, with a copy of the facts. A function that fails is switched off, and
-- so is the slowest one of a round that exceeds the budget. False: it failed, was off, or the round is over.
local function call(self, name, about, f, ...)
    local round = self.round
    if self.off[name] or round.is_over then
        return false
    end
    local began_s = os.clock()
    local ok, problem = self.box:call(f, copy_of(about), ...)
    local took_s = os.clock() - began_s
    round.spent_s = round.spent_s + took_s
    if took_s > round.most_s then
        round.most_s, round.most = took_s, name
    end
    if not ok then
        self:switch_off(name, problem)
    elseif self.budget_s and round.spent_s > self.budget_s then
        round.is_over = true
        self:switch_off(round.most, ("all rules took more than %g ms of processor time together, this one %.0f"):format(
            self.budget_s * 1000, round.most_s * 1000))
    end
    return ok
end

--- The findings of the rules, the worst first. known: as for slate.judge.doctor. A rule that fails is switched off;
-- self.off has the reason by its name.
function Rules:findings(known)
    if #self.rules == 0 then
        return {}
    end
    local about, list = doctor.about(known), {}
    begin_round(self)
    for _, rule in ipairs(self.rules) do
        local found = {}
        local ok = call(self, rule.name, about, rule.check, function(...)
            if #found == MOST_FINDINGS then
                error(format("more than %d findings", MOST_FINDINGS), 0)
            end
            found[#found + 1] = checked(rule, ...)
        end)
        if ok then
            table.move(found, 1, #found, #list + 1, list)
        end
    end
    return doctor.sort(list)
end

--- The findings of the rules, each sentence with the name of its rule in front: a list may have other findings, too.
function Rules:named_findings(known)
    local list = self:findings(known)
    for _, finding in ipairs(list) do
        finding.what = ("%s: %s"):format(finding.name, finding.what)
    end
    return list
end

--- The values of the columns for each row of slate.judge.view.classes: { [id] = { [title] = number or text } }. known:
-- as for slate.judge.doctor.
function Rules:values(known)
    local about, values = doctor.about(known), {}
    for _, row in ipairs(about.rows) do
        values[row.id] = {}
    end
    begin_round(self)
    for _, column in ipairs(self.columns) do
        call(self, column.title, about, function(copy)
            for _, row in ipairs(copy.rows) do
                local value = column.value(row, copy)
                if value ~= nil and type(value) ~= "number" and type(value) ~= "string" then
                    error(format("the column is a %s, not a number or a text", type(value)), 0)
                end
                values[row.id][column.title] = type(value) == "string" and policy_box.printable(value) or value
            end
        end)
    end
    return values
end

--- A value of a column as it is shown, in its width at most: a longer number loses digits, a longer text ends in "…".
function M.text(value, width)
    if value == nil or value ~= value then -- 0/0
        return "-"
    elseif type(value) == "string" then
        return #value > width and value:sub(1, width - 1) .. "…" or value
    end
    local text, digits = math.type(value) == "float" and ("%.2f"):format(value) or tostring(value), width
    while #text > width and digits > 0 do
        text, digits = ("%%.%dg"):format(digits):format(value), digits - 1
    end
    return text
end

--- The cells of slatetop's own columns for each class: { [id] = texts, in the order of the columns }, and, to sort by,
-- a table with the numbers among these values. one: of slate.judge.view.
function Rules:cells(one)
    local cells, numbers = {}, {}
    for id, values in pairs(self:values(attention.known_of(one))) do
        cells[id], numbers[id] = {}, {}
        for i, column in ipairs(self.columns) do
            local value = values[column.title]
            cells[id][i] = M.text(value, column.width)
            numbers[id][i] = type(value) == "number" and value or nil
        end
    end
    return cells, numbers
end

return M
