/* The inside of the cache, for the files of this folder only: partitions, class queues, threads.
 * The functions of a file are in that file's own header; LAYERS lists which file may include
 * which. */
#ifndef SLATE_CACHE_PARTITION_H
#define SLATE_CACHE_PARTITION_H
#include "cache/cache.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/random.h"
#include "cache/admin/signals.h"
#include "cache/alloc/store_ops.h"
#include "cache/pages/epoch.h"
#include "cache/pages/page_moves.h"
#include "index/index.h"
#include "mem/heap.h"
#include "sample/ghost.h"

enum { MAGAZINE_MAX = 8 };

/* A partition's part of one slab class: the eviction queue of its items, and a magazine of free
 * chunks. */
struct class_queue {
    struct evict_queue queue;
    uint64_t           requested_bytes;
    uint32_t           magazine[MAGAZINE_MAX];
    uint32_t           magazine_count;
};

struct partition {
    /* protects the index, the class queues and the headers of this partition's items */
    struct lock      lock;
    struct index     index;
    /* The last CAS given, and the step. Each partition starts at its own number and counts in steps
     * of the number of partitions, so no two items of the cache have the same CAS. */
    uint64_t         cas, cas_step;
    uint64_t         bytes; /* requested by clients for its items */
    struct class_queue *class_queues[SLAB_CLASSES_MAX]; /* created at first use */
} __attribute__((aligned(64)));

struct ring; /* watch/ring.h */

/* --- pages that sets empty (assist.c) --- */

/* A page that sets empty. The thread that has set `held` owns all other members. */
struct assist_page {
    _Atomic bool       held;
    _Atomic uint8_t    state; /* copy of page.state, for threads that do not hold the page */
    struct moving_page page;
} __attribute__((aligned(64)));

struct assist {
    /* donor and receiver, see assist_pair; 0: no work for sets */
    _Atomic uint32_t pair;
    _Atomic uint32_t left; /* pages that sets may still begin */
    _Atomic uint32_t waiting; /* empty pages that wait for turns to end */
    /* Totals of sets. The mover subtracts its counts, except from bytes_scanned. */
    _Atomic uint64_t pages, bytes_scanned;
    struct { _Atomic uint64_t rescued, chunks_rescued, evicted, expired; } did;
    _Atomic bool     picking; /* the thread that has set this flag owns the next members */
    unsigned         picked_from, pick_at, pick_count;
    uint32_t         picked[CACHE_CHOOSE_MAX];
    struct assist_page each[CACHE_ASSIST_PAGES];
};

static inline uint32_t assist_pair(unsigned from, unsigned to) { return from << 16 | to; }
static inline unsigned assist_donor(uint32_t pair) { return pair >> 16; }
static inline unsigned assist_receiver(uint32_t pair) { return pair & 0xffff; }

/* The clock of items and policies: cache time plus one second for each flush. So an item stored
 * after a flush never has the time of an item stored before the flush. An item is flushed if its
 * time is not later than the last flush's, however many flushes one second has. The ages of other
 * items are exact, because all of them were stored after the last flush. Times are compared by the
 * sign of their difference. Times wrap after 2^32 flushes, and a flushed item must be freed before
 * 2^31 more flushes; a sweep or the crawler takes seconds for that. */
struct item_clock {
    uint32_t flushed_s; /* items of this time or before are flushed */
    uint32_t ahead_s; /* added to cache time */
};
static inline uint64_t item_clock_pack(struct item_clock clock) {
    return (uint64_t)clock.ahead_s << 32 | clock.flushed_s;
}
static inline struct item_clock item_clock_unpack(uint64_t word) {
    return (struct item_clock){.flushed_s = (uint32_t)word, .ahead_s = (uint32_t)(word >> 32)};
}

enum { POLICY_SIZES_UNIT = 8 }; /* all chunk sizes are multiples of it */

