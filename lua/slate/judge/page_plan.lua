-- SPDX-License-Identifier: BSD-3-Clause
--- The plan of page moves for all classes in need: every screen and command names these moves, in this order. Classes
-- that refuse stores come first, then those that starve, the largest predicted gain first. Pure.
--
-- Idle pages go first, and all at once: slate.judge.idle_pages shares them out. A class without a share gets pages of
-- the donor whose pages bring most hits: as many as the class can use and as bring it more hits than the donor loses; a
-- half or less of these where only then a gain is sure. Lives of items say which class starves, but pages help only if
-- they bring hits: a class that no client reads evicts as before, while its donor loses hits. So a move is advised once
-- a gain is predicted, and until that gain is gone. While no prediction is possible, lives alone decide; after
-- predictions of moves that did not come true, only free pages are advised. A class that refuses stores gets pages at
-- the price of hits, too, but no more than the refused items need. On a server that never evicts (-M) no page with live
-- items moves: there only classes with whole free pages give.
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local idle = require "slate.judge.idle_pages"
local limits = require "slate.judge.thresholds"
local policy_curve = require "slate.base.policy_curve"
local starving = require "slate.judge.starving"
local verdict = require "slate.judge.verdict"

local order = require "slate.base.order"
local largest_first = order.largest_first

local M = {}

local PAGE_BYTES <const> = 1 << 20
local STEPS <const> = 16 -- moves of so many sizes are compared,
local DONORS <const> = 3 -- from so many donors: those whose next page costs least

