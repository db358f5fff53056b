-- SPDX-License-Identifier: BSD-3-Clause
-- Hill climbing: give a page, see whether more is found than before, and take it back if not.
--
-- A class that evicts, drawn by how much, gets a page of another that is drawn at random. `settle`
-- windows later the hit ratio is compared with that before: lower by `margin`, and the page goes
-- back; else the same step is tried again. It believes in no model of hits and finds its way
-- slowly, a page at a time, on loads that change slower than it steps.
-- Source: Cidon et al., "Cliffhanger", NSDI 2016, section 4.1: credits to who has a hit in his shadow queue, from a
-- random other. No server shows its shadow queues to a policy: a step is judged by what followed it, and evictions
-- stand for the hits just missed. Its second pair of queues, which climbs cliffs, is not here.

local function draw(state, most)
    state.random = (state.random * 1103515245 + 12345) & 0x7fffffff
    return (state.random >> 8) % most
end

-- Hits and requests of all classes since the snapshot before; stores are misses that were filled.
local function requests(before, after)
    local hits, stores = 0, 0
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        hits, stores = hits + class.get_hits - was.get_hits, stores + class.cmd_set - was.cmd_set
    end
    return hits, hits + stores
end

local function next_step(before, after, state)
    local evicted, donors = 0, {}
    for _, class in ipairs(after.classes) do
        evicted = evicted + class.evicted - before.by_id[class.id].evicted
    end
    local at, receiver = evicted > 0 and draw(state, evicted) or 0, nil
    for _, class in ipairs(after.classes) do
        at = at - (class.evicted - before.by_id[class.id].evicted)
        if at < 0 and not receiver then
            receiver = class.id
        end
    end
    for _, class in ipairs(after.classes) do
        if class.id ~= receiver and class.total_pages > state.settings.keep then
            donors[#donors + 1] = class.id
        end
    end
    if receiver and #donors > 0 then
        return { from = donors[draw(state, #donors) + 1], to = receiver }
    end
end

-- The last step is looked at: nil while it is too early; then the move that follows from it, and why.
local function judge(after, state, ratio)
    local step = state.step
    step.windows = step.windows + 1
    if step.windows < state.settings.settle then
        return nil
    end
    local words = ("%.2f %% hit, %.2f %% before"):format(ratio * 100, step.ratio * 100)
    local donor, receiver = after.by_id[step.from], after.by_id[step.to]
    local is_worse = ratio < step.ratio - state.settings.margin
    state.step = nil
    if is_worse and receiver and receiver.total_pages > 1 and donor then
        return { from = step.to, to = step.from, reason = words .. ": taken back" }, words
    elseif not is_worse and donor and receiver and donor.total_pages > state.settings.keep and step.is_wanted then
        state.step = { from = step.from, to = step.to, ratio = ratio, windows = 0 }
        return { from = step.from, to = step.to, reason = words .. ": once more" }, words
    end
    return nil, words
end

local function decide(before, after, state)
    local hits, all = requests(before, after)
    if all < state.settings.least then
        return {}, ("%d requests are too few to tell"):format(all)
    end
    local ratio = hits / all
    if state.step then
        local receiver = after.by_id[state.step.to]
        state.step.is_wanted = receiver and receiver.evicted > before.by_id[receiver.id].evicted
        local move, words = judge(after, state, ratio)
        if move then
            return { move }
        elseif state.step then
            return {}, "the last step is not judged yet"
        end
        return {}, words
    end
    local step = next_step(before, after, state)
    if not step then
        return {}, "no class evicts, or none can give a page"
    end
    state.step = { from = step.from, to = step.to, ratio = ratio, windows = 0 }
    return { { from = step.from, to = step.to,
        reason = ("%.2f %% hit; does a page of class %d serve class %d better?"):format(
            ratio * 100, step.from, step.to) } }
end

-- After the first step fewer, as many, or more are found.
local function answers(share)
    return function(second)
        local hits = second <= 2 and second * 500 or 1000 + math.tointeger((second - 2) * share)
        return { { id = 3 }, { id = 7, evicted = second * 100, cmd_set = second * 500, get_hits = hits } }
    end
end

return {
    name = "cliffhanger",
    summary = "hill climbing: a page is given, judged by the hits that follow, and kept or taken back",
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "hits are counted over this time" },
        settle = { default = 2, min = 1, max = 1000, unit = "windows", help = "from a step to its judgement" },
        margin = { default = 0.002, min = 0, max = 1, unit = "ratio", help = "a fall of the hit ratio that counts" },
        least = { default = 256, min = 1, max = 1 << 40, unit = "requests", help = "a window of fewer is not judged" },
        keep = { default = 1, min = 1, max = 100000, unit = "pages", help = "no class gives when it has this few" },
        seed = { default = 1, min = 0, max = 0x7fffffff, unit = "number", help = "where the draws start" },
    },
    init = function(settings)
        return { settings = settings, random = settings.seed }
    end,
    decide = decide,
    checks = {
        { name = "it tries a page", seconds = 2, classes = answers(500), moves = "3>7",
            says = "50.00 % hit; does a page of class 3 serve class 7 better?" },
        { name = "waits", seconds = 3, classes = answers(500), moves = "", says = "the last step is not judged yet" },
        { name = "tries again when it was right", seconds = 4, classes = answers(600), moves = "3>7",
            says = "54.55 % hit, 50.00 % before: once more" },
        { name = "takes it back when it was wrong", seconds = 4, classes = answers(100), moves = "7>3",
            says = "16.67 % hit, 50.00 % before: taken back" },
        { name = "knows when it cannot tell", seconds = 2, moves = "", says = "0 requests are too few to tell",
            classes = function() return { { id = 3 }, { id = 7 } } end },
    },
}
