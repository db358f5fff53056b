-- SPDX-License-Identifier: BSD-3-Clause
--- The changes that slatetop makes to one server: checked, sent and verified by the same steps as in slatectl, on
-- record, taken back and done again, on trial, and followed by a verdict.
--
-- No I/O: the owner passes in replies and times (by slate.base.clock), and sends the lines that `step` returns. A plan
-- is carried out step by step and stops at the first failure; its changes are one entry of the list of undo.
local audit = require "slate.facts.audit"
local clock = require "slate.base.clock"
local limits = require "slate.judge.thresholds"
local bounds = require "slate.judge.bounds"
local prediction = require "slate.judge.prediction"
local recorded = require "slate.act.recorded"
local settings = require "slate.facts.settings"
local shown = require "slate.act.shown"
local snapshot = require "slate.facts.snapshot"
local steps = require "slate.act.steps"
local talk = require "slate.act.talk"
local undo_proposal = require "slate.act.undo_proposal"
local units = require "slate.base.units"

local M = {}

local UNDO_MOST <const> = 16
local RESTARTED <const> = "the server restarted, and nothing is judged"
local PREFIXES <const> = { change = "", undo = "undo: ", redo = "redo: " } -- the end of a trial has one sentence

local Acting = {}
Acting.__index = Acting
Acting.__name = "slate.act.acting"

--- about: server (its name), observer (of slate.judge.view; the owner shows each snapshot to it) and record (of
-- slate.facts.audit_file, with read, a function that returns the end of its text). Fields for the owner: notes, a list
-- of { kind = "you" | "alarm", text } to show and clear; news, the last outcome; has_failed, of the last run; run (a
-- change is under way), trial, outcome (the verdict of the last change is shown) and unknown (an entry of which the
-- outcome is to be read back), nil when there is none.
function M.new(about)
    return setmetatable({ server = about.server, observer = about.observer, record = about.record, undo = {}, redo = {},
        refused = {}, notes = {} }, Acting)
end

