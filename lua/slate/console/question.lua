-- SPDX-License-Identifier: BSD-3-Clause
--- Questions to the modules of judgement about a model's server. A module that fails gives a sentence, never an error.
--
-- A sentence is { text, short (the same in few words), tone = "plain" | "good" | "note" | "warn" | "bad" (nil: plain),
-- key (that helps), label (its subject in a word) }; absent fields have no such thing.
local M = {}

local LONG_WINDOW_S <const>, WHOLE_CACHE <const> = 100, 0
-- Replies that modules read as text.
local REPLIES <const> = { "settings", "moves", "automove", "whatif", "memory", "curve", "geometry" }
-- More replies, of which a cached result may be made.
local ALL_REPLIES <const> = { "settings", "moves", "automove", "whatif", "memory", "curve", "class_curves" }

-- What a module may read besides the observer.
local function inputs(model, about)
    local answers = model.answers
    local input = { page_moves_per_s = model:mean("page_moves", LONG_WINDOW_S),
        page_moves_over_s = model:covered_s(LONG_WINDOW_S), gets_per_s = model:mean("gets", LONG_WINDOW_S),
        is_past = about.is_past or false, rules = model.rules, class_id = about.class_id, change = about.change,
        changes = about.changes, outlook = about.outlook }
    for _, name in ipairs(REPLIES) do
        input[name] = answers:text(name)
    end
    if about.change or about.changes or model.worst then -- the question is about a move
        input.curves = answers:curves()
    end
    return input
end

-- The results of module.name(...); or nil and the error's words. A module that has failed judges no more.
local function call(model, judge, name, ...)
    if model.failure then
        return nil, model.failure
    end
    local results = table.pack(pcall(function(...) return require(judge)[name](...) end, ...))
    if not results[1] then
        return nil, tostring(results[2])
    end
    return table.unpack(results, 2, results.n)
end

--- Why nothing is judged: no snapshot was judged yet, or a module has failed; nil: there is a judgement.
function M.why_unjudged(model)
    return model.failure and "not judged: " .. model.failure or not model.observer and "measuring" or nil
end

-- The results of module.name(the model's observer, ...); or nil and the error's words.
local function judged(model, judge, name, ...)
    if model.observer then
        return call(model, judge, name, model.observer, ...)
    end
end

--- The sentences of a judge's function (observer, replies) -> list. about (optional): class_id; is_past (a missing
-- answer will not come); change ({ from, to, pages } or { name, value }), changes (a list of moves that are sent
-- together) and outlook (the server's prediction of the change, a text).
function M.ask(model, judge, name, about)
    local why = M.why_unjudged(model)
    if why then
        return { { tone = model.failure and "bad" or "plain", text = why,
            short = model.failure and "not judged" or nil } }
    end
    local sentences, problem = judged(model, judge, name, inputs(model, about or {}))
    return type(sentences) == "table" and sentences
        or { { tone = "bad", text = "not judged: " .. (problem or "an answer without sentences"),
            short = "not judged" } }
end

-- A result that is made once for a snapshot and the replies so far.
local function once(model, kind, names, make)
    local stamp, cached = model.answers:stamp(names), model.cached[kind]
    if not cached or cached.now ~= model.now or cached.stamp ~= stamp or cached.answers ~= model.answers then
        cached = { now = model.now, stamp = stamp, answers = model.answers, result = table.pack(make()) }
        model.cached[kind] = cached
    end
    return table.unpack(cached.result, 1, cached.result.n)
end

--- The findings of slate.judge.attention on the last snapshot, the worst first; {} before the first snapshot. Cached.
function M.findings(model)
    return model.now and once(model, "findings", ALL_REPLIES, function()
        return M.ask(model, "slate.judge.attention", "findings")
    end) or {}
end

--- The worth of a page more or less for each class that is known: a list of slate.judge.prediction.page_worth, first
-- the class that would gain most. Cached.
function M.worth(model)
    return model.now and once(model, "worth", ALL_REPLIES, function()
        return judged(model, "slate.judge.prediction", "page_worth",
            { whatif = model.answers:text("whatif"), curves = model.answers:curves() })
    end) or {}
end

--- Other chunk sizes and what each would bring, of slate.judge.prediction.size_choices; nil if unknown. Cached.
function M.sizes(model)
    local answers = model.answers
    return model.now and once(model, "sizes", { "geometry", "stock_sizes" }, function()
        local replies = { geometry = answers:text("geometry"), sizes = answers:text("stock_sizes"),
            outlooks = answers.predictions:known() }
        return (judged(model, "slate.judge.prediction", "size_choices", replies))
    end) or nil
end

--- The cells of the operator's own columns, by class id: texts, and the same as numbers, to sort by. Cached.
function M.own_cells(model)
    if not (model.observer and model.rules) then
        return {}, {}
    end
    local cells, numbers = once(model, "cells", {}, function()
        local ok, cells, numbers = pcall(model.rules.cells, model.rules, model.observer)
        return ok and cells or {}, ok and numbers or {}
    end)
    return cells, numbers
end

--- The memory in pages, of slate.facts.waste.total; {} if unknown.
function M.waste(model)
    local one = model.observer
    return one and one.now == model.now and one.waste or {}
end

--- Why a curve tells nothing yet, a sentence; nil if it has enough sampled reads.
function M.few_reads(model, curve)
    return (call(model, "slate.judge.relief", "few_reads", curve))
end

--- The curve of the whole cache and the policies, both at the level of today's hit ratio, nil if they are not known;
-- and why no gain of more memory is known.
function M.at_level(model)
    return judged(model, "slate.judge.relief", "at_level", model.answers:parsed("curve"),
        model.answers:parsed("whatif"))
end

--- The least memory that the server can hold, in bytes: a page a class.
function M.least_bytes(model)
    return model.now and call(model, "slate.judge.relief", "least_bytes", model.now.classes) or 0
end

--- The best donor for a class, starving or not: its id, and how many pages to move; nil if no class can give.
function M.donor(model, class_id)
    local move = judged(model, "slate.judge.relief", "of", class_id) or {}
    return move.from, move.pages
end

--- The moves that slate.judge.page_plan advises, the first class in need first: a list of { from, to, pages }.
function M.plan(model)
    local plan = judged(model, "slate.judge.relief", "plan", model.answers:curves())
    return plan and plan.advised or {}
end

--- Why it is not judged which class starves, in words; nil if it is.
function M.measuring(model)
    return call(model, "slate.judge.relief", "measuring", model.observer and model.observer.rows)
end

--- The classes on whose curves the plan rests.
function M.plan_classes(model)
    local ids = {}
    for _, id in ipairs(judged(model, "slate.judge.relief", "wanted") or {}) do
        ids[#ids + 1] = id ~= WHOLE_CACHE and id or nil
    end
    return ids
end

--- How many pages to move from a chosen class to another, or to the pool (0).
function M.pages(model, from, to)
    return judged(model, "slate.judge.prediction", "pages", from, to) or 1
end

return M