struct cache {
    struct cache_config config;
    const struct store_ops *store; /* allocates memory for items */
    size_t              limit_bytes_most; /* the reserved address space allows this limit */
    /* the memory file holds all that the cache holds (cache/persist/file_state.h) */
    bool                file_complete;
    struct cache_recovered recovered;
    bool                sizes_wanted; /* cache_sizes_wanted */
    struct arena       *arena;
    /* classes and pages of every store; a heap has a single class without a page */
    struct slab        *slab;
    /* CACHE_STORE_HEAP only, else NULL */
    struct heap        *heap;
    /* CACHE_STORE_HEAP only, else NULL: THREADS_MAX lists, one for each turn */
    struct deferred_free *deferred;
    struct index_pool   index_pool;
    struct partition   *partitions;
    unsigned            partition_count, partition_shift; /* hash >> 32 >> shift is the number */
    /* for each class and partition: the oldest item as last noted (evict_one.c); 0: unknown or
     * none */
    _Atomic uint64_t   *oldest_noted;
    struct evict_tuning tuning;
    /* the policy of the cache, and of each class */
    _Atomic(const struct evict_policy *) policy;
    _Atomic(const struct evict_policy *) class_policy[SLAB_CLASSES_MAX];
    _Atomic(struct ghost *) ghost; /* NULL: page values are not measured */
    _Atomic int64_t     temporary_ttl_s;
    _Atomic uint64_t    item_clock; /* item_clock_pack */
    _Atomic uint32_t    flush_at_s; /* cache time of a flush to come; 0: there is none */
    /* Chunks that a partition's magazine holds of a class. 0: none, and a store of this class never
     * evicts from its own partition alone. */
    _Atomic uint8_t     magazine_most[SLAB_CLASSES_MAX];
    uint8_t             cas_flag; /* ITEM_CAS or 0 */
    uint32_t            block_bytes; /* size of a block of the block store; 0: another store */
    uint32_t            tail_bytes_most; /* largest chunk for a tail */
    /* Items up to this size get their class and memory by their size alone: all items of a slab
     * store, none of a heap. */
    size_t              slab_bytes_most;

    struct lock          threads_lock; /* protects the list; each thread owns its counters */
    struct cache_thread *threads[THREADS_MAX];
    struct turn          turns[THREADS_MAX];
    _Atomic unsigned     turns_used; /* turns with higher numbers were never used */
    unsigned             thread_count;
    struct cache_values  retired, baseline;
    struct cache_class_values class_retired[SLAB_CLASSES_MAX], class_baseline[SLAB_CLASSES_MAX];
    /* highest class id ever used: higher ids have counted nothing */
    _Atomic unsigned class_id_most;
    struct cache_signal_values signals_retired[SLAB_CLASSES_MAX];
    struct cache_age_values    ages_retired[SLAB_CLASSES_MAX], ages_baseline[SLAB_CLASSES_MAX];

    _Atomic uint32_t sample_hash_below, sample_key_every; /* cache_set_sample */
    _Atomic uint32_t sample_complete_below;
    /* bytes of each thread's ring; 0: no rings. Under threads_lock, like the next two members. */
    size_t           sample_ring_bytes;
    unsigned         sample_rings_max;
    struct cache_sample_facts samples_retired;
    struct ghost *ghost_retained; /* of an earlier measurement; a thread may still read it */
    struct class_set_shared starved;
    _Atomic bool     starved_on_evict;
    void           (*stolen)(void *, const struct cache_steal *);
    void            *stolen_arg;
    void           (*wake)(void *);
    void            *wake_arg;
    /* seconds from the last use to the eviction, of the last evicted item */
    _Atomic uint32_t evicted_age_s[SLAB_CLASSES_MAX];
    _Atomic bool     stealing; /* one page steal at a time */
    uint64_t         steal_again_us; /* owned by the thread that has set `stealing` */
    struct assist    assist;
    /* classes in which an abandoned upload may have left a page free */
    struct class_set_shared left_free;
    /* memory charged to the upload quota; waiting uploads: [0] small, [1] large */
    _Atomic size_t   upload_bytes[2];
    _Atomic uint32_t uploads_waiting[2];
    /* unlinked values that are still being sent (cache/items/pinned.h) */
    _Atomic int64_t  pinned_bytes;
    /* until this time stores do not wait for memory, because one store waited in vain */
    _Atomic uint64_t fail_fast_until_us;
    /* by size, of policies that were set for classes (class_policy.h): the number in
     * evict_policies, from 1; 0: none. Last, because most of it takes no memory. */
    uint8_t policy_by_size[PAGE_BYTES / POLICY_SIZES_UNIT];
} __attribute__((aligned(64)));