-- The pages with items that a class can use: the geometric mean of those that it fills and those that it needs for its
-- misses at today's hits a page, as if all keys were equally popular. class: the row's figures, of
-- slate.judge.verdict; nil if unknown.
local function usable_pages(row, class)
    local most = idle.filled_pages(row)
    local least = class and class.get_hits_per_s > 0 and not starving.refuses(row)
        and math.min(most, (row.pages or 0) * class.misses_per_s / class.get_hits_per_s) or most
    return math.max(1, math.tointeger(math.sqrt(least * most) // 1) or 1)
end

-- The pages at the price of hits for a class that refuses stores: those that the items refused while the server was
-- watched would fill. One if that time is unknown.
local function refused_pages(self, row)
    local bytes = row.out_of_memory_per_s * (self.seen_s or 0) * (row.chunk_bytes or PAGE_BYTES)
    return math.max(1, math.tointeger(math.ceil(bytes / PAGE_BYTES)) or 1)
end

-- The moves of an earlier plan by class id. They stay advised unless others are clearly better; not to classes that got
-- pages since.
local function standing_moves(plan, rows)
    local moves = gather.map(plan, "to")
    for _, row in ipairs(rows) do
        moves[row.id] = (row.pages_delta or 0) <= 0 and moves[row.id] or nil
    end
    return moves
end

-- Whether the server refuses stores when full.
local function never_evicts(one)
    return (one.now and one.now.settings or {}).evictions == "off"
end

-- What is known while a plan is made. given: the pages that donors give already, by class id; gain_of_page and
-- most_of_page: the hits a second that a page brings to a class in need, and may bring at most; standing: of
-- standing_moves; first: the class that came first before.
-- earlier: the plan of an earlier snapshot; of no use if it rests on curves and this one does not, or the other way.
local function state_of(one, curves, earlier)
    local seen, _, seen_s = verdict.figures_seen(one, curves)
    earlier = earlier and (earlier.curves == nil) == (curves == nil) and earlier or {}
    local self = { one = one, time_s = one.now and one.now.time_s or 0, curves = curves,
        seen = seen, seen_s = seen_s, given = {}, got = {}, shares = {}, gain_of_page = {}, most_of_page = {},
        standing = standing_moves(earlier, one.rows), first = earlier[1] and earlier[1].to,
        first_at_s = earlier.first_at_s or -math.huge,
        never_evicts = never_evicts(one), failed = verdict.failed_moves(one) }
    for _, row in ipairs(seen and one.rows or {}) do
        local class = seen.by_id[row.id]
        if class and starving.is_in_need(row) then
            local gain, _, most = policy_curve.gain(class, 1)
            self.gain_of_page[row.id], self.most_of_page[row.id] = gain, most
        end
    end
    return self
end

-- The move from this donor to this class if it stands; else nil.
local function standing_move(self, to, donor_id)
    local move = self.standing[to.id]
    local _, further = find.by(move and move.further or {}, "from", donor_id)
    return move and move.from == donor_id and move or further
end

-- Whether a class may give a page more to another. A class that pages would help itself gives none. Untried pages are
-- free: they go to a class that refuses stores, or that an operator chose, before pages with items.
local function may_give_to(self, row, to)
    local given = self.given[row.id] or 0
    local is_helped = starving.refuses(row) or starving.is_short(row) and (self.gain_of_page[row.id] or 1) > 0
    return row.id ~= to.id and not is_helped and row.pages - given >= 2
        and (starving.may_give(row) or row.untried_s ~= nil and not row.is_growing)
        and (not self.never_evicts or starving.free_pages(row) - given >= 1)
end

-- A class as a donor: its row, less the pages that it gives already.
local function donor_of(self, row)
    local given = self.given[row.id] or 0
    return given == 0 and row or setmetatable({ pages = row.pages - given,
        free_pages = math.max(0, (row.free_pages or 0) - given), held_free_pages = row.free_pages }, { __index = row })
end

-- The donors for a class: those without items alone, if there are any.
local function donors_of(self, to)
    local donors, empty = {}, {}
    for _, row in ipairs(self.one.rows) do
        local donor = may_give_to(self, row, to) and donor_of(self, row)
        donors[#donors + 1] = donor or nil
        empty[#empty + 1] = donor and row.used_ratio == 0 and starving.has_spare(starving.free_pages(donor)) and donor
            or nil
    end
    return #empty > 0 and empty or donors
end

-- The donor of idle pages for a class, and their number: one without items, else the one that was advised before, else
-- the one with most idle pages; nil without one.
local function idle_donor(self, to)
    local best, most, rank = nil, 0, 0
    for _, row in ipairs(self.one.rows) do
        local pages = idle.pages(self, row)
        local as = pages + (standing_move(self, to, row.id) and 1e9 or 0) + (row.used_ratio == 0 and 2e9 or 0)
        if pages > 0 and as > rank then
            best, most, rank = row, pages, as
        end
    end
    return best and donor_of(self, best), most
end

-- The most pages that a donor may give: its free ones, else half of those that it has.
local function most_pages(self, donor)
    local of_live = (self.never_evicts or donor.untried_s) and 0 or donor.pages // 2
    return math.max(1, math.tointeger(math.max(starving.free_pages(donor), of_live)))
end

-- The hits a second that a move of so many pages brings: those of the class that gets them, less those of the donor.
local function net_hits(self, to, donor, pages)
    local class, giver = self.seen.by_id[to.id], self.seen.by_id[donor.id]
    local given = self.given[donor.id] or 0
    return policy_curve.gain(class, pages) - policy_curve.cost(giver, given + pages) + policy_curve.cost(giver, given)
end

-- The number of pages, up to `most`, that brings most hits, and these hits.
local function best_pages(self, to, donor, most)
    local best, best_hits = 1, net_hits(self, to, donor, 1)
    local step = math.max(1, most // STEPS)
    for pages = 1 + step, most, step do
        local hits = net_hits(self, to, donor, pages)
        if hits <= best_hits then
            break
        end
        best, best_hits = pages, hits
    end
    return best, best_hits
end

-- The donors whose next page costs least hits, and the one that was advised before.
local function cheapest_donors(self, to)
    local donors, cost = donors_of(self, to), {}
    for _, donor in ipairs(donors) do
        local given, class = self.given[donor.id] or 0, self.seen.by_id[donor.id]
        cost[donor] = policy_curve.cost(class, given + 1) - policy_curve.cost(class, given)
    end
    table.sort(donors, function(a, b)
        return cost[a] < cost[b] or cost[a] == cost[b] and starving.is_richer(a, b)
    end)
    local list = order.first(donors, DONORS)
    for i = DONORS + 1, #donors do
        list[#list + 1] = standing_move(self, to, donors[i].id) and donors[i] or nil
    end
    return list
end

-- The number of pages that a class should get from a donor, and the hits a second that they bring.
local function pages_by_hits(self, to, donor, usable)
    local most = math.min(usable, most_pages(self, donor))
    local pages, hits = best_pages(self, to, donor, most)
    if not starving.refuses(to) then
        return pages, hits
    end
    -- It needs pages, whatever hits they bring.
    pages = net_hits(self, to, donor, most) >= 0 and most
        or math.max(hits > 0 and pages or 1, math.min(most, refused_pages(self, to)))
    return pages, net_hits(self, to, donor, pages)
end

-- The donor whose pages bring most hits to a class, and their number; the donor that was advised before stays until
-- another one is twice as good. nil if no class can give.
local function donor_by_hits(self, to, usable)
    local best, standing
    for _, donor in ipairs(cheapest_donors(self, to)) do
        local offer = { donor = donor }
        offer.pages, offer.hits = pages_by_hits(self, to, donor, usable)
        best = (not best or offer.hits > best.hits) and offer or best
        standing = standing_move(self, to, donor.id) and offer or standing
    end
    best = standing and best.hits < limits.clearly_ratio * standing.hits and standing or best
    if best then
        return best.donor, best.pages
    end
end

-- True if a donor is so much better than the advised one that the advice should change.
local function is_clearly_better(donor, advised)
    local free, was_free = starving.free_pages(donor), starving.free_pages(advised)
    if starving.has_spare(free) and free >= limits.clearly_ratio * was_free then
        return true
    end
    return free >= was_free and starving.lifetime_s(donor) > limits.clearly_ratio * starving.lifetime_s(advised)
end

-- The pages after which both classes keep their items equally long: lives are in proportion to pages. Free pages cost
-- nothing; of others at most a quarter moves at once, since no hits are known.
local function pages_by_lives(to, donor)
    local free = starving.free_pages(donor)
    if free >= 1 then
        return free
    end
    local own_s, whole_s = to.life_s or starving.tail_age_s(to) or 0, starving.lived_s(donor) or 0
    local even = (whole_s - own_s) / (whole_s / donor.pages + own_s / math.max(to.pages or 1, 1))
    return math.min(even == even and even or 0, donor.pages / 4) // 1 -- not a number where both lives are 0
end

-- The donor for a class while no prediction is possible, and the number of pages: the class with most free pages, then
-- the one that keeps its items longest. nil if no class can give.
local function donor_by_lives(self, to, usable)
    local best, standing
    for _, donor in ipairs(donors_of(self, to)) do
        best = (not best or starving.is_richer(donor, best)) and donor or best
        standing = standing_move(self, to, donor.id) and donor or standing
    end
    best = standing and not is_clearly_better(best, standing) and standing or best
    if best and starving.refuses(to) and starving.free_pages(best) < 1 then
        return best, 1
    end
    return best, best and math.max(1, math.min(usable, pages_by_lives(to, best)))
end

-- The number of pages that was advised before, if about as many are right now.
local function steady_pages(self, to, donor, pages)
    local was = standing_move(self, to, donor.id)
    if was and was.pages <= (starving.refuses(to) and pages or most_pages(self, donor))
        and was.pages <= limits.clearly_ratio * pages and pages <= limits.clearly_ratio * was.pages then
        return was.pages
    end
    return math.tointeger(pages)
end

-- Predictions rest on ten seconds, so chance changes them from one second to the next: a gain that was expected counts
-- until none was for as long. expected_at_s: when a gain of the move was expected last; nil: never.
local function is_expected(self, expected_at_s)
    return expected_at_s ~= nil and self.time_s - expected_at_s < limits.lately_s
end

-- The time at which a gain of a move was expected last, its prediction being `made`. A gain begins to be expected where
-- its figure shows one, so that chance about 0 is none; a sure loss ends it, as when the curves of the classes come.
local function expected_at(self, was, made)
    local least = was and was.expects_gain and 0 or limits.prediction_band_least_ratio
    if made and verdict.promise(made) == "loss" then
        return nil
    end
    return made and made.hit_ratio_change > least and self.time_s or was and was.expected_at_s
end

-- Whether a prediction suffices to advise a move: its gain is sure, or one to this class was advised and a gain is
-- expected. A class that refuses stores gets pages that cost no hits.
local function is_worth(self, move, made)
    local change, promise, was = made.hit_ratio_change, verdict.promise(made), self.standing[move.to]
    return promise == "gain" or move.refuses and change >= 0
        or was ~= nil and was.is_advised and promise ~= "loss" and (change > 0 or is_expected(self, was.expected_at_s))
end

-- Writes the prediction of a move into the move, and whether the move is advised. If the gain is not sure, that of a
-- half of the pages may be, or of less.
local function predict(self, move)
    local pages = move.pages
    local is_good
    repeat
        local made, why = verdict.predicted_move(self.one, move.from, move.to, pages, self.curves,
            self.given[move.from], self.got[move.to])
        is_good = made and is_worth(self, move, made)
        if is_good or pages == move.pages then
            move.pages, move.made, move.why = pages, made, why
        end
        pages = pages // 2
    until is_good or not made or pages < 1
    move.expected_at_s = expected_at(self, self.standing[move.to], move.made)
    move.expects_gain = is_expected(self, move.expected_at_s)
    move.failed = move.pages > move.free_pages and self.failed or nil -- free pages cost nothing
    move.is_advised = move.refuses or not move.failed and (not move.made or is_good)
end

-- The move of pages from a donor to a class.
local function new_move(self, to, donor, pages)
    local move = { from = donor.id, to = to.id, pages = math.tointeger(pages), row = to, further = {},
        free_pages = math.tointeger(starving.free_pages(donor)),
        held_free_pages = math.tointeger((donor.held_free_pages or donor.free_pages or 0) // 1),
        lifetime_s = starving.lived_s(donor) and starving.lifetime_s(donor), refuses = starving.refuses(to) }
    predict(self, move)
    return move
end

-- Pages of a move are taken into account for the next moves.
local function count_in(self, move)
    self.given[move.from] = (self.given[move.from] or 0) + move.pages
    self.got[move.to] = (self.got[move.to] or 0) + move.pages
end

-- The move to a class; nil if no class can give. Its share of the idle pages comes from one donor, and what that one
-- has not from further ones.
local function move_to(self, to)
    local class, share = self.seen and self.seen.by_id[to.id], self.shares[to.id] or 0
    local donor, pages = idle_donor(self, to)
    if share > 0 and donor then
        pages = math.min(share, pages)
    else
        donor, pages = (class and donor_by_hits or donor_by_lives)(self, to, usable_pages(to, class))
        pages = donor and steady_pages(self, to, donor, pages)
    end
    return donor and new_move(self, to, donor, pages)
end

-- The further moves of idle pages to a class. A donor that keeps some gave as many as bring a gain.
local function further_moves(self, move)
    local list, last, left = {}, move, (self.shares[move.to] or 0) - move.pages
    while left > 0 do
        local donor, pages = idle_donor(self, move.row)
        local further = donor and donor.id ~= last.from and new_move(self, move.row, donor, math.min(left, pages))
        if not (further and further.is_advised) then
            break
        end
        count_in(self, further)
        list[#list + 1], last, left = further, further, left - further.pages
    end
    return list
end

-- Sorts rows in need in the order in which they get pages: those that refuse stores, then by the hits that a page
-- brings, else by evictions. The first gets the cheapest pages, so one that was expected to gain stays before another
-- unless that one gains more than it can itself; without gains, unless that one evicts twice as much.
local function sort_needs(self, rows)
    local function rank(row)
        local was, gain = self.standing[row.id], self.gain_of_page[row.id]
        return starving.refuses(row) and row.out_of_memory_per_s * 1e9
            or was and was.expects_gain and self.most_of_page[row.id] or gain
            or (row.mean_evicted_per_s or 0) * (was and limits.clearly_ratio or 1)
    end
    return largest_first(rows, rank, "id")
end

-- The place of a move in the plan: the larger the earlier. first: the id of the class that was first, which stays first
-- until another one gains twice as much, or gained more for ten seconds: all observers name the same class then.
local function rank_of(move, first)
    local row, gain = move.row, move.made and move.made.hits_per_s
    local size = move.refuses and row.out_of_memory_per_s or move.is_advised and gain or row.mean_evicted_per_s or 0
    local kind = move.refuses and 2e12 or move.is_advised and 1e12 or 0
    return kind + math.min(size, 1e9) * (row.id == first and limits.clearly_ratio or 1)
end

-- Sorts the moves. The plan has first_at_s: when the first one was the largest last.
local function sort_plan(self, plan)
    local largest = largest_first(plan, rank_of, "to")[1]
    plan.first_at_s = self.time_s
    if largest and largest.to ~= self.first and self.time_s - self.first_at_s < limits.lately_s then
        largest_first(plan, function(move) return rank_of(move, self.first) end, "to")
        plan.first_at_s = plan[1].to == self.first and self.first_at_s or self.time_s
    end
end

-- Writes the judgement into the rows: a class starves only if pages would help it.
local function mark(one, plan)
    for _, row in ipairs(one.rows or {}) do
        if row.starves ~= nil then
            row.lives_short = starving.is_short(row)
            row.starves, row.advised, row.is_worst = false, nil, nil
            row.predicted_change, row.predicted_least, row.predicted_most, row.expects_gain = nil, nil, nil, nil
        end
    end
    for i, move in ipairs(plan) do
        local row, made = move.row, move.made or {}
        row.is_worst = i == 1 or nil
        if row.starves ~= nil then
            row.starves = row.lives_short and move.is_advised
        end
        row.advised = move.is_advised and { from = move.from, pages = move.pages } or nil
        row.predicted_change, row.predicted_least, row.predicted_most = made.hit_ratio_change, made.least, made.most
        row.expects_gain = move.expects_gain
    end
end

-- Whether the moves bring hits that count: nobody knows how many, or a point; or half of that, if it was a point in the
-- last ten seconds. The plan has large_at_s: when it was.
local function is_large(plan, time_s)
    local was, gain = plan.earlier or {}, plan.sum and plan.sum.hit_ratio_change or math.huge
    plan.large_at_s = gain >= limits.gain_least_ratio and time_s or was.is_large and was.large_at_s or nil
    return gain >= limits.gain_least_ratio / limits.clearly_ratio and is_expected({ time_s = time_s }, plan.large_at_s)
end

--- Adds to a list of moves (`plan`) what follows from them and the rows, and writes the judgement into the rows.
function M.complete(one, plan)
    local moves = gather.map(plan, "to")
    plan.advised, plan.never_evicts = {}, never_evicts(one)
    plan.stuck = starving.in_order(one.rows, function(row) return starving.refuses(row) and not moves[row.id] end)
    for _, move in ipairs(plan) do
        plan.advised[#plan.advised + 1] = move.is_advised and move or nil
        table.move(move.further, 1, #move.further, #plan.advised + 1, plan.advised)
    end
    local made = gather.values(plan.advised, "made")
    plan.sum = #made > 0 and #made == #plan.advised and verdict.sum(made) or nil
    mark(one, plan)
end

local function make(one, curves, earlier)
    local rows, plan = starving.in_order(one.rows, starving.is_in_need), { now = one.now, curves = curves,
        earlier = earlier }
    if rows[1] then -- the figures of ten seconds cost more than all else
        local self = state_of(one, curves, earlier)
        self.shares = idle.shares(self, sort_needs(self, rows), earlier and earlier.shares)
        for _, row in ipairs(rows) do
            local move = move_to(self, row)
            plan[#plan + 1] = move
            if move and move.is_advised then
                count_in(self, move)
                move.further = further_moves(self, move)
            end
        end
        sort_plan(self, plan)
        plan.state, plan.shares = self, self.shares
    end
    M.complete(one, plan)
    plan.is_large = rows[1] and is_large(plan, plan.state.time_s)
    return plan
end

--- The plan of a snapshot: a list of moves, the advised ones first. one: of slate.judge.view; curves: as for
-- slate.judge.verdict, or nil. Made once for a snapshot and its curves. Advice stands by the plan of an earlier
-- snapshot alone: a plan made first without curves does not change the one with them.
--
-- A move has from, to, pages, is_advised, row (of the class that gets the pages), refuses (that class refuses stores),
-- free_pages (whole ones of the donor, less those of earlier moves), held_free_pages (all of these), lifetime_s (how
-- long the donor would keep its items with a page less; nil if unknown), further (moves of idle pages to the same class
-- from other donors; in `advised`, not in the plan), made (the prediction; without one `why` has the reason),
-- expects_gain (a gain was predicted in the last ten seconds; expected_at_s: when) and failed (failed_moves of
-- slate.judge.verdict, if that counts here).
--
-- The plan has advised (a list of the advised moves), sum (their predictions together, as `made`; may be nil), is_large
-- (these bring hits that count, or did ten seconds ago and bring half as many, or nobody knows how many), stuck
-- (the rows of classes that refuse stores while no class can give) and never_evicts (the server refuses stores when
-- full). Rows get the judgement: starves; lives_short, also where no move is advised; is_worst, for the first; advised,
-- the move; and of that or the best move predicted_change, predicted_least, predicted_most, expects_gain.
function M.of(one, curves)
    local last = one.page_plan
    if last and last.now == one.now and last.curves == curves then
        return last
    end
    local earlier = last
    if last and last.now == one.now then
        earlier = last.earlier
    elseif last then
        last.earlier = nil
    end
    one.page_plan = make(one, curves, earlier)
    return one.page_plan
end

--- The move to a class: that of the plan; for a class that is not in need, the move that suits it best. nil if no class
-- can give.
function M.move(one, id, curves)
    local plan = M.of(one, curves)
    local _, move = find.by(plan, "to", id)
    local _, row = find.by(one.rows or {}, "id", id)
    return move or row and move_to(plan.state or state_of(one, curves), row) or nil
end

--- How many pages to move to a class from a donor that an operator chose. to, from: rows of the observer.
function M.pages(one, to, from)
    local self = state_of({ rows = { to, from }, now = one.now, recent = one.recent }, one.curves)
    local move = move_to(self, to)
    return move and move.pages or 1
end

return M
