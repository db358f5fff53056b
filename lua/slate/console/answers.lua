-- SPDX-License-Identifier: BSD-3-Clause
--- The answers of one server to inquiries: their states, their texts, and their parsed forms, which are made on demand
--- and cached until the next answer. Callers only read them.
local facts = require "slate.facts.answers"
local page_summary = require "slate.console.page_summary"
local predictions = require "slate.console.predictions"
local settings = require "slate.facts.settings"
local stats = require "slate.facts.stats"

local M = {}

local Answers = {}
Answers.__index = Answers
Answers.__name = "slate.console.answers"

--- Answers to no inquiry yet. class_id: the class of which every statistic is stored; nil at first. predictions: of
-- slate.console.predictions.
function M.new()
    return setmetatable({ of = {}, curves_of = {}, groups = {}, list = page_summary.list(),
        predictions = predictions.new(), total = 0 }, Answers)
end

--- Takes one complete answer. about: at_s, is_stats (it ended with END; any other answer is a refusal), class_id (of a
-- class_curves answer).
function Answers:take(name, text, about)
    local last = self.of[name]
    local one = { at_s = about.at_s, state = about.is_stats and "known" or "refused",
        count = (last and last.count or 0) + 1 }
    self.of[name] = one
    self.curves_known = name ~= "curve" and name ~= "class_curves" and self.curves_known or nil
    if not about.is_stats then
        one.refusal = stats.printable(text):match("^[^\r\n]*")
    elseif name == "class_curves" then
        self.curves_of[about.class_id] = { text = text }
    elseif name == "pages" then
        self.list:take(text)
    else
        one.text = text
        one.parsed = last and last.text == text and last.parsed or nil
    end
end

--- Takes a reply of a refresh, of which some views show parts: the settings, and every statistic of one class.
function Answers:take_group(group, text, about)
    if group == "settings" then
        self:take("settings", text, about)
    elseif self.class_id and about.is_stats and (group == "items" or group == "slabs") then
        local last = self.groups[group] or {}
        self.groups[group] = { text = text, at_s = about.at_s, before = last.text, before_s = last.at_s }
        if group == "slabs" then -- it comes after items
            self.of.class = { state = "known", at_s = about.at_s, count = 0 }
        end
    end
end

--- Sets the class of which every statistic is stored; nil: none.
function Answers:focus(class_id)
    if self.class_id ~= class_id then
        self.class_id, self.groups, self.of.class = class_id, {}, nil
    end
end

--- Drops all answers: the server may be another one now.
function Answers:forget()
    self.of, self.curves_of, self.groups, self.list = {}, {}, {}, page_summary.list()
    self.curves_known = nil
    self.predictions = predictions.new()
    self.total = self.total + 1
end

--- Drops the answers about a class: they were about another class with its id.
function Answers:forget_class(id)
    self.curves_of[id], self.curves_known = nil, nil
    if self.class_id == id then
        self.groups, self.of.class = {}, nil
    end
end

--- The state of an inquiry: "none", "known" or "refused"; and the server's words of a refusal.
function Answers:state(name)
    local one = self.of[name]
    return one and one.state or "none", one and one.refusal
end

function Answers:is_known(name)
    return self:state(name) == "known"
end

--- The time of an answer, and its text; nil without one.
function Answers:at_s(name)
    return self.of[name] and self.of[name].at_s
end

function Answers:text(name)
    return self.of[name] and self.of[name].text
end

--- A number that changes with each answer to one of these inquiries.
function Answers:stamp(names)
    local sum = self.predictions.stamp
    for _, name in ipairs(names) do
        sum = sum + (self.of[name] and self.of[name].count or 0)
    end
    return sum
end

--- An answer as its parser of slate.facts.answers returns it, one or two values: moves, automove, memory, curve,
-- whatif, settings, policies, evictions, geometry, hotkeys, sizehist, stock_sizes. nil: unknown.
function Answers:parsed(name)
    local one = self.of[name]
    if not (one and one.text) then
        return nil
    end
    one.parsed = one.parsed or table.pack(facts[name](one.text))
    return table.unpack(one.parsed, 1, one.parsed.n)
end

--- The sampled curve of a class, as of slate.facts.sampled.parse_curve; nil: unknown. Of too few reads it has no
-- points.
function Answers:class_curve(id)
    local one = self.curves_of[id]
    if one and not one.parsed then
        one.parsed, one.text = facts.curve(one.text), nil
    end
    return one and one.parsed
end

local function all_curves(answers)
    local sampled, curves = require "slate.facts.sampled", {}
    curves[0] = answers:is_known("curve") and sampled.as_points(answers:parsed("curve")) or nil
    for id in pairs(answers.curves_of) do
        curves[id] = sampled.as_points(answers:class_curve(id))
    end
    return curves
end

--- All known curves as judging modules take them, by class; 0 is all of the cache. nil: the server refuses curves, or
-- nothing was requested. The same table until the next answer with a curve.
function Answers:curves()
    if self:state("class_curves") == "refused" or not next(self.of) then
        return nil
    end
    self.curves_known = self.curves_known or all_curves(self)
    return self.curves_known
end

--- The list of pages (of slate.console.page_summary); nil: unknown.
function Answers:pages()
    return self:is_known("pages") and self.list or nil
end

local CLASS_STATS <const> = { items = "STAT items:%d:(%%S+) ?([^\r\n]*)", slabs = "STAT %d:(%%S+) ?([^\r\n]*)" }

local function each_class_stat(groups, field, id, take)
    for _, group in ipairs({ "items", "slabs" }) do
        local text = groups[group] and groups[group][field]
        for name, value in (text or ""):gmatch(CLASS_STATS[group]:format(id)) do
            take(stats.printable(name), stats.printable(value))
        end
    end
end

--- Every statistic of the class in focus, in the server's order: a list of { name, value (text), now, before }
-- (numbers, nil: unknown), with at_s and before_s, the times of the last two refreshes.
function Answers:class()
    local list, at = {}, {}
    each_class_stat(self.groups, "text", self.class_id or 0, function(name, value)
        at[name] = at[name] or #list + 1
        list[at[name]] = { name = name, value = value, now = stats.number(value) }
    end)
    each_class_stat(self.groups, "before", self.class_id or 0, function(name, value)
        (list[at[name]] or {}).before = stats.number(value)
    end)
    local slabs = self.groups.slabs or {}
    list.at_s, list.before_s = slabs.at_s, slabs.before_s
    return list
end

--- The texts that slate.facts.settings reads, for a server with this snapshot; without an answer its settings.
function Answers:replies(now)
    local flash = now.general.extstore_limit_maxbytes
    local known = self:text("settings") or settings.reply(now.settings or {})
    return { settings = known, config = self:text("config"), policies = self:text("policies"),
        geometry = self:text("geometry"), general = flash and ("STAT extstore_limit_maxbytes %d\r\n"):format(flash) }
end

return M
