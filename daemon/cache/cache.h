/* The cache: partitions of index, eviction queues and items. The only room that locks and unlinks
 * items.
 *
 * Threading: every call may be made from any thread through that thread's own cache_thread. A call
 * holds at most one lock at a time and none on return. Within a turn (cache_turn_begin …
 * cache_turn_end) pages do not change hands under a thread's feet; idle threads must be outside a
 * turn, or page moves wait for them.
 *
 * Values up to ITEM_COPY_MAX bytes are copied; larger ones are borrowed: counted, sent from item
 * memory, returned. In the block store small values may be chains too: those are copied under the
 * partition's lock. All sizes are bytes without the protocol's CR LF. Times are cache seconds
 * (base/clock.h); `exptime_s` 0 = never. */
#ifndef SLATE_CACHE_CACHE_H
#define SLATE_CACHE_CACHE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/key.h"
#include "cache/counters.h"
#include "evict/evict.h"
#include "index/index.h"
#include "mem/fit.h"
#include "mem/slab.h"

struct cache;
struct cache_thread;
struct item;

enum cache_status {
    CACHE_OK,
    CACHE_MISS,         /* not there (or expired, or flushed) */
    CACHE_EXISTS,       /* there, but with another CAS */
    CACHE_NOT_STORED,   /* add, replace, append, prepend: the condition does not hold */
    CACHE_TOO_LARGE,    /* over item_bytes_max */
    CACHE_NO_MEMORY,    /* nothing free and nothing may be evicted */
    CACHE_NOT_A_NUMBER, /* incr, decr */
};

/* Where items live, for good. */
enum cache_store_kind {
    CACHE_STORE_SLAB,   /* chunks of size classes, in pages that can change hands */
    /* one allocation an item; the limit counts the bytes that are really held */
    CACHE_STORE_HEAP,
    CACHE_STORE_BLOCKS, /* chains of blocks of one size */
    CACHE_STORE_KINDS,
};

/* A cache of another process, which goes on with it until cache_own. */
struct cache_taken {
    unsigned partitions;
    size_t   index_bytes; /* what its index takes, roughly: so much is had at once */
};

struct cache_config {
    size_t   limit_bytes;        /* of item memory, 1 MiB pages */
    /* the limit can be raised up to this, if the system has the address space and references would
     * not become coarser; up to four times the limit in any case, and with a heap no further */
    size_t   limit_bytes_most;
    enum cache_store_kind store;
    uint32_t block_bytes;        /* CACHE_STORE_BLOCKS: CACHE_BLOCK_LEAST to CACHE_BLOCK_MOST */
    const struct index_kind *index; /* how keys find their items; NULL: the default */
    unsigned partitions;         /* power of two; 0: by limit_bytes and threads */
    unsigned threads;            /* that store at the same time; 0: not known */
    struct slab_config slab;
    uint32_t item_bytes_max;     /* -I */
    bool     cas;                /* false: -C, headers of 24 bytes and every CAS is 0 */
    bool     evict;              /* false: -M, answer CACHE_NO_MEMORY when full */
    /* slab_reassign: a class with nothing takes a page rather than refuse */
    bool     steal_pages;
    bool     huge_pages;
    /* a store waits so long for memory that is in use, before it is refused; it keeps its thread
     * from other work meanwhile */
    uint32_t patience_us;
    const struct evict_policy *policy;
    uint32_t hot_pct, warm_pct, hot_factor_pct, warm_factor_pct;
    struct evict_s3fifo_knobs s3fifo;
    /* items living at most this long go to the temporary queue; < 0: off */
    int64_t  temporary_ttl_s;
    /* a file in which items outlive the process, the cache's from now on, also if it cannot be
     * made; NULL: none. CACHE_STORE_SLAB. If cache_create fails with EINVAL because of it, `why`,
     * of CACHE_WHY_BYTES, has a sentence */
    struct memory_file *memory_file;
    const struct cache_taken *taken; /* that is another process's still, of which this tells */
    char       *why;
    /* the policy is that of the file, if it is known there; in any case classes that had another
     * than the whole have it again */
    bool        policy_of_file;
    /* bytes of memory that the process may have, also while it adopts what is in the file; 0: any
     * number */
    uint64_t    process_bytes;
};
enum { CACHE_WHY_BYTES = 512 };

