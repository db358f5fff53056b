-- SPDX-License-Identifier: BSD-3-Clause
--- Families of metrics, written in Prometheus' text format or in OpenMetrics. Pure.
local M = {}

--- The content type of each format.
M.KINDS = {
    prometheus = "text/plain; version=0.0.4; charset=utf-8",
    openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8",
}

local Families = {}
Families.__index = Families
Families.__name = "slate.cli.families"

--- Makes an empty set. Its field `common` is a list of { label, value }: samples added from then on have these labels.
function M.new()
    return setmetatable({ common = {}, texts = {} }, Families)
end

local function escaped(text, quotes)
    text = text:gsub("\\", "\\\\"):gsub("\n", "\\n")
    return quotes and text:gsub('"', '\\"') or text
end

-- The shortest text that reads back as exactly this number.
local function written(value)
    if math.type(value) == "integer" then
        return tostring(value)
    end
    local short = ("%.15g"):format(value)
    return tonumber(short) == value and short or ("%.17g"):format(value)
end

local NONE <const> = {}

-- The common labels and these as text, {a="1",b="2"}, or "" without any; cached for each list and common labels.
local function text_of(families, labels)
    if families.texts.common ~= families.common then
        families.texts = { common = families.common }
    end
    local text = families.texts[labels]
    if not text then
        local words = {}
        for _, list in ipairs({ families.common, labels }) do
            for _, one in ipairs(list) do
                words[#words + 1] = ('%s="%s"'):format(one[1], escaped(tostring(one[2]), true))
            end
        end
        text = #words > 0 and "{" .. table.concat(words, ",") .. "}" or ""
        families.texts[labels] = text
    end
    return text
end

--- Adds a sample, unless the value is no number or the series exists: a server's statistic with one of our names, or
-- two names that become the same, must not spoil the page. kind is "counter" or "gauge"; labels a list of { name,
-- value }, which must not change afterwards. The first help of a family is its help.
function Families:add(metric, kind, help, labels, value)
    if not math.type(value) or value ~= value then
        return
    end
    local family = self[metric]
    if not family then
        family = { metric = metric, kind = kind, help = help, series = {} }
        self[metric] = family
        self[#self + 1] = family
    end
    local text = text_of(self, labels or NONE)
    if not family.series[text] then
        family.series[text] = true
        family[#family + 1] = metric .. text .. " " .. written(value)
    end
end

--- All families as text: "prometheus" or "openmetrics".
function Families:text(format)
    local open, lines = format == "openmetrics", {}
    for _, family in ipairs(self) do
        -- In OpenMetrics the name of a counter's family lacks the ending of its samples.
        local name = open and family.kind == "counter" and family.metric:gsub("_total$", "") or family.metric
        lines[#lines + 1] = ("# HELP %s %s"):format(name, escaped(family.help, open))
        lines[#lines + 1] = ("# TYPE %s %s"):format(name, family.kind)
        table.move(family, 1, #family, #lines + 1, lines)
    end
    if open then
        lines[#lines + 1] = "# EOF"
    end
    return table.concat(lines, "\n") .. "\n"
end

return M
