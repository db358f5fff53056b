/* The inside of the cache, for the files of this folder only: partitions, their shelves, and what a
 * thread has at hand. What one file does for the others stands in that file's header; LAYERS says
 * which file may see which. */
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

/* What a partition keeps of one slab class: the eviction queue of its items, and a few free chunks
 * at hand. */
struct class_queue {
    struct evict_queue queue;
    uint64_t           requested_bytes;
    uint32_t           magazine[MAGAZINE_MAX];
    uint32_t           magazine_count;
};

struct partition {
    /* over the index, the shelves and the headers of this partition's items */
    struct lock      lock;
    struct index     index;
    /* the last CAS that was given, and the step. Each partition starts at its own number and counts
     * in steps of the number of partitions, so no two items of the cache have the same CAS */
    uint64_t         cas, cas_step;
    uint64_t         bytes; /* asked for by its items */
    struct class_queue    *class_queues[SLAB_CLASSES_MAX]; /* made at first use */
} __attribute__((aligned(64)));

struct ring; /* watch/ring.h */

/* --- pages that sets empty (assist.c) --- */

/* A page that sets empty. All but `held` belongs to the thread that has set `held`. */
struct assist_page {
    _Atomic bool       held;
    _Atomic uint8_t    state; /* the page's, for threads that do not hold it */
    struct moving_page page;
} __attribute__((aligned(64)));

struct assist {
    /* the donor and the receiver, as assist_pair has them; 0: sets have nothing to do */
    _Atomic uint32_t pair;
    _Atomic uint32_t left; /* pages that sets may still begin */
    _Atomic uint32_t waiting; /* emptied pages that wait for turns to end */
    /* done by sets. The mover subtracts what it has counted, but never from bytes_scanned */
    _Atomic uint64_t pages, bytes_scanned;
    struct { _Atomic uint64_t rescued, chunks_rescued, evicted, expired; } did;
    _Atomic bool     picking; /* what follows belongs to the thread that has set this */
    unsigned         picked_from, pick_at, pick_count;
    uint32_t         picked[CACHE_CHOOSE_MAX];
    struct assist_page each[CACHE_ASSIST_PAGES];
};

static inline uint32_t assist_pair(unsigned from, unsigned to) { return from << 16 | to; }
static inline unsigned assist_donor(uint32_t pair) { return pair >> 16; }
static inline unsigned assist_receiver(uint32_t pair) { return pair & 0xffff; }

/* The clock by which items and policies count time: cache time, plus one second for each flush. So
 * nothing that is stored after a flush has the time of something stored before it: an item is
 * flushed if its time is not later than the last flush's, however many flushes there are in a
 * second. The ages of all other items are right, because all of them were stored since the clock
 * was last set forward. Times are compared by the sign of their difference. They wrap around after
 * 2^32 flushes, and a flushed item must be freed before 2^31 more; a sweep or the crawler needs
 * seconds for that. */
struct item_clock {
    uint32_t flushed; /* items of this time and before are gone */
    uint32_t ahead_s; /* of cache time */
};

struct cache {
    struct cache_config config;
    const struct store_ops *store; /* where items live */
    size_t              limit_bytes_most; /* address space was reserved for it */
    /* the memory file holds all that the cache holds (cache/persist/file_state.h) */
    bool                file_complete;
    struct cache_recovered adopted;
    bool                sizes_wanted; /* cache_sizes_wanted */
    struct arena       *arena;
    /* joins the small pages of its memory file; NULL: they stay as they are */
    struct slab        *slab;
    /* of the heap store, whose slab has a single class and no page; else NULL */
    struct heap        *heap;
    /* THREADS_MAX of them, one for each turn; NULL unless this is the heap store */
    struct deferred_free      *deferred;
    struct index_pool   index_pool;
    struct partition   *partitions;
    unsigned            partition_count, partition_shift; /* hash >> 32 >> shift is the number */
    /* the age of the oldest item of each class in each partition, as last noted for the choice of a
     * victim (evict_one.c); 0: not known, or there is no item */
    _Atomic uint64_t   *oldest_noted;
    struct evict_tuning tuning;
    /* the policy of the whole, and of the classes that were never given one of their own */
    _Atomic(const struct evict_policy *) policy;
    _Atomic(const struct evict_policy *) class_policy[SLAB_CLASSES_MAX];
    _Atomic(struct ghost *) ghost; /* NULL: nothing is measured */
    _Atomic int64_t     temporary_ttl_s;
    _Atomic uint64_t    item_clock; /* struct item_clock */
    _Atomic uint32_t    flush_at_s; /* cache time of a flush to come; 0: there is none */
    /* chunks that a partition keeps of a class; 0: it keeps none, and never evicts from its own
     * queue alone */
    _Atomic uint8_t     magazine_most[SLAB_CLASSES_MAX];
    uint8_t             cas_flag; /* ITEM_CAS or 0 */
    uint32_t            block_bytes; /* size of a block of the block store; 0: another store */
    uint32_t            tail_bytes_most; /* the largest chunk that a tail may have */
    /* up to this size, the size alone tells an item's class and the memory that it takes; always so
     * in the slab store, never in a heap */
    size_t              slab_bytes_most;