function Acting:note(kind, text)
    self.notes[#self.notes + 1] = { kind = kind, text = text }
end

-- The context for the functions of slate.act.steps.
function Acting:context()
    local server, who = self.server, self.who
    return {
        who = who, server = { name = server }, record = self.record, command = self.run and self.run.command,
        group = self.run and self.run.group, named = shown.named, reopens = math.huge,
        reopen = function(_, client) return client:reopen() end,
        print_note = function(_, text) self:note("alarm", text) end,
        snapshot = function(_, client)
            return snapshot.take(client, { server = server, slated = who.slated, settings = true })
        end,
    }
end

-- Another change, or the end of the minute, ends the verdict: its words of now are final.
function Acting:end_outcome()
    local one = self.outcome
    self.outcome = nil
    if one and one.found then
        one.found.predicted = one.predicted
        self:note("you", ("%s: %s"):format(one.title, one.found.words))
        audit.note_outcome(self:context(), one.id, one.found)
        self.observer.judged_moves = audit.judged_moves(self.record.read(), self.server)
    end
end

-- Why what follows a change is not its effect: another client set one of its settings since; nil: none did.
local function why_set_since(made, now)
    local replies = { settings = settings.reply(now.settings or {}) }
    for _, entry in ipairs(made and made.entries or {}) do
        local why = entry.what == "set" and shown.why_set_since(replies, { undoes = entry })
        if why then
            return why
        end
    end
end

function Acting:follow_outcome()
    local one, now = self.outcome, self.observer.now
    if not one or not now then
        return
    end
    if now.time_s ~= one.seen_s then
        one.seen_s = now.time_s
        local found, words = self.observer:outcome(one.began_s, one.ended_s, one.items_lost)
        if found and not (one.is_reverted and found.not_judged) then -- the trial's end was judged
            local why = why_set_since(one.made, now)
            found.not_judged = why and "others" or found.not_judged
            found.words, one.found = why and why .. ", and nothing is judged" or words, found
            one.is_next = not why and one.made ~= nil and select(3, undo_proposal.last_change(self)) == one.made
        end
    end
    if clock.steady_s() - one.ended_s >= limits.verdict_lasts_s then
        self:end_outcome()
    end
end

-- Adds a change to the list of changes to take back, or to do again.
local function remember(list, entries, title, group)
    if #entries == 0 then
        return nil
    end
    local one = { title = title, entries = entries, group = group }
    list[#list + 1] = one
    if #list > UNDO_MOST then
        table.remove(list, 1)
    end
    return one
end

local function forget(list, one)
    for i = #list, 1, -1 do
        if list[i] == one then
            table.remove(list, i)
        end
    end
end

-- Notes the end of a step. A change that was not sent is an event only if it failed, with its title.
function Acting:note_step(run, step, text, is_done, is_changed)
    local prefix = PREFIXES[run.kind] or ""
    if not is_done then
        self:note("alarm", prefix .. (run.sent and text or ("%s: %s"):format(shown.title({ step }), text)))
    elseif is_changed or run.kind == "look" then
        self:note("you", prefix .. text)
    end
end

-- Does one step of the run and stores the entry of its change. Returns a sentence and whether the step is done.
function Acting:do_step(client, run, i)
    local context, step = self:context(), run.steps[i]
    run.at, run.progress, run.sent = i, shown.progress(step), nil
    local function progress(moved, wanted)
        run.progress = shown.progress(step, moved, wanted)
    end
    local words, id, code, extra, is_restarted
    local taken = run.taken and run.taken.entries[#run.taken.entries - i + 1]
    if run.kind == "trial" then
        words, id, code, extra, is_restarted = steps.end_trial(context, client, taken, self.trial.snapshot, progress)
        self.trial.why = is_restarted and RESTARTED or self.trial.why
    elseif run.kind == "look" then
        words, id = shown.read_back(taken, recorded.read_back(context, client, taken))
    elseif taken then
        words, id, code, extra = steps.take_back(context, client, taken, { is_redo = run.kind == "redo",
            leaves = #run.steps > 1, progress = progress })
    else
        words, id, code, extra = steps.carry_out(context, client, step, nil, progress)
    end
    local entry = words and code or not words and extra or nil
    run.code = not words and code or nil
    run.left[#run.left + 1] = words and extra and words or nil
    run.done[#run.done + 1] = entry
    local text = words and (entry and shown.done(step, entry, words) or words) or id
    if run.kind ~= "trial" or #run.steps > 1 then
        self:note_step(run, step, text, words ~= nil, entry ~= nil)
    end
    return text, words ~= nil
end

-- The body of the talk: does the steps; returns a sentence and whether all are done.
function Acting:carry_out(client, run)
    local text, is_done
    for i = 1, #run.steps do
        if run.stops then
            return shown.ended(run, text, i - 1), false
        end
        text, is_done = self:do_step(client, run, i)
        if not is_done then
            return shown.ended(run, text, i - 1, true), false
        end
    end
    return shown.ended(run, text, #run.steps), run.kind == "trial" or #run.left < #run.steps
end

function Acting:end_change(run, is_complete)
    local entry = remember(self.undo, run.done, run.title, run.group)
    if run.kind == "redo" then
        forget(self.redo, is_complete and run.taken or nil)
    else
        self.redo = {} -- the changes to do again are older than this one
    end
    if is_complete and run.guards and entry then
        self.trial = { title = run.title, guards = run.guards, minutes = run.minutes, entry = entry,
            before = run.before, snapshot = run.snapshot, begun_s = clock.steady_s() }
    end
    return entry
end

function Acting:end_run()
    local run = self.run
    local results = run.talk.results or { "given up: " .. run.talk.failure, false }
    local text, is_complete, made = results[1], results[2], nil
    self.run = nil
    if run.kind == "change" or run.kind == "redo" then
        made = self:end_change(run, is_complete)
    elseif is_complete and run.taken then
        forget(self.undo, run.taken)
        if run.kind == "trial" then
            text = ("trial %s, %s: %s"):format(#run.done > 0 and "reverted" or "over", self.trial.why, text)
        else
            remember(self.redo, run.done, run.taken.title, run.group)
        end
        self.trial = self.trial and self.trial.entry ~= run.taken and self.trial or nil
    elseif run.kind == "undo" and run.code == "no" and run.done[1] == nil and run.taken.entries[1].what ~= "set" then
        self.refused[run.taken.entries[#run.taken.entries].id or 0] = text -- the next undo passes it over
    elseif run.kind == "trial" and run.code ~= "closed" then -- the operator has to take the trial back
        text, self.trial = "the trial cannot go back: " .. text, nil
    end
    if #run.done > 0 then
        self.outcome = { title = shown.short(run.steps, run.done, run.title, text), began_s = run.began_s,
            ended_s = clock.steady_s(), id = run.done[#run.done].id, predicted = run.predicted,
            items_lost = shown.lost_by(run.done), is_reverted = run.kind == "trial", made = made }
    end
    self.news, self.has_failed = text, not is_complete
    if #run.steps > 1 or run.kind == "trial" then
        self:note(is_complete and "you" or "alarm", text)
    end
    self.is_changed = true
end

-- Begins a run. taken: the change that the run takes back, or does again. group: of the terms.
function Acting:start(kind, list, taken, title, group)
    self:end_outcome()
    local run = { kind = kind, steps = list, taken = taken, title = title, done = {}, left = {}, at = 1,
        progress = title, began_s = clock.steady_s(), command = {}, group = group }
    self.run = run
    run.talk = talk.new(function(client) return self:carry_out(client, run) end)
    return run
end

--- Begins `changes` (of slate.act.shown), which passed their checks; or undoes or repeats the last proposal.
-- kind: "change", "undo" or "redo". who: of the server; is_up: there is a connection. terms: minutes, evictions_pct and
-- hit_points of a trial, minutes 0 for none; group, { fleet = true }, is one table for all servers of a change. curves:
-- for the prediction of a move, as slate.judge.prediction takes them. True; or nil and a message, and nothing is sent.
function Acting:begin(kind, changes, who, is_up, terms, curves)
    if self.run then
        return nil, "one change at a time: the last one is still under way"
    elseif not is_up then
        return nil, "no connection: nothing was sent"
    elseif terms.minutes > 0 and self.trial then
        return nil, "one trial at a time: keep (K) or undo (u) the one that runs"
    end
    self.who = who
    local taken = kind ~= "change" and self.proposed or nil
    local list = taken and taken.steps or {}
    for i, change in ipairs(taken and {} or changes) do
        list[i] = shown.step(change)
    end
    if #list == 0 then
        return nil, "nothing to send"
    end
    local run = self:start(kind, list, taken and taken.of, shown.title(list), terms.group)
    run.predicted = self.observer.now and shown.moves(list)
        and prediction.of_moves(self.observer, curves, shown.moves(list)) or nil
    if terms.minutes > 0 then
        run.guards, run.minutes = bounds.guards_of_terms(terms.evictions_pct, terms.hit_points), terms.minutes
        run.before, run.snapshot = self.observer.past:before(run.began_s) or {}, self.observer.now
    end
    return true
end

--- As propose_undo of slate.act.undo_proposal; `begin` of kind undo takes the change back.
function Acting:propose_undo(replies)
    return undo_proposal.propose_undo(self, replies)
end

--- As propose_redo of slate.act.undo_proposal; `begin` of kind redo does the change again.
function Acting:propose_redo()
    return undo_proposal.propose_redo(self)
end

-- Why a trial has to end, in a sentence; nil while it goes on.
function Acting:why_over(trial)
    local now_s, for_s = clock.steady_s(), trial.minutes * 60
    if trial.snapshot and snapshot.is_restart(trial.snapshot, self.observer.now) then
        return RESTARTED
    elseif now_s - trial.begun_s >= for_s then
        return ("%d min are over"):format(trial.minutes)
    end
    return bounds.guard_crossed_lately(trial.guards, trial.before, self.observer.past, trial.begun_s, for_s)
end

-- Takes back a trial that is over; without a connection the trial waits.
function Acting:watch_trial(is_up)
    local trial = self.trial
    if not trial or self.run then
        return
    end
    trial.why = trial.why or self:why_over(trial)
    if trial.why and is_up then
        local list, message = shown.way_back(trial.entry.entries)
        if list then
            self:start("trial", list, trial.entry, shown.title(list))
        else -- the operator has to take the trial back
            self.trial, self.news = nil, "the trial cannot go back: " .. message
            self:note("alarm", self.news)
        end
    end
end

--- Ends the trial; the change stays. False when there is no trial.
function Acting:accept_trial()
    local trial = self.trial
    if not trial or trial.why then
        return false
    end
    self.trial, self.news = nil, "kept: " .. trial.title
    self:note("you", "trial kept: " .. trial.title)
    return true
end

-- The server does not answer. Nothing more is sent, also not when it answers again: a step without a command yet ends
-- now; one whose command is on its way waits for the answer, and is verified.
local function withhold(run)
    if not run.sent then
        run.talk:break_off(("the server does not answer: nothing %swas sent"):format(run.at > 1 and "more " or ""))
    else
        run.talk:withhold("the server did not answer for some time: nothing more was sent")
    end
end

-- The connection broke. A step whose command was sent waits for another one, over which its outcome is read back.
function Acting:cut(run)
    local why = run.sent and ("the connection broke, so the outcome of %s is unknown"):format(run.sent)
        or ("the connection broke: nothing %swas sent"):format(run.at > 1 and "more " or "")
    run.talk:cut(why)
    if run.talk.is_cut then
        self.news, self.has_failed = why, true
        self:note("alarm", why)
    end
end

--- Does what is due. is_up: the connection on which the change under way began still stands, or, after it broke, there
-- is another one. is_late: the server does not answer. Returns the line to send, if any, and whether its answer is
-- statistics. Sets is_changed when the server was changed.
function Acting:step(is_up, is_late)
    self:follow_outcome()
    self:watch_trial(is_up) -- its end has the figures that the outcome has
    if self.unknown and is_up and not self.run then
        local entry = self.unknown
        self.unknown = nil
        self:start("look", { shown.step_of(entry) }, { entries = { entry } }, "reading back " .. shown.entry(entry))
    end
    local run = self.run
    if not run then
        return nil
    elseif run.talk.is_cut then
        if not is_up then
            return nil
        end
        run.talk:go_on(true)
    elseif not is_up then
        self:cut(run)
    elseif is_late then
        withhold(run)
    end
    run.is_late = is_late
    run.talk:step()
    if run.talk.is_over then
        self:end_run()
        return nil
    end
    local line, is_stats = run.talk:take_line()
    if line and not is_stats then
        run.sent, run.sent_s = line, clock.steady_s()
    end
    return line, is_stats
end

--- Takes the reply to the line from `step`.
function Acting:reply(text)
    if self.run then
        self.run.talk:take(text)
    end
end

--- When the next work is due, by slate.base.clock; nil if none is.
function Acting:due_s()
    local run, trial = self.run, self.trial
    if run and run.talk.is_cut then
        return nil
    elseif run then
        return not run.talk.is_waiting and (run.talk.due_s or 0) or run.talk.line and 0 or nil
    end
    return trial and not trial.why and trial.begun_s + trial.minutes * 60 or nil
end

--- Call this when slatetop exits: a trial has to go back now, and a plan stops after the step under way. True while
-- work is left.
function Acting:leave()
    local run = self.run
    self:end_outcome()
    if run and (run.kind == "change" or run.kind == "redo") then
        run.stops = true
        if not run.guards then
            return false -- the step under way was sent; later steps are not
        end
    end
    if self.trial then
        self.trial.why = self.trial.why or "slatetop exited"
    end
    return (self.run or self.trial) ~= nil
end

--- The work that is left undone when slatetop ends, in lines for the shell; "" for none.
function Acting:leftovers()
    local list = {}
    if self.run then
        self.run.talk:break_off("slatetop exited before the remaining commands were sent")
        self:end_run()
        list[1] = self.news
    end
    for _, step in ipairs(self.trial and shown.way_back(self.trial.entry.entries, self.observer.now) or {}) do
        list[#list + 1] = "the server did not answer, so the trial is still on; to end it: " .. shown.title({ step })
    end
    return table.concat(list, "\n")
end

--- The work under way, for the message line; "" for none.
function Acting:words()
    local run, trial, outcome = self.run, self.trial, self.outcome
    if run and run.talk.is_cut then
        return "the connection broke: the last change is read back once the server answers"
    elseif run and run.is_late and run.sent then
        return ("no answer for %s to %s: it is verified once it comes"):format(
            units.age(clock.steady_s() - run.sent_s), run.sent)
    elseif run then
        return #run.steps > 1 and ("change %d of %d: %s"):format(run.at, #run.steps, run.progress) or run.progress
    elseif trial and trial.why then
        return ("trial over, %s: waiting for the server to go back"):format(trial.why)
    elseif trial then
        local left_s = math.max(0, math.ceil(trial.begun_s + trial.minutes * 60 - clock.steady_s()))
        return ("trial, back in %d:%02d unless kept (K): %s"):format(left_s // 60, left_s % 60, trial.title)
    elseif outcome and outcome.found then
        return ("%s: %s%s"):format(outcome.title, outcome.found.words,
            outcome.is_next and outcome.found.not_judged ~= "restart" and "; u undoes" or "")
    end
    return ""
end

return M
