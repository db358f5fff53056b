/* The cache's insides, for the files of this folder only: partitions, their shelves, and what their files share. */
#ifndef SLATE_CACHE_PARTITION_H
#define SLATE_CACHE_PARTITION_H
#include "cache/cache.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "index/index.h"
#include "mem/heap.h"
#include "sample/ghost.h"

enum { STOCK_MAX = 8, GIVE_MAX = 64, THREADS_MAX = 160 };

/* What a partition keeps of one slab class: the eviction queue of its items and a few free chunks at hand. */
struct shelf {
    struct evict_queue queue;
    uint64_t           requested_bytes;
    uint32_t           stock[STOCK_MAX];
    uint32_t           stock_count;
};

struct partition {
    struct lock      lock; /* over the index, the shelves and the headers of this partition's items */
    struct index     index;
    uint64_t         cas, cas_step; /* the last one given, and the count of partitions: CAS values differ over all keys, because
                                     * each partition counts in steps of their count from its own number */
    uint64_t         bytes; /* asked for by its items */
    struct shelf    *shelves[SLAB_CLASSES_MAX]; /* made at first use */
} __attribute__((aligned(64)));

struct ring; /* watch/ring.h */

/* The clock that items' times are of, and policies': cache time, plus one second for each flush, so that nothing stored after a flush
 * has a time that something before it has. Hence an item is flushed when its time is not after the last flush's, however many flushes
 * there are in a second, and all others' ages are true, because all were stored since the clock was last set forward. Times are
 * compared by the sign of their difference: they may go round after 2^32 flushes, and an item that is flushed must be freed before 2^31
 * more, which the crawler needs seconds for. */
struct item_clock {
    uint32_t flushed; /* items of this time and before are gone */
    uint32_t ahead_s; /* of cache time */
};

/* A thread's turn, odd within one; in the cache's memory because others look at it after the thread has gone.
 *
 * Within a turn a thread may hold references that it found without a lock. Who takes memory away (cache_quiesce, a limbo of the
 * heap store) makes it unreachable first and then waits for every turn that it sees under way. Two things make that enough:
 *   - turn_enter stores the odd number, then a fence, then the thread looks for references; the other makes memory unreachable, then a
 *     fence, then looks at the numbers. So at least one of them sees what the other did: no turn that is not seen finds what was
 *     taken away. Without the fence a processor may look for references before others see the number, also behind a
 *     sequentially consistent store (AArch64: a load may pass a stlr), and both would see the old.
 *   - turn_leave releases and the look at the numbers acquires, so all that was done in a turn, a hit's byte too, comes before
 *     what is done with the memory afterwards.
 * tests/model explores both, and shows what goes wrong without. */
struct turn {
    _Atomic uint64_t n;
    bool             used;
} __attribute__((aligned(64)));

static inline void turn_enter(struct turn *t) {
    uint64_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    assert(n % 2 == 0);
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst); /* seen before any reference is found in this turn; pairs with turns_look */
}
static inline void turn_leave(struct turn *t) {
    uint64_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    assert(n % 2 == 1);
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
}
static inline bool turn_is_under_way(const struct turn *t) { return atomic_load_explicit(&t->n, memory_order_relaxed) & 1; }
/* The numbers of THREADS_MAX turns, after what was made unreachable before, by this thread or by one that it heard from. */
static inline void turns_look(const struct turn *turns, uint64_t *seen) {
    atomic_thread_fence(memory_order_seq_cst); /* pairs with turn_enter */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        seen[i] = atomic_load_explicit(&turns[i].n, memory_order_acquire);
    }
}
/* Whether the turn that was seen still is under way; no turn was, if that number is even. */
static inline bool turn_lasts(const struct turn *t, uint64_t seen) {
    return seen & 1 && atomic_load_explicit(&t->n, memory_order_acquire) == seen;
}

