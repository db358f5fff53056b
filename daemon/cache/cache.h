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
#include "cache/admin/counters.h"
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

/* Where items live. A cache keeps its store as long as it lives. */
enum cache_store_kind {
    CACHE_STORE_SLAB,   /* chunks of size classes, in pages that can change hands */
    /* one allocation an item; the limit counts the bytes that are really held */
    CACHE_STORE_HEAP,
    CACHE_STORE_BLOCKS, /* chains of blocks of one size */
    CACHE_STORE_KINDS,
};

/* Settings that may change while the cache runs. */
struct cache_settings {
    uint32_t hot_pct, warm_pct, hot_factor_pct, warm_factor_pct;
    struct evict_s3fifo_knobs s3fifo;
    /* items living at most this long go to the temporary queue; < 0: off */
    int64_t  temporary_ttl_s;
};

struct cache_config {
    size_t   limit_bytes;        /* of item memory, 1 MiB pages */
    /* the limit can be raised up to this if the system has the address space and references would
     * not become coarser; in any case up to four times the limit; of a heap no further than that */
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
    /* slab_reassign: a class with nothing takes another class's page; false: only its first page,
     * over the limit */
    bool     steal_pages;
    bool     huge_pages;
    /* so long a store waits for memory that is in use before it is refused; its thread does no
     * other work meanwhile */
    uint32_t alloc_wait_us;
    const struct evict_policy *policy;
    struct cache_settings settings;
    /* a file in which items outlive the process; NULL: none. CACHE_STORE_SLAB only. The cache owns
     * it from the call on, also if the cache cannot be made. If cache_create fails with EINVAL
     * because of the file, `why`, of CACHE_WHY_BYTES, has a sentence */
    struct memory_file *memory_file;
    char       *why;
    /* take the policy that the file names, if this program knows it. In any case classes that had a
     * policy of their own get it back */
    bool        policy_of_file;
    /* bytes of memory that the process may have, also while it adopts the file's items; 0: no
     * bound */
    uint64_t    process_bytes;
};
enum { CACHE_WHY_BYTES = 512 };

enum { CACHE_ALLOC_WAIT_US = 500 * 1000 };
enum { CACHE_BLOCK_LEAST = 64, CACHE_BLOCK_DEFAULT = 200, CACHE_BLOCK_MOST = 65536 };

/* NULL: errno says why. Items of a memory file are adopted here, which takes a second for some
 * millions. */
struct cache *cache_create(const struct cache_config *);
/* Whether cache_create would take the configuration's memory file, from which another process
 * serves, as far as its shape is concerned. The file stays the caller's. False: `why` says why. */
bool          cache_fits_file(const struct cache_config *);
void          cache_destroy(struct cache **);             /* after every cache_thread */
/* Notes the time in the memory file; to be called about once a second. So items expire by the wall
 * clock even if the system's clock is set while the cache serves. */
void          cache_save_time(struct cache *);
/* Keeps a text in the memory file for the next start (mem/settings_blob.h); without a file it does
 * nothing. False: the text is too long. One caller at a time. */
bool          cache_save_settings(struct cache *, const char *text, size_t bytes);
struct cache_recovered { /* what a memory file held at the start */
    uint64_t items, expired; /* adopted; and had expired or been flushed by then */
    uint64_t torn;           /* were being written when the process ended, or were not whole */
    uint64_t left_out;       /* whole, but there was no room for them in the index */
    uint32_t pages, torn_pages;
    uint32_t rounds;         /* 1, or more for want of memory */
    uint64_t us;             /* how long it took */
};
/* The descriptor of the memory file, which the cache keeps; -1: there is no file. */
int           cache_file(const struct cache *);
const struct cache_recovered *cache_recovered(const struct cache *);
struct cache_thread *cache_thread_create(struct cache *); /* NULL: out of memory */
void                 cache_thread_destroy(struct cache_thread **);