enum { CACHE_PATIENCE_US = 500 * 1000 };
enum { CACHE_BLOCK_LEAST = 64, CACHE_BLOCK_DEFAULT = 200, CACHE_BLOCK_MOST = 65536 };

/* NULL and errno. From a memory file the items in it are adopted, which takes its time: a second
 * for some millions. */
struct cache *cache_create(const struct cache_config *);
void          cache_destroy(struct cache **);             /* after every cache_thread */
/* Notes in the memory file what time it is; to be called about once a second. So items expire by
 * the wall clock even if the system's clock is set while the cache serves. */
void          cache_keep_time(struct cache *);
/* Keeps a text in the memory file for the next start (mem/memory_note.h); without a file, nothing.
 * False: it is too long. One caller at a time. */
bool          cache_keep_note(struct cache *, const char *text, size_t bytes);
/* --- the cache goes over to another process ---
 *
 *     the one that has it            the next one
 *                                    cache_create, with the file, borrowed, and `taken`
 *     every thread rests between two turns
 *     cache_image_put                cache_image_get: nothing in the file is changed
 *                                    cache_may_own
 *     … the other has it now:        … it is this one's now:
 *     cache_leave, cache_destroy     cache_own, cache_settle_in; turns may begin
 *
 * Before the last line either may end, and the first goes on as if nothing had been; so it may,
 * with cache_take_up_again, where the next one ends before cache_settle_in. Where the first is
 * killed before there is an image the next one has, with cache_inherit, what a start would find. */
struct image;
/* The file that the items lie in; -1: there is none, the cache cannot be handed over. It stays the
 * cache's. */
int      cache_file(const struct cache *);
unsigned cache_partitions(const struct cache *);
/* What the builds of both must have alike, hashed: how an image and all in it is laid out. */
uint64_t cache_image_layout(void);
/* How many bytes an image would have, roughly, and of these the index. */
size_t   cache_image_bytes(const struct cache *, size_t *index_bytes);
/* All that is not in the file. False: a page is half on its way from one class to another, or
 * memory is wanting. */
bool     cache_image_put(struct image *, struct cache *);
/* NULL, or why not: it is not whole, of a cache with other options, or memory is wanting. The cache
 * can only be destroyed then. */
const char *cache_image_get(struct image *, struct cache *);
/* Asks the system for leave to write to the file. False: it refuses. */
bool     cache_may_own(struct cache *);
/* Before anything else that changes the file. */
void     cache_own(struct cache *);
/* After it, and before the first turn: nothing of the cache goes back from here on. */
void     cache_settle_in(struct cache *);
/* Instead of an image, of a process that has ended: its items are adopted from the file, which
 * takes its time, as cache_create does. False: `why`; the cache can only be destroyed then. */
bool     cache_inherit(struct cache *, char why[CACHE_WHY_BYTES]);
/* After cache_image_put, and a cache_own of a process that has ended: as it was before. */
void     cache_take_up_again(struct cache *);
/* After cache_image_put. From now on nothing that this process does changes the items, and it can
 * only end. False: the system refuses; then it must end at once. */
bool     cache_leave(struct cache *);
/* What clients that do not go along hold: values that are still coming, and borrowed ones. The next
 * process gives them back in its first turn; what is no item of its is passed over. */
enum cache_held_kind { CACHE_HELD_DRAFT, CACHE_HELD_BORROWED };
struct cache_held {
    uint32_t ref, kind;
};
struct cache_held cache_held(const struct cache *, enum cache_held_kind, const struct item *);
void     cache_held_give_back(struct cache_thread *, const struct cache_held *, unsigned count);