    struct lock          threads_lock; /* over the list; a thread's counters are its own */
    struct cache_thread *threads[THREADS_MAX];
    struct turn          turns[THREADS_MAX];
    _Atomic unsigned     turns_used; /* all turns that were ever used have lower numbers */
    unsigned             thread_count;
    struct cache_values  retired, baseline;
    struct cache_class_values class_retired[SLAB_CLASSES_MAX], class_baseline[SLAB_CLASSES_MAX];
    /* the highest id that a class ever had: higher ids have counted nothing */
    _Atomic unsigned class_id_most;
    struct cache_signal_values signals_retired[SLAB_CLASSES_MAX];
    struct cache_age_values    ages_retired[SLAB_CLASSES_MAX], ages_baseline[SLAB_CLASSES_MAX];

    _Atomic uint32_t sample_below, sample_key_every; /* cache_set_sample */
    /* bytes of each thread's ring; 0: none. Under threads_lock, as is the next */
    size_t           sample_ring_bytes;
    unsigned         sample_rings_max;
    struct cache_sample_facts samples_retired;       /* likewise */
    struct ghost *ghost_retained; /* of an earlier measurement; a thread may still be reading it */
    struct class_set_shared starved;
    _Atomic bool     starved_on_evict;
    void           (*stolen)(void *, const struct cache_steal *);
    void            *stolen_arg;
    void           (*wake)(void *);
    void            *wake_arg;
    /* since its last use, of the item evicted last */
    _Atomic uint32_t evicted_age_s[SLAB_CLASSES_MAX];
    _Atomic bool     stealing; /* one page steal at a time */
    uint64_t         steal_again_us; /* belongs to the thread that has set `stealing` */
    struct assist      assist;
    /* classes in which an abandoned draft may have left a whole page free */
    struct class_set_shared left_free;
    /* what the drafts whose values are still coming may take, and how many drafts wait; small ones,
     * large ones */
    _Atomic size_t   upload_bytes[2];
    _Atomic uint32_t uploads_waiting[2];
    /* memory of values that nobody finds any more, but that are still being sent
     * (cache/items/pinned.h) */
    _Atomic int64_t  pinned_bytes;
    /* until then stores do not wait for memory: one has waited in vain */
    _Atomic uint64_t fail_fast_until_us;
} __attribute__((aligned(64)));

struct cache_thread {
    struct cache    *cache;
    struct turn     *turn;
    uint32_t         now_s;
    /* the items' clock at the turn's begin, or at the last look for a live item under a lock */
    struct item_clock item_clock;
    uint32_t         sample_below; /* as the cache had it at the turn's begin */
    _Atomic(struct ring *) sample_ring; /* NULL: none was made yet */
    /* evicts to empty pages or to hold a limit, not because stores need memory: each eviction also
     * counts as evicted_by_moves */
    bool             moves_pages;
    uint64_t         moves_evicted; /* live items that it evicted so, ever */
    bool             refits;       /* within EVACUATE_BY_SIZE */
    unsigned         tails_moved;  /* by the evacuation of the last tail */
    uint64_t         random; /* the state of random_next */
    uint64_t         copied_bytes; /* cache_thread_copied */
    /* chunks to give back once the thread holds no lock, linked through node.next; 0: none */
    uint32_t         deferred_chunks;
    /* unlinked large items whose chunks go back at the same time, linked through node.next */
    struct item     *deferred_items;
    /* of a shrink under way: takes what this thread retires; else NULL */
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

/* Whether a set of the class may find something to do for a page (assist.c). */
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
/* A client that sends a command after a flush was answered must not find flushed items. The kernel,
 * through which both pass, orders the two; so a relaxed load is enough. */
static inline struct item_clock cache_item_clock(const struct cache *c) {
    uint64_t word = atomic_load_explicit(&c->item_clock, memory_order_relaxed);
    return (struct item_clock){.flushed = (uint32_t)word, .ahead_s = (uint32_t)(word >> 32)};
}
static inline bool item_flushed_by(const struct item *it, struct item_clock clock) {
    return (int32_t)(item_time_s(it) - clock.flushed) <= 0;
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
/* The shelf's queue, for calls that take item_now_s. The queue is told which items are flushed by
 * the same reading of the clock. */
static inline struct evict_queue *queue_now(const struct cache_thread *ct, struct class_queue *s) {
    s->queue.flushed_s = ct->item_clock.flushed;
    return &s->queue;
}
/* The time that a store gives its item: now or, if the turn began before the last flush, just after
 * that flush. It goes by the clock with which the store looked for the old item, so that what an
 * append or incr read before a flush does not survive the flush in the new item. */
static inline uint32_t cache_stamp_s(const struct cache_thread *ct) {
    uint32_t now_s = item_now_s(ct);
    return (int32_t)(now_s - ct->item_clock.flushed) > 0 ? now_s : ct->item_clock.flushed + 1;
}

#endif
