-- SPDX-License-Identifier: BSD-3-Clause
--- One policy run beside every server of a fleet, for as long as nothing speaks against it.
--
-- Each server has a flight, a task of slate.wire.together: it takes the server over (slate.fleet.takeover: one mover,
-- and automove off meanwhile), lets the policy decide (slate.act.policy_run), and behind every move watches the server
-- against figures of before it. A flight that only looks takes nothing over.
--
-- What ends it: a guard that is crossed, or a policy that breaks, speaks against the policy: that move is taken back
-- and all flights end. Somebody else who moves pages, or a server that refuses, speaks against this server: its flight
-- ends. A server that is away is given back and tried again. Whatever ends a flight, automove is what it was.
local clock = require "slate.base.clock"
local limits = require "slate.judge.thresholds"
local guarded = require "slate.act.guarded"
local policy_run = require "slate.act.policy_run"
local takeover = require "slate.fleet.takeover"
local together = require "slate.wire.together"

local M = {}

local AWAY <const> = { connect = true, closed = true, timeout = true, protocol = true }
local NAP_S <const> = 0.2 -- for how long a flight that waits does not see that all is over

local Flight = {}
Flight.__index = Flight

local Pilot = {}
Pilot.__index = Pilot
Pilot.__name = "slate.fleet.pilot"

--- A pilot, without a server yet.
-- options: name (of the policy), start (function that returns it ready for one server, of slate.policy.file, or nil and
-- a message), apply (without it nothing is sent), guards, watch_s (for how long the server is watched behind a move),
-- interval_s, retry_s (until a server that is away is tried again), pages_per_minute (of each server), note (function
-- of a context and an entry, which puts it on record), told (function of a flight and a decision) and changed (function
-- of a flight whose state is another now).
function M.new(options)
    return setmetatable({ options = options, flights = {}, list = {}, doubts = 0 }, Pilot)
end

--- Ends all flights. why: a sentence that speaks against the policy; nil: time is up.
function Pilot:finish(why)
    self.is_over, self.why = true, self.why or why
end

-- States: looking (dry), flying, watching (a move that was made), away, off (left alone from now on), ended.
function Flight:become(state, why)
    if state ~= self.state or why ~= self.why then
        self.state, self.why = state, why
        self.pilot.options.changed(self)
    end
end

function Flight:is_over()
    return self.pilot.is_over or self.is_gone
end

function Flight:nap(seconds)
    local until_s = clock.steady_s() + seconds
    while not self:is_over() and clock.steady_s() < until_s do
        clock.sleep(math.min(NAP_S, math.max(0, until_s - clock.steady_s())))
    end
end

