-- SPDX-License-Identifier: BSD-3-Clause
--- The record of changes, by slatectl and by slatetop: one line of JSON for each, only ever appended to.
--
-- It is the file SLATE_AUDIT, else slate/audit.log under XDG_STATE_HOME, else under ~/.local/state. An entry is
-- { schema, id, time_s, who (user@host), server, what = "set" | "move" | "geometry", and for a set name, was, is; for a
-- move src, dst, pages, dst_pages (those of dst after it), pid and started_s of the server's process; for a geometry
-- is, the order as sent, generation, the server's number of the change, and auto_was, the value of slab_geometry_auto
-- before it; undoes = the id of an entry that this one took back; fleet = the id of the first entry of the fleet's
-- change, of which this is a part }. In a set, back is a value that restores the setting exactly, if was does not; with
-- is the id of the command's first change, if the command made several; run is that of the first page that a run of a
-- policy moved. A line with what = "outcome" has no id: it has the outcome, in words and figures, of the change whose
-- id is `of`.
--
-- An entry is written before its first line is sent, with unknown = true. A line with what = "settled" ends that: made
-- is whether the change with the id `of` was made, and its other fields replace those of the entry. So a change of
-- which the answer never came is on record, too.
local audit_file = require "slate.facts.audit_file"
local find = require "slate.base.find"
local gather = require "slate.base.gather"

local M = {}

M.SCHEMA = "slate/audit/1"

--- The path of the record; nil without a home.
function M.path(environment)
    return require("slate.base.places").path("audit", environment or os.getenv)
end

local function is_text(value)
    return type(value) == "string" or type(value) == "number"
end

local LAST_S <const> = 1 << 36 -- os.date has no later time

-- The fields of a change that an undo needs.
local WHOLE <const> = {
    set = function(entry) return type(entry.name) == "string" and is_text(entry.was) and is_text(entry.is) end,
    move = function(entry)
        return math.type(entry.src) == "integer" and math.type(entry.dst) == "integer"
            and math.type(entry.pages) == "integer" and entry.pages > 0
    end,
    geometry = function(entry)
        return type(entry.is) == "string" and entry.is:find("^slabs geometry %g[%g ]*$") ~= nil
    end,
}
local INTEGERS <const> = { "undoes", "with", "fleet", "run", "src_pages", "dst_pages" }

-- True if an entry has all fields that an undo needs, and those of its readers have their types. A damaged or later
-- record may have other fields.
local function is_complete(entry)
    local function is_wrong(name) return entry[name] ~= nil and math.type(entry[name]) ~= "integer" end
    return not gather.any(INTEGERS, is_wrong) and math.type(entry.id) == "integer"
        and WHOLE[entry.what] ~= nil and WHOLE[entry.what](entry)
        and type(entry.server) == "string" and (entry.back == nil or is_text(entry.back))
        and (entry.who == nil or type(entry.who) == "string")
        and type(entry.time_s) == "number" and entry.time_s >= 0 and entry.time_s < LAST_S
end

-- The fields of an entry that are known once the change was made.
local SETTLED <const> = { "is", "pages", "src_pages", "dst_pages", "items_lost", "generation", "undoes" }

-- Completes an entry by its line of what = "settled"; nil: there is none. False if the change was not made.
local function settle(entry, line)
    if line then
        entry.unknown = nil
        for _, name in ipairs(SETTLED) do
            entry[name] = line[name]
        end
    end
    return not line or line.made == true and is_complete(entry)
end

-- The entry of a line; {} if the line is no entry.
local function entry_of(line)
    local entry = require("slate.base.json").decode(line)
    return type(entry) == "table" and entry.schema == M.SCHEMA and entry or {}
end

-- The figures of an outcome, by their names in an entry.
local OUTCOME <const> = { predicted_change = "predicted_change", predicted_least = "predicted_least",
    predicted_most = "predicted_most", drift = "drift", measured_change = "effect", measured_error = "effect_error" }

