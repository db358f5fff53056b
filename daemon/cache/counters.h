/* What the cache counts, per thread and per thread and class. One row a counter: X(name, kind,
 * unit, "help"). */
#ifndef SLATE_CACHE_COUNTERS_H
#define SLATE_CACHE_COUNTERS_H
#include "base/counter.h"

#define CACHE_COUNTERS(X) \
    X(get_hits, counter, operations, "keys that a read found") \
    X(get_misses, counter, operations, "keys that a read did not find") \
    X(get_expired, counter, operations, "looks at a key whose item was there but expired") \
    X(get_flushed, counter, operations, "looks at a key whose item was there but flushed") \
    X(touch_hits, counter, operations, "touches that found their key") \
    X(touch_misses, counter, operations, "touches that did not") \
    X(cmd_get, counter, operations, "keys asked for") \
    X(cmd_set, counter, operations, "values stored or refused after their data came") \
    X(cmd_touch, counter, operations, "touches, also those of gat") \
    X(delete_hits, counter, operations, "deletes that found their key") \
    X(delete_misses, counter, operations, "deletes that did not") \
    X(incr_hits, counter, operations, "increments that found their key") \
    X(incr_misses, counter, operations, "increments that did not") \
    X(decr_hits, counter, operations, "decrements that found their key") \
    X(decr_misses, counter, operations, "decrements that did not") \
    X(cas_hits, counter, operations, "compare-and-swap stores that matched") \
    X(cas_misses, counter, operations, "compare-and-swap stores of a missing key") \
    X(cas_badval, counter, operations, "compare-and-swap stores with another CAS") \
    X(store_too_large, counter, operations, "values refused as larger than the item limit") \
    X(store_no_memory, counter, operations, "values refused for lack of memory") \
    X(total_items, counter, items, "items ever linked") \
    X(read_retries, counter, operations, "lock-free reads that had to start again") \
    X(index_evictions, counter, items, \
      "items evicted, or dead and freed, because more keys than the index holds there had " \
      "hashes alike") \
    X(page_steals, counter, pages, "pages a class with nothing left took at once from another")

#define CACHE_CLASS_COUNTERS(X) \
    X(get_hits, counter, operations, "keys found in this class") \
    X(cmd_set, counter, operations, "values stored in this class") \
    X(cmd_set_refused, counter, operations, \
      "values refused by their condition, or with a bad end, that this class would have held") \
    X(delete_hits, counter, operations, "deletes in this class") \
    X(incr_hits, counter, operations, "increments in this class") \
    X(decr_hits, counter, operations, "decrements in this class") \
    X(cas_hits, counter, operations, "matching compare-and-swap stores in this class") \
    X(cas_badval, counter, operations, "mismatching compare-and-swap stores in this class") \
    X(touch_hits, counter, operations, "touches in this class") \
    X(evicted, counter, items, "live items dropped to make room") \
    X(evicted_nonzero, counter, items, "of these, items with an expiry time") \
    X(evicted_unfetched, counter, items, "of these, items never read") \
    X(evicted_active, counter, items, "of these, items read lately") \
    X(evicted_by_moves, counter, items, \
      "of these, items dropped to empty pages, which no store wanted") \
    X(evicted_by_readers, counter, items, \
      "of these, items dropped while slow readers held more than an eighth of the memory in " \
      "values that are gone") \
    X(outofmemory, counter, operations, "stores refused for lack of memory") \
    X(reclaimed, counter, items, \
      "expired and flushed items found by the sweep or at a queue's end") \
    X(expired_unfetched, counter, items, \
      "expired items never read, found by the sweep, at a queue's end or by the crawler") \
    X(crawler_reclaimed, counter, items, "expired and flushed items freed by the crawler") \
    X(crawler_items_checked, counter, items, "items the crawler looked at") \
    X(moves_to_cold, counter, items, "items moved to the cold queue") \
    X(moves_to_warm, counter, items, "items moved to the warm queue") \
    X(moves_within_lru, counter, items, "items given another round in their queue") \
    X(direct_reclaims, counter, items, "evictions made by the store that needed the memory") \
    X(hits_to_hot, counter, operations, "hits on items in the hot queue") \
    X(hits_to_warm, counter, operations, "hits on items in the warm queue") \
    X(hits_to_cold, counter, operations, "hits on items in the cold queue") \
    X(hits_to_temp, counter, operations, "hits on items in the temporary queue")

