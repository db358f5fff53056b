-- SPDX-License-Identifier: BSD-3-Clause
--- Moves pages between slab classes: plans, sends, and verifies the outcome.
--
-- The server's OK says that a move is scheduled, not that a page has moved. So the outcome comes from page counts and
-- from slabs_moved before and after. A request that the server would refuse, or that would crash some versions of
-- memcached, is refused here before anything is sent.
local automove = require "slate.facts.automove"
local clock = require "slate.base.clock"
local failure = require "slate.base.failure"
local outcome = require "slate.act.move_outcome"
local requests = require "slate.wire.request"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {}

M.ANY, M.POOL, M.MAX_CLASS = -1, 0, 255

local place <const>, plural <const> = units.place, units.plural

local POLL_FIRST_S <const>, POLL_MOST_S <const> = 0.002, 0.05
local BUSY_FIRST_S <const>, BUSY_MOST_S <const> = 0.005, 0.5
-- The mover may take this long to start after an OK. If no page moves for longer, the mover has given up.
local SILENCE_S <const> = 2

local function ids_with_pages(now)
    local ids = {}
    for _, class in ipairs(now.classes) do
        if class.total_pages then
            ids[#ids + 1] = class.id
        end
    end
    return #ids > 0 and table.concat(ids, ", ") or "none"
end

local function unknown_class(now, request, id)
    return nil, ("class %d holds no pages on this server (classes that do: %s); nothing was sent%s"):format(id,
        ids_with_pages(now), request.slated and ""
        or ", because some versions of memcached crash on a move to a class they do not use"), "no"
end

-- The classes that M.ANY may mean, each with the pages that it can give, and the sum of these pages.
local function sources_of(now, request)
    local sources, spare = {}, 0
    for _, class in ipairs(now.classes) do
        if class.id ~= request.dst and (class.total_pages or 0) > 1 then
            sources[#sources + 1] = { class = class.id, pages_at_most = math.min(class.total_pages - 1, request.pages) }
            spare = spare + class.total_pages - 1
        end
    end
    return sources, spare
end

local function check_source(now, request)
    local src, pages = request.src, request.pages
    if src == M.ANY then
        local _, spare = sources_of(now, request)
        if spare >= pages then
            return true
        end
        return nil, ("the other classes can spare %s, for each keeps its last one, and cannot give %d; "
            .. "nothing was sent"):format(plural(spare, "page"), pages), "no"
    end
    local held = snapshot.pages_of(now, src)
    if not held and src == M.POOL then
        return nil, "this server has no global page pool", "unsupported"
    elseif not held then
        return unknown_class(now, request, src)
    end
    -- Servers begin a move only if the source has two pages; slated then takes the pool's last one, too.
    local least_left = src == M.POOL and request.slated and held > 1 and 0 or 1
    if held - least_left < pages then
        local why = least_left == 0 and "" or src == M.POOL and ", of which the server leaves the last one"
            or ", keeps its last one"
        return nil, ("%s has %s%s and cannot give %d; nothing was sent"):format(place(src),
            plural(held, "page"), why, pages), "no"
    end
    return true
end

-- On slated the receiver may be a class without pages, but no class that a change of the chunk sizes empties.
local function check_slated_class(request)
    local state = request.class_states and request.class_states[request.dst]
    if not request.class_states or state == "active" then
        return true
    elseif state then
        return nil, ("class %d is being emptied by a change of the chunk sizes and gets no pages; nothing was sent")
            :format(request.dst), "no"
    end
    return nil, ("there is no class %d on this server; nothing was sent"):format(request.dst), "no"
end

local function check_destination(now, request)
    if request.dst == M.POOL then
        return true
    elseif request.slated then
        return check_slated_class(request)
    elseif not snapshot.pages_of(now, request.dst) then
        local _, message, code = unknown_class(now, request, request.dst)
        return nil, ("%s; storing one item of the size of class %d gives it a first page, after which pages can be "
            .. "moved to it"):format(message, request.dst), code
    end
    return true
end

local function check_ids(request)
    local src, dst = request.src, request.dst
    if src < M.ANY or src > M.MAX_CLASS or dst < M.POOL or dst > M.MAX_CLASS then
        return nil, ("a source is -1 (any), 0 (the pool) or a class from 1 to %d, a destination 0 or a class"):format(
            M.MAX_CLASS), "usage"
    elseif src == dst then
        return nil, "source and destination are the same class; nothing was sent", "usage"
    elseif request.pages < 1 then
        return nil, "at least one page must move", "usage"
    end
    return true
end

-- The most items that can be lost: the chunks of the pages, less the free chunks.
local function items_at_risk(now, request)
    local class = snapshot.by_id(now)[request.src]
    if not (class and class.free_chunks and class.chunks_per_page) then
        return nil
    end
    return math.max(0, request.pages * class.chunks_per_page - class.free_chunks)
end

--- The commands that move pages, one after the other: slated takes a count, memcached moves one page a command.
function M.commands(request)
    local line = ("slabs reassign %d %d"):format(request.src, request.dst)
    local one_command = request.slated and request.pages > 1
    local commands = {}
    for i = 1, one_command and 1 or request.pages do
        commands[i] = one_command and line .. " " .. request.pages or line
    end
    return commands
end

--- Checks a request against a snapshot (taken with settings). Pure; nothing is sent.
-- request: src (-1 any, 0 pool, or a class), dst (0 pool, or a class), pages, slated (version or nil), and of slated
-- class_states, the states of its classes by id (of slate.facts.geometry).
-- Returns a plan { src, dst, pages, slated, commands, sources, src_pages, dst_pages, items_at_risk, automove, before };
-- or nil, message, code. Only a plan from any class has sources, a list of { class, pages_at_most }; it has neither
-- src_pages nor items_at_risk.
function M.plan(now, request)
    local usage = "move.plan(now, request) wants { src = 14, dst = 4, pages = 1 }"
    failure.wants_table(request, usage)
    for _, name in ipairs({ "src", "dst", "pages" }) do
        if type(request[name]) ~= "number" then
            error(("%s, where %s is not a %s"):format(usage, name, type(request[name])), 2)
        end
    end
    local ok, message, code = check_ids(request)
    if ok then
        ok, message, code = check_source(now, request)
    end
    if ok then
        ok, message, code = check_destination(now, request)
    end
    if not ok then
        return nil, message, code
    end
    local settings = now.settings or {}
    if settings.slab_reassign == false then
        return nil, "this server runs with slab reassignment off: start it with -o slab_reassign to move pages",
            "refused"
    end
    local commands = M.commands(request)
    return {
        src = request.src, dst = request.dst, pages = request.pages, slated = request.slated, commands = commands,
        pages_per_command = request.pages // #commands,
        sources = request.src == M.ANY and sources_of(now, request) or nil,
        src_pages = request.src ~= M.ANY and snapshot.pages_of(now, request.src) or nil,
        dst_pages = snapshot.pages_of(now, request.dst) or 0,
        items_at_risk = items_at_risk(now, request), automove = settings.slab_automove, before = now,
    }
end

--- Takes a snapshot, queries the states of the classes, and calls `plan`. context: slate.cli.context, opened.
function M.prepare(context, client, request)
    local ok, now, message, code
    ok, message, code = require("slate.facts.store").needs_slab(context.who, "pages that move")
    if not ok then
        return nil, message .. "; nothing was sent", code
    end
    now, message, code = context:snapshot(client)
    if not now then
        return nil, message, code
    end
    request.slated = context.who.slated
    if request.slated then
        local change, classes = require("slate.facts.geometry").read(client)
        request.class_states = change and {} or nil -- else the server itself accepts or refuses
        for _, class in ipairs(change and classes or {}) do
            request.class_states[class.id] = class.class_state
        end
    end
    return M.plan(now, request)
end

-- The server picks the source when it moves a page: only the most pages from each class are known.
local function describe_sources(plan)
    local each = {}
    for i, source in ipairs(plan.sources) do
        each[i] = ("%d (%d)"):format(source.class, source.pages_at_most)
    end
    return ("the server picks the source%s, of these classes (with the most pages that each can give): %s"):format(
        plan.slated and ", a page of least worth each time" or "", table.concat(each, ", "))
end

--- The effect of the plan, in sentences.
function M.describe(plan)
    local lines = {}
    local times = #plan.commands > 1 and (" (%d times, one after the other)"):format(#plan.commands) or ""
    lines[1] = ("would send: %s%s"):format(plan.commands[1], times)
    if plan.src_pages then
        lines[#lines + 1] = ("%s: %d -> %s"):format(place(plan.src), plan.src_pages,
            plural(plan.src_pages - plan.pages, "page"))
    end
    if plan.sources then
        lines[#lines + 1] = describe_sources(plan)
        lines[#lines + 1] = ("at most %s in all; how many items may be lost depends on the source"):format(
            plural(plan.pages, "page"))
    end
    lines[#lines + 1] = ("%s: %d -> %s"):format(place(plan.dst), plan.dst_pages,
        plural(plan.dst_pages + plan.pages, "page"))
    if plan.items_at_risk then
        lines[#lines + 1] = plan.items_at_risk == 0 and "free chunks can take in every item: none needs to be lost"
            or "at most " .. plural(plan.items_at_risk, "item") .. " may be lost"
    end
    if plan.before.general.slab_reassign_running == 1 then
        lines[#lines + 1] = "the server is busy with another move: the command would be repeated until it is not"
    end
    if plan.automove and plan.automove ~= 0 then
        lines[#lines + 1] = ("automove is %s and may move pages back"):format(automove.name_of(plan.automove))
    end
    return lines
end

-- Waits until the server has finished `target` page moves since the plan was made.
-- Returns true; false when the mover went silent or time is up; nil, message, code.
local function await(client, plan, target, result, options)
    local stats = require "slate.facts.stats"
    local pause_s, last_growth_s, last_moved = POLL_FIRST_S, clock.steady_s(), 0
    while true do
        local general, message, code = stats.read(client)
        if not general then
            return nil, message, code
        end
        local moved = outcome.growth(plan.before.general, general, "slabs_moved")
        if not moved then
            return nil, "this server does not count page moves (slabs_moved): the outcome cannot be seen", "unsupported"
        end
        result.pages_seen = math.max(result.pages_seen or 0, math.min(moved, plan.pages))
        local running = general.slab_reassign_running == 1
        if moved >= target and not running then
            return true
        end
        local now_s = clock.steady_s()
        if moved > last_moved or running then
            last_moved, last_growth_s = moved, now_s
        end
        if options.progress then
            options.progress(math.min(moved, plan.pages), plan.pages, result.busy_retries)
        end
        if now_s > options.until_s then
            result.why = "time is up"
            return false
        elseif now_s - last_growth_s > SILENCE_S then
            return false
        end
        clock.sleep(pause_s)
        pause_s = math.min(pause_s * 1.5, POLL_MOST_S)
    end
end

local REPLIES <const> = {
    NOSPARE = { "no", "the source has no page to spare" },
    BADCLASS = { "no", "the server does not have such a class" },
    SAME = { "usage", "source and destination are the same class" },
    UNSAFE = { "no", "the source page cannot be moved right now" },
    NOTFULL = { "no", "the destination has not used up its memory" },
}

-- Sends one command until the server is no longer busy. true, or nil, message, code.
local function send(client, command, result, until_s)
    local pause_s = BUSY_FIRST_S
    while true do
        local line, message, code = client:command(command)
        if not line then
            return nil, message, code
        elseif line == "OK" then
            return true
        end
        local word = line:match("^%u+")
        if word == "BUSY" then
            if clock.steady_s() + pause_s > until_s then
                return nil, "the server is still busy with another move", "busy"
            end
            result.busy_retries = result.busy_retries + 1
            clock.sleep(pause_s)
            pause_s = math.min(pause_s * 2, BUSY_MOST_S)
        elseif REPLIES[word] then
            return nil, ("%s (%s)"):format(REPLIES[word][2], requests.printable(line)), REPLIES[word][1]
        else
            local refused, refusal_code = requests.refusal(line)
            return nil, refused or "unexpected reply: " .. requests.printable(line), refusal_code or "protocol"
        end
    end
end

--- Fills in the result of a plan that was carried out since started_s; returns it, or nil, message, code.
function M.verify(client, plan, result, started_s)
    local after, message, code = snapshot.take(client, {})
    if not after then
        return nil, message, code
    end
    if plan.slated then
        plan.moves_after = client:stats("moves")
    end
    outcome.verify(result, plan, after)
    result.elapsed_s = clock.steady_s() - started_s
    return result
end

--- Carries a plan out.
-- options: wait (verify each move by its outcome), limit_s (for all moves), progress (function of pages moved, wanted,
-- busy retries), result (a table to fill, so that an interrupted caller still sees how far the moves got). Returns the
-- result:
-- { state = "accepted" | "moved" | "partly" | "not moved", pages_wanted, pages_accepted, pages_moved,
--   src_pages_before/after, dst_pages_before/after, items_rescued, items_lost (on slated),
--   items_evicted_at_most (on memcached), busy_retries, elapsed_s, why },
-- or nil, message, code when nothing was accepted or the connection was lost.
function M.run(client, plan, options)
    local started_s = clock.steady_s()
    local result = options.result or {}
    result.pages_wanted, result.pages_accepted, result.busy_retries = plan.pages, 0, 0
    local bounds = { until_s = started_s + options.limit_s, progress = options.progress }
    if options.wait and plan.slated then
        plan.moves_before = client:stats("moves") -- a refusal leaves the losses unknown
    end
    for _, command in ipairs(plan.commands) do
        local ok, message, code = send(client, command, result, bounds.until_s)
        if not ok then
            if result.pages_accepted == 0 or code == "closed" or code == "timeout" then
                return nil, message, code
            end
            result.why, result.code = message, code
            break
        end
        result.pages_accepted = result.pages_accepted + plan.pages_per_command
        if options.wait then
            ok, message, code = await(client, plan, result.pages_accepted, result, bounds)
            if ok == nil then
                return nil, message, code
            elseif not ok then
                break
            end
        end
    end
    if options.wait then
        return M.verify(client, plan, result, started_s)
    end
    result.state, result.elapsed_s = "accepted", clock.steady_s() - started_s
    return result
end

return M
