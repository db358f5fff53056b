/* The cache's insides, for the files of this folder only: partitions, their shelves, and what a
 * thread has at hand. What a file does for the others stands in its own header; LAYERS says which
 * may see which. */
#ifndef SLATE_CACHE_PARTITION_H
#define SLATE_CACHE_PARTITION_H
#include "cache/cache.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "cache/epoch.h"
#include "cache/pages.h"
#include "cache/signals.h"
#include "cache/store_ops.h"
#include "index/index.h"
#include "mem/heap.h"
#include "sample/ghost.h"

enum { STOCK_MAX = 8 };

/* What a partition keeps of one slab class: the eviction queue of its items and a few free chunks
 * at hand. */
struct shelf {
    struct evict_queue queue;
    uint64_t           requested_bytes;
    uint32_t           stock[STOCK_MAX];
    uint32_t           stock_count;
};

struct partition {
    /* over the index, the shelves and the headers of this partition's items */
    struct lock      lock;
    struct index     index;
    /* the last CAS that was given, and the number of partitions: each partition counts in steps of
     * that number from its own, so no two items of the cache have the same CAS */
    uint64_t         cas, cas_step;
    uint64_t         bytes; /* asked for by its items */
    struct shelf    *shelves[SLAB_CLASSES_MAX]; /* made at first use */
} __attribute__((aligned(64)));

struct ring; /* watch/ring.h */

/* --- pages that sets empty (help.c) --- */

enum helped_state {
    HELPED_NONE,
    HELPED_EMPTYING,
    HELPED_EMPTIED, /* and turns have to end */
};

/* One such page; all but `held` belongs to the thread that set it. */
struct helped_page {
    _Atomic bool     held;
    _Atomic uint8_t  state; /* enum helped_state */
    unsigned         to, passes;
    struct page_take take;
    uint64_t         seen[THREADS_MAX], emptied_us; /* turns, and when the page was found empty */
} __attribute__((aligned(64)));

struct help {
    _Atomic uint32_t pair; /* whose pages go to whom, by help_pair; 0: sets are to do nothing */
    _Atomic uint32_t left; /* pages that sets may begin yet */
    _Atomic uint32_t waiting; /* emptied pages that wait for turns to end */
    /* by sets; what the mover has counted is taken out, but for bytes_passed */
    _Atomic uint64_t pages, bytes_passed, rescued, chunks_rescued, evicted, expired;
    _Atomic bool     picking; /* what follows belongs to the thread that set it */
    unsigned         picked_from, pick_at, pick_count;
    uint32_t         picked[CACHE_SPARE_MAX];
    struct helped_page each[CACHE_HELP_PAGES];
};

static inline uint32_t help_pair(unsigned from, unsigned to) { return from << 16 | to; }
static inline unsigned help_donor(uint32_t pair) { return pair >> 16; }
static inline unsigned help_receiver(uint32_t pair) { return pair & 0xffff; }

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
    bool                borrowed; /* taken from a process that still has it */
    bool                policy_renamed; /* the options want another than the process before had */
    bool                kept; /* its memory file holds all there is (cache/keep.h) */
    struct cache_adopted adopted;
    bool                sizes_wanted; /* cache_sizes_wanted */
    struct arena       *arena;
    struct joiner      *joiner; /* of its memory file's pages; NULL: they stay as they are */
    struct slab        *slab;
    /* of the heap store, whose slab has a single class and no page; else NULL */
    struct heap        *heap;
    struct limbos      *limbos; /* THREADS_MAX of them, by turn; of the heap store, else NULL */
    struct index_pool   index_pool;
    struct partition   *partitions;
    /* copies in this process's own memory (keep_set_apart), or NULL */
    struct partition   *apart;
    struct memory_head *head_apart;
    unsigned            partition_count, partition_shift; /* hash >> 32 >> shift is the number */
    /* of each class in each partition: what its oldest item was, to whoever chooses a victim
     * (victim.c); 0: not known, or none */
    _Atomic uint64_t   *oldest_noted;
    struct evict_tuning tuning;
    /* of the whole, and of classes that were never given one of their own */
    _Atomic(const struct evict_policy *) policy;
    _Atomic(const struct evict_policy *) class_policy[SLAB_CLASSES_MAX];
    _Atomic(struct ghost *) ghost; /* NULL: nothing is measured */
    _Atomic int64_t     temporary_ttl_s;
    _Atomic uint64_t    item_clock; /* struct item_clock */
    _Atomic uint32_t    flush_at_s; /* cache time of a flush to come; 0: there is none */
    /* chunks a partition keeps of a class; 0: none, and its own tail is not evicted alone */
    _Atomic uint8_t     stock_most[SLAB_CLASSES_MAX];
    uint8_t             cas_flag; /* ITEM_CAS or 0 */
    uint32_t            block_bytes; /* of the block store; 0: another store */
    uint32_t            tail_bytes_most; /* of a chunk for a tail */
    /* up to so many, sizes alone decide an item's class, and that the memory it takes: always in
     * the slab store, never in a heap */
    size_t              slab_bytes_most;

    struct lock          threads_lock; /* over the list; a thread's counters are its own */
    struct cache_thread *threads[THREADS_MAX];
    struct turn          turns[THREADS_MAX];
    _Atomic unsigned     turns_used; /* all that were ever used are before this number */
    unsigned             thread_count;
    struct cache_values  retired, baseline;
    struct cache_class_values class_retired[SLAB_CLASSES_MAX], class_baseline[SLAB_CLASSES_MAX];
    /* the highest id that a class ever had: those above have counted nothing */
    _Atomic unsigned class_id_most;
    struct cache_signal_values signals_retired[SLAB_CLASSES_MAX];
    struct cache_age_values    ages_retired[SLAB_CLASSES_MAX], ages_baseline[SLAB_CLASSES_MAX];

    _Atomic uint32_t sample_below, sample_key_every; /* cache_set_sample */
    /* of each thread; 0: none. Under threads_lock, as the next */
    size_t           sample_ring_bytes;
    unsigned         sample_rings_max;
    struct cache_sample_facts samples_retired;       /* likewise */
    struct ghost    *ghost_kept; /* of an earlier measurement, for whoever still looks at it */
    struct class_set_shared hunger;
    _Atomic bool     hunger_on_evict;
    void           (*stolen)(void *, const struct cache_steal *);
    void            *stolen_arg;
    _Atomic bool     stamp_pages;
    void           (*wake)(void *);
    void            *wake_arg;
    /* since its last use, of the item evicted last */
    _Atomic uint32_t evicted_age_s[SLAB_CLASSES_MAX];
    _Atomic bool     stealing; /* one page steal at a time */
    uint64_t         steal_again_us; /* of the one who is stealing */
    struct help      help;
    /* classes in which an abandoned draft may have left a whole page free */
    struct class_set_shared left_whole;
    /* of drafts whose values are still coming, small and large: what they may take, and how many
     * wait for it */
    _Atomic size_t   draft_bytes[2];
    _Atomic uint32_t drafts_waiting[2];
    /* of values that nobody finds any more, but that are still being sent (cache/pinned.h) */
    _Atomic int64_t  pinned_bytes;
    _Atomic uint64_t hopeless_until_us; /* no memory was to be had for long: do not wait for it */
} __attribute__((aligned(64)));

