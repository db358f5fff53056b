-- SPDX-License-Identifier: BSD-3-Clause
--- The history of a recording: its findings and incidents, each with its first and last time, its cost in hits and the
-- change made at its moment. Pure.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local gather = require "slate.base.gather"
local incident_words = require "slate.judge.incident_words"
local limits = require "slate.judge.thresholds"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

-- A change and its author; a server that restarts with other settings has no author.
local function words_of_change(change)
    return change.what .. (change.is_of_start and "" or change.who and ", by " .. change.who or ", author not known")
end

-- The time within which a finding that comes again is the same one: a gap between snapshots is longer.
local function joined_within_s(list)
    local steps = {}
    for i = 2, #list do
        steps[i - 1] = list[i].time_s - list[i - 1].time_s
    end
    table.sort(steps)
    return math.max(limits.incident_shown_s, 2 * (steps[#steps // 2 + 1] or 0))
end

-- Adds a finding to its episode, or begins one. A class that starves now and then has one remedy, that of starving.
local function add_to_episode(episodes, at, finding, time_s, interval_s, joined_s)
    local function open_one(name)
        local one = at[("%s %s"):format(name, finding.class or "")]
        return one and time_s - one.last_s <= joined_s and one or nil
    end
    if finding.name == "no_relief" and open_one("starving") then
        return
    end
    local episode = open_one(finding.name)
    if not episode then
        episode = gather.copy(finding, { first_s = time_s, samples = 0 })
        episode.hits_lost_per_s, episodes[#episodes + 1] = nil, episode
        at[("%s %s"):format(finding.name, finding.class or "")] = episode
    end
    episode.last_s, episode.samples = time_s, episode.samples + 1
    if finding.hits_lost_per_s and interval_s then
        episode.cost_hits = (episode.cost_hits or 0) + finding.hits_lost_per_s * math.min(interval_s, joined_s)
    end
end

--- Examines each snapshot of a recording (slate.facts.record) in turn. findings_of(the facts that known_of of
-- slate.judge.attention returns): slate.judge.doctor's findings by default; nil and a message from it end the run.
-- Returns a list in the order of first times: { the fields of the first finding, first_s and last_s (since the first
-- snapshot), samples, cost_hits (hits that did not come, if known) }, one for each name, class and time without a gap,
-- and the observer; or nil and a message.
function M.findings_over(list, findings_of)
    local one, episodes, at, joined_s = view.observer(), {}, {}, joined_within_s(list)
    for _, now in ipairs(list) do
        one:observe(now)
        local findings, problem = (findings_of or doctor.findings)(attention.known_of(one))
        if not findings then
            return nil, problem
        end
        for _, finding in ipairs(findings) do
            add_to_episode(episodes, at, finding, now.time_s - list[1].time_s, one.rates and one.rates.interval_s,
                joined_s)
        end
    end
    return episodes, one
end

local SEVERITIES <const> = { critical = 3, warning = 2, note = 1 }

-- The rank of an episode: faults of unknown cost that fail clients, then by the hits lost, then by severity.
local function rank_of(episode)
    local cost = episode.severity ~= "note" and (episode.cost_hits or 0) >= 1 and episode.cost_hits
    if cost then
        return 2, cost
    elseif episode.severity == "critical" and not episode.cost_hits then
        return 3, episode.last_s - episode.first_s
    end
    return SEVERITIES[episode.severity] / 3, episode.last_s - episode.first_s
end

-- What to do about an incident that is tied to a change; nil: what is done without.
local function todo_of(episode, change, cut)
    if cut then
        return not cut.is_over and change.id and change.name == "maxbytes"
            and ("take the memory back if its hits are missed: slatectl undo %d"):format(change.id) or nil
    elseif episode.name == "flush" then
        return change.name == "flush_all" and change.who and "ask the author; -F forbids flush_all"
    elseif episode.name == "items_fell" or episode.name == "hits_fell" then
        return change.id and ("if the change did it: slatectl undo %d"):format(change.id)
            or change.who and "if the change did it, ask its author"
    end
end

-- Ties an incident to the change made at that moment: a flush to its own record, else to the last one before it, or in
-- the same snapshot. cut: the fall of the memory limit that is the cause; nil without.
local function tie_to_change(episode, changes, first_s, cut)
    for _, change in ipairs(changes) do
        local since_s = episode.first_s + first_s - change.time_s
        if episode.name == "flush" and (episode.change or {}).name == "flush_all" and change.name ~= "flush_all" then
            break
        elseif since_s <= limits.lately_s and change.time_s <= (episode.found_s or episode.first_s) + first_s then
            episode.change, episode.todo = change, todo_of(episode, change, cut) or episode.todo
        end
    end
end

--- The history of a recording: its findings and incidents (slate.judge.incident) as episodes of M.findings_over, the
-- costliest first. changes: { time_s, what, who, id }, by time; an incident at whose moment one was made has it as
-- `change`. Or nil and a message.
function M.of(list, findings_of, changes)
    local episodes, one = M.findings_over(list, findings_of)
    if not episodes then
        return nil, one
    end
    local first_s, history, is_incident = list[1].time_s, {}, {}
    for _, found in ipairs(one.incidents.list) do
        local episode = { name = found.name, severity = found.name == "connections" and "critical" or "warning",
            what = incident_words.what(found),
            todo = incident_words.todo(found),
            cost_hits = found.cost_hits and (found.is_by_misses and 0 or math.max(0, found.cost_hits)),
            first_s = found.from_s - first_s, found_s = found.to_s - first_s,
            last_s = (found.ends_s or found.to_s) - first_s, is_incident = true }
        tie_to_change(episode, changes, first_s, found.cut)
        history[#history + 1], is_incident[found.name] = episode, true
    end
    for _, episode in ipairs(episodes) do -- the check of a live server finds the same again
        history[#history + 1] = not is_incident[episode.name] and episode or nil
        tie_to_change(episode, changes, first_s)
    end
    table.sort(history, function(a, b)
        local x, y = { rank_of(a) }, { rank_of(b) }
        if x[1] ~= y[1] or x[2] ~= y[2] then
            return x[1] > y[1] or x[1] == y[1] and x[2] > y[2]
        end
        return a.first_s < b.first_s or a.first_s == b.first_s and a.what < b.what
    end)
    return history
end

-- The note of a change.
local function note_of(change, since_s)
    return { name = "change", severity = "note", what = words_of_change(change),
        who = change.who, first_s = since_s, last_s = since_s, samples = 1,
        todo = change.is_of_start and "if nobody expected it, look at the command line of the start"
            or change.who and "if nobody expected it, ask the author"
            or "find the author: slated names authors (slatectl stats audit); memcached does not" }
end

--- Adds to a history, as notes at its end, the changes that are tied to none of its episodes. Page moves of one author,
-- which have no name, are one note if each comes within limits.lately_s of the one before.
function M.add_changes(history, changes, first_s)
    local is_tied, moves, first = {}, nil, nil
    for _, episode in ipairs(history) do
        is_tied[episode.change or false] = true
    end
    for _, change in ipairs(changes) do
        local since_s = change.time_s - first_s
        local is_more = moves and not change.name and moves.who == change.who
            and since_s - moves.last_s <= limits.lately_s
        if is_more and not is_tied[change] then
            moves.last_s, moves.samples = since_s, moves.samples + 1
            moves.what = words_of_change({ what = ("%s and %s"):format(first, units.plural(moves.samples - 1,
                "more change")), who = change.who })
        elseif not is_tied[change] then
            local note = note_of(change, since_s)
            history[#history + 1] = note
            moves, first = not change.name and note or moves, not change.name and change.what or first
        end
    end
end

--- The cost of an episode and the change made at its moment, in words: "41K hits lost; at the moment of change 2: ...".
function M.about(episode)
    local parts, change = {}, episode.change
    if (episode.cost_hits or 0) >= 1 then
        parts[1] = incident_words.cost(episode.cost_hits, episode.is_incident and "" or "about ")
    end
    if change and not change.is_of_start then -- the restart has its settings
        parts[#parts + 1] = ("at the moment of %s: "):format(change.id and "change " .. change.id or "a change")
            .. words_of_change(change)
    end
    return table.concat(parts, "; ")
end

return M