struct cache_adopted { /* what a memory file held at the start */
    uint64_t items, expired; /* adopted; and had expired or been flushed by then */
    uint64_t torn;           /* were being written when the process ended, or were not whole */
    uint64_t left_out;       /* whole, but there was no room for them in the index */
    uint32_t pages, torn_pages;
    uint32_t rounds;         /* 1, or more for want of memory */
    uint64_t us;             /* how long it took */
};
const struct cache_adopted *cache_adopted(const struct cache *);
struct cache_thread *cache_thread_create(struct cache *); /* NULL: out of memory */
void                 cache_thread_destroy(struct cache_thread **);

/* Brackets a batch of calls; also refreshes the thread's idea of now. Cheap: two stores and a clock
 * read. */
void     cache_turn_begin(struct cache_thread *);
void     cache_turn_end(struct cache_thread *);
uint32_t cache_now_s(const struct cache_thread *);

/* --- what a call tells of an item --- */
struct cache_view {
    /* not NULL: the value stays in item memory until cache_return(); else it was copied */
    struct item *borrowed;
    uint64_t     cas;
    uint32_t     value_bytes; /* of the item as it is now */
    uint32_t     client_flags;
    uint32_t     exptime_s;
    uint32_t     exptime_before_s; /* before this call touched it */
    uint32_t     last_access_s; /* before this call */
    uint8_t      class_id;
    bool         fetched;  /* read before this call */
    bool         won;      /* this call got the right to recache it (W) */
    bool         stale;    /* X */
    bool         lost;     /* another already won (Z) */
    bool         created;  /* this call made the item */
    uint32_t     total_bytes; /* header, key and value */
    bool         binary_key;
};

/* --- reading without a lock, in three steps (MemC3's optimistic scheme) ---
 *
 *     enum cache_read how;
 *     do {
 *         how = cache_read_begin(ct, &key, spot, &r); // r's fields are bounded, not yet true
 *         if (how == CACHE_READ_COPY) { format r; cache_read_copy(&r, to); }
 *     } while (!cache_read_end(ct, &r)); // true: they are; counts the hit or miss, marks the item
 *
 * CACHE_READ_SLOW: large, chained, expired, flushed or invalidated: call cache_fetch instead
 * (cache_read_end is then not called). `to` needs room for value_bytes + 8. */
enum cache_read { CACHE_READ_MISS, CACHE_READ_COPY, CACHE_READ_SLOW };
struct cache_reader {
    const struct key *key;
    struct item      *item;
    struct index_look look; /* what cache_read_end asks about */
    uint32_t     value_bytes, client_flags;
    uint64_t     cas;
    /* stale, or somebody is recaching it: a meta get must call cache_fetch */
    bool         marked;
    uint8_t      class_id;
    uint8_t      hit_max; /* hits are counted up to this */
    const char  *value;
};
enum cache_read cache_read_begin(struct cache_thread *, const struct key *, struct index_spot,
                                 struct cache_reader *);
void            cache_read_copy(const struct cache_reader *, char *to);
/* What few readers ask for: sets all but class_id and total_bytes of the view. */
void            cache_read_view(const struct cache_thread *, const struct cache_reader *,
                                struct cache_view *);
bool            cache_read_end(struct cache_thread *, const struct cache_reader *, bool mark_hit);

/* Prefetching for a group of keys, in three passes: the buckets of all keys; then their items;
 * then, for items that are to be removed, their neighbours in the queue. All of it is a hint only,
 * as is the reference that one pass hands to the next (0: no item was seen) and the spot that the
 * first pass hands to the call that finds the key. If a key's bucket shows no item,
 * cache_prefetch_item_behind looks again after the other keys: the bucket goes on in another
 * line. */
struct index_spot cache_prefetch_bucket(const struct cache *, const struct key *);
uint32_t cache_prefetch_item(const struct cache *, const struct key *, struct index_spot);
uint32_t cache_prefetch_item_behind(const struct cache *, const struct key *, struct index_spot);
void     cache_prefetch_neighbours(const struct cache *, uint32_t ref);

