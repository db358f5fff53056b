-- SPDX-License-Identifier: BSD-3-Clause
--- The state of a server in words: its faults, how bad they are, and the keys that help. The faults are findings of
-- slate.judge.attention. The lines on a lost link, on old figures and on the general state are made here. The same
-- figures give the same words.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local proxy = require "slate.facts.proxy"
local question = require "slate.console.question"
local units = require "slate.base.units"

local M = {}

local WINDOW_S <const>, LONG_WINDOW_S <const>, JUDGED_EVERY_S <const> = 10, 100, 10
local SLOW_REPLY_MS <const> = 200

-- The tones of sentences, the worst first; "plain", or none, is neither good nor bad.
local TONES <const> = {
    bad = { rank = 1, word = "BAD", mark = "!", style = cells.BAD },
    warn = { rank = 2, word = "WARN", mark = "●", style = cells.WARN },
    note = { rank = 3, word = "note", mark = "·" },
    good = { rank = 4, word = "ok", mark = "○", style = cells.GOOD },
    plain = { rank = 4, word = "ok", mark = "○" },
}

--- How a tone (nil: "plain") is told: its rank (1 is the worst), its word and its mark, which say it without colour.
function M.told(tone)
    return TONES[tone or "plain"]
end

--- The style of a sentence with a tone; `plain` is for one that is neither good nor bad.
function M.style(tone, plain)
    return TONES[tone or "plain"].style or plain
end

--- True when the figures are older than two refreshes and half a second: show them as old.
function M.is_stale(frame)
    local age_s = frame.model:age_s(frame.now_s)
    return age_s ~= nil and (frame.model.link ~= "up" or age_s > frame.interval_s * 2 + 0.5)
end