/* What tells the worth of a page of a class; counted while it is measured (cache_measure). */
#define CACHE_SIGNAL_COUNTERS(X) \
    X(tail_hits_1, counter, operations, "hits on items in the last page of the class's order") \
    X(tail_hits_2, counter, operations, "hits on items in its last two pages") \
    X(ghost_hits_1, counter, operations, \
      "sampled misses of items that one more page would have kept") \
    X(ghost_hits_2, counter, operations, \
      "the same, of items that 2 pages, but not 1, would have kept") \
    X(ghost_hits_4, counter, operations, "the same, 4 pages, but not 2") \
    X(ghost_hits_8, counter, operations, "the same, 8 pages, but not 4") \
    X(ghost_hits_16, counter, operations, "the same, 16 pages, but not 8") \
    X(ghost_hits_32, counter, operations, "the same, 32 pages, but not 16") \
    X(ghost_hits_64, counter, operations, "the same, 64 pages, but not 32")

/* How long ago evicted items were last used: steps of four. */
#define CACHE_AGE_COUNTERS(X) \
    X(under_1s, counter, items, "evicted items last used less than 1 s before") \
    X(under_4s, counter, items, \
      "evicted items last used less than 4 s before, but not less than 1 s") \
    X(under_16s, counter, items, \
      "evicted items last used less than 16 s before, but not less than 4 s") \
    X(under_64s, counter, items, \
      "evicted items last used less than 64 s before, but not less than 16 s") \
    X(under_256s, counter, items, \
      "evicted items last used less than 256 s before, but not less than 64 s") \
    X(under_1024s, counter, items, \
      "evicted items last used less than 1024 s before, but not less than 256 s") \
    X(under_4096s, counter, items, \
      "evicted items last used less than 4096 s before, but not less than 1024 s") \
    X(under_16384s, counter, items, \
      "evicted items last used less than 16384 s before, but not less than 4096 s") \
    X(under_65536s, counter, items, \
      "evicted items last used less than 65536 s before, but not less than 16384 s") \
    X(under_262144s, counter, items, \
      "evicted items last used less than 262144 s before, but not less than 65536 s") \
    X(under_1048576s, counter, items, \
      "evicted items last used less than 1048576 s before, but not less than 262144 s") \
    X(older, counter, items, "evicted items last used 1048576 s (12 days) before, or longer ago")
struct cache_age_counters { COUNTERS_OF(CACHE_AGE_COUNTERS) };
struct cache_age_values { COUNTER_VALUES_OF(CACHE_AGE_COUNTERS) };
enum { CACHE_AGES = sizeof(struct cache_age_values) / sizeof(uint64_t) };

struct cache_signal_counters { COUNTERS_OF(CACHE_SIGNAL_COUNTERS) };
struct cache_signal_values { COUNTER_VALUES_OF(CACHE_SIGNAL_COUNTERS) };

struct cache_counters { CACHE_COUNTERS(COUNTER_MEMBER) };
struct cache_values { CACHE_COUNTERS(COUNTER_VALUE) };
struct cache_class_counters { COUNTERS_OF(CACHE_CLASS_COUNTERS) };
struct cache_class_values { COUNTER_VALUES_OF(CACHE_CLASS_COUNTERS) };
/* Hits are counted by list; in the class, or of a thread in the class, they are these together. */
static inline uint64_t cache_class_hits(const struct cache_class_values *v) {
    return v->hits_to_hot + v->hits_to_warm + v->hits_to_cold + v->hits_to_temp;
}
static inline uint64_t cache_thread_class_hits(const struct cache_class_counters *n) {
    return counter_get(&n->hits_to_hot) + counter_get(&n->hits_to_warm) +
           counter_get(&n->hits_to_cold) + counter_get(&n->hits_to_temp);
}
/* end with a NULL name */
extern const struct counter_info cache_counter_info[], cache_class_counter_info[];
#endif