/* --- reading with the partition's lock: what has an effect, and large values --- */
struct cache_fetch {
    bool     no_bump;          /* leave hit mark and times alone */
    bool     touch;            /* set the expiry time to exptime_s */
    uint32_t exptime_s;
    bool     vivify;           /* on a miss make an empty item that expires at vivify_exptime_s */
    uint32_t vivify_exptime_s;
    uint64_t vivify_cas;       /* 0: the next */
    bool     recache;          /* one caller wins once less than recache_s is left to live */
    int32_t  recache_s;
    /* wins and stale marks are granted and shown only to meta commands */
    bool     meta;
    bool     never_wins;       /* a stale item is shown as one that another has won */
    bool     binary_key;       /* of a vivified item */
    bool     want_value;
};
/* Copies a small value to `to` (ITEM_COPY_MAX + 8 bytes), borrows a large one. */
enum cache_status cache_fetch(struct cache_thread *, const struct key *, const struct cache_fetch *,
                              char *to, struct cache_view *);
/* no effect at all */
enum cache_status cache_peek(struct cache_thread *, const struct key *, struct cache_view *);

/* Where in a chain a caller was last, so that the next call need not walk there again; zeroes at
 * first. */
struct cache_place {
    uint32_t tail;   /* reference of a tail; 0: none yet */
    size_t   before; /* value bytes before it */
};
/* Pieces of a borrowed value, in order. Returns how many, at most `max`, starting `skip` bytes into
 * the value. `place` may be NULL; it is for one item only, as long as that is borrowed. */
int cache_value_iov(const struct cache_thread *, const struct item *borrowed, size_t skip,
                    struct cache_place *, struct iovec *, int max);
void cache_return(struct cache_thread *, struct item *borrowed);

/* --- storing --- */
enum cache_mode { CACHE_SET, CACHE_ADD, CACHE_REPLACE, CACHE_APPEND, CACHE_PREPEND };
struct cache_store {
    const char *value;         /* value_bytes of it */
    uint64_t compare_cas;      /* 0: no item's, also where items have no CAS and show 0 */
    uint64_t cas;              /* the CAS to give; 0: the next */
    struct index_spot spot;    /* of the key, or zeroes */
    enum cache_mode mode;
    uint32_t value_bytes;
    uint32_t client_flags;
    uint32_t exptime_s;
    /* store only over an item with compare_cas; CACHE_MISS when there is none */
    bool     compare;
    /* meta I: a lower CAS than the item's may replace too; the new item is stale, and keeps the
     * old one's expiry time and whether it was won */
    bool     compare_low;
    bool     vivify;           /* append, prepend: on a miss store as a set */
    bool     binary_key;
    bool     won, stale;       /* marks the new item carries from the start */
    bool     counts_cas;       /* counts cas_* statistics */
    bool     uncounted;        /* part of another command: no set */
};
/* Counts a store whose value did not end as it must; it changes nothing. */
void cache_store_spoilt(struct cache_thread *, const struct key *, const struct cache_store *);
/* The whole value at once. On CACHE_TOO_LARGE and CACHE_NO_MEMORY an old item of a plain set is
 * gone. `view` may be NULL. */
enum cache_status cache_store(struct cache_thread *, const struct key *, const struct cache_store *,
                              struct cache_view *);

/* A value that comes piece by piece: a draft belongs to its maker, who extends it as bytes come,
 * fills it, then publishes or abandons it. For values over ITEM_COPY_MAX only; an append or prepend
 * is joined when it is published. All such drafts together may hold an eighth of the pages, at
 * least one page: the bound. A value counts for at most half of the bound, so a larger one can be
 * stored too, and drafts then hold that much more. A value over a sixteenth of the bound is large.
 * How values share the bound: cache/admit.c. */