struct cache {
    struct cache_config config;
    struct arena       *arena;
    struct slab        *slab;
    struct heap        *heap; /* of the heap store, whose slab has a single class and no page; else NULL */
    struct limbos      *limbos; /* THREADS_MAX of them; of the heap store, else NULL */
    struct index_pool   index_pool;
    struct partition   *partitions;
    unsigned            partition_count, partition_shift; /* hash >> shift is the number */
    struct evict_tuning tuning;
    _Atomic(const struct evict_policy *) policy; /* of the whole, and of classes that were never given one of their own */
    _Atomic(const struct evict_policy *) class_policy[SLAB_CLASSES_MAX];
    _Atomic(struct ghost *) ghost; /* NULL: nothing is measured */
    _Atomic int64_t     temporary_ttl_s;
    _Atomic uint64_t    item_clock; /* struct item_clock */
    _Atomic uint32_t    flush_at_s; /* cache time of a flush to come; 0: there is none */
    _Atomic uint8_t     stock_most[SLAB_CLASSES_MAX]; /* chunks a partition keeps of a class; 0: none, and its own tail is not evicted alone */
    uint8_t             cas_flag; /* ITEM_CAS or 0 */
    uint32_t            block_bytes; /* of the block store; 0: another store */
    size_t              slab_bytes_most; /* up to so many, sizes alone decide an item's class: always in the slab store, never in a heap */

    struct lock          threads_lock; /* over the list; a thread's counters are its own */
    struct cache_thread *threads[THREADS_MAX];
    struct turn          turns[THREADS_MAX];
    _Atomic unsigned     turns_used; /* all that were ever used are before this number */
    unsigned             thread_count;
    struct cache_values  retired, baseline;
    struct cache_class_values class_retired[SLAB_CLASSES_MAX], class_baseline[SLAB_CLASSES_MAX];
    _Atomic unsigned class_id_most; /* the highest id that a class ever had: those above have counted nothing */
    struct cache_signal_values signals_retired[SLAB_CLASSES_MAX];
    struct cache_age_values    ages_retired[SLAB_CLASSES_MAX], ages_baseline[SLAB_CLASSES_MAX];

    _Atomic uint32_t sample_below, sample_key_every; /* cache_set_sample */
    size_t           sample_ring_bytes;              /* of each thread; 0: none. Under threads_lock, as the next */
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
    _Atomic uint32_t evicted_age_s[SLAB_CLASSES_MAX]; /* since its last use, of the item evicted last */
    _Atomic bool     stealing; /* one page steal at a time */
    uint64_t         steal_again_us; /* of the one who is stealing */
    struct class_set_shared left_whole; /* classes in which an abandoned draft may have left a whole page free */
    _Atomic size_t   draft_bytes;  /* that drafts hold whose values are still coming */
    _Atomic bool     draft_beyond; /* one of them may hold more than all may together */
    _Atomic uint64_t hopeless_until_us; /* no memory was to be had for long: do not wait for it */
} __attribute__((aligned(64)));

/* Memory of the heap store on its way back; linked through node.next. */
struct limbo {
    uint32_t first;
    unsigned items;
    size_t   bytes;
};

/* What a thread has retired, by the number of its turn; in the cache's memory because others give it back while that thread is not at
 * work, or after it has gone. */
struct limbos {
    struct lock  lock; /* over what follows */
    struct limbo open, sealed;
    uint64_t     turns[THREADS_MAX]; /* as they were when it was sealed; 0: of the thread that sealed it, which held nothing */
    _Atomic bool any; /* of either; may be looked at without the lock */
} __attribute__((aligned(64)));

struct cache_thread {
    struct cache    *cache;
    struct turn     *turn;
    uint32_t         now_s;
    struct item_clock item_clock;  /* as the last look for a live item under a lock had it, or the turn's begin */
    bool             stamp_pages; /* as the cache had it at the turn's begin */
    uint32_t         sample_below; /* likewise */
    _Atomic(struct ring *) sample_ring; /* NULL: none was made yet */
    bool             moves_pages;  /* cache_thread_moves_pages */
    bool             refits;       /* within cache_refit */
    unsigned         tails_moved;  /* by the evacuation of the last tail */
    uint32_t         donor_cursor; /* where the next look for pages to spare begins */
    uint64_t         random;
    uint32_t         give;           /* chunks to give back once no lock is held, linked through node.next; 0: none */
    struct item     *doomed;         /* unlinked large items whose chunks go back then, linked through node.next */
    struct limbos   *limbos;         /* of this thread's turn; NULL: not a heap store */
    struct cache_shrink *shrink;                 /* under way: what is retired goes there; else NULL */
    struct cache_counters       counters;
    struct cache_class_counters classes[SLAB_CLASSES_MAX];
    struct cache_signal_counters signals[SLAB_CLASSES_MAX];
    struct cache_age_counters    ages[SLAB_CLASSES_MAX];
} __attribute__((aligned(64)));