struct cache_thread {
    struct cache    *cache;
    struct turn     *turn;
    uint32_t         now_s;
    /* as the last look for a live item under a lock had it, or the turn's begin */
    struct item_clock item_clock;
    bool             stamp_pages; /* as the cache had it at the turn's begin */
    uint32_t         sample_below; /* likewise */
    _Atomic(struct ring *) sample_ring; /* NULL: none was made yet */
    bool             moves_pages;  /* cache_thread_moves_pages */
    bool             refits;       /* within cache_refit */
    unsigned         tails_moved;  /* by the evacuation of the last tail */
    uint64_t         random;
    uint64_t         copied_bytes; /* cache_thread_copied */
    /* chunks to give back once no lock is held, linked through node.next; 0: none */
    uint32_t         give;
    /* unlinked large items whose chunks go back then, linked through node.next */
    struct item     *doomed;
    /* by a shrink under way: what is retired goes there; else NULL */
    struct limbo_kept *kept;
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

/* Whether a set of the class may find something to do for a page (help.c). */
static inline bool help_is_wanted(const struct cache *c, unsigned class_id) {
    uint32_t pair = atomic_load_explicit(&c->help.pair, memory_order_relaxed);
    return (pair != 0 && help_receiver(pair) == class_id) ||
           atomic_load_explicit(&c->help.waiting, memory_order_relaxed) > 0;
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
/* What a client sends after a flush was answered is ordered after it by the kernel that both pass
 * through. */
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
/* A shelf's queue for a call that takes item_now_s: told what the same look at the clock says is
 * flushed. */
static inline struct evict_queue *queue_now(const struct cache_thread *ct, struct shelf *s) {
    s->queue.flushed_s = ct->item_clock.flushed;
    return &s->queue;
}
/* The time that a store gives its item: now, or just after the last flush if the turn began before
 * it. It goes by the clock with which the store looked for the old item: what an append or incr
 * read before a flush must not survive the flush in the new item. */
static inline uint32_t cache_stamp_s(const struct cache_thread *ct) {
    uint32_t now_s = item_now_s(ct);
    return (int32_t)(now_s - ct->item_clock.flushed) > 0 ? now_s : ct->item_clock.flushed + 1;
}

/* Notes that something in the item's page was read or written. */
static inline void page_accessed(const struct cache_thread *ct, const struct item *it) {
    if (!ct->stamp_pages) {
        return;
    }
    struct page *p = slab_page(ct->cache->slab, arena_page_of(ct->cache->arena, it));
    if (atomic_load_explicit(&p->used_s, memory_order_relaxed) != ct->now_s) {
        atomic_store_explicit(&p->used_s, ct->now_s, memory_order_relaxed);
    }
}

static inline uint64_t thread_random(struct cache_thread *ct) { /* xorshift64* */
    uint64_t x = ct->random;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    ct->random = x;
    return x * 2685821657736338717u;
}
#endif