struct cache_draft {
    struct item *item;          /* NULL: no memory was taken yet */
    uint32_t     left;          /* value bytes that have none yet */
    uint32_t     last_tail;     /* the end of its chain, a reference; 0: none */
    size_t       need_bytes;    /* of memory, for the whole value */
    size_t       charged_bytes; /* of what all drafts may hold */
    bool         large;
    /* said by the maker, who reads all bytes and publishes the draft at once: it never waits */
    bool         at_hand;
    bool         arrived; /* likewise: all bytes have come, and the maker is to read them yet */
};
enum cache_drafted {
    CACHE_DRAFT_READY,
    /* the others hold all that drafts may: try again once one of them is published or abandoned.
     * Only a draft without an item waits */
    CACHE_DRAFT_WAITS,
    CACHE_DRAFT_REFUSED, /* no memory; the draft is gone, and an old item of a plain set */
};
/* Whether what is there now would refuse a store, asked before the store has memory: CACHE_OK, or
 * what cache_store would return, counted in the same way. Asking is optional: a store whose
 * condition no longer holds when it is published is refused then. */
enum cache_status cache_store_verdict(struct cache_thread *, const struct key *,
                                      const struct cache_store *);
/* Takes no memory yet. CACHE_OK, or CACHE_TOO_LARGE as cache_store gives it. */
enum cache_status cache_draft_begin(struct cache_thread *, const struct key *,
                                    const struct cache_store *, struct cache_draft *);
/* Memory for the value's first `upto` bytes at least. May evict, and rest outside the turn. */
enum cache_drafted cache_draft_extend(struct cache_thread *, const struct key *,
                                      const struct cache_store *, struct cache_draft *,
                                      size_t upto);
/* Value bytes that have memory. */
static inline size_t cache_draft_room(const struct cache_draft *d, const struct cache_store *s) {
    return s->value_bytes - d->left;
}
int cache_draft_iov(const struct cache_thread *, const struct cache_draft *, size_t skip,
                    struct cache_place *, struct iovec *, int max);
enum cache_status cache_publish(struct cache_thread *, struct cache_draft *taken,
                                const struct cache_store *, struct cache_view *);
void cache_abandon(struct cache_thread *, struct cache_draft *taken);
/* Abandons it for lack of memory: CACHE_NO_MEMORY, which is counted, and an old item of a plain set
 * is gone. */
enum cache_status cache_draft_refuse(struct cache_thread *, const struct key *,
                                     const struct cache_store *, struct cache_draft *taken);
/* The same because its bytes do not come, or because other values that are still coming hold all
 * that they may. It is no lack of memory, so it does not count as one; the caller counts it. */
void cache_draft_late(struct cache_thread *, const struct key *, const struct cache_store *,
                      struct cache_draft *taken);
/* Bytes of values over ITEM_COPY_MAX that this thread has copied, ever: an append or prepend copies
 * all that it joins. */
uint64_t cache_thread_copied(const struct cache_thread *);
size_t cache_drafts_most(const struct cache *); /* bytes that drafts may take together … */
size_t cache_drafts_held(const struct cache *); /* … and do, or may yet; two loads */
/* Whether a draft that waits may be extended now, as far as a few loads can tell. `warily`: only if
 * half of what its kind may hold stays free for others, or its kind holds nothing. */
bool   cache_draft_has_room(const struct cache *, const struct cache_draft *, bool warily);
/* Said by makers of drafts that wait: while a large one does, small ones leave it room. */
void     cache_draft_waits(struct cache *, bool large, bool waits);
unsigned cache_drafts_waiting(const struct cache *); /* of both kinds */
unsigned cache_drafts_waiting_large(const struct cache *);
/* Whether the draft should wait because others of its kind do. */
bool     cache_draft_queues(const struct cache *, const struct cache_draft *);

/* --- changing and removing --- */
struct cache_delete {
    bool     compare;
    uint64_t compare_cas;
    bool     misses_mismatch;  /* another CAS counts as a miss */
    bool     mark_stale;       /* meta I: keep the item, stale, with a new CAS */
    bool     drop_value;       /* meta x: keep the item without its value and client flags */
    uint32_t client_flags;     /* of what x leaves */
    bool     touch;            /* with mark_stale or drop_value */
    uint32_t exptime_s;
    uint64_t cas;              /* the CAS to give; 0: the next */
};
enum cache_status cache_delete(struct cache_thread *, const struct key *,
                               const struct cache_delete *);

