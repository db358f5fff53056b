-- SPDX-License-Identifier: BSD-3-Clause
--- Runs a policy beside a server: samples it, lets the policy decide, and carries the moves out.
local automove = require "slate.facts.automove"
local clock = require "slate.base.clock"
local gather = require "slate.base.gather"
local move = require "slate.act.move"
local move_outcome = require "slate.act.move_outcome"
local snapshot = require "slate.facts.snapshot"

local M = {}

local MINUTE_S <const> = 60
local MOVE_LIMIT_S <const> = 30 -- for one move, of up to eight pages

--- The mode in which the server moves pages by itself, as the server names it; nil when it does not.
function M.automove(now)
    local mode = now.settings and now.settings.slab_automove
    if mode == nil or mode == 0 or mode == "off" then
        return nil
    end
    return tostring(mode)
end

--- Sets the server's automove. Returns true, or nil, message, code.
function M.set_automove(client, mode)
    local line, message, code = client:command("slabs automove " .. mode)
    if not line then
        return nil, message, code
    elseif line ~= "OK" then
        local refused, refusal_code = require("slate.wire.client").refusal(line)
        return nil, ("automove cannot be set to %s: %s"):format(automove.name_of(mode),
            refused or line), refusal_code or "protocol"
    end
    return true
end

local Runner = {}
Runner.__index = Runner
Runner.__name = "slate.act.policy_run"

--- client: of slate.wire.client; running: of slate.policy.file.
-- options: server, slated (for the snapshots and the moves), dry_run, max_pages (in all; nil: no limit),
-- pages_per_minute (in any sixty seconds; nil: no limit), move (called with a plan and options, as
-- slate.act.move.run, to make a move; nil: that makes it).
function M.new(client, running, options)
    return setmetatable({
        client = client, running = running, options = options, decisions = 0, pages_moved = 0, pages_wanted = 0,
        lately = {},
    }, Runner)
end

function Runner:sample()
    return snapshot.take(self.client, { server = self.options.server, slated = self.options.slated, settings = true })
end

-- Adds curves to the classes if the policy wants curves and decides now, and the server samples keys. Returns true, or
-- nil, message, code when the server is gone.
function Runner:add_curves(now)
    if not (self.running.wants_curves and self.options.slated and self.running:is_due(now)) then
        return true
    end
    for _, class in ipairs(now.classes) do
        local curve, message, code = require("slate.facts.sampled").curve(self.client, class.id)
        if not curve and (code == "closed" or code == "timeout") then
            return nil, message, code
        end
        class.curve = curve and curve.points or nil
    end
    return true
end

-- A sentence if another program moves pages, else nil. A move that was given up here may still be made: so the bound is
-- the pages that were requested, not those that were seen to move.
function Runner:rival(now)
    local mode, moved = M.automove(now), now.general.slabs_moved
    if mode then
        return ("automove was set to %s meanwhile: two movers would undo each other's work"):format(
            automove.name_of(mode))
    elseif moved and (not self.moved_before or moved < self.moved_before) then
        self.moved_before = moved
    elseif moved and moved - self.moved_before > self.pages_wanted then
        return ("another program moves pages on this server: pages that this policy did not move: %d"):format(
            moved - self.moved_before - self.pages_wanted)
    end
end

-- The pages that may still be requested now, and the limit that allows no more.
function Runner:allowance()
    local now_s = clock.steady_s()
    while self.lately[1] and self.lately[1].at_s <= now_s - MINUTE_S do
        table.remove(self.lately, 1)
    end
    local in_all = (self.options.max_pages or math.huge) - self.pages_wanted
    local a_minute = (self.options.pages_per_minute or math.huge) - gather.sum(self.lately, "pages")
    if in_all <= a_minute then
        return in_all, "the limit of pages was reached"
    end
    return a_minute, "the limit of pages a minute was reached"
end

-- Makes one move and fills in how it ended; true, or nil, message, code when the server is gone.
function Runner:carry_out(one, now)
    local plan, message, code = move.plan(now, {
        src = one.from, dst = one.to, pages = one.pages, slated = self.options.slated,
    })
    local result
    if plan then
        local how = { wait = true, limit_s = MOVE_LIMIT_S }
        if self.options.move then
            result, message, code = self.options.move(plan, how)
        else
            result, message, code = move.run(self.client, plan, how)
        end
    end
    if not result then
        one.state, one.outcome, one.pages_moved = "refused", message, 0
        if code == "closed" or code == "timeout" or code == "protocol" or code == "connect" then
            return nil, message, code
        end
        return true
    end
    one.state, one.outcome, one.pages_moved = result.state, move_outcome.words(plan, result), result.pages_moved
    one.items_lost, one.items_rescued = result.items_lost, result.items_rescued
    return true
end

function Runner:follow(moves, now)
    for i, one in ipairs(moves) do
        local left, limit = self:allowance()
        if left < 1 then
            one.state, one.outcome = "left out", limit
        else
            one.pages = math.min(one.pages, left)
            self.pages_wanted = self.pages_wanted + one.pages
            self.lately[#self.lately + 1] = { at_s = clock.steady_s(), pages = one.pages }
        end
        if one.state == nil and self.options.dry_run then
            one.state = "dry run"
        elseif one.state == nil then
            local message, code, ok
            if i > 1 then
                now, message, code = self:sample()
                if not now then
                    return nil, message, code
                end
            end
            ok, message, code = self:carry_out(one, now)
            if not ok then
                return nil, message, code
            end
            self.pages_moved = self.pages_moved + one.pages_moved
        end
    end
    return true
end

--- Samples the server once; decides when the policy's window is over. The snapshot stays in `seen`.
-- Returns a decision { time_s =, moves =, why = }, or false when it was too early; or nil, message, code.
function Runner:round()
    local now, message, code = self:sample()
    if not now then
        return nil, message, code
    end
    self.seen = now
    local rival = not self.options.dry_run and self:rival(now)
    if rival then
        return nil, rival, "busy"
    end
    local ok
    ok, message, code = self:add_curves(now)
    if not ok then
        return nil, message, code
    end
    local moves, why = self.running:feed(now)
    if not moves then
        if why then
            return nil, why, "policy"
        end
        return false
    end
    self.decisions = self.decisions + 1
    ok, message, code = self:follow(moves, now)
    if not ok then
        return nil, message, code
    end
    self.running:report(moves)
    return { time_s = now.time_s, moves = moves, why = why }
end

--- True if all pages that the limit allows were requested.
function Runner:is_done()
    return self.options.max_pages ~= nil and self.pages_wanted >= self.options.max_pages
end

--- Replays a recording, a list of snapshots, to a policy; the snapshots do not show the effect of its moves. each: a
-- function of a decision. Returns the numbers of decisions, moves and pages, or nil and the policy's fault.
function M.replay(list, running, each)
    local tally = { snapshots = #list, decisions = 0, moves = 0, pages = 0 }
    for _, now in ipairs(list) do
        local moves, why = running:feed(now)
        if moves then
            tally.decisions = tally.decisions + 1
            for _, one in ipairs(moves) do
                one.state = "dry run"
                tally.moves, tally.pages = tally.moves + 1, tally.pages + one.pages
            end
            each({ time_s = now.time_s, moves = moves, why = why })
        elseif why then
            return nil, why
        end
    end
    return tally
end

return M
