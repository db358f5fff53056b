/* Data for the tuner beside counters: the value of a class's pages, and a stream of sampled keys.
 * Threading: as of cache.h. */
#ifndef SLATE_CACHE_ADMIN_SIGNALS_H
#define SLATE_CACHE_ADMIN_SIGNALS_H
#include "cache/cache.h"
#include "sample/stream.h"

/* --- page values: hits that a class would lose with a page less, or gain with more pages
 * (control/automove/utility.h) --- */
enum { CACHE_TAILS = EVICT_TAILS, CACHE_GHOST_DEPTHS = 7 };
struct cache_signal {
    uint64_t hits;                              /* all hits since the start */
    /* hits on items in the class's last page, and in its last two pages; since the start */
    uint64_t tail_hits[CACHE_TAILS];
    /* sampled misses of items that the class evicted within its last 1 << d pages, without those
     * counted at a smaller d */
    uint64_t ghost_hits[CACHE_GHOST_DEPTHS];
    uint32_t ghost_weight;                      /* number of misses for each sampled miss */
    /* items in the tails now: of one page and of two pages, or fewer */
    uint64_t tail_items[CACHE_TAILS];
};
struct cache_signals {
    uint64_t requests; /* hits, misses and stores since the start */
    struct cache_signal classes[SLAB_CLASSES_MAX];
};
/* Starts or stops measuring, or follows a change of classes. False: out of memory. From one thread.
 * Cost of start and stop: a walk over two pages of nodes in every class; while measuring: the cost
 * of sample/ghost.h, and a step in the queue for each eviction. */
bool cache_measure(struct cache *, bool on);
bool cache_measured(const struct cache *);
/* Reads all signals but the number of items in the tails. Cost: some microseconds; no partition's
 * lock. */
void cache_signals(struct cache *, struct cache_signals *);
/* Fills in the tails' items: a lock of every partition. */
void cache_signal_tails(struct cache *, struct cache_signals *);

/* --- the stream of sampled keys: reads, stores and removals of keys whose hash is in the sample
 * (sample/stream.h) ---
 *
 * Each thread has its own ring and never waits: while the ring is more than half full, records of
 * keys with greater hashes are left out (cache_sample_complete_below). Until cache_set_sample a
 * request costs only a branch. The rings stay once they are created. */
/* Creates a ring of so many bytes for each thread, also for threads to come, but for at most
 * rings_max threads at a time. The keys of further threads are not sampled. False: out of memory
 * for some of the rings. */
bool cache_sample_start(struct cache *, size_t ring_bytes, unsigned rings_max);
/* Samples keys with a hash below `below`; 0: none. Each thread notes its key once in `key_every`
 * requests (cache_sample_key); 0: never. */
void     cache_set_sample(struct cache *, uint32_t below, uint32_t key_every);
uint32_t cache_sample_key_every(const struct cache *);
/* Of the keys with hashes below this no record was left out since the last call. */
uint32_t cache_sample_complete_below(struct cache *);
/* The thread notes the key of this request, which stands for `requests` requests and reads a value
 * of so many bytes. */
void cache_sample_key(struct cache_thread *, const struct key *, uint32_t requests,
                      uint32_t read_bytes);
/* Counts the thread's requests with a key, whether keys are noted or not. */
void cache_count_key_requests(struct cache_thread *, unsigned requests);
/* Requests with a key of all threads since the start. */
uint64_t cache_key_requests(struct cache *);

struct cache_samples {
    size_t used;
    char   bytes[4096] __attribute__((aligned(8)));
};
/* Takes a thread's records, as far as the buffer has room; threads are numbered from 0. False:
 * there is no such thread. From one thread. cache_sample_next then returns the records one by one,
 * after NULL the first, and NULL after the last. */
bool cache_take_samples(struct cache *, unsigned thread, struct cache_samples *);
const struct sample_record *cache_sample_next(const struct cache_samples *,
                                              const struct sample_record *);

struct cache_sample_facts {
    uint64_t written, dropped; /* records since the start; dropped: of hot keys, for lack of room */
    uint64_t ring_bytes;       /* memory of all rings */
};
void cache_sample_facts(struct cache *, struct cache_sample_facts *);
#endif