--- Why a server gets no command now, in a sentence; nil: it answers.
function M.why_unreachable(frame)
    local model = frame.model
    local age_s = model:age_s(frame.now_s)
    local age = figure.age(age_s and age_s // 1)
    if model.link == "down" then
        return model.now and ("figures are %s old: %s"):format(age, model.link_note) or model.link_note
    elseif M.is_stale(frame) then
        return ("the server does not answer: figures are %s old"):format(age)
    end
end

--- True if connecting helps a server that is down: not where slatetop lacks the login, or has a wrong one.
function M.helps_connecting(model)
    return not (model.link_note:find("it wants a login", 1, true) or model.link_note:find("^login refused: "))
end

local function add_link(add, frame)
    local model = frame.model
    if model.link == "down" then
        add("bad", M.why_unreachable(frame), M.helps_connecting(model) and "C" or nil)
    elseif model.link == "connecting" then
        add("warn", "connecting to " .. model.server)
    elseif not model.now then
        add("warn", "waiting for the first reply of " .. model.server)
    elseif M.is_stale(frame) then
        add("bad", M.why_unreachable(frame))
    end
end

-- The general state, without a judgement.

local function add_evictions(add, model)
    local evictions = model:mean("evictions", WINDOW_S)
    local is_known = model.observer and model.observer.knows_starving
    local is_measuring = is_known and require("slate.judge.starving").is_measuring(model.observer.rows)
    if evictions and evictions > 0 and not is_measuring and not model:in_need() then
        add("good", ("full: %s evictions/s, %s"):format(figure.count(evictions),
            is_known and "no class starves" or "which class starves is not reported"))
    elseif evictions == 0 then
        add("good", "no evictions")
    end
end

-- "10 s" or "0.4 s": never 0.
local function span_words(seconds)
    return (seconds < 0.95 and "%.1f s" or "%.0f s"):format(math.max(seconds, 0.1))
end

local function add_hits(add, model)
    local general = model.now.general
    if not (general.cmd_get and general.get_hits) then
        return -- the last finding reports it
    end
    local now_ratio, long_ratio = model:mean("hit_ratio", WINDOW_S), model:mean("hit_ratio", LONG_WINDOW_S)
    local now_span, long_span = span_words(model:covered_s(WINDOW_S)), span_words(model:covered_s(LONG_WINDOW_S))
    if not now_ratio then
        add("good", ("no gets in the last %s: no hit ratio"):format(now_span))
        return
    end
    local text = ("hit ratio %s %% over %s"):format(figure.percent(now_ratio), now_span)
    add("good", long_span == now_span and text
        or ("%s, %s %% over %s"):format(text, figure.percent(long_ratio), long_span))
end

-- A change of a slated's chunk sizes in words; nil if none is under way.
local function sizes_words(model)
    local change = model.answers:parsed("geometry")
    if change and (change.state == "draining" or change.state == "paused") and change.ranges then
        -- Pages of sizes that stay are not counted: without old ones, others may still be under way.
        return ("chunk sizes change%s: range %d of %d%s"):format(change.state == "paused" and ", paused" or "",
            change.ranges_done or 0, change.ranges, (change.pages_old or 0) > 0
                and (", %s of old sizes left"):format(units.plural(change.pages_old, "page")) or "")
    end
end

local function add_others(add, model)
    local open, most = require("slate.judge.view").connections(model.now)
    if open and most then
        add("good", ("%d of %d connections"):format(open, most))
    end
    -- While a class starves, a warning already says that automove is off; while chunk sizes change, pages move.
    local automove, sizes = model.observer and model.observer.automove or "", sizes_words(model)
    if automove ~= "" and not ((model:in_need() or sizes) and automove:find("^off:")) then
        add("good", "automove " .. automove)
    end
    if sizes then
        add("note", sizes)
    end
    if (model.reply_ms or 0) > SLOW_REPLY_MS then
        add("note", ("the server took %.0f ms to answer"):format(model.reply_ms), nil,
            ("slow %.0f ms"):format(model.reply_ms))
    end
end

--- The lines, the worst first, at least one: { tone, text, key (nil: none helps), short (text in few words; nil: there
-- are none) }. frame: only its model, and now_s and interval_s, to judge the age of the figures.
function M.lines(frame)
    local model, lines = frame.model, {}
    local function add(tone, text, key, short)
        lines[#lines + 1] = { tone = tone, text = text, key = key, short = short, at = #lines }
    end
    add_link(add, frame)
    if model.now and not model.before then
        add("good", "measuring: rates need a second sample")
    elseif model.now then
        -- Old figures show no fault that one could mend now.
        for _, said in ipairs(#lines == 0 and question.findings(model) or {}) do
            add(said.tone ~= "plain" and said.tone or "good", said.text, said.key, said.short)
        end
        if proxy.has_cache(model.now) then
            add_evictions(add, model)
            add_hits(add, model)
        end
        add_others(add, model)
    end
    if #lines == 0 then
        add("good", "nothing to report")
    end
    table.sort(lines, function(a, b)
        local x, y = M.told(a.tone).rank, M.told(b.tone).rank
        return x < y or x == y and a.at < b.at
    end)
    return lines
end

local JUDGED <const> = { "moves", "memory", "curve", "whatif", "geometry" }

local function is_due(model, name, now_s)
    local at_s = model.answers:at_s(name)
    return not at_s or now_s - at_s >= JUDGED_EVERY_S
end

-- Adds the curves of the classes of the plan: its gain is computed from them. Views and reviews that need other curves
-- come first.
local function want_curves(model, now_s, wants)
    if model.worst and model.now.slated and #wants.curves_first == 0 and is_due(model, "class_curves", now_s) then
        wants.curves_first = question.plan_classes(model)
        wants.unhurried.class_curves = #wants.curves_first > 0 or nil
    end
end

--- Adds the inquiries that the judgement needs, each at its interval, so that the findings are the same in every view.
function M.wants(model, now_s, wants)
    if model.now then
        for _, name in ipairs(JUDGED) do
            wants.unhurried[name] = is_due(model, name, now_s) or wants.unhurried[name]
        end
        wants.unhurried.geometry = model.has_moved or wants.unhurried.geometry -- whether chunk sizes change
        want_curves(model, now_s, wants)
    end
end

return M
