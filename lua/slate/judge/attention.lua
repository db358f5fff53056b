-- SPDX-License-Identifier: BSD-3-Clause
--- What deserves an operator's attention: findings on the last refresh, servers of a fleet that are unlike the others,
-- and the reasons for page moves. Pure.
local answers = require "slate.facts.answers"
local automove = require "slate.facts.automove"
local doctor = require "slate.judge.doctor"
local faults = require "slate.facts.faults"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local moves = require "slate.facts.moves"
local relief = require "slate.judge.relief"
local proxy = require "slate.facts.proxy"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

--- The facts of an observed server for slate.judge.doctor and for rules. one: of slate.judge.view.
function M.known_of(one)
    return { one = one, now = one.now, before = one.before, rates = one.rates, rows = one.rows,
        lately = one:lately() }
end

-- Which servers of a fleet are unlike the others: by hits, by how long items live, by evictions. Pure.
--
-- The distance of a server from the median is in robust deviations (1.4826 times the median of the distances: for a
-- bell curve the standard deviation), so that an outlier does not hide itself. Only worse figures count. A server that
-- started within limits.new_s is not compared, nor the age of one that does not evict: a cache that fills has no usual
-- figures yet, and age alone is no trouble.

local DEVIATION_BY_MEDIAN <const> = 1.4826

local function log1p(value)
    return math.log(1 + value)
end

-- The figures compared. worse: a number, larger for a worse figure; back: its inverse; floor: the least deviation.
local COMPARED <const> = {
    { name = "hit_ratio", floor = 0.005, worse = function(value) return -value end,
        back = function(worse) return -worse end },
    { name = "age_s", floor = 0.1, worse = function(value) return -log1p(value) end,
        back = function(worse) return math.exp(-worse) - 1 end },
    { name = "evictions_per_s", floor = 0.2, worse = log1p, back = function(worse) return math.exp(worse) - 1 end },
}

local function median(values)
    table.sort(values)
    local half = #values // 2
    return #values % 2 == 1 and values[half + 1] or (values[half] + values[half + 1]) / 2
end

-- The value of a figure of a server, larger for a worse one; nil if it is not compared.
local function worse_of(one, figure)
    local value = one[figure.name]
    local is_new = (one.uptime_s or limits.new_s) < limits.new_s
    if value and not is_new and (figure.name ~= "age_s" or (one.evictions_per_s or 0) > 0) then
        return figure.worse(value)
    end
end

