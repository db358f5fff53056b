/* What the tuner is told beside counters: what a page is worth to a class, and a stream of sampled
 * keys. Threading: as of cache.h. */
#ifndef SLATE_CACHE_ADMIN_SIGNALS_H
#define SLATE_CACHE_ADMIN_SIGNALS_H
#include "cache/cache.h"
#include "sample/stream.h"

/* --- what a page is worth: how many hits a class would lose with one less, or gain with more
 * (control/automove/utility.h) --- */
enum { CACHE_TAILS = EVICT_TAILS, CACHE_GHOST_DEPTHS = 7 };
struct cache_signal {
    uint64_t hits;                              /* all, since the start */
    /* hits on items in the class's last page, and in its last two pages; since the start */
    uint64_t tail_hits[CACHE_TAILS];
    /* sampled misses of items that the class evicted within its last 1 << d pages, without those
     * counted at a smaller d */
    uint64_t ghost_hits[CACHE_GHOST_DEPTHS];
    uint32_t ghost_weight;                      /* how many misses one sampled miss stands for */
    /* items in the tails now: one and two pages' worth, or all there are */
    uint64_t tail_items[CACHE_TAILS];
};
struct cache_signals {
    uint64_t requests; /* hits, misses and stores since the start */
    struct cache_signal classes[SLAB_CLASSES_MAX];
};
/* Starts or stops measuring, or follows a change of classes. False: out of memory. From one thread.
 * Cost: to start and to stop, a walk over two pages' worth of nodes in every class; while it runs,
 * that of sample/ghost.h and a step in the queue for each eviction. */
bool cache_measure(struct cache *, bool on);
bool cache_measured(const struct cache *);
/* Reads all signals but the number of items in the tails. Cost: some microseconds; no partition's
 * lock. */
void cache_signals(struct cache *, struct cache_signals *);
/* Fills in the tails' items: a lock of every partition. */
void cache_signal_tails(struct cache *, struct cache_signals *);

/* --- the stream of sampled keys: reads, stores and ends of keys whose hash is in the sample
 * (sample/stream.h) ---
 *
 * Each thread has a ring of its own and never waits: what does not fit is dropped and counted.
 * Nothing is noted, at the cost of a branch, until cache_set_sample says so; the rings stay once
 * they are made. */
/* Gives each thread a ring of so many bytes, threads to come as well, but at most rings_max threads
 * at a time. The keys of further threads are not sampled. False: out of memory for some of the
 * rings. */
bool cache_sample_start(struct cache *, size_t ring_bytes, unsigned rings_max);
/* Hashes below this are in the sample; 0: none. And every how many requests a thread notes its key
 * (cache_sample_key); 0: never. */
void     cache_set_sample(struct cache *, uint32_t below, uint32_t key_every);
uint32_t cache_sample_key_every(const struct cache *);
/* The thread notes the key of this request, which stands for so many requests. */
void cache_sample_key(struct cache_thread *, const struct key *, uint32_t requests);
/* The thread ran so many requests with a key. They are counted whether keys are noted or not. */
void cache_count_key_requests(struct cache_thread *, unsigned requests);
/* Those of all threads since the start. */
uint64_t cache_key_requests(struct cache *);

struct cache_samples {
    size_t used;
    char   bytes[4096] __attribute__((aligned(8)));
};
/* Takes what a thread has noted, as far as there is room; threads are numbered from 0. False: there
 * is no such thread. From one thread. cache_sample_next then gives the records one by one: NULL
 * before the first and after the last. */
bool cache_take_samples(struct cache *, unsigned thread, struct cache_samples *);
const struct sample_record *cache_sample_next(const struct cache_samples *,
                                              const struct sample_record *);

struct cache_sample_facts {
    uint64_t written, dropped; /* records ever; for lack of room */
    uint64_t ring_bytes;       /* all that the rings take of memory */
};
void cache_sample_facts(struct cache *, struct cache_sample_facts *);
#endif