/* A turn: brackets a batch of calls, and refreshes the thread's idea of now. Cost: two stores and a
 * read of the clock. */
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
    uint32_t     exptime_before_s; /* when the item expired before this call touched it */
    uint32_t     last_access_s; /* when it was last used before this call */
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
    struct index_lookup look; /* what cache_read_end asks about */
    uint32_t     value_bytes, client_flags;
    uint64_t     cas;
    /* the item is stale, or a client is recaching it: a meta get must call cache_fetch */
    bool         marked;
    uint8_t      class_id;
    uint8_t      hit_max; /* the policy counts hits up to this */
    const char  *value;
};
enum cache_read cache_read_begin(struct cache_thread *, const struct key *, struct index_hint,
                                 struct cache_reader *);
void            cache_read_copy(const struct cache_reader *, char *to);
/* What few readers ask for. Sets every member of the view but class_id and total_bytes. */
void            cache_read_view(const struct cache_thread *, const struct cache_reader *,
                                struct cache_view *);
bool            cache_read_end(struct cache_thread *, const struct cache_reader *, bool mark_hit);

/* Prefetches for a group of keys, in three passes: the buckets of all keys; then their items; then,
 * for items that are to be removed, their neighbours in the queue. All of it is only a hint. So is
 * the reference that one pass hands to the next (0: no item was seen), and the spot that the first
 * pass hands to the call that finds the key. Where a key's bucket shows no item,
 * cache_prefetch_item_behind looks once more after the other keys, because the bucket may go on in
 * another line. */
struct index_hint cache_prefetch_bucket(const struct cache *, const struct key *);
uint32_t cache_prefetch_item(const struct cache *, const struct key *, struct index_hint);
uint32_t cache_prefetch_item_behind(const struct cache *, const struct key *, struct index_hint);
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
    bool     touch_first;      /* the time left is that of exptime_s */
    /* only meta commands grant wins and show them and stale marks */
    bool     meta;
    bool     never_wins;       /* a stale item is shown as one that another has won */
    bool     binary_key;       /* of a vivified item */
    bool     want_value;
};
/* Copies a small value to `to` (ITEM_COPY_MAX + 8 bytes), borrows a large one. */
enum cache_status cache_fetch(struct cache_thread *, const struct key *, const struct cache_fetch *,
                              char *to, struct cache_view *);
/* The same without any effect. */
enum cache_status cache_peek(struct cache_thread *, const struct key *, struct cache_view *);

/* Where in a chain the caller was last, so that the next call need not walk there again. Zeroes at
 * first. */
struct cache_place {
    uint32_t tail;   /* reference of a tail; 0: none yet */
    size_t   before; /* value bytes before it */
};
/* Gives the pieces of a borrowed value in order, starting `skip` bytes into the value: at most
 * `max`. Returns how many. `place` may be NULL; it serves one item, for as long as that item is
 * borrowed. */
int cache_value_iov(const struct cache_thread *, const struct item *borrowed, size_t skip,
                    struct cache_place *, struct iovec *, int max);
void cache_return(struct cache_thread *, struct item *borrowed);

/* --- storing --- */
enum cache_mode { CACHE_SET, CACHE_ADD, CACHE_REPLACE, CACHE_APPEND, CACHE_PREPEND };
struct cache_store {
    const char *value;         /* value_bytes of it */
    uint64_t compare_cas; /* 0: compares with no item, also where items have no CAS and show 0 */
    uint64_t cas;              /* the CAS to give; 0: the next */
    struct index_hint spot;    /* of the key, or zeroes */
    enum cache_mode mode;
    uint32_t value_bytes;
    uint32_t client_flags;
    uint32_t exptime_s;
    /* store only over an item with compare_cas; CACHE_MISS if there is no item */
    bool     compare;
    /* meta I: the store may also replace an item whose CAS is higher than compare_cas. The new item
     * is stale then, and keeps the old one's expiry time and whether it was won */
    bool     compare_low;
    bool     vivify;           /* append, prepend: on a miss store, whatever compare says */
    bool     binary_key;
    bool     won, stale;       /* marks the new item carries from the start */
    bool     counts_cas;       /* counts cas_* statistics */
    bool     uncounted;        /* a part of another command: counts as no set */
};
/* Counts a store whose value ended wrongly. It changes nothing else. */
void cache_store_bad_terminator(struct cache_thread *, const struct key *,
                                const struct cache_store *);
