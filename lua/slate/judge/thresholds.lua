-- SPDX-License-Identifier: BSD-3-Clause
--- Every threshold of the judges, in one table: the figure from which a judge reports something, how much the judge
-- must have seen, and for how long. Names have units: _s seconds, _ratio a share of 1, _pct per cent. slate-terms(7)
-- states the rules in words. Constants of a method, such as curves, stand where they are used.
-- @module slate.judge.thresholds

--- The thresholds, by name.
-- @table thresholds
return {
    -- All judges.
    lately_s = 10, -- the period of hit ratios, evictions, predictions and guards: the last seconds
    errors_apart = 2, -- standard errors: a smaller difference may be chance
    gain_least_ratio = 0.01, -- of the reads: a smaller gain of more memory, a policy or a move does not count
    new_s = 300, -- a server that started less long ago has not filled yet: its figures are not its usual ones

    -- Which class starves.
    starving_samples = 3, -- consecutive samples in which a class must have evicted: one sample may be chance
    sample_s = 1, -- from one sample to the next, as in slatetop
    spare_pages = 2, -- free pages from which a class can give: a healthy class keeps one page of free chunks
    starving_begins_ratio = 4, -- a class starves if another one keeps its items this many times as long,
    starving_apart_s = 1, -- and this much longer
    starving_ends_below_ratio = 2, -- starving ends below this ratio, lower than the first so that a finding stays,
    starving_ends_after_s = 10, -- once the ratio has been below for this long
    starving_ends_at_once_ratio = 1, -- below this ratio starving ends at once: no other class keeps its items as long
    evicts_most_s = 60, -- a class that evicts now and then evicts until it did not for so long
    starving_evictions_least_ratio = 0.05, -- of all evictions: a class with fewer does not begin to starve
    clearly_ratio = 2, -- an advice stays until another one is this many times as good
    hardly_read_ratio = 0.02, -- hits / stores: below this a class is written, hardly read
    age_spread_most = 4, -- if the ages of evicting classes differ by a larger factor, another mode of automove pays

    -- Free pages, and memory beyond the limit.
    idle_pages = 2.5, -- pages of free chunks from which a class is idle
    idle_fills_s = 60, -- free chunks that a class takes within this time are not idle
    held_most_ratio = 0.1, -- of the limit: the memory beyond the limit is a finding if it exceeds this,
    held_most_bytes = 4 << 20, -- and this: a class that just came into use costs a page or two
    held_critical_ratio = 1, -- of the limit: the server holds twice its limit
    process_share_ratio = 0.1, -- of the memory requested for items: a limit of the process always takes a little of it
    pressure_least_pct = 10,

    -- Waste.
    waste_fills_from_ratio = 0.5, -- of the limit: with more in pages, waste is a finding before the first eviction
    waste_most_ratio = 0.15,
    waste_gain_least_ratio = 0.005, -- half a point of waste: a change that saves less does not pay
    sizes_as_good_ratio = 0.001, -- of the items: if two geometries differ by less, the one with fewer classes is better
    expired_least_items = 1000,
    expired_least_ratio = 0.25,

    -- Page moves.
    ping_pong_moves = 16, -- the check examines this many last moves
    ping_pong_s = 300, -- a page that goes back after more seconds follows the traffic
    ping_pong_by_hand = 2, -- moves back: an undo, and the same move once more; further ones are a program's
    window_long_s = 60,
    window_most_s = 1800,
    prediction_band_least_ratio = 0.0005, -- of the reads: half of the last digit that is shown
    prediction_reads_least = 1000, -- in the period seen: fewer reads show chance
    prediction_short_s = 8, -- a prediction from a shorter period says so
    prediction_unlikely_ratio = -0.002, -- of the reads: unsure ones of this figure or middle are likelier losses

    -- What came of a change.
    verdict_lasts_s = 60, -- a verdict is shown for this long after its change
    verdict_least_s = 2, -- after the change, before a verdict is given
    verdict_evictions_apart_ratio = 0.1,
    verdict_traffic_least_ratio = 0.5, -- of the gets a second before: with fewer after the change nothing is judged
    verdict_filled_least_ratio = 0.01, -- of the items: a cache that gained fewer in free memory was not filling
    verdict_shift_least_ratio = 0.05, -- of the requests: if fewer go to other classes, the load is the same
    verdict_half_least_s = 1, -- the least half of the time before; the halves show whether hits moved by themselves
    guard_settle_s = 5, -- after the change, when all figures move; at most a quarter of the trial
    guard_errors_apart = 3, -- beyond the bound: ten minutes have 60 periods of ten seconds, so 2 errors come by chance
    guard_evictions_least_per_s = 10, -- up to this rate a bound that is a share is not crossed

    -- The last seconds of a server, against the time before.
    course_lately_s = 4,
    course_before_s = 20, -- the least length of the time before; if less was seen, that is all since the start (new_s)
    pause_requests_least = 30, -- requests due in the pause: by chance a pause without any happens once in e^30
    fall_reads_least = 100, -- in each period: fewer reads make no hit ratio
    fall_from_least_ratio = 0.1, -- an earlier hit ratio below this was too small to fall
    fall_to_ratio = 0.5, -- of the earlier hit ratio

    -- Incidents: falls against the minute before.
    incident_base_s = 60, -- what was usual: the load of a day changes by less than one per cent in a minute
    incident_samples_least = 8, -- samples of what was usual: fewer do not show its spread
    incident_errors_apart = 5, -- a day has 86,400 samples: by chance 5 errors come once in 3.5 million
    incident_hits_least_ratio = 0.1, -- of the reads: a tenth more of them goes to the database
    incident_items_least_ratio = 0.2, -- of the items: page moves and changes of sizes take fewer within seconds
    incident_shown_s = 60, -- an incident is a finding for so long, and then while hits or requests are low,
    incident_most_s = 3600, -- but not longer: then the load may be another, and what was lost is counted no longer
    incident_back_samples = 3, -- hits or requests are back if they were for so many samples, of at least
    incident_back_reads = 300, -- so many reads: their hit ratio has an error of 3 points
    stall_least_s = 3, -- a shorter one is within the time-outs of clients

    -- The server as a whole.
    connections_most_ratio = 0.9, -- of the connections that may be open
    connections_critical_ratio = 0.98,
    hits_least_ratio = 0.5,
    hits_reads_least = 100,
    hits_short_s = 8, -- a hit ratio from a shorter period is shown with the length of the period
    outlier_servers_least = 4, -- servers that answer: fewer are not compared
    outlier_deviations = 3, -- robust deviations from the median, from which a server is an outlier

    -- More memory, another policy, another amount of money.
    policy_gain_least_ratio = 0.005, -- half a point of hits: a smaller gain is not worth a change
    read_share_covers_ratio = 0.95, -- of the sampled reads: if classes of now have fewer, their shares are not known
    sampled_reads_least = 300, -- a gain of one point of hits differs from chance only with so many sampled reads
    price_reads_least = 500, -- sampled reads that a curve needs before a price can rest on the curve

    -- Storage on flash.
    storage_wait_most_s = 0.1, -- the wait of a read, by Little's law: waiting reads / reads a second
    storage_holes_most_ratio = 0.25, -- of the pages in use
    storage_max_frag_most_ratio = 0.95, -- compaction of fuller pages costs more writes than it frees
    storage_fills_from_ratio = 0.5, -- of the pages: holes are a finding once this many pages are in use
}