struct cache_thread {
    struct cache    *cache;
    struct turn     *turn;
    uint32_t         now_s;
    /* the items' clock at the begin of the turn, or at the last lookup under a lock */
    struct item_clock item_clock;
    uint32_t         sample_hash_below; /* copied from the cache at the begin of the turn */
    _Atomic(struct ring *) sample_ring; /* NULL: not created yet */
    /* Evictions of this thread empty pages or hold a limit; no store needs the memory. Each also
     * counts as evicted_by_moves. */
    bool             moves_pages;
    uint64_t         moves_evicted; /* live items evicted in this way, since the start */
    bool             refits;       /* within EVACUATE_BY_SIZE */
    unsigned         tails_moved;  /* by the last evacuation of a tail */
    uint64_t         random; /* the state of random_next */
    uint64_t         copied_bytes; /* cache_thread_copied */
    /* chunks to release once the thread holds no lock, linked through node.next; 0: none */
    uint32_t         deferred_chunks;
    /* unlinked large items to release at the same time, linked through node.next */
    struct item     *deferred_items;
    /* collects the memory that this thread retires while a shrink is under way; else NULL */
    struct deferred_held *held;
    struct cache_counters       counters;
    struct cache_class_counters classes[SLAB_CLASSES_MAX];
    struct cache_signal_counters signals[SLAB_CLASSES_MAX];
    struct cache_age_counters    ages[SLAB_CLASSES_MAX];
} __attribute__((aligned(64)));

#define COUNT(ct, name) counter_add(&(ct)->counters.name, 1)
#define COUNT_CLASS(ct, class_id, name) counter_add(&(ct)->classes[class_id].name, 1)

static inline struct partition *partition_of(const struct cache *c, uint64_t hash) {
    return &c->partitions[hash >> 32 >> c->partition_shift];
}
static inline struct item *item_at(const struct cache *c, uint32_t ref) {
    return node_at(&c->arena->space, ref);
}
static inline uint32_t ref_of_item(const struct cache *c, const void *it) {
    return node_ref(&c->arena->space, it);
}

/* True if a set of the class may find work on a page (assist.c). */
static inline bool assist_is_wanted(const struct cache *c, unsigned class_id) {
    uint32_t pair = atomic_load_explicit(&c->assist.pair, memory_order_relaxed);
    return (pair != 0 && assist_receiver(pair) == class_id) ||
           atomic_load_explicit(&c->assist.waiting, memory_order_relaxed) > 0;
}

static inline const struct evict_policy *policy_of(const struct cache *c, unsigned class_id) {
    return atomic_load_explicit(&c->class_policy[class_id], memory_order_relaxed);
}

static inline bool may_evict(const struct cache *c, unsigned class_id) {
    return c->config.evict && policy_of(c, class_id)->victim != NULL;
}

static inline bool cache_item_expired(const struct item *it, uint32_t now_s) {
    uint32_t at = item_exptime_s(it);
    return at != 0 && at <= now_s;
}
/* A client that sends a command after the reply to a flush must not find flushed items. Both pass
 * through the kernel, which orders them; so a relaxed load is enough. */
static inline struct item_clock cache_item_clock(const struct cache *c) {
    return item_clock_unpack(atomic_load_explicit(&c->item_clock, memory_order_relaxed));
}
static inline bool item_flushed_by(const struct item *it, struct item_clock clock) {
    return (int32_t)(item_time_s(it) - clock.flushed_s) <= 0;
}
static inline bool cache_item_flushed(const struct cache *c, const struct item *it) {
    return item_flushed_by(it, cache_item_clock(c));
}
static inline bool cache_item_dead(const struct cache *c, const struct item *it, uint32_t now_s) {
    return cache_item_expired(it, now_s) || cache_item_flushed(c, it);
}

/* Now, on the items' clock. */
static inline uint32_t item_now_s(const struct cache_thread *ct) {
    return ct->now_s + ct->item_clock.ahead_s;
}
/* The class queue's eviction queue, for calls with item_now_s. Queue and caller see the same
 * flush. */
static inline struct evict_queue *queue_now(const struct cache_thread *ct, struct class_queue *s) {
    s->queue.flushed_s = ct->item_clock.flushed_s;
    return &s->queue;
}
/* The time of a new item: now or, if the turn began before the last flush, just after that flush.
 * The clock is the one with which the store found the old item. So data that an append or incr read
 * before a flush does not survive the flush in the new item. */
static inline uint32_t cache_stamp_s(const struct cache_thread *ct) {
    uint32_t now_s = item_now_s(ct);
    return (int32_t)(now_s - ct->item_clock.flushed_s) > 0 ? now_s : ct->item_clock.flushed_s + 1;
}

#endif