#define COUNT(ct, name) counter_add(&(ct)->counters.name, 1)
#define COUNT_CLASS(ct, class_id, name) counter_add(&(ct)->classes[class_id].name, 1)

static inline struct partition *partition_of(const struct cache *c, uint64_t hash) {
    return &c->partitions[c->partition_shift == 64 ? 0 : hash >> c->partition_shift];
}
static inline struct item *item_at(const struct cache *c, uint32_t ref) { return node_at(&c->arena->space, ref); }
static inline uint32_t ref_of_item(const struct cache *c, const void *it) { return node_ref(&c->arena->space, it); }

static inline const struct evict_policy *policy_of(const struct cache *c, unsigned class_id) {
    return atomic_load_explicit(&c->class_policy[class_id], memory_order_relaxed);
}

static inline bool cache_item_expired(const struct item *it, uint32_t now_s) {
    uint32_t at = item_exptime_s(it);
    return at != 0 && at <= now_s;
}
/* What a client sends after a flush was answered is ordered after it by the kernel that both pass through. */
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
static inline uint32_t item_now_s(const struct cache_thread *ct) { return ct->now_s + ct->item_clock.ahead_s; }
/* What a store is stamped with: now, or the time after the last flush if the turn began before it. By the clock with which the store
 * looked for what was there: what an append or incr read before a flush must not outlive the flush in what they store. */
static inline uint32_t cache_stamp_s(const struct cache_thread *ct) {
    uint32_t now_s = item_now_s(ct);
    return (int32_t)(now_s - ct->item_clock.flushed) > 0 ? now_s : ct->item_clock.flushed + 1;
}

/* The class whose queue an item is in: its chunk's, or that of its first tail when it is chained, for that is the memory
 * its eviction frees. */
unsigned cache_item_class(const struct cache *, const struct item *);
/* The class for an unchained item; SLAB_CLASS_NONE: it must be chained. The block store chains what does not fit a block,
 * unless not even the key does: that takes one of the larger chunks made for such heads. */
static inline unsigned whole_item_class(const struct cache *c, uint8_t flags, uint8_t key_len, uint32_t value_bytes) {
    size_t total = item_total_bytes(flags, key_len, value_bytes);
    if (total <= c->slab_bytes_most) {
        return slab_class_of(c->slab, total);
    }
    if (c->heap != NULL) {
        return HEAP_CLASS;
    }
    return total - value_bytes <= c->block_bytes ? SLAB_CLASS_NONE : slab_class_of(c->slab, total);
}
/* How much of a chained item's value lies in its head. It follows from the layout alone. */
static inline uint32_t value_bytes_in_head(const struct cache *c, const struct item *it) {
    size_t offset = item_value_offset(item_flags(it), item_key_len(it), item_value_bytes(it));
    return item_chained(it) && offset < c->block_bytes ? c->block_bytes - (uint32_t)offset : 0;
}
/* A small item's whole value; `to` has room for ITEM_COPY_MAX + 8. */
void value_copy_locked(const struct cache *, const struct item *, char *to);
uint64_t cache_item_requested_bytes(const struct cache *, const struct item *);
void     cache_view_item(const struct cache *, const struct item *, struct cache_view *);