struct cache_arith {
    bool     decrement;
    uint64_t delta;
    bool     compare;
    uint64_t compare_cas;
    uint64_t cas;              /* the CAS to give; 0: the next */
    bool     touch;
    uint32_t exptime_s;
    /* on a miss store `initial`, to expire at vivify_exptime_s; it counts as no miss then */
    bool     vivify;
    uint64_t initial;
    uint32_t vivify_exptime_s;
    bool     binary_key;
};
/* `number` gets the new value in decimal; view->value_bytes may be more: it is padded with spaces
 * to its old length. */
enum cache_status cache_arith(struct cache_thread *, const struct key *, const struct cache_arith *,
                              uint64_t *number, struct cache_view *);
enum cache_status cache_touch(struct cache_thread *, const struct key *, uint32_t exptime_s);

/* What was stored up to the end of second `at_s` counts as gone from that time on, or at once when
 * that is past. One flush may be to come: a later call replaces it; what is gone stays gone. What
 * is gone is freed when its key or its memory is wanted, by a walk or a sweep. */
void cache_flush(struct cache *, uint32_t at_s);
/* All that was stored before this call counts as gone, however often that happens in a second, and
 * what is stored after it does not; no flush is to come. */
void cache_flush_now(struct cache *);
uint32_t cache_flushed(const struct cache *); /* another after each flush that took effect */

/* --- run-time settings --- */
/* what the configuration wanted, or four times the limit of the start: address space for that was
 * reserved */
size_t cache_limit_most(const struct cache *);
/* A new limit of item memory. False, and nothing changed: beyond cache_limit_most, or below what
 * classes have now while pages may not move or nothing may be evicted. Else whoever listens to
 * hunger is woken: it has to give back the pages over the limit, and until then no class gets
 * another from the pool. */
bool cache_set_limit(struct cache *, size_t limit_bytes);
void cache_set_tuning(struct cache *, uint32_t hot_pct, uint32_t warm_pct, uint32_t hot_factor_pct,
                      uint32_t warm_factor_pct);
/* Holds from the next victim on, and loses no item. */
void cache_set_s3fifo(struct cache *, const struct evict_s3fifo_knobs *);
void cache_s3fifo(const struct cache *, struct evict_s3fifo_knobs *);
void cache_set_temporary_ttl(struct cache *, int64_t ttl_s);
/* Of one class, or of the whole cache and every class in it when that is SLAB_CLASS_NONE. No item
 * is dropped or moved. A lock of each partition, and nothing when they have that policy. */
void cache_set_policy(struct cache *, const struct evict_policy *, unsigned class_id);
const struct evict_policy *cache_policy(const struct cache *); /* what the whole was last given */
const struct evict_policy *cache_class_policy(const struct cache *, unsigned class_id);

/* --- facts --- */
struct cache_class_facts {
    struct slab_class_facts slab;
    /* bytes asked for by items whose head or tails are in the class */
    uint64_t items, requested_bytes;
    uint64_t list_items[EVICT_LISTS];
    uint32_t list_age_s[EVICT_LISTS]; /* of the list's oldest */
    uint32_t stock_chunks;            /* free chunks at the partitions */
    uint32_t evicted_age_s;           /* since its last use, of the item evicted last */
    struct cache_class_values counters;
};
struct cache_facts {
    struct cache_values counters;
    uint64_t items, bytes;
    uint64_t index_bytes, index_buckets;
    /* free: no class has them; 0 when more are out than there may be. returned: of these, those
     * that a class had */
    uint32_t pages_limit, pages_out, pages_free, pages_returned;
    unsigned class_count, partitions;
    size_t   limit_bytes;
    size_t   draft_bytes; /* that values take or may take which are still coming */
    size_t   pinned_bytes; /* of values that are gone, but still being sent */
};
void cache_facts(struct cache *, struct cache_facts *);
/* Of one class, or of those of `ids` into an array of SLAB_CLASSES_MAX, by id; the others' entries
 * are left as they are. Counters are summed once for all of them, and a partition is locked once
 * for every 32. */
