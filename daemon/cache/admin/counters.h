/* The counters of the cache, per thread, and per thread and class: the members of the structs, by
 * name. The statistic that shows a counter documents it (server/stats/); other counters are
 * documented here. */
#ifndef SLATE_CACHE_ADMIN_COUNTERS_H
#define SLATE_CACHE_ADMIN_COUNTERS_H
#include "base/counter.h"

/* key_requests: requests that have a key, whatever they do; stats hotkeys goes by it */
#define CACHE_COUNTERS(X) \
    X(key_requests) \
    X(get_hits) X(get_misses) X(get_expired) X(get_flushed) \
    X(touch_hits) X(touch_misses) \
    X(cmd_get) X(cmd_set) X(cmd_touch) \
    X(delete_hits) X(delete_misses) \
    X(incr_hits) X(incr_misses) X(decr_hits) X(decr_misses) \
    X(cas_hits) X(cas_misses) X(cas_badval) \
    X(store_too_large) X(store_no_memory) X(total_items) \
    X(read_retries) X(index_evictions) X(page_steals)

/* cmd_set_refused: values that the class would have held, refused by their condition or for a bad
 * end; shown with cmd_set. Of those evicted, evicted_by_moves are items dropped to empty pages,
 * which no store wanted, and evicted_by_readers those dropped while slow readers held more than an
 * eighth of the memory in values that are gone: neither is a sign that the class needs memory. */
#define CACHE_CLASS_COUNTERS(X) \
    X(get_hits) X(cmd_set) X(cmd_set_refused) X(delete_hits) X(incr_hits) X(decr_hits) \
    X(cas_hits) X(cas_badval) X(touch_hits) \
    X(evicted) X(evicted_nonzero) X(evicted_unfetched) X(evicted_active) \
    X(evicted_by_moves) X(evicted_by_readers) \
    X(outofmemory) X(reclaimed) X(expired_unfetched) \
    X(crawler_reclaimed) X(crawler_items_checked) \
    X(moves_to_cold) X(moves_to_warm) X(moves_within_lru) X(direct_reclaims) \
    X(hits_to_hot) X(hits_to_warm) X(hits_to_cold) X(hits_to_temp)

/* Counters for the worth of a page to a class. They count only while the cache is measured
 * (cache_measure). tail hits: hits on items in the last page of the class's order, and in its last
 * two. ghost hits: sampled misses of items that one page more would have held; that two pages more
 * would have held, but one would not; and so on. */
#define CACHE_SIGNAL_COUNTERS(X) \
    X(tail_hits_1) X(tail_hits_2) \
    X(ghost_hits_1) X(ghost_hits_2) X(ghost_hits_4) X(ghost_hits_8) X(ghost_hits_16) \
    X(ghost_hits_32) X(ghost_hits_64)

/* How long ago evicted items were last used: steps of four. */
#define CACHE_AGE_COUNTERS(X) \
    X(under_1s) X(under_4s) X(under_16s) X(under_64s) X(under_256s) X(under_1024s) \
    X(under_4096s) X(under_16384s) X(under_65536s) X(under_262144s) X(under_1048576s) X(older)
struct cache_age_counters { COUNTERS_OF(CACHE_AGE_COUNTERS) };
struct cache_age_values { COUNTER_VALUES_OF(CACHE_AGE_COUNTERS) };
enum { CACHE_AGES = sizeof(struct cache_age_values) / sizeof(uint64_t) };

struct cache_signal_counters { COUNTERS_OF(CACHE_SIGNAL_COUNTERS) };
struct cache_signal_values { COUNTER_VALUES_OF(CACHE_SIGNAL_COUNTERS) };

struct cache_counters { CACHE_COUNTERS(COUNTER_MEMBER) };
struct cache_values { CACHE_COUNTERS(COUNTER_VALUE) };
struct cache_class_counters { COUNTERS_OF(CACHE_CLASS_COUNTERS) };
struct cache_class_values { COUNTER_VALUES_OF(CACHE_CLASS_COUNTERS) };
/* Each hit is counted once, by the list that the item was in. A class's hits, and a thread's hits
 * in a class, are the sum over the lists. */
static inline uint64_t cache_class_hits(const struct cache_class_values *v) {
    return v->hits_to_hot + v->hits_to_warm + v->hits_to_cold + v->hits_to_temp;
}
static inline uint64_t cache_thread_class_hits(const struct cache_class_counters *n) {
    return counter_get(&n->hits_to_hot) + counter_get(&n->hits_to_warm) +
           counter_get(&n->hits_to_cold) + counter_get(&n->hits_to_temp);
}
#endif
