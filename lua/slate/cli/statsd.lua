-- SPDX-License-Identifier: BSD-3-Clause
--- Metrics as lines of StatsD: what a gauge is, and by how much a counter grew since the round before. Labels are
-- tags, as Datadog's agent, Telegraf, Vector and statsd_exporter take them.
local M = {}

M.DATAGRAM_BYTES = 1432 -- fits a packet of Ethernet

-- What would end a name or a tag.
local function plain(text)
    return (text:gsub("\\(.)", "%1"):gsub("[|,:#@%c]", "_"))
end

-- The tags of a sample's labels, as families writes them.
local function tags_of(labels)
    local tags, at = {}, 1
    while true do
        local name, from = labels:match('^,?([%w_]+)="()', at)
        if not name then
            return #tags > 0 and "|#" .. table.concat(tags, ",") or ""
        end
        local to = from
        while labels:sub(to, to) ~= '"' do
            to = to + (labels:sub(to, to) == "\\" and 2 or 1)
        end
        tags[#tags + 1] = name .. ":" .. plain(labels:sub(from, to - 1))
        at = to + 1
    end
end

--- The lines of families (of slate.cli.families). before: what this returned second for the round before, nil for the
-- first, which tells no counters. Returns the lines, and what the next round needs. Pure.
function M.lines(families, before)
    local lines, seen = {}, {}
    for _, family in ipairs(families) do
        for _, sample in ipairs(family) do
            local series, number = sample:match("^(.*) (%S+)$")
            local name, labels = series:match("^([^{]+){?(.-)}?$")
            local value = tonumber(number)
            if family.kind == "counter" then
                local was = before and before[series]
                seen[series] = value
                local grown = was and (value >= was and value - was or value) or 0 -- less: it began anew
                lines[#lines + 1] = grown > 0 and ("%s:%s|c%s"):format(name, grown, tags_of(labels)) or nil
            else
                if value < 0 then -- a sign would make it a change
                    lines[#lines + 1] = ("%s:0|g%s"):format(name, tags_of(labels))
                end
                lines[#lines + 1] = ("%s:%s|g%s"):format(name, number, tags_of(labels))
            end
        end
    end
    return lines, seen
end

--- Lines as datagrams, each as full as it may be. Pure.
function M.datagrams(lines)
    local list, current, bytes = {}, {}, 0
    for _, line in ipairs(lines) do
        if bytes + #line > M.DATAGRAM_BYTES and #current > 0 then
            list[#list + 1], current, bytes = table.concat(current, "\n"), {}, 0
        end
        current[#current + 1], bytes = line, bytes + #line + 1
    end
    list[#list + 1] = #current > 0 and table.concat(current, "\n") or nil
    return list
end

return M
