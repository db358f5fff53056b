-- SPDX-License-Identifier: BSD-3-Clause
--- Findings over a recording: what was found from when to when. Pure.
local doctor = require "slate.judge.doctor"
local observer = require "slate.judge.observer"

local M = {}

--- What is known of a server that an observer has seen, for slate.judge.doctor and for rules.
function M.known(one)
    return { one = one, now = one.now, before = one.before, rates = one.rates, rows = one.rows, course = one.course,
        lately = one:lately() }
end

--- Looks at each snapshot of a recording (slate.facts.record) in turn. findings_of: what it finds, given what is known
-- (slate.judge.doctor's, unless told); may return nil and a message, which ends it.
-- Returns a list in the order of their first times: { the fields of the first finding, first_s and last_s (since the
-- first snapshot), samples }, one for each name and class; or nil and a message.
function M.over(list, findings_of)
    local one, episodes, at = observer.new(), {}, {}
    for _, now in ipairs(list) do
        one:look(now)
        local findings, problem = (findings_of or doctor.findings)(M.known(one))
        if not findings then
            return nil, problem
        end
        for _, finding in ipairs(findings) do
            local key, time_s = ("%s %s"):format(finding.name, finding.class or ""), now.time_s - list[1].time_s
            local episode = at[key]
            if not episode then
                episode = { first_s = time_s, samples = 0 }
                for name, value in pairs(finding) do
                    episode[name] = value
                end
                at[key], episodes[#episodes + 1] = episode, episode
            end
            episode.last_s, episode.samples = time_s, episode.samples + 1
        end
    end
    return episodes
end

return M