-- Keeps the snapshots by which a move is judged: those of the last ten seconds, and one from before them.
function Flight:remember(now)
    local lately = self.lately
    lately[#lately + 1] = now
    while lately[2] and lately[2].time_s <= now.time_s - limits.lately_s do
        table.remove(lately, 1)
    end
end

-- Watches the server behind moves. true; or nil, message, code ("doubt" when a guard was crossed).
function Flight:watch(client, base)
    local options = self.pilot.options
    self:become("watching")
    local last, sentence, code = guarded.watch(self.context, client, base, { guards = options.guards,
        for_s = options.watch_s, interval_s = options.interval_s, is_over = function() return self:is_over() end })
    if not last then
        return self:is_over() or nil, sentence, code
    elseif sentence then
        local failed = guarded.go_back(self.context, client, self.moved)
        return nil, sentence .. (failed > 0 and "; the move could not be taken back" or "; the move was taken back"),
            "doubt"
    end
    self:become("flying")
    return true
end

-- Rounds until all is over. true; or nil, message, code.
function Flight:rounds(client, runner)
    local options = self.pilot.options
    while not self:is_over() do
        local began_s = clock.steady_s()
        self.moved = {}
        local decision, message, code = runner:round()
        if decision == nil then
            return nil, message, code
        end
        self:remember(runner.seen)
        if decision then
            self.decisions = self.decisions + 1
            for _, one in ipairs(decision.moves) do
                local pages = options.apply and one.pages_moved or not options.apply and one.pages or 0
                self.pages = self.pages + pages
            end
            options.told(self, decision)
        end
        if #self.moved > 0 then
            local base = #self.lately > 1 and guarded.overview_between(self.lately[1], runner.seen) or {}
            local ok
            ok, message, code = self:watch(client, base)
            if not ok then
                return nil, message, code
            end
            self.lately = {}
        end
        self:nap(options.interval_s - (clock.steady_s() - began_s))
    end
    return true
end

-- What stands between taking a server over and giving it back. true; or nil, message, code.
function Flight:fly()
    local options, context = self.pilot.options, self.context
    local client, who, code = context:open()
    if not client then
        return nil, who, code
    end
    local ok, message
    ok, message, code = require("slate.facts.store").needs_slab(who, "pages that move")
    local running
    if ok then
        running, message = options.start()
        code = "policy"
    end
    if running then
        self.lately = {}
        self:become(options.apply and "flying" or "looking")
        ok, message, code = self:rounds(client, policy_run.new(client, running, {
            server = context.server.name, slated = who.slated, dry_run = not options.apply,
            pages_per_minute = options.pages_per_minute,
            on_moved = function(done)
                local entry = { what = "move", src = done.from, dst = done.to, pages = done.pages_moved,
                    policy = options.name }
                options.note(context, entry)
                self.moved[#self.moved + 1] = entry
            end,
        }))
    end
    client:close()
    return running and ok, message, code
end

-- From taking the server over, where pages are to move, to giving it back. true; or nil, message, code. A server that
-- went away could not be given back: it is owed the automove that it had.
function Flight:tour()
    if not self.pilot.options.apply then
        return self:fly()
    end
    local message, code
    self.taken, message, code = takeover.begin(self.context, self.owed)
    if not self.taken then
        return nil, message, code
    end
    self.owed = self.taken.mode
    local ok
    ok, message, code = self:fly()
    if self:give_back() then
        self.owed = nil
    elseif ok then
        return nil, "automove could not be given back", "server"
    end
    return ok, message, code
end

--- Gives the server back, if it was taken over. Returns false when that failed; the guard has said why.
function Flight:give_back()
    local taken = self.taken
    self.taken = nil
    return not taken or taken:give_back()
end

-- The task of a flight.
function Flight:run()
    while not self:is_over() do
        local ok, message, code = self:tour()
        if ok then
            break
        elseif code == "doubt" or code == "policy" then
            self.pilot.doubts = self.pilot.doubts + 1
            self.pilot:finish(("%s: %s"):format(self.name, message))
            self:become("off", message)
            return
        elseif not AWAY[code] then
            self:become("off", message)
            return
        end
        self:become("away", message)
        self:nap(self.pilot.options.retry_s)
    end
    if self.state ~= "off" then
        self:become("ended")
    end
end

--- Sets which servers there are: contexts, one each (of slate.cli.context). Of servers that are new a flight begins,
-- flights of those that are gone end. To be called by a task.
function Pilot:serve(contexts)
    local there = {}
    for _, context in ipairs(contexts) do
        local name = context.server.name
        there[name] = true
        local flight = self.flights[name]
        if not flight or flight.is_gone then
            flight = setmetatable({ pilot = self, context = context, name = name, state = "away", decisions = 0,
                pages = 0, moved = {}, lately = {} }, Flight)
            self.list[#self.list + 1], self.flights[name] = flight, flight
            together.spawn(function() flight:run() end)
        end
    end
    for name, flight in pairs(self.flights) do
        if not there[name] then
            flight.is_gone = true
        end
    end
    for i = #self.list, 1, -1 do
        if self.list[i].is_gone and self.list[i].state == "ended" then
            table.remove(self.list, i)
        end
    end
end

--- Is there a server that is, or may again be, flown?
function Pilot:has_work()
    for _, flight in ipairs(self.list) do
        if flight.state ~= "off" and not flight.is_gone then
            return true
        end
    end
    return #self.list == 0
end

--- Gives all servers back, for a program that ends before its flights do. Returns how many could not be.
function Pilot:give_back()
    local failed = 0
    for _, flight in ipairs(self.list) do
        failed = failed + (flight:give_back() and 0 or 1)
    end
    return failed
end

return M
