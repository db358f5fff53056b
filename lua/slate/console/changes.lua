-- SPDX-License-Identifier: BSD-3-Clause
--- The changes to one server, the only way in which slatetop changes it: a change is checked, sent, verified by reading
--- back, noted as an event and on record, remembered for undo, and its outcome is reported; a trial is undone at its
--- end. The rules are in slate.act.acting; this hands it the model and replies, and hands out its lines.
---
--- It belongs to one session, so a trial goes on while another server is on the screen. Times are of slate.base.clock.
local clock = require "slate.base.clock"
local gather = require "slate.base.gather"
local question = require "slate.console.question"
local server = require "slate.console.server"

local M = {}

local TAIL_BYTES <const>, RECENT_S <const> = 1 << 18, 60
--- How long slatetop waits at its end for trials to go back.
M.LEAVE_S = 10

-- The record of changes, as of slate.facts.audit_file, in the file at a path; "": there is none.
local function record_of(path)
    local files = require "slate.console.files"
    local function append(compose)
        if path == "" then
            return nil, "no record of changes: set HOME or SLATE_AUDIT, or name a file with --audit-log"
        end
        local is_written, why = files.append_locked(path, TAIL_BYTES, compose)
        return is_written, not is_written and ("the record of changes %s was not written: %s"):format(path, why) or nil
    end
    return { who = files.who(), append = append, read = function()
        return path ~= "" and files.read_tail(path, TAIL_BYTES) or ""
    end }
end

-- True while a field of the acting object is set: run (a change is under way), trial, outcome (of the last change).
local function has(changes, ...)
    return gather.any({ ... }, function(field) return changes.acting and changes.acting[field] end)
end

local Changes = {}
Changes.__index = Changes
Changes.__name = "slate.console.changes"

-- Moves the notes of what was done into the events of the model.
local function take_notes(changes)
    local notes = changes.acting.notes
    for i, note in ipairs(notes) do
        changes.model:note(note.kind, clock.time_s(), note.text)
        notes[i] = nil
    end
    changes.news, changes.acting.news = changes.acting.news or changes.news, nil
    changes.has_failed = changes.acting.has_failed
end

-- Calls a method; none before a snapshot was judged. If it fails, every change and trial ends, the news has the reason,
-- and so has the second result.
local function call(changes, method, ...)
    local model = changes.model
    local observer = model.observer or changes.acting and changes.acting.observer
    if not observer then
        return nil, question.why_unjudged(model)
    end
    changes.acting = changes.acting or require("slate.act.acting").new({ server = model.server,
        record = record_of(changes.audit_path) })
    changes.acting.observer = observer
    local results = table.pack(pcall(changes.acting[method], changes.acting, ...))
    if results[1] then
        take_notes(changes)
        return table.unpack(results, 2, results.n)
    end
    changes.acting = nil -- the next change begins with a new one
    changes.news, changes.has_failed = "given up: " .. tostring(results[2]), true
    model:note("alarm", clock.time_s(), changes.news)
    return nil, changes.news
end

--- The changes to the server of a model. audit_path: of the record of changes; nil or "": there is none.
function M.new(model, audit_path)
    local changes = setmetatable({ model = model, audit_path = audit_path or "" }, Changes)
    model.author_of = function(name, is) -- others use the record, too
        return require("slate.facts.audit").author(record_of(changes.audit_path).read(), model.server, name, is,
            clock.time_s() - RECENT_S)
    end
    return changes
end

--- Begins a plan. kind: "change"; or "undo" and "redo", which take that of the last proposal. terms: of the review, as
--- slate.act.acting takes them. True; or nil and why nothing was sent: another change is under way, there is no
--- connection, or the server does not take a step.
function Changes:begin(kind, plan, terms)
    local model = self.model
    if model.link ~= "up" or not model.now then
        return nil, "no connection: nothing was sent"
    end
    for _, one in ipairs(kind == "change" and plan or {}) do
        local why = require("slate.console.change").why_not(model, one)
        if why then
            return nil, why
        end
    end
    local has_begun, why = call(self, "begin", kind, plan, server.who(model.now), true, terms, model.answers:curves())
    if has_begun then
        self.generation = nil -- it is of the connection of its first line
    end
    return has_begun, why