local function compare(servers, found, figure)
    local values, distances = {}, {}
    for _, one in ipairs(servers) do
        values[#values + 1] = worse_of(one, figure)
    end
    if #values < limits.outlier_servers_least then
        return
    end
    local middle = median(values)
    for i, value in ipairs(values) do
        distances[i] = math.abs(value - middle)
    end
    local deviation = math.max(DEVIATION_BY_MEDIAN * median(distances), figure.floor)
    for i, one in ipairs(servers) do
        local worse = worse_of(one, figure)
        local far = worse and (worse - middle) / deviation
        if far and not (found[i].far and far <= found[i].far) then
            found[i] = { far = math.max(far, 0), by = figure.name, middle = figure.back(middle),
                is_outlier = far >= limits.outlier_deviations }
        end
    end
end

--- servers: a list of { hit_ratio, age_s, evictions_per_s, uptime_s }, each absent if unknown; empty for a server
-- that does not answer. Returns for each server { far (deviations to the worse side, 0 for none), by (the name of its
-- worst figure), middle (the median of that figure), is_outlier }; empty if nothing could be compared.
function M.compare_servers(servers)
    local found = {}
    for i in ipairs(servers) do
        found[i] = {}
    end
    for _, figure in ipairs(COMPARED) do
        compare(servers, found, figure)
    end
    return found
end

--- An outlier in words, and in at most 17 columns. one: its figures; found: of M.compare_servers.
function M.outlier_words(one, found)
    local value, middle = one[found.by], found.middle
    if found.by == "hit_ratio" then
        return ("hits %.0f points below the middle"):format((middle - value) * 100), "odd: few hits"
    elseif found.by == "age_s" then
        return ("keeps items %s, the middle %s"):format(units.age(value), units.age(middle)), "odd: young items"
    end
    return ("evicts %s a second, the middle %s"):format(units.rate(value), units.rate(middle)), "odd: evicts more"
end

-- The findings on a server for its view in slatetop, each with the key that helps: those of slate.judge.doctor, in the
-- words of slatectl, and whether automove could help. Pure.

local TONES <const> = { critical = "bad", warning = "warn", note = "note" }

-- By the name of a check: slatetop's key of the view or the review that helps; or a function that returns the key,
-- given the observer and whether a class starves.
local KEYS <const> = {
    automove_failed = "x", idle_pages = "2", moves = "x", memory = "6",
    policy = "6", waste = "5", geometry = "5", storage_reads = "4", storage_queue = "4", storage_pages = "4",
    storage_idle = "4", storage_holes = "4", storage_unread = "4",
}

-- Moves of pages, where they are possible.
function KEYS.starving(one)
    return not automove.is_ruled_out(one.now) and "m" or nil
end

KEYS.out_of_memory = KEYS.starving

function KEYS.hits_fell(one, starves)
    return starves and KEYS.starving(one) or nil
end

local OWN <const> = "rules" -- the label of findings by an operator's own rules
local MOST_SENTENCES <const> = 14

-- Memory held beyond the limit: a higher limit, or fewer classes, where these hold it; else on memcached a page moved
-- to the pool, which has a row in the view of pages.
function KEYS.held(one)
    if one.over.is_by_classes then
        return "4"
    end
    return not one.now.slated and not automove.is_ruled_out(one.now) and "3" or nil
end

-- Few hits have the key of slatectl doctor's advice: a class that starves comes first; a curve helps only if the server
-- evicts, and memcached has no curve.
function KEYS.hits(one, starves)
    if starves then
        return KEYS.starving(one)
    end
    return one.now.slated and relief.evicts(one) and KEYS.memory or nil
end

local function key_of(finding, one, starves)
    local key = KEYS[finding.name] or finding.is_further and "2"
    if type(key) == "function" then
        return key(one, starves)
    end
    return key or nil
end

-- Adds a sentence if the server cannot move pages, or does not.
local function add_automove(list, one, starves)
    if automove.is_ruled_out(one.now) then
        list[#list + 1] = { text = "slab_reassign is off: pages stay where they are until a restart", tone = "warn",
            short = "slab_reassign off" }
    elseif starves and view.automove_mode(one.now) == "off" then
        list[#list + 1] = { text = "automove is off, so only you move pages", tone = "warn", key = "t",
            short = "automove off" }
    end
end

-- Why a class that evicts does not starve, in words.
local function why_calm(row, one)
    if not starving.lives_apart(row, one.rows) then
        return "no donor keeps its items much longer"
    elseif one.now.slated and view.automove_mode(one.now) == "utility" then
        return "utility goes by hits, not by lives"
    end
    return (row.free_pages or 0) >= 1 and "it has free pages" or "only a few items, or not all the time"
end

-- By the state of a class (of slate.judge.view): the meaning of its row, and the tone, given the row, the observer, the
-- known curves and whether keys can change anything.
local HINTS <const> = {
    empty = function(row, _, _, has_keys)
        return row.pages == 0 and ("class %d has no pages"):format(row.id) or ("+ %sclass %d is empty, %s"):format(
            has_keys and starving.may_give(row) and "press f to give: " or "", row.id,
            units.plural(row.free_pages // 1, "spare page"))
    end,
    unknown = function(row, one)
        return (one.rates and one.rates.is_known and "class %d: this server does not report its evictions"
            or "class %d: rates need a second sample"):format(row.id)
    end,
    measuring = function(row)
        return ("class %d is measured: it evicts, and %s"):format(row.id, starving.is_waiting(row)
            and ("class %d still fills free pages"):format(row.waits_for) or "pages moved just now")
    end,
    calm = function(row)
        return ("class %d is calm: it evicts nothing%s"):format(row.id, row.is_filling
            and (" and fills %s"):format(units.plural(row.free_pages // 1, "free page")) or "")
    end,
    spare = function(row, _, _, has_keys)
        return ("+ %sclass %d has %d whole free pages and evicts nothing"):format(
            has_keys and "press f to give: " or "", row.id, row.free_pages // 1)
    end,
    evicting = function(row, one)
        return ("class %d evicts, as a full cache does; %s"):format(row.id, why_calm(row, one))
    end,
    no_gain = function(row, one, curves)
        local move = relief.of(one, row.id, curves)
        return move and move.made and relief.no_use(move)
            or ("class %d evicts items after %s; no class has a page for it"):format(row.id, units.age(row.life_s))
    end,
    starving = function(row, one, curves, has_keys)
        local move = relief.of(one, row.id, curves)
        return ("! class %d starves, %s evictions/s; class %d %s%s"):format(row.id, units.rate(row.mean_evicted_per_s),
            move.from, relief.donor_has(move), has_keys and ": press m" or ""),
            relief.plan(one, curves).is_large and "bad" or "note"
    end,
}

HINTS.gain_unsure = HINTS.no_gain

--- The meaning of a class's row, and the key that helps, in a sentence: a list of one { text, tone }, empty without
-- such a class. replies: class_id, curves, and is_past if nothing can be changed.
function M.hint(one, replies)
    relief.plan(one, replies.curves)
    local has_keys = not replies.is_past and not automove.is_ruled_out(one.now)
    local row = view.row_of(one.rows, replies.class_id)
    if not row then
        return {}
    elseif starving.refuses(row) then
        local can_help = has_keys and relief.of(one, row.id, replies.curves)
        return { { text = "! " .. relief.refusal(row) .. (can_help and ": press m" or ""), tone = "bad" } }
    end
    local text, tone = HINTS[row.state](row, one, replies.curves, has_keys)
    return { { text = text, tone = tone } }
end

-- Adds the findings of the operator's own rules to the doctor's, by severity. Their remedy is in words: slatetop knows
-- no key for them.
local function with_own(findings, rules, known)
    for _, finding in ipairs(rules and rules:named_findings(known) or {}) do
        findings[#findings + 1] = { name = OWN, severity = finding.severity,
            what = ("%s; %s"):format(finding.what, finding.todo), short = finding.name }
    end
    return doctor.sort(findings)
end

-- Cuts the list to the lines that a screen has; then the last line counts the findings left out.
local function cut(list)
    if #list > MOST_SENTENCES then
        local more = #list - MOST_SENTENCES + 1
        for i = #list, MOST_SENTENCES, -1 do
            list[i] = nil
        end
        list[MOST_SENTENCES] = { text = ("%d more: slatectl doctor lists them"):format(more), tone = "note" }
    end
    return list
end

--- The findings, the worst first, and the state of a proxy's links: a list of { text, short (the same in at most 17
-- columns), tone = "bad" | "warn" | "note" | "plain", key (absent if none helps), label = the name of the check }. one:
-- of slate.judge.view, after two snapshots.
-- replies: as texts (moves, whatif, curve, memory) and curves; checks skip absent ones; and rules, an operator's own
-- (slate.judge.rules), or nil.
function M.findings(one, replies)
    local known, list = M.known_of(one), {}
    known.automove, known.moves = answers.moves(replies.moves)
    known.curve, known.whatif = answers.curve(replies.curve), answers.whatif(replies.whatif)
    known.process, known.curves = answers.memory(replies.memory), replies.curves
    known = doctor.about(known)
    local found = with_own(doctor.findings(known), replies.rules, known)
    local starving_classes = gather.count(found, function(finding) return finding.name == "starving" end)
    local starves = starving_classes > 0
    for _, finding in ipairs(doctor.gathered(found)) do
        -- A class whose need of pages costs hits that count is the worst finding that slatetop can mend.
        list[#list + 1] = { text = finding.what, label = finding.name,
            short = finding.name == "starving" and "starves " .. starving_classes or finding.short,
            tone = finding.name == "starving" and finding.severity == "warning" and "bad" or TONES[finding.severity],
            key = key_of(finding, one, starves) }
    end
    add_automove(list, one, starves)
    local not_looked_at = doctor.not_looked_at_words(doctor.not_looked_at(known))
    list[#list + 1] = not_looked_at and { text = not_looked_at, label = "unknown", tone = "note",
        short = "not all checked" } or nil
    if proxy.is_one(one.now) then
        local sentences = proxy.sentences(proxy.of(one.now, one.before, one.rates))
        table.move(sentences, 1, #sentences, #list + 1, list)
    end
    for _, sentence in ipairs(replies.rules and replies.rules:troubles() or {}) do
        list[#list + 1] = { text = sentence, tone = "warn", label = OWN, short = "a rule fails" }
    end
    return cut(list)
end

-- Why automove moves pages, or does not: slated's own words; for memcached, its documented rule applied to the figures
-- that it shows. And why an operator should not watch a stream of a server. Pure.

-- memcached's rule (slab_automove.c): its defaults, and its constants.
local RATIO_DEFAULT <const>, WINDOW_DEFAULT_S <const> = 0.8, 10
local SOURCE_PAGES_LEAST <const>, FREE_PAGES_RESERVED <const> = 3, 2.5

-- The input of memcached's rule, as far as its statistics show it: the class with the oldest tail of those that may
-- give, the evicting class with the youngest tail, and a class with more free chunks than the rule leaves to it.
local function measure(rows)
    local seen = {}
    for _, row in ipairs(rows) do
        local age_s = starving.tail_age_s(row)
        local evicts = (row.mean_evicted_per_s or 0) > 0
        if (row.free_pages or 0) > FREE_PAGES_RESERVED and not evicts then
            seen.rich = row
        end
        if age_s and (row.pages or 0) >= SOURCE_PAGES_LEAST and not (seen.oldest and seen.oldest_s >= age_s) then
            seen.oldest, seen.oldest_s = row, age_s
        end
        if age_s and evicts and not (seen.youngest and seen.youngest_s <= age_s) then
            seen.youngest, seen.youngest_s = row, age_s
        end
    end
    return seen
end

-- The result of the rule for these figures: a sentence and its tone.
local function decision(seen, ratio, window_s)
    local oldest, youngest = seen.oldest, seen.youngest
    if not youngest then
        return "No class evicts, so no class needs a page.", "good"
    elseif seen.rich then
        return ("It should move: class %d has %.1f free pages and does not evict. What is beyond %.1f pages goes to "
            .. "the pool when nothing was stored in them for %s."):format(seen.rich.id, seen.rich.free_pages,
            FREE_PAGES_RESERVED, units.age(window_s))
    elseif not oldest or oldest.id == youngest.id then
        return ("It cannot move: no other class has the %d pages that one must have to give."):format(
            SOURCE_PAGES_LEAST), "bad"
    elseif seen.youngest_s >= ratio * seen.oldest_s then
        return ("The ages are even enough: that of class %d (%s) is %.2f of that of class %d (%s) or more."):format(
            youngest.id, units.age(seen.youngest_s), ratio, oldest.id, units.age(seen.oldest_s)), "good"
    end
    return ("A page from class %d (%s) to class %d (%s) is due. It moves when that class has evicted in more than half "
        .. "of the last %s, and evicts in that very second; a page a second at most."):format(oldest.id,
        units.age(seen.oldest_s), youngest.id, units.age(seen.youngest_s), units.age(window_s))
end

local function of_ratio(add, one, settings, starves)
    local seen = measure(one.rows)
    local ratio = tonumber(settings.slab_automove_ratio) or RATIO_DEFAULT
    local window_s = tonumber(settings.slab_automove_window) or WINDOW_DEFAULT_S
    add(decision(seen, ratio, window_s))
    if seen.youngest then
        add(("youngest that evicts: class %d, oldest item %s, %s evictions/s"):format(seen.youngest.id,
            units.age(seen.youngest_s), units.rate(seen.youngest.mean_evicted_per_s)))
    end
    if seen.oldest then
        add(("oldest with %d pages or more: class %d, oldest item %s"):format(SOURCE_PAGES_LEAST, seen.oldest.id,
            units.age(seen.oldest_s)))
    end
    add(("rule: youngest < %.2f of oldest, averages over %s (slab_automove_ratio, slab_automove_window)"):format(ratio,
        units.age(window_s)))
    if starves then
        add("It is slow by design. m moves pages now; t sets eviction as a trial.")
    end
end

local function of_memcached(add, one, replies)
    local mode, starves = view.automove_mode(one.now), relief.in_need(one, replies.curves)
    if not mode then
        add("This server does not report an automove setting.", "bad")
    elseif mode == "off" then
        add("automove is off, so only you move pages: t changes the mode, m moves pages.", starves and "bad")
    elseif mode == "eviction" then
        add("automove is eviction: a page of another class goes to the class that evicts, at every eviction.")
        add("It goes on as long as anything is evicted, which in a full cache is always: for minutes, not for good.",
            "bad")
    else
        of_ratio(add, one, answers.settings(replies.settings) or {}, starves)
    end
    local over_s = replies.page_moves_over_s or 0
    if over_s > 0 then
        add(("pages moved: %.2f/s over the last %s s"):format(replies.page_moves_per_s or 0,
            (over_s < 0.95 and "%.1f" or "%.0f"):format(math.max(over_s, 0.1))))
    end
end

-- The classes that utility weighed: the one that would gain most and the one that would lose least.
local function add_weights(add, list)
    local receiver, donor
    for id, worth in pairs(list.classes) do
        receiver = worth.gain and not (receiver and receiver.gain >= worth.gain) and { id = id, gain = worth.gain,
            doubt = worth.gain_doubt } or receiver
        donor = worth.loss and not (donor and donor.loss <= worth.loss) and { id = id, loss = worth.loss,
            doubt = worth.loss_doubt } or donor
    end
    if receiver and donor then
        add(("in the last window a page more would have brought class %d most: %.1f ± %.1f hits in 1000 requests")
            :format(receiver.id, receiver.gain, receiver.doubt or 0))
        add(("a page less would have cost class %d least: %.1f ± %.1f hits; Curves forecasts those to come"):format(
            donor.id, donor.loss, donor.doubt or 0))
        add("a page moves when the gain less its doubt exceeds twice the loss with its doubt")
    end
end

local function of_slated(add, one, replies)
    local totals = answers.moves(replies.moves)
    if not (totals and totals.mode) then
        add(replies.is_past and "The reasons of the past are not recorded: . returns to live."
            or "waiting for the server ...")
        return
    end
    local mode, reason = ("automove is %s"):format(totals.mode), totals.why
    if not reason or reason:find(mode, 1, true) == 1 then
        add(reason and reason .. "." or mode .. ".")
    else
        add(("%s: %s."):format(mode, reason))
    end
    local failure = moves.failure(totals)
    if failure then
        add(failure, "bad")
        add("mend it, try it with slatectl policy test, and set the mode again: t")
    end
    if totals.state and totals.state ~= "none" then
        add("the page mover: " .. tostring(totals.state))
    end
    local weights = answers.automove(replies.automove)
    if weights and weights.is_weighed then
        add_weights(add, weights)
    end
    add(("pages moved %s, given up %s; items rescued %s, lost %s"):format(units.count(totals.pages_moved),
        units.count(totals.given_up), units.count(totals.rescues), units.count(totals.evicted)))
    if totals.last_busy and totals.last_busy ~= "none" then
        add("the last item that could not be moved: " .. totals.last_busy)
    end
    if view.automove_mode(one.now) == "off" then
        add("only you move pages: t changes the mode, m moves pages", relief.in_need(one, replies.curves) and "bad")
    end
end

--- Sentences, the answer first, then its figures and the key to press: a list of { text, tone = "good" | "bad" | nil }.
-- one: of slate.judge.view. replies: as texts (settings, moves, automove), is_past (an absent answer will not come),
-- page_moves_per_s (a mean over page_moves_over_s), curves (as for slate.judge.relief).
function M.automove_reasons(one, replies)
    local list = {}
    local function add(text, tone)
        list[#list + 1] = { text = text, tone = tone or nil }
    end
    if not one.now then
        add("Nothing is known about the server yet.")
    elseif automove.is_ruled_out(one.now) then
        add("Pages cannot move: the server runs with slab_reassign off. Start it with -o slab_reassign.", "bad")
    elseif one.now.slated then
        of_slated(add, one, replies)
    else
        of_memcached(add, one, replies)
    end
    return list
end

--- Why an operator should not watch the stream replies.change.value: a list of one sentence, or of none.
function M.watch_automove(one, replies)
    local fault = one.now and faults.of_watch(one.now, { replies.change.value })
    return { fault and { text = fault, tone = "bad" } }
end

return M
