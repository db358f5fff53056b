-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl record -o FILE: snapshots of a server, one line of JSON each, until a limit or Ctrl-C.
local changes = require "slate.facts.changes"
local clock = require "slate.base.clock"
local must = require("slate.base.failure").must
local record = require "slate.facts.record"
local record_line = require "slate.facts.record_line"
local units = require "slate.base.units"

local M = {}

local LEAST_INTERVAL_S <const> = 0.01

function M.declare(command)
    command:option("-o --output", "The file to write. Default: standard output"):argname("FILE")
    command:option("--interval", "Time between two snapshots. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--count", "Stop after N snapshots."):argname("N"):convert(units.whole(1))
    command:option("--for", "Stop after this long."):argname("TIME"):convert(units.parse_duration)
    command:flag("--append", "Continue a recording that exists.")
    command:flag("--whole", "Write every snapshot whole, as to standard output, and not only what changed.")
    command:option("--recording", "Read this recording instead of a server, and write its snapshots "
        .. "whole."):argname("FILE")
end

local function open_writer(parsed)
    if not parsed.output then
        return record.writer(io.stdout, "standard output")
    end
    return record.create(parsed.output, parsed.append, parsed.whole or parsed.recording)
end

-- Writes a recording again, with every snapshot whole. Returns an exit code.
local function expand(context, parsed)
    local list = must(context:recordings({ parsed.recording }))
    local writer = must(open_writer(parsed))
    for _, one in ipairs(list) do
        must(writer:append(one))
    end
    return 0
end

-- Takes snapshots and survives the loss of the server: a missed sample is counted, and the next round connects again.
local Sampler = {}
Sampler.__index = Sampler

-- Adds the changes that a slated has recorded since the last snapshot, if the settings differ or it was flushed.
function Sampler:take_changes(one, known)
    local flushes = one.general.cmd_flush
    if one.slated and (one.settings or flushes ~= self.flushes) then
        local list, last = changes.after(self.client, self.last_change or 0)
        one.changes = list and list[1] and known and list or nil -- the first snapshot begins the recording
        self.last_change = list and last or self.last_change
    end
    self.flushes = flushes
end

function Sampler:take()
    if not self.client then
        local client, message, code = self.context:open()
        if not client then
            return nil, message, code
        end
        self.client = client
    end
    local one, message, code = self.context:snapshot(self.client)
    if not one then
        self.client:close()
        self.client = nil
        return nil, message, code
    end
    local known = self.settings
    self.settings = record_line.drop_known(one, known)
    self:take_changes(one, known)
    return one
end

local function note_missed(context, tally, message)
    tally.missed = tally.missed + 1
    if not tally.is_down then
        context:print_note(message .. "; recording goes on when the server is back")
        tally.is_down = true
    end
end

-- Waits for round `n`, from 0: it is due at start + n * interval, so that a slow answer does not delay later rounds.
local function await_round(start_s, n, interval_s)
    local due_s = start_s + n * interval_s
    local wait_s = due_s - clock.steady_s()
    if wait_s > 0 then
        clock.sleep(wait_s)
    end
end

-- Runs until the count, the duration or an error ends it. true, or nil, message, code.
local function run_rounds(context, parsed, sampler, writer, tally)
    local interval_s = math.max(parsed.interval or 1, LEAST_INTERVAL_S)
    local start_s, n = clock.steady_s(), 0
    while true do
        local one, message, code = sampler:take()
        if one then
            tally.is_down = false
            local ok
            ok, message, code = writer:append(one)
            if not ok then
                return nil, message, code
            end
        elseif n == 0 then
            return nil, message, code
        else
            note_missed(context, tally, message)
        end
        n = n + 1
        if parsed.count and n >= parsed.count
            or parsed["for"] and clock.steady_s() + interval_s > start_s + parsed["for"] + 1e-6 then
            return true
        end
        await_round(start_s, n, interval_s)
    end
end

function M.run(context, parsed)
    if parsed.recording then
        return expand(context, parsed)
    end
    local sampler = setmetatable({ context = context }, Sampler)
    sampler.client = must(context:open()) -- before the file: without a server, no empty file
    local writer = must(open_writer(parsed))
    local tally = { missed = 0, is_down = false }
    local function summary()
        return ("%s written to %s%s"):format(units.plural(writer.written, "snapshot"), writer.name,
            tally.missed > 0 and (", %d missed while the server was away"):format(tally.missed) or "")
    end
    context.summary = summary
    local ok, message, code = run_rounds(context, parsed, sampler, writer, tally)
    if parsed.output then
        writer:close()
    end
    must(ok, message, code)
    if context.json and parsed.output then
        context:out_json("slate/record/1", {
            server = context.server.name, file = parsed.output, snapshots = writer.written, missed = tally.missed,
        })
    else
        context:print_note(summary())
    end
    if tally.is_down then
        return nil, "the server was away when the recording ended", "closed"
    end
    return 0
end

return M