/* Stores a whole value at once. On CACHE_TOO_LARGE and CACHE_NO_MEMORY the old item of a plain set
 * is gone. `view` may be NULL. */
enum cache_status cache_store(struct cache_thread *, const struct key *, const struct cache_store *,
                              struct cache_view *);

/* A value that comes piece by piece: a draft belongs to its maker, who extends it as bytes come,
 * fills it, then publishes or abandons it. For values over ITEM_COPY_MAX only; an append or prepend
 * is joined when it is published. All such drafts together may hold an eighth of the pages, at
 * least one page: the bound. A value counts for at most half of the bound, so a larger one can be
 * stored too, and drafts then hold that much more. A value over a sixteenth of the bound is large.
 * How values share the bound: cache/items/upload_quota.c. */
struct cache_upload {
    struct item *item;          /* NULL: no memory was taken yet */
    uint32_t     left;          /* value bytes that have no memory yet */
    uint32_t     last_tail;     /* reference of the last tail of its chain; 0: none */
    size_t       need_bytes;    /* memory that the whole value needs */
    size_t       charged_bytes; /* bytes by which it counts against what all drafts may hold */
    bool         large;
    /* set by a maker that reads all bytes and publishes at once: such a draft never waits */
    bool         immediate;
    bool         arrived; /* set by the maker once all bytes have come and only have to be read */
};
enum cache_upload_status {
    CACHE_UPLOAD_READY,
    /* other drafts hold all that drafts may: try again once one of them is published or abandoned.
     * Only a draft without an item waits */
    CACHE_UPLOAD_WAITS,
    CACHE_UPLOAD_REFUSED, /* no memory: the draft is gone, and the old item of a plain set too */
};
/* Whether the item that is there now would refuse the store. Asked before the store has memory.
 * Returns CACHE_OK, or what cache_store would return, counted in the same way. Nobody has to ask: a
 * store whose condition no longer holds when it is published is refused then. */
enum cache_status cache_store_precheck(struct cache_thread *, const struct key *,
                                       const struct cache_store *);
/* Begins a draft; takes no memory yet. CACHE_OK, or CACHE_TOO_LARGE with what cache_store does
 * then. */
enum cache_status cache_upload_begin(struct cache_thread *, const struct key *,
                                     const struct cache_store *, struct cache_upload *);
/* Takes memory for the value's first `upto` bytes at least. May evict, and may rest outside the
 * turn. */
enum cache_upload_status cache_upload_extend(struct cache_thread *, const struct key *,
                                             const struct cache_store *, struct cache_upload *,
                                             size_t upto);
/* Value bytes that have memory. */
static inline size_t cache_upload_room(const struct cache_upload *d, const struct cache_store *s) {
    return s->value_bytes - d->left;
}
int cache_upload_iov(const struct cache_thread *, const struct cache_upload *, size_t skip,
                     struct cache_place *, struct iovec *, int max);
enum cache_status cache_upload_publish(struct cache_thread *, struct cache_upload *taken,
                                       const struct cache_store *, struct cache_view *);
void cache_upload_abandon(struct cache_thread *, struct cache_upload *taken);
/* Abandons the draft for lack of memory: returns CACHE_NO_MEMORY, counts it, and removes the old
 * item of a plain set. */
enum cache_status cache_upload_refuse(struct cache_thread *, const struct key *,
                                      const struct cache_store *, struct cache_upload *taken);
/* Abandons the draft because its bytes do not come, or because other drafts hold all that drafts
 * may. Memory is not short then, so this counts as no lack of memory; the caller counts it. */
