-- SPDX-License-Identifier: BSD-3-Clause
--- What deserves the attention of who looks at a server in slatetop, and the key there that helps: the findings of
--- slate.judge.doctor, as slatectl tells them, and whether automove could help. Pure.
local answers = require "slate.facts.answers"
local chronicle = require "slate.judge.chronicle"
local doctor = require "slate.judge.doctor"
local outlook = require "slate.judge.outlook"
local proxy = require "slate.facts.proxy"
local relief = require "slate.judge.relief"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local TONES <const> = { critical = "bad", warning = "warn", note = "note" }

-- By the name of a check: the key, as slatetop binds it, of the view or the review that helps.
local KEYS <const> = {
    automove_failed = "x", out_of_memory = "m", starving = "m", idle_pages = "2", moves = "x", memory = "6",
    policy = "6", waste = "5", geometry = "5", storage_reads = "4", storage_queue = "4", storage_pages = "4",
    storage_idle = "4", storage_holes = "4", storage_unread = "4",
}

local OWN <const> = "rules" -- the label of what an operator's own rules find
local MOST_SENTENCES <const> = 14 -- console/brain/brain.h takes as many

-- What is held beyond the limit comes back with fewer classes, on slated; by a page moved to the pool, on memcached,
-- which the view of pages has a row for.
local function key_of_held(one)
    if one.over.is_by_classes then
        return one.now.slated and "5" or nil
    end
    return not one.now.slated and one.now.settings.slab_reassign ~= false and "3" or nil
end

-- Few hits have the key of what slatectl doctor advises against them: the class that starves comes first; curves help
-- where something is evicted, and memcached has none.
local function key_of_hits(one, starves)
    local evicts = outlook.evicts(one:lately(), one.rates and one.rates.general or {})
    return starves and KEYS.starving or one.now.slated and evicts and KEYS.memory or nil
end

local function key_of(finding, one, starves)
    if finding.name == "held" then
        return key_of_held(one)
    elseif finding.name == "hits" then
        return key_of_hits(one, starves)
    elseif finding.name == "hits_fell" then
        return starves and KEYS.starving or nil
    end
    return finding.is_further and "2" or KEYS[finding.name]
end

-- Whether the server could help itself.
local function add_automove(list, one, starves)
    if one.now.settings.slab_reassign == false then
        list[#list + 1] = { text = "slab_reassign is off: pages stay where they are until a restart", tone = "warn" }
    elseif starves and view.automove_mode(one.now) == "off" then
        list[#list + 1] = { text = "automove is off, so only you move pages", tone = "warn", key = "t" }
    end
end

-- By the state of a class (of slate.judge.view): what its row means, and the tone, given the row, the observer, the
-- curves that are known and whether a key can do something about it.
local HINTS <const> = {
    empty = function(row) return ("class %d has no pages"):format(row.id) end,
    unknown = function(row, one)
        return (one.rates and not one.rates.reset and "class %d: this server does not report its evictions"
            or "class %d: rates need a second sample"):format(row.id)
    end,
    calm = function(row) return ("class %d is calm: it evicts nothing"):format(row.id) end,
    spare = function(row, _, _, has_keys)
        return ("+ %sclass %d has %d whole free pages and evicts nothing"):format(
            has_keys and "press f to give: " or "", row.id, row.free_pages // 1)
    end,
    evicting = function(row)
        return ("class %d evicts, as a full cache does; no class is much better off"):format(row.id)
    end,
    starving = function(row, one, curves, has_keys)
        local move = relief.of(one, row.id, curves)
        if not move.is_advised then
            return relief.no_use(move)
        end
        return ("! class %d starves, %s evictions/s; class %d %s%s"):format(row.id, units.rate(row.mean_evicted_per_s),
            move.from, relief.giver_has(move), has_keys and ": press m" or ""), "bad"
    end,
}

--- What the row of a class means, and the key that helps, in a sentence: a list of one { text, tone }, empty without
-- such a class. asked: class_id, curves, and is_past where nothing can be changed.
function M.hint(one, asked)
    for _, row in ipairs(one.rows or {}) do
        if row.id == asked.class_id and view.refuses(row) then
            local can_help = not asked.is_past and relief.of(one, row.id, asked.curves)
            return { { text = "! " .. relief.refusal(row) .. (can_help and ": press m" or ""), tone = "bad" } }
        elseif row.id == asked.class_id then
            local text, tone = HINTS[row.state](row, one, asked.curves, not asked.is_past)
            return { { text = text, tone = tone } }
        end
    end
    return {}
end

-- What an operator's own rules find, among the doctor's findings by how bad it is. Their remedy is in words: no key of
-- slatetop is known for them.
local function with_own(findings, rules, known)
    for _, finding in ipairs(rules and rules:named_findings(known) or {}) do
        findings[#findings + 1] = { name = OWN, severity = finding.severity,
            what = ("%s; %s"):format(finding.what, finding.todo) }
    end
    return doctor.sort(findings)
end

-- A screen has few lines: so many, the last of which says how many are not there.
local function cut(list)
    if #list > MOST_SENTENCES then
        local more = #list - MOST_SENTENCES + 1
        for i = #list, MOST_SENTENCES, -1 do
            list[i] = nil
        end
        list[MOST_SENTENCES] = { text = ("%d more: slatectl doctor tells them"):format(more), tone = "note" }
    end
    return list
end

--- The worst first, and how a proxy's links are: a list of { text, tone = "bad" | "warn" | "note" | "plain", key
-- (absent where none helps), label = the name of the check }. one: of slate.judge.observer, which has seen two
-- snapshots. asked: replies as texts (moves, whatif, curve, memory) and curves; what is not there is not looked at; and
-- rules, an operator's own (slate.judge.rules), or nil.
function M.findings(one, asked)
    local known, list, starves = chronicle.known(one), {}, false
    known.automove, known.moves = answers.moves(asked.moves)
    known.curve, known.whatif = answers.curve(asked.curve), answers.whatif(asked.whatif)
    known.process, known.curves = answers.memory(asked.memory), asked.curves
    local found = with_own(doctor.findings(known), asked.rules, known)
    for _, finding in ipairs(found) do
        starves = starves or finding.name == "starving"
    end
    for _, finding in ipairs(doctor.gathered(found)) do
        -- A class that starves is the worst of what can be mended here.
        list[#list + 1] = { text = finding.what, label = finding.name,
            tone = finding.name == "starving" and "bad" or TONES[finding.severity],
            key = key_of(finding, one, starves) }
    end
    add_automove(list, one, starves)
    local not_looked_at = doctor.not_looked_at_words(doctor.not_looked_at(known))
    list[#list + 1] = not_looked_at and { text = not_looked_at, label = "unknown", tone = "note" } or nil
    if proxy.is_one(one.now) then
        local sentences = proxy.sentences(proxy.of(one.now, one.before, one.rates))
        table.move(sentences, 1, #sentences, #list + 1, list)
    end
    for _, sentence in ipairs(asked.rules and asked.rules:troubles() or {}) do
        list[#list + 1] = { text = sentence, tone = "warn", label = OWN }
    end
    return cut(list)
end

return M
