-- SPDX-License-Identifier: BSD-3-Clause
--- One server that slatetop watches: its connection, poller, model, past, and changes; or a recording in place of the
--- connection. No call blocks.
local alarms = require "slate.console.alarms"
local changes = require "slate.console.changes"
local connection = require "slate.console.connection"
local link = require "slate.console.link"
local model = require "slate.console.model"
local poller = require "slate.console.poller"
local printable = require("slate.wire.request").printable
local recording = require "slate.console.recording"
local snapshot = require "slate.facts.snapshot"
local tape = require "slate.console.tape"
local watch = require "slate.console.watch"

local M = {}

local LOAD_S <const> = 0.005 -- the time that one step loads a recording
local REPLAY_TAPE_BYTES <const>, REPLAY_TAPE_SAMPLES <const> = 256 << 20, 10000000

local Session = {}
Session.__index = Session
Session.__name = "slate.console.session"

-- Takes a complete snapshot. The past of the judgement is as long as the tape.
local function take_sample(session, one, about)
    session.model:take(one, about)
    session.tape:add(one, about)
    session.model.judged:keep(session.tape.last - session.tape.first + 1)
    session.alarms:follow(session.model)
end

-- Takes a complete snapshot of the server.
local function take(session, one, texts, about)
    snapshot.set_time(one, session.model.now, about.sent_s, about.received_s)
    local wall_s = link.wall_s() - (about.received_s - one.time_s)
    local times = { at_s = one.time_s, reply_ms = (about.received_s - about.sent_s) * 1000, wall_s = wall_s }
    session:follow_link(wall_s) -- the server answers: the screen must say so
    take_sample(session, one, times)
    if session.record and session.poller:is_steady() then -- a recording needs even intervals
        session:write_line(texts, wall_s)
    end
    session.has_news, session.has_sample = true, true
end