void cache_upload_overdue(struct cache_thread *, const struct key *, const struct cache_store *,
                          struct cache_upload *taken);
/* Bytes of values over ITEM_COPY_MAX that this thread has ever copied: an append or prepend copies
 * all that it joins. */
uint64_t cache_thread_copied(const struct cache_thread *);
size_t
cache_uploads_max_bytes(const struct cache *); /* bytes that all drafts together may take … */
/* … and those that they take or may yet take; two loads */
size_t cache_uploads_held_bytes(const struct cache *);
/* Whether a waiting draft may be extended now, as far as a few loads can tell. `warily`: only if
 * half of what its kind may hold stays free for others, or if its kind holds nothing. */
bool   cache_upload_has_room(const struct cache *, const struct cache_upload *, bool guarded);
/* The maker says here that a draft waits, or waits no more. While a large draft waits, small ones
 * leave it room. */
void     cache_upload_set_waiting(struct cache *, const struct cache_upload *, bool waits);
unsigned cache_uploads_waiting(const struct cache *, bool large);
/* Whether the draft should wait because others of its kind wait. */
bool     cache_upload_must_queue(const struct cache *, const struct cache_upload *);

/* --- changing and removing --- */
struct cache_delete {
    bool     compare;
    uint64_t compare_cas;
    bool     misses_mismatch;  /* another CAS counts as a miss */
    bool     mark_stale;       /* meta I: keep the item, stale, with a new CAS */
    bool     drop_value;       /* meta x: keep the item without its value and client flags */
    uint32_t client_flags;     /* client flags of the item that x leaves */
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
    /* on a miss store `initial`, to expire at vivify_exptime_s; that counts as no miss */
    bool     vivify;
    uint64_t initial;
    uint32_t vivify_exptime_s;
    bool     binary_key;
};
/* `number` gets the new value. view->value_bytes may be longer than its decimals: the stored text
 * is padded with spaces to its old length. */
enum cache_status cache_arith(struct cache_thread *, const struct key *, const struct cache_arith *,
                              uint64_t *number, struct cache_view *);
enum cache_status cache_touch(struct cache_thread *, const struct key *, uint32_t exptime_s);

/* Everything that was stored up to the end of second `at_s` counts as gone from that time on, or at
 * once if that time is past. Only one flush can be pending: a later call replaces it, and what is
 * gone stays gone. The memory of such items is freed when their key or their memory is wanted, by a
 * walk, or by a sweep. */
void cache_flush(struct cache *, uint32_t at_s);
/* Everything that was stored before this call counts as gone, however often it is called in a
 * second; what is stored after it does not. No flush is pending afterwards. */
void cache_flush_now(struct cache *);
/* a number that changes with each flush that took effect */
uint32_t cache_flushed(const struct cache *);

/* --- run-time settings --- */
/* The highest limit: the configuration's, or four times the limit of the start. Address space for
 * it was reserved. */
size_t cache_limit_most(const struct cache *);
/* Sets a new limit of item memory. False, and nothing changed: the limit is beyond
 * cache_limit_most, or below what classes have now while pages may not move or nothing may be
 * evicted. Otherwise the listener to hunger is woken, and has to give back the pages over the
 * limit. Until then no class gets a page from the pool. */
bool cache_set_limit(struct cache *, size_t limit_bytes);
/* Each victim and each store reads the values of its moment. No item is lost. */
void cache_set(struct cache *, const struct cache_settings *);
void cache_s3fifo(const struct cache *, struct evict_s3fifo_knobs *);
/* Sets the policy of one class or, with SLAB_CLASS_NONE, of the whole cache and every class in it.
 * No item is dropped or moved. Cost: a lock of each partition. */
void cache_set_policy(struct cache *, const struct evict_policy *, unsigned class_id);
/* Gives the whole cache another policy, and every class that had the whole's. A class that has
 * another one keeps it. Otherwise as cache_set_policy. */