/* --- memory.c: the shelves and where chunks come from. *_locked: the caller holds the partition's lock --- */
struct shelf *shelf_of_locked(struct cache *, struct partition *, unsigned class_id); /* NULL: out of memory */
void shelf_destroy(struct shelf *taken); /* or NULL */
uint32_t stock_pop_locked(struct partition *, unsigned class_id);                     /* 0: none */
void     stock_push_locked(struct cache_thread *, struct partition *, uint32_t ref);  /* or later, to its class */
/* A free chunk of the class by any means, evicting or taking a page if need be; 0: there is none to be had. No lock held. The class
 * is one of this turn's geometry; when that changes meanwhile, the chunk is of another class, and not smaller. The heap store goes
 * by `bytes`, the others by the class. */
uint32_t chunk_obtain(struct cache_thread *, struct partition *, unsigned class_id, size_t bytes);
/* A chunk by evicting from this partition's queue, when that queue is long enough to be a fair sample; 0: it is not. */
uint32_t chunk_evict_locked(struct cache_thread *, struct partition *, unsigned class_id);
/* A chunk of the class by evicting its oldest, for an item worth more; 0: none was to be had in a few tries. No lock held. */
uint32_t chunk_by_eviction(struct cache_thread *, unsigned class_id);
/* Gives back what was unlinked under a lock. To be called after each lock_release that may have unlinked. */
void     chunks_settle(struct cache_thread *);
/* Evicts the item used longest ago of those that are in the way of a key with this hash, in an index whose place for it is full.
 * False: nothing there may be evicted. */
bool     evict_rival_locked(struct cache_thread *, struct partition *, uint64_t hash);
static inline bool may_evict(const struct cache *c, unsigned class_id) {
    return c->config.evict && policy_of(c, class_id)->victim != NULL;
}
/* Evicts an item of the class, from this partition when its queue is long enough to be a fair sample. False: there is none. */
bool     evict_any(struct cache_thread *, struct partition *, unsigned class_id);
/* Waits a little, outside the turn: the one we wait for may be waiting for us. */
void     turn_rest(struct cache_thread *);
/* Whether a reference read from a chunk that may be anything lies on a chunk of some class. */
bool     chunk_is_at(const struct cache *, uint32_t ref);
/* Gives back the chunks of an item nobody can reach any more. No lock held. */
void     item_release(struct cache_thread *, struct item *taken);

/* --- draft.c: no lock held --- */
/* An item with memory for its whole value, not written; NULL: no memory. */
struct item *draft_whole(struct cache_thread *, const struct key *, uint8_t flags, uint32_t value_bytes, uint32_t client_flags,
                         uint32_t exptime_s);
/* The draft's item, which counts no longer against what drafts may hold. */
struct item *draft_take(struct cache_thread *, struct cache_draft *taken);

/* --- heap.c, for the heap store; no lock held --- */
uint32_t heap_obtain(struct cache_thread *, struct partition *, size_t bytes); /* 0: there is none to be had */
void     heap_retire(struct cache_thread *, const uint32_t *refs, unsigned count);
/* Waits until what this thread has retired, and what others left that are not at work, can be given back, and does. False: there is
 * none, or it takes too long. The caller holds no reference. */
bool     heap_reclaim(struct cache_thread *);
void     limbo_add(struct cache_thread *, uint32_t ref, size_t bytes); /* memory that was retired */
bool     limbos_create(struct cache *); /* false: out of memory */
void     limbos_destroy(struct cache *);
bool     heap_within(const struct cache *, size_t limit_bytes); /* whether less memory is held, after what can be given back was */
void     heap_lowered(struct cache *); /* the limit was changed: stores go on with what is used until it is given back */
void     heap_class_facts(const struct cache *, struct slab_class_facts *); /* chunks are 16 bytes of memory that is held */

/* --- heap_shrink.c --- */
void shrink_keep(struct cache_shrink *, uint32_t ref, size_t bytes); /* what the thread that shrinks it has retired */

/* --- cache.c --- */
void cache_sum_class_locked(struct cache *, unsigned class_id, struct cache_class_values *sum); /* threads_lock is held */

/* --- flush.c --- */
void flush_if_due(struct cache *, uint32_t now_s); /* makes the flush that was to come, once it has */