--- Watches a server (of slate.base.units.parse_server); connects at the first step. about: access (of
-- slate.console.link), interval_s, tape_bytes (the most that the past may take), rules (the operator's, or nil), audit
-- (the path of the record of changes, for slate.console.changes).
function M.new(server, about)
    local session = setmetatable({ server = server, address = server.name, access = about.access,
        connection = connection.new(server, about.access), alarms = alarms.new(),
        tape = tape.new(nil, about.tape_bytes),
        model = model.new(server.name, { interval_s = about.interval_s, rules = about.rules }) }, Session)
    session.changes = changes.new(session.model, about.audit)
    session.poller = poller.new({ interval_s = about.interval_s, model = session.model, server = server.name,
        take = function(one, texts, of) take(session, one, texts, of) end })
    session.probes = session.poller.probes
    return session
end

-- The state of the link: it is up when the server has answered. During further tries, and until the server has
-- answered, the reason of the last failure stays on the screen.
local function link_state(session)
    local client, one = session.connection.client, session.poller
    local state = client:state()
    if state == "up" and one.refusal then
        return "down", "the server refuses to answer: " .. one.refusal
    elseif state == "up" and one.has_answered and one.generation == session.connection.generation then
        return "up", client:note()
    elseif state == "down" then
        return client:note() ~= "" and "down" or "connecting", client:note()
    end
    return session.model.link == "down" and "down" or "connecting", client:note()
end

function Session:follow_link(wall_s)
    local state, note = link_state(self)
    if state ~= self.model.link or note ~= self.model.link_note then
        self.model:set_link(state, note, wall_s)
        self.has_news = true
    end
end

--- While the link is down: the time of the next try; nil when the link is up or a try is under way.
function Session:retry_s()
    local client = self.connection and self.connection.client
    return client and client:state() == "down" and client:retry_s() or nil
end

--- Tries to connect at once; false: the link is not down, or a try is under way.
function Session:hurry(now_s)
    local is_down = self:retry_s() ~= nil
    if is_down then
        self.connection.client:hurry(now_s)
    end
    return is_down
end

function Session:write_line(texts, wall_s)
    local now = self.model.now or {}
    local is_written, why = self.record:write(texts, { time_s = wall_s, server = self.address, slated = now.slated,
        settings = now.settings, changes = now.changes })
    if not is_written then
        self.model:note("alarm", wall_s, why)
        self:record_end()
    end
end

--- Begins to append every snapshot to a file; nil and a sentence on failure. A full disk ends the recording with an
--- event.
function Session:record_to(path)
    local why
    self:record_end()
    self.record, why = recording.append_to(path)
    self.record_name = path
    return self.record and true, why
end

function Session:record_end()
    if self.record then
        self.record:close()
        self.record = nil
    end
end

--- Takes a sample of the recording.
function Session:load_sample(one)
    take_sample(self, one, { at_s = one.time_s, wall_s = one.time_s })
end

-- Counts lines that cannot be read. All are one event, at the time of the first sample, so that every moment has it.
-- problem: of the first.
local function note_bad_lines(session, count, problem)
    session.bad_lines = session.bad_lines + count
    if not session.bad_event then
        session.bad_event = session.model:note("alarm", session.tape:wall_s(session.tape.first), "")
        session.bad_problem = problem
    end
    session.bad_event.text = ("recording: %s%s"):format(session.bad_lines > 1
        and ("%d lines are skipped; the first: "):format(session.bad_lines) or "", session.bad_problem)
end

local function load_some(session)
    local until_s = link.now_s() + LOAD_S
    repeat
        local one, problem = session.reader:next()
        if one then
            session:load_sample(one)
        elseif one == false then
            note_bad_lines(session, 1, problem)
        else
            session.reader:close()
            session.reader = nil
            session.model:end_judgement()
        end
    until not session.reader or link.now_s() >= until_s
    session.has_news = true
end

--- Replays a recording, which is loaded a piece a step. nil and a sentence when it cannot be read. about: rules.
function M.replay(path, about)
    local reader, why = recording.open(path)
    if not reader then
        return nil, why
    end
    local bad_lines, problem = 0, "it is empty"
    local first, wrong = reader:next()
    while first == false do
        bad_lines, problem = bad_lines + 1, bad_lines == 0 and wrong or problem
        first, wrong = reader:next()
    end
    if not first then
        reader:close()
        return nil, reader.chain:why_none(path, problem)
    end
    local address = printable(first.server or "") -- a recording may hold anything
    local session = setmetatable({ address = address, is_replay = true, reader = reader,
        alarms = alarms.new(), bad_lines = 0, tape = tape.new(REPLAY_TAPE_SAMPLES, REPLAY_TAPE_BYTES),
        -- the screen shows moments, by their own models
        model = model.new(address, { samples = 1, rules = about.rules }) }, Session)
    session.model:set_link("up", "", first.time_s)
    session:load_sample(first)
    if bad_lines > 0 then
        note_bad_lines(session, bad_lines, problem)
    end
    return session
end

--- The share of the recording that is loaded.
function Session:loaded_ratio()
    return self.reader and self.reader:read_ratio() or 1
end

--- Watches a stream of the server, in place of the one before; nil: none. why: the reason not to start it, or nil.
function Session:watch_stream(stream, why)
    if self.watch then
        self.watch:close()
    end
    self.watch = stream and (why and watch.refuse(stream, why) or watch.start(self.server, self.access, stream)) or nil
    self.has_news = true
end

--- Counts requests by their keys and connections for ten seconds. why: the reason not to, or nil.
function Session:count_keys(why)
    local key_count = require "slate.console.key_count"
    if self.key_count then
        self.key_count:close()
    end
    self.key_count = why and key_count.refuse(why)
        or key_count.start(self.server, self.access, self.model, function(now_s, take_text)
            self.connection:send("stats conns", "stats", now_s, take_text)
            self.connection:flush(now_s)
        end)
    self.has_news = true
end

--- Reads what has come. A turn reads all servers first: the work for one is no time that the next takes to answer.
function Session:read(now_s)
    if self.connection then
        self.connection:read(now_s)
    end
end

--- Hands what was read to the model.
function Session:step(now_s)
    if self.connection then
        self.poller.now_s = now_s
        self.connection:take(now_s)
        self.model:follow_curves()
    elseif self.reader then
        load_some(self)
    end
    self.has_news = self.watch and self.watch:step(now_s) or self.poller and self.poller.has_news or self.has_news
    if self.poller then
        self.poller.has_news = false
    end
    if self.key_count and self.key_count:step(now_s) then
        self.has_news = true
    end
end

--- Sets what the screen needs of the server beyond a refresh (README.md).
function Session:want(wants, now_s)
    if self.poller then
        self.poller:want(wants, now_s)
    end
end

--- Sends what is due: the next refresh, and the lines of a change.
function Session:finish(now_s, wall_s)
    if self.connection then
        self.poller:step(self.connection, now_s)
        self:follow_link(wall_s)
        if self.changes:step(self.connection, now_s, self.poller:is_overdue(now_s)) then
            self.poller:hurry(now_s)
            self.has_news = true
        end
    end
end

--- The clients to wait for.
function Session:polled(list)
    if self.connection then
        list[#list + 1] = self.connection.client
        list[#list + 1] = self.watch and self.watch:polled() or nil
        list[#list + 1] = self.key_count and self.key_count:polled() or nil
    end
end

local function earlier(a, b)
    return a and b and math.min(a, b) or a or b
end

--- When to step next; nil: when something comes.
function Session:due_s()
    if not self.connection then
        return self.reader and 0 or nil
    end
    local due_s = earlier(self.connection.client:due_s(), self.poller:due_s(self.connection))
    due_s = earlier(due_s, self.changes:due_s())
    due_s = earlier(due_s, self.key_count and self.key_count:due_s())
    return earlier(due_s, self.watch and self.watch:due_s())
end

function Session:close()
    self:record_end()
    self:watch_stream(nil)
    if self.key_count then
        self.key_count:close()
    end
    if self.connection then
        self.connection:close()
    elseif self.reader then
        self.reader:close()
    end
end

return M