--- All entries of a text, the oldest first; other lines are skipped. An entry has the outcome of its change: outcome,
-- the words; and for the hit ratio, if known, predicted_change, predicted_least, predicted_most, measured_change, its
-- standard error (measured_error) and drift (1: the cache was still filling, or it rose while the load changed; -1: it
-- fell so); and not_judged ("restart", "reset", "flush", "traffic" or "others": why nothing is known).
function M.entries(text)
    local list, by_id = {}, {}
    for line in text:gmatch("[^\n]+") do
        local entry = entry_of(line)
        if is_complete(entry) then
            list[#list + 1], by_id[entry.id] = entry, entry
        elseif entry.what == "settled" and by_id[entry.of] and not settle(by_id[entry.of], entry) then
            table.remove(list, (find.place(list, by_id[entry.of])))
            by_id[entry.of] = nil
        elseif entry.what == "outcome" and by_id[entry.of] and type(entry.words) == "string" then
            local of = by_id[entry.of]
            of.outcome = entry.words
            for to, from in pairs(OUTCOME) do
                of[to] = type(entry[from]) == "number" and entry[from] or nil
            end
            of.not_judged = type(entry.not_judged) == "string" and entry.not_judged or nil
        end
    end
    return list
end

--- Iterates over the entries of a list or a text, the last first. A text is parsed only as far as needed.
function M.backwards(from)
    local list, is_of_text = from, type(from) == "string"
    if is_of_text then
        list = {}
        for line in from:gmatch("[^\n]+") do
            list[#list + 1] = line
        end
    end
    local i, settled = #list + 1, {}
    return function()
        while i > 1 do
            i = i - 1
            local entry = is_of_text and entry_of(list[i]) or list[i]
            if entry.what == "settled" and entry.of then
                settled[entry.of] = settled[entry.of] or entry
            elseif is_complete(entry) then
                local line = settled[entry.id]
                settled[entry.id] = nil -- the number of a change that was not made is given again
                if settle(entry, line) then
                    return entry
                end
            end
        end
    end
end

local ENOENT <const>, ENOTDIR <const> = 2, 20

--- The entries of the file at a path; none if the file is absent, or is a device such as /dev/null. Or nil, message,
-- "input".
function M.read(path)
    local input = require "slate.base.input"
    if not path then
        return nil, "there is no record of changes: set HOME or SLATE_AUDIT", "input"
    elseif input.kind(path) == "device" then
        return {}
    end
    local text, problem, number = input.read(path)
    if number == ENOENT or number == ENOTDIR then
        return {}
    elseif not text then
        return nil, "cannot read the record of changes " .. problem, "input"
    end
    return M.entries(text)
end

local DEVIATIONS <const> = 1.96 -- 19 of 20 values of a normal distribution are so near to the mean

-- Whether an outcome was between the least and the most predicted, but for the error of measuring it; then how far the
-- prediction was off. nil without a prediction or an outcome; nil, true where the effect is unknown.
local function came_true(entry)
    local predicted, measured = tonumber(entry.predicted_change), tonumber(entry.measured_change)
    local least, most = tonumber(entry.predicted_least), tonumber(entry.predicted_most)
    if entry.not_judged or measured and entry.drift then
        return nil, predicted and true
    elseif predicted and measured then
        local chance = DEVIATIONS * (tonumber(entry.measured_error) or 0)
        return (least and most and measured >= least - chance and measured <= most + chance) == true,
            math.abs(predicted - measured)
    end
end

--- The accuracy of predictions, from the entries with a prediction and an outcome. It leaves out changes that were not
-- judged, and those while the cache filled or the load changed: the effect is unknown. { predictions (a count), median,
-- p90 (errors of the hit ratio), within (how many outcomes were between the least and the most predicted, but for the
-- error of measuring them), left_out (how many were left out) }; without predictions, the first is 0, and median, p90
-- and within are absent.
function M.accuracy(entries)
    local off, within, left_out = {}, 0, 0
    for _, entry in ipairs(entries) do
        local is_within, error_ratio = came_true(entry)
        if is_within ~= nil then
            off[#off + 1], within = error_ratio, within + (is_within and 1 or 0)
        else
            left_out = left_out + (error_ratio and 1 or 0)
        end
    end
    table.sort(off)
    local function quantile(share)
        return off[math.max(1, math.ceil(#off * share))]
    end
    return { predictions = #off, median = quantile(0.5), p90 = quantile(0.9), within = #off > 0 and within or nil,
        left_out = left_out }
end

--- The predictions of page moves to a server that are judged on record: a list of { time_s, is_within }. text: of the
-- record.
function M.judged_moves(text, server)
    local list = {}
    for _, entry in ipairs(text:find('"predicted_change"', 1, true) and M.entries(text) or {}) do
        local is_within = came_true(entry)
        if entry.what == "move" and entry.server == server and is_within ~= nil then
            list[#list + 1] = { time_s = entry.time_s, is_within = is_within }
        end
    end
    return list
end

--- The same of the record in the environment's place; empty if there is none.
function M.judged_moves_on_record(server)
    return M.judged_moves(audit_file.text(M.path()), server)
end

--- The author of the last change of a setting of a server to a value that a record has since a time of day; nil if it
-- has none. text: of the record; name, is: of the setting, as the server has them.
function M.author(text, server, name, is, since_s)
    local settings = require "slate.facts.settings"
    for entry in M.backwards(text) do
        if entry.time_s < since_s then
            return nil
        end
        local is_it = entry.what == "set" and entry.server == server and settings.row(entry.name) == settings.row(name)
            and tostring(entry.was) ~= tostring(entry.is) -- else it was so already
        if is_it and settings.same(name, tostring(is), tostring(entry.is)) then
            return entry.who
        end
    end
end

--- The pages that the class to which an entry moved pages should have by the record: those after the move, with those
-- that later moves brought, and without those that undos of earlier moves took. nil if the record does not say.
function M.pages_due(text, entry)
    local due, undone = entry.dst_pages, {}
    for one in M.backwards(due and entry.id and text or "") do
        if one.id <= entry.id then
            break
        end
        undone[one.undoes or 0] = true
        local is_even = undone[one.id] or one.undoes and one.undoes > entry.id -- a later move and its undo
        if one.what == "move" and one.server == entry.server and not is_even then
            due = due + (one.dst == entry.dst and one.pages or one.undoes and one.src == entry.dst and -one.pages or 0)
        end
    end
    return due
end

local KEY_ORDER <const> = { "schema", "id", "time_s", "who", "server", "what", "of" }

--- The line of an entry, with its newline.
function M.line(entry)
    return require("slate.base.json").encode(entry, KEY_ORDER) .. "\n"
end

-- A line to append to a text. If a full disk has cut the text's last line, this one begins a new line.
local function line_behind(text, entry)
    return (text:find("[^\n]$") and "\n" or "") .. M.line(entry)
end

--- Gives an entry the id after the last one of a text, the time and the user. Returns its line. An entry with
-- fleet = true is the first of a change to a fleet.
function M.number(entry, text, who)
    local last = M.backwards(text)()
    entry.schema, entry.id = M.SCHEMA, (last and last.id or 0) + 1
    entry.time_s, entry.who = require("slate.base.clock").time_s(), who
    entry.fleet = entry.fleet == true and entry.id or entry.fleet
    return line_behind(text, entry)
end

local function record_of(context)
    return context.record or audit_file.new(M.path())
end

--- The text of the record of a context, as for note_outcome.
function M.text(context)
    return record_of(context).read()
end

--- Checks beforehand, as far as possible, that a change can be recorded: true, or nil and a message.
function M.can_note(context)
    return record_of(context).append(function() return "" end)
end

--- An outcome (of slate.act.witness) as fields of JSON.
function M.outcome_fields(outcome)
    local before, after = outcome.before or {}, outcome.after or {}
    local predicted = outcome.predicted or {}
    return {
        predicted_change = predicted.hit_ratio_change, predicted_least = predicted.least,
        predicted_most = predicted.most,
        words = outcome.words, for_s = outcome.for_s, drift = outcome.drift, not_judged = outcome.not_judged,
        items_lost = outcome.items_lost,
        hit_ratio_before = before.hit_ratio, hit_ratio_after = after.hit_ratio,
        hit_ratio_error = outcome.error, effect = outcome.effect, effect_error = outcome.effect_error,
        evictions_before_per_s = before.evictions_per_s, evictions_after_per_s = after.evictions_per_s,
    }
end

--- Records the outcome of the change with this id; nothing if id is nil (the change is not on record). outcome: of
-- slate.judge.verdict, with its words. context: server, print_note, and record (as of slate.facts.audit_file), or nil
-- for the usual one.
function M.note_outcome(context, id, outcome)
    if not id then
        return
    end
    local entry = M.outcome_fields(outcome)
    entry.schema, entry.what, entry.of, entry.for_s = M.SCHEMA, "outcome", id, nil
    entry.server, entry.time_s = context.server.name, require("slate.base.clock").time_s()
    local ok, problem = record_of(context).append(function(text) return line_behind(text, entry) end)
    if not ok then
        context:print_note("the outcome of the change is not on record: " .. problem)
    end
end

--- The entry of a move of pages before it is sent: its pages, and those of its classes, are the wanted ones. plan: of
-- slate.act.move; fields: others of the entry, or nil.
function M.move(plan, fields)
    local entry, general = fields or {}, plan.before.general
    entry.what, entry.src, entry.dst, entry.pages = "move", plan.src, plan.dst, plan.pages
    entry.src_pages = plan.src_pages and plan.src_pages - plan.pages
    entry.dst_pages, entry.pid = plan.dst_pages + plan.pages, general.pid
    entry.started_s = require("slate.facts.snapshot").started_s(general)
    entry.chunk_sizes = plan.slated and require("slate.facts.class_ids").chunk_sizes(entry, plan.before.classes) or nil
    return entry
end

-- Puts a change on record, and gives its entry an id, which is nil after a failure; then the second result says why.
-- context: as for note_outcome, and command, a table that all changes of one command share, with the id of the first,
-- is_run for a run of a policy, is_unrecorded after a failure, and under_way, the entry of which the outcome is not
-- known yet; and fleet, which may be absent: true for the first entry of a change to a fleet; it becomes that entry's
-- id, for the others. group: a table with fleet, in place of the context, for contexts that make one change at the same
-- time.
local function add(context, entry)
    local record, command, group = record_of(context), context.command or {}, context.group or context
    entry.server, entry[command.is_run and "run" or "with"] = context.server.name, command.first
    entry.fleet = not entry.undoes and group.fleet or nil
    local ok, problem = record.append(function(text) return M.number(entry, text, record.who) end)
    if not ok then
        entry.id, entry.fleet = nil, nil
    end
    group.fleet = entry.fleet or group.fleet -- later entries belong to the same change
    command.first = command.first or entry.id
    return entry.id, problem
end

--- Puts a change on record before its first line is sent.
function M.begin(context, entry)
    entry.unknown = true
    if context.command then
        context.command.under_way = entry
    end
    add(context, entry) -- a failure is told once the change is made
end

--- Records a change that was made. A failure is only printed, because the change stands. Returns the id. context: as
-- for begin.
function M.note(context, entry)
    local id, problem = add(context, entry)
    if not id then
        if context.command then
            context.command.is_unrecorded = true
        end
        context:print_note("the change is made, but not on record: " .. problem)
    end
    return id
end

--- Records whether the change of an entry of `begin` was made. Returns its id, nil if it was not made or not recorded.
function M.settle(context, entry, is_made)
    entry.unknown, entry.src_pages = nil, nil
    if context.command then
        context.command.under_way = nil
    end
    if not entry.id then
        return is_made and M.note(context, entry) or nil
    end
    local line = { schema = M.SCHEMA, what = "settled", of = entry.id, made = is_made, server = entry.server,
        time_s = require("slate.base.clock").time_s() }
    for _, name in ipairs(is_made and SETTLED or {}) do
        line[name] = entry[name]
    end
    local ok, problem = record_of(context).append(function(text) return line_behind(text, line) end)
    if not ok and is_made then
        if context.command then
            context.command.is_unrecorded = true
        end
        context:print_note(("change %d is made, but its outcome is not on record: %s"):format(entry.id, problem))
    end
    return is_made and entry.id or nil
end

--- The last entry of a server, if its outcome is unknown: a change or an undo. from: as for M.backwards.
function M.last_unknown(from, server)
    for entry in M.backwards(from) do
        if entry.server == server then
            return entry.unknown == true and entry or nil
        end
    end
end

--- Iterates over the changes that no later entry took back, the last first; undos are none. from: as for M.backwards.
function M.standing(from)
    local undone, each = {}, M.backwards(from)
    return function()
        for entry in each do
            if entry.undoes then
                undone[entry.undoes] = true
            elseif not undone[entry.id] then
                return entry
            end
        end
    end
end

-- Why the change with an id cannot be taken back on a server, from a record in which no such change stands.
local function why_none(from, server, id)
    for entry in M.backwards(from) do
        if entry.id == id and not entry.undoes then
            return entry.server == server and ("change %d was taken back already"):format(id)
                or ("change %d was made to %s, not to %s"):format(id, entry.server, server)
        end
    end
    return ("there is no change %d on record"):format(id)
end

--- The last change to a server that was not undone; undos do not count. With an id: the entry of that id, if it was
-- not undone. is_run: only of runs and plans. before: only with a lower id; nil for any. nil and a message if there is
-- none. from: a list of entries, or the text of the record.
function M.last_undoable(from, server, id, is_run, before)
    for entry in M.standing(from) do
        local is_wanted = id == entry.id or not id and (not is_run or entry.policy or entry.with)
        if is_wanted and entry.server == server and entry.id < (before or math.huge) then
            return entry
        end
    end
    return nil, id and why_none(from, server, id) or ("no %s to %s is on record that was not taken back"):format(
        is_run and "change by a run or a plan" or "change", server)
end

--- The entries of a change to a fleet that were not undone, the last first: of the change with that id, or of the last
-- change with such entries. Returns them and the id; or nil and a message.
function M.fleet_change(entries, id)
    local found = {}
    for entry in M.standing(entries) do
        if entry.fleet and (id or entry.fleet) == entry.fleet then
            id, found[#found + 1] = entry.fleet, entry
        end
    end
    if #found == 0 then
        return nil, id and ("there is no change %d to a fleet on record that was not taken back"):format(id)
            or "no change to a fleet is on record that was not taken back"
    end
    return found, id
end

--- The changes of the command that made an entry, without undone ones, the first change first; of a run of a policy
-- only with is_run. from: as for last_undoable.
function M.of_command(from, entry, is_run)
    local first, list = entry.with or is_run and entry.run or entry.id, {}
    for one in M.standing(from) do
        if one.id < first then
            break
        elseif (one.id == first or one.with == first or is_run and one.run == first) and one.server == entry.server then
            table.insert(list, 1, one)
        end
    end
    return list
end

return M