/* --- geometry.c --- */
/* What partitions may keep at hand of each class, by its chunks' size; nothing of classes that are retired. */
void geometry_set_stocks(struct cache *);
void geometry_note_classes(struct cache *);

/* --- link.c: items in and out of index and queues --- */
/* The live item of a key; a dead one is unlinked and counted on the way. */
struct item *find_live_locked(struct cache_thread *, struct partition *, const struct key *);
/* Makes a filled draft visible, in place of `old` when there is one. False: the index has no room and nothing in
 * the way may be evicted. */
bool link_locked(struct cache_thread *, struct partition *, const struct key *, struct item *taken, struct item *old, uint64_t cas);
void unlink_locked(struct cache_thread *, struct partition *, uint64_t hash, struct item *);
/* An item of `class_id` that took `was_bytes` got a new value where it lies: sums and queue follow. */
void renewed_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id, uint64_t was_bytes);
/* Changes in place what a lock-free reader, or a store that joins with what it read, must not see half: between these. */
void touch_locked(struct partition *, const struct key *, struct item *, uint32_t exptime_s);
void mark_hit_locked(struct cache_thread *, struct partition *, struct item *);
void count_eviction(struct cache_thread *, const struct item *, unsigned class_id, uint64_t hash);
/* Header of a new item in a chunk that is the caller's; the value is not written. */
void item_init(struct cache_thread *, struct item *, uint8_t flags, const struct key *, uint32_t value_bytes,
               uint32_t client_flags, uint32_t exptime_s);
static inline uint64_t next_cas_locked(struct partition *p, uint64_t wanted) {
    return wanted != 0 ? wanted : (p->cas += p->cas_step);
}

/* --- measure.c --- */
/* Nodes of a part of the tail of one queue of the class: a page's worth over all partitions. 0: nothing is measured. */
uint32_t measured_tail(const struct cache *, unsigned class_id);
/* A missed key was evicted from a class: counts it there. */
void measure_miss(struct cache_thread *, const struct ghost *, uint64_t hash);
/* A hit on an item that is in the tail, `where` as it was. */
void measure_tail_hit(struct cache_thread *, unsigned class_id, const struct item *, unsigned where);

/* --- sample.c --- */
static inline bool sampled(const struct cache_thread *ct, uint64_t hash) { return sample_takes(hash, ct->sample_below); }
/* Of a sampled key; the class is SLAB_CLASS_NONE where there is none. */
void sample_note(struct cache_thread *, enum sample_verb, uint64_t hash, unsigned class_id, uint32_t value_bytes);
bool sample_thread_begin(struct cache_thread *); /* false: out of memory */
void sample_thread_end_locked(struct cache_thread *); /* threads_lock is held */

/* --- store.c --- */
uint8_t item_flags_for(const struct cache *, uint32_t client_flags, bool binary_key);
/* The condition of a store against the item that is there (or NULL). */
enum cache_status store_condition(const struct cache_store *, const struct item *old);
/* The marks a compared store leaves: a lower CAS under meta I makes the new item stale. */
/* Meta I with a CAS lower than that of the item that it replaces: the value of a client that was overtaken. */
bool store_is_late(const struct cache_store *, const struct item *old);
uint8_t store_marks(const struct cache_store *, const struct item *old);
bool item_over_limit(const struct cache *, const struct key *, uint64_t value_bytes);
/* Counts a refusal; a set that failed for its size or for memory must not leave the old value behind. Returns `why`. */
enum cache_status store_refused(struct cache_thread *, const struct key *, const struct cache_store *, enum cache_status why);
void store_counted(struct cache_thread *, const struct cache_store *, enum cache_status, unsigned class_id);
/* A small store that happens only while the key's chain is as `look` saw it; CACHE_EXISTS: it is not. Not counted as a set. */
enum cache_status store_unchanged(struct cache_thread *, const struct key *, const struct cache_store *,
                                  const struct index_look *look, struct cache_view *);
/* The same of a value that is large or chained; `look` may be NULL: stored whatever the chain, and counted. */
enum cache_status store_large(struct cache_thread *, const struct key *, const struct cache_store *,
                              const struct index_look *look, struct cache_view *);

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
