-- SPDX-License-Identifier: BSD-3-Clause
--- Several policies over the same past: a trace of requests, played to one cache of slated for each policy.
local policy = require "slate.policy.file"

local M = {}

-- Opens a policy and tries its settings: the policy, or nil, message, code.
local function open(each)
    local one, message, code = policy.open(each.name)
    if not one then
        return nil, message, code
    end
    local running, problem = one:start(each.words)
    if not running then
        return nil, ("policy %s: %s"):format(one.name, problem), "usage"
    end
    return one
end

-- The plays for slated: { name = for the table, automove = its mode, words = options }; or nil, message, code.
local function plays_of(chosen, default_mode)
    local plays = { { name = "automove off", automove = "off", words = {} } }
    if default_mode ~= "off" then
        plays[2] = { name = "automove " .. default_mode, automove = default_mode, words = {} }
    end
    for _, each in ipairs(chosen) do
        local one, problem, code = open(each)
        if not one then
            return nil, problem, code
        end
        local folder, file = one.path:match("^(.*)/([^/]+)%.lua$")
        plays[#plays + 1] = {
            name = table.concat({ one.name, table.unpack(each.words) }, " "),
            words = { "-o", "policy_dir=" .. (folder or ".") },
            automove = "lua:" .. table.concat({ file or one.path:gsub("%.lua$", ""), table.unpack(each.words) }, " "),
        }
    end
    return plays
end

--- Plays a trace. grid: { program = slated's path, trace = file, sizes = memory limits, words = further options of
-- slated }, for at most `processes` at once. First without moves and with slated's default mode, then with the policies
-- of `chosen`, a list of { name =, words = settings as "name=value" }. Returns rows { name, pages, lost, hits,
-- requests, hit_ratio, evicted, memory_bytes, held_bytes (of the memory, at the end) }, by memory and in the order of
-- `chosen`, and slated's remark; or nil, message, code.
function M.over_trace(grid, chosen, processes)
    local simulate = require "slate.policy.simulate"
    local known, problem, code = simulate.describe(grid.program)
    if not known then
        return nil, problem, code
    end
    local plays
    plays, problem, code = plays_of(chosen, known.automove)
    if not plays then
        return nil, problem, code
    end
    local played, remark, failed = simulate.run_plays(grid, plays, processes)
    if not played then
        return nil, remark, failed
    end
    local rows = {}
    for i, row in ipairs(played) do
        rows[i] = {
            name = row.play, memory_bytes = row.memory_bytes, held_bytes = row.held_bytes, pages = row.pages_moved,
            lost = row.lost, hits = row.hits, requests = row.requests, hit_ratio = row.hit_ratio,
            evicted = row.evictions,
        }
    end
    return rows, remark
end

return M