void cache_change_policy(struct cache *, const struct evict_policy *);
/* the policy that the whole was last given */
const struct evict_policy *cache_policy(const struct cache *);
const struct evict_policy *cache_class_policy(const struct cache *, unsigned class_id);

/* --- facts --- */
struct cache_class_facts {
    struct slab_class_facts slab;
    /* bytes asked for by items whose head or tails are in the class */
    uint64_t items, requested_bytes;
    uint64_t list_items[EVICT_LISTS];
    uint32_t list_age_s[EVICT_LISTS]; /* since when the list's oldest item was not used */
    uint32_t magazine_chunks;            /* free chunks that partitions have at hand */
    uint32_t evicted_age_s;           /* how long the last evicted item had not been used */
    struct cache_class_values counters;
};
struct cache_facts {
    struct cache_values counters;
    uint64_t items, bytes;
    uint64_t index_bytes, index_buckets;
    /* free: pages that no class has; 0 when more are out than there may be. returned: those of them
     * that a class had before */
    uint32_t pages_limit, pages_out, pages_free, pages_returned;
    unsigned class_count, partitions;
    size_t   limit_bytes;
    size_t   upload_bytes; /* memory that values which are still coming take or may yet take */
    size_t   pinned_bytes; /* of values that are gone, but still being sent */
};
void cache_facts(struct cache *, struct cache_facts *);
/* Facts of one class, or of the classes of `ids` into an array of SLAB_CLASSES_MAX, by id; the
 * entries of other classes stay as they are. Counters are summed once for all of them, and each
 * partition is locked once for every 32 classes. */
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
/* Whether an item with this key and value would be within the limit of an item's size. */
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
 * least) and unlinks the dead ones. Returns how many were copied; -1: the walk has ended. Each
 * bucket is visited once. Items that are stored or removed meanwhile may be missed. */
int cache_walk_next(struct cache_thread *, struct cache_walk *, struct cache_walked *out, int max);

/* --- geometry: changing which classes there are while everybody goes on --- */
/* Sets the chunk sizes, as slab_set_sizes() does, and what the cache keeps by class. From one
 * thread; between two calls cache_quiesce must have succeeded. */
bool cache_set_sizes(struct cache *, const struct size_list *);
/* Frees the ids of retired classes that have no page, and what their queues remember of evicted
 * items. An id stays as long as somebody's work names it: those of `named`, and those that sets
 * empty pages for. From the thread that sets sizes. */
void cache_reap_classes(struct cache *, const struct class_set *named);
/* Whether a memory file came with other chunk sizes than this cache's options ask for, and which
 * sizes the options ask for. Each start asks again until cache_sizes_settled is called, once these
 * sizes or others have been set; from then on the file's sizes are the ones that are wanted. From
 * the thread that sets sizes. */
bool cache_sizes_wanted(const struct cache *, struct size_list *);
void cache_sizes_settled(struct cache *);
/* Counts the sizes of all live items and pieces of chained values, without a lock. Of a large cache
 * it looks at a sample: one page in so many that at most pages_most are looked at. Cost: some 3 ns
 * a chunk. cache_sizing_step does a microsecond or two of it, for callers that must not take the
 * whole time in one go. */
enum { CACHE_SIZES_PAGES = 2048, CACHE_SIZES_PAGES_QUICK = 256 };
struct cache_sizing {
    struct fit_histogram *h;
    uint32_t page, chunk, owned, now_s;
};
void cache_sizing_begin(const struct cache *, struct cache_sizing *, struct fit_histogram *,
                        uint32_t pages_most);
/* false: that was the last step */
bool cache_sizing_step(const struct cache *, struct cache_sizing *);
/* all steps in one go */
void cache_sizes(const struct cache *, struct fit_histogram *, uint32_t pages_most);
uint64_t cache_class_evicted(struct cache *, unsigned class_id); /* since the start */
#endif
