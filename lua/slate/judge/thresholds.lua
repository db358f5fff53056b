-- SPDX-License-Identifier: BSD-3-Clause
--- Every threshold of the judges, in one table: from where on a figure is worth a word, how much must have been seen,
-- and for how long. Units stand in the names: _s seconds, _ratio a share of 1, _pct per cent.
-- slate-terms(7) says the rules in words. Constants of a method, such as curves, stand where they are used.
-- @module slate.judge.thresholds

--- The thresholds, by name.
-- @table thresholds
return {
    -- All judges.
    lately_s = 10, -- hit ratios, evictions, predictions and guards go by the last so many seconds
    errors_apart = 2, -- a difference counts that is so many times its standard error: chance does not
    gain_least_ratio = 0.01, -- of the reads: from a point of hits on, more memory, a policy or a move was worth it
    new_s = 300, -- a server that started less long ago has not filled yet: what it does is not what it will do

    -- Which class starves.
    starving_samples = 3, -- running a class must have evicted in so many: one may be a moment's
    sample_s = 1, -- how far samples are apart, as slatetop takes them
    spare_pages = 2, -- a page of free chunks is what a class keeps that is well
    starving_begins_ratio = 4, -- another class keeps its items so many times as long,
    starving_apart_s = 1, -- and so much longer
    starving_ends_below_ratio = 2, -- apart from where it begins, so that a finding stays,
    starving_ends_after_s = 10, -- for so long
    starving_ends_at_once_ratio = 1, -- where no other class keeps its own as long
    starving_evictions_least_ratio = 0.05, -- of all evictions: a class with fewer does not begin to starve
    clearly_ratio = 2, -- what is advised stays until something else is so many times as good
    hardly_read_ratio = 0.02, -- hits by stores: a class with fewer is written, not read
    age_spread_most = 4, -- ages of evicting classes that differ more are worth another automove

    -- Free pages, and memory beyond the limit.
    idle_pages = 2.5, -- of free chunks
    idle_fills_s = 60, -- free chunks that a class takes within so long are not idle
    held_most_ratio = 0.1, -- of the limit beyond it,
    held_most_bytes = 4 << 20, -- and more than that: a page or two is what a class costs that has just come into use
    held_critical_ratio = 1, -- twice the limit is held
    process_share_ratio = 0.1, -- of what was asked for: a limit of the process always takes a little
    pressure_least_pct = 10,

    -- Waste.
    waste_fills_from_ratio = 0.5, -- of the limit, from where on waste is told before anything is evicted
    waste_most_ratio = 0.15,
    waste_gain_least_ratio = 0.005, -- less than half a point of waste is not worth a change
    sizes_as_good_ratio = 0.001, -- of the items: so little less is worth fewer classes
    expired_least_items = 1000,
    expired_least_ratio = 0.25,

    -- Page moves.
    ping_pong_moves = 16, -- the last ones, which are looked at
    ping_pong_s = 300, -- a page that goes back later follows the traffic
    ping_pong_by_hand = 2, -- an undo, and the same move once more: further ones are a program's
    window_long_s = 60,
    window_most_s = 1800,
    prediction_band_least_ratio = 0.005, -- of the reads: as far as two windows are apart by chance
    prediction_reads_least = 1000, -- in the time seen; what fewer tell is chance
    prediction_short_s = 8, -- what rests on less says so
    prediction_unlikely_ratio = -0.002, -- of the reads: what is nearer to nothing may be either

    -- What came of a change.
    verdict_lasts_s = 60, -- its verdict is told
    verdict_least_s = 2, -- after the change, before anything is told
    verdict_evictions_apart_ratio = 0.1,
    verdict_filled_least_ratio = 0.01, -- of the items: fewer that came to free memory make no hits that are told
    verdict_shift_least_ratio = 0.05, -- of the requests: a load whose classes change by less is called the same
    verdict_half_least_s = 1, -- of the time before, in which a hit ratio that moves by itself shows
    guard_settle_s = 5, -- behind the change, when everything moves; of a short trial a quarter
    guard_evictions_least_per_s = 10, -- up to this rate a bound that is a share is not crossed

    -- The course of a server.
    course_lately_s = 4, -- held against what came before:
    course_before_s = 20, -- of it so much at least, or all since the start
    course_length_s = 600,
    pause_least_s = 0.9, -- requests come in bursts: a shorter pause says nothing
    pause_requests_least = 30, -- when so many are due, none comes by chance once in e^30
    fall_reads_least = 100, -- for a hit ratio
    fall_from_least_ratio = 0.1, -- a hit ratio below this was none to lose
    fall_to_ratio = 0.5, -- of what it was

    -- The server as a whole.
    connections_most_ratio = 0.9, -- of those that may be open
    connections_critical_ratio = 0.98,
    hits_least_ratio = 0.5,
    hits_reads_least = 100,
    hits_short_s = 8, -- a hit ratio of less time says of how much
    outlier_servers_least = 4, -- fewer servers that answer are not compared
    outlier_deviations = 3, -- from so many on a server is an outlier

    -- More memory, another policy, another amount of money.
    policy_gain_least_ratio = 0.005, -- less than half a point of hits is not worth a change
    sampled_reads_least = 300, -- so many tell a point of hits apart from nothing
    price_reads_least = 500, -- from so many sampled reads on a curve is worth a price

    -- Storage on flash.
    storage_wait_most_s = 0.1, -- that reads wait for it, by Little's law: how many wait / how many a second
    storage_holes_most_ratio = 0.25, -- of the pages in use
    storage_max_frag_most_ratio = 0.95, -- fuller pages cost more writes than they free
    storage_fills_from_ratio = 0.5, -- of the pages are in use, from where on holes are worth a word
}