void cache_class_facts(struct cache *, unsigned class_id, struct cache_class_facts *);
void cache_classes_facts(struct cache *, const struct class_set *ids,
                         struct cache_class_facts *by_id);
/* How old items were when they were evicted, since the start or the last reset of counters. */
void cache_class_ages(struct cache *, unsigned class_id, struct cache_age_values *);
/* Counters of all classes together. */
void cache_classes_counters(struct cache *, struct cache_class_values *sum);
void cache_reset_counters(struct cache *);
/* Keys that reads found, and did not find, since the start. Some microseconds, no partition's
 * lock. */
void cache_reads(struct cache *, uint64_t *hits, uint64_t *misses);
struct slab *cache_slab(struct cache *);
enum cache_store_kind cache_store_kind(const struct cache *);
const char *cache_store_name(enum cache_store_kind);         /* slab, heap, blocks */
const char *cache_index_name(const struct cache *);
/* of such a name; CACHE_STORE_SLAB: of none */
enum cache_store_kind cache_store_find(const char *name);
uint32_t cache_item_bytes_max(const struct cache *);
/* Whether an item of this key and value would be within the limit. */
bool cache_value_fits(const struct cache *, const struct key *, uint64_t value_bytes);
bool cache_has_cas(const struct cache *);
const struct evict_tuning *cache_tuning(const struct cache *); /* lives as long as the cache */
bool cache_evicts(const struct cache *); /* false: -M, nothing live is ever dropped */

/* --- walking: items one by one, for the crawler and dumps --- */
struct cache_walk {
    unsigned partition;
    uint64_t bucket;
    uint64_t checked, reclaimed;
};
struct cache_walked { /* a copy; `key` of key_len bytes */
    char     key[KEY_BYTES_MAX + 8];
    uint8_t  key_len, class_id;
    struct cache_view view;
};
/* Visits the next bucket: copies its live items into `out` (room for `max`, INDEX_CHAIN_MOST at
 * least) and unlinks the dead ones. Returns how many were copied, -1 at the end. Each bucket is
 * seen once; items stored or removed meanwhile may be missed. */
int cache_walk_next(struct cache_thread *, struct cache_walk *, struct cache_walked *out, int max);

/* --- geometry: changing which classes there are while everybody goes on --- */
/* As slab_set_sizes(), with what the cache keeps by class. From one thread; cache_quiesce between
 * two calls. */
bool cache_set_sizes(struct cache *, const struct size_list *);
/* Whether a memory file came with other chunk sizes than this cache's options ask for, and which
 * these are. Each start asks for them again until cache_sizes_settled is called, once these sizes
 * or others have been set: from then on the file's sizes are what is wanted. From the same
 * thread. */
bool cache_sizes_wanted(const struct cache *, struct size_list *);
void cache_sizes_settled(struct cache *);
/* Sizes of all live items and pieces of chained values, seen without a lock; of large caches a
 * sample of the pages, one in so many that at most pages_most are looked at. Some 3 ns a chunk; by
 * steps of a microsecond or two for those who must not take so long in one go. */
enum { CACHE_SIZES_PAGES = 2048, CACHE_SIZES_PAGES_QUICK = 256 };
struct cache_sizing {
    struct size_histogram *h;
    uint32_t page, chunk, owned, now_s;
};
void cache_sizing_begin(const struct cache *, struct cache_sizing *, struct size_histogram *,
                        uint32_t pages_most);
bool cache_sizing_step(const struct cache *, struct cache_sizing *); /* false: it was the last */
/* in one go */
void cache_sizes(const struct cache *, struct size_histogram *, uint32_t pages_most);
uint64_t cache_class_evicted(struct cache *, unsigned class_id); /* since the start */
#endif