end

-- A function for a reply to the change under way; a change that was ended since does not get it.
local function taker(changes)
    local run = changes.acting.run
    return function(text)
        if run and changes.acting and changes.acting.run == run then
            call(changes, "reply", text)
        end
    end
end

--- Does what is due on a connection (of slate.console.connection), which hands the replies back. is_late: the server
--- does not answer. True when the server was changed, and should be refreshed.
function Changes:step(connection, now_s, is_late)
    local observer = self.model.observer
    self.model.changing = has(self, "run") and self.acting.run.progress or nil
    if observer and not observer.judged_moves then -- advice of moves rests on those before
        observer.judged_moves = require("slate.facts.audit").judged_moves(record_of(self.audit_path).read(),
            self.model.server)
    end
    if not has(self, "run", "trial", "outcome", "unknown") then
        return false
    end
    local was_running = has(self, "run")
    local is_bound = was_running and not self.acting.run.talk.is_cut -- to the connection of its first line
    self.generation = is_bound and self.generation or connection.generation
    local is_up = connection:is_up() and self.generation == connection.generation
        and (is_bound or self.model.link == "up" and not is_late)
    local line, is_stats = call(self, "step", is_up, is_late)
    if line and connection:send(line, is_stats and "stats" or "line", now_s, taker(self)) then
        connection:flush(now_s)
    elseif line then
        call(self, "step", false)
    end
    local is_over = was_running and not has(self, "run")
    self.changed_s = is_over and now_s or self.changed_s
    return is_over
end

--- The change that "undo" takes back (the last one on record that was not taken back, made here or by another program),
--- or that "redo" makes again: { title, changes }; or nil and why there is none.
function Changes:propose(kind)
    local model = self.model
    -- Settings of before the last change would show its value as another client's.
    local is_stale = self.changed_s and (model.answers:at_s("settings") or 0) <= self.changed_s
    return call(self, kind == "redo" and "propose_redo" or "propose_undo",
        model.now and not is_stale and model.answers:replies(model.now) or nil)
end

--- Ends the trial; the change stays. False when there is no trial.
function Changes:accept_trial()
    return has(self, "trial") and call(self, "accept_trial") or false
end

--- True while a change is under way, or a trial.
function Changes:is_busy()
    return has(self, "run", "trial")
end

function Changes:has_trial()
    return has(self, "trial")
end

--- Seconds until the trial is undone; 0: its undo is under way; nil: there is no trial.
function Changes:trial_left_s()
    local trial = self.acting and self.acting.trial
    if trial then
        return trial.why and 0 or math.max(0, math.ceil(trial.begun_s + trial.minutes * 60 - clock.steady_s()))
    end
end

--- Prepares the end of slatetop: a trial is undone now, a plan stops after the step under way. True while work is left:
--- call it and `step` until it returns false, or LEAVE_S are over.
function Changes:leave()
    return self:is_busy() and call(self, "leave") or false
end

--- The unfinished changes, as sentences for the shell, a line each; "" for none.
function Changes:leftovers()
    return self:is_busy() and call(self, "leftovers") or ""
end

--- The change or trial under way, or the outcome of the last change, for the message line; "" for none.
function Changes:words()
    return has(self, "run", "trial", "outcome") and call(self, "words") or ""
end

--- The last outcome, once, and true if the change was not made as a whole; nil when there is no new one.
function Changes:take_news()
    local news = self.news
    self.news = nil
    return news, self.has_failed
end

--- When `step` has its next work, by slate.base.clock; nil if there is none.
function Changes:due_s()
    return self.acting and self.acting:due_s()
end

return M
