/* The cache: partitions of index, eviction queues and items. The only room that locks and unlinks
 * items.
 *
 * Threading: every call may be made from any thread through that thread's own cache_thread. A call
 * holds at most one lock at a time and none on return. Within a turn (cache_turn_begin …
 * cache_turn_end) the pages that a thread reads do not change hands. Idle threads must be outside a
 * turn, because page moves wait for turns to end.
 *
 * Values up to ITEM_COPY_MAX bytes are copied; larger values are borrowed: counted, sent from item
 * memory, returned. In the block store small values may be chains too, which are copied under the
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

/* The kind of memory for items. A cache never changes its store. */
enum cache_store_kind {
    CACHE_STORE_SLAB,   /* chunks of size classes, in pages that can change hands */
    /* one allocation for each item; the limit counts the bytes that the allocator holds */
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
    size_t   limit_bytes;        /* limit of item memory, in pages of 1 MiB */
    /* The limit can be raised up to this size if the system has the address space and references do
     * not become coarser; in any case up to four times the limit. A heap cannot be raised
     * further. */
    size_t   limit_bytes_most;
    enum cache_store_kind store;
    uint32_t block_bytes;        /* CACHE_STORE_BLOCKS: CACHE_BLOCK_LEAST to CACHE_BLOCK_MOST */
    const struct index_kind *index; /* finds the item of a key; NULL: the default */
    unsigned partitions;         /* power of two; 0: by limit_bytes and threads */
    unsigned threads;            /* threads that store at the same time; 0: unknown */
    struct slab_config slab;
    uint32_t item_bytes_max;     /* -I */
    bool     cas;                /* false: -C, headers of 24 bytes and every CAS is 0 */
    bool     evict;              /* false: -M, answer CACHE_NO_MEMORY when full */
    /* slab_reassign. True: a class without memory takes another class's page. False: such a class
     * gets only its first page, over the limit. */
    bool     steal_pages;
    bool     huge_pages;
    /* A store waits this long for memory that is in use; then the store is refused. Its thread does
     * no other work meanwhile. */
    uint32_t alloc_wait_us;
    const struct evict_policy *policy;
    struct cache_settings settings;
    /* The file in which items outlive the process; NULL: none. CACHE_STORE_SLAB only. cache_create
     * takes the file even if cache_create fails. If the file causes EINVAL, `why` (CACHE_WHY_BYTES)
     * gets a sentence. */
    struct memory_file *memory_file;
    char       *why;
    /* True: take the policy that the file names, if this program knows the policy. Classes with a
     * policy of their own always get that policy back. */
    bool        policy_of_file;
    /* memory limit of the process, also while the process recovers the file's items; 0: no limit */
    uint64_t    process_bytes;
};
enum { CACHE_WHY_BYTES = 512 };

enum { CACHE_ALLOC_WAIT_US = 500 * 1000 };
enum { CACHE_BLOCK_LEAST = 64, CACHE_BLOCK_DEFAULT = 200, CACHE_BLOCK_MOST = 65536 };

/* Returns NULL and errno on failure. Recovers the items of a memory file: a second for some
 * millions. */
struct cache *cache_create(const struct cache_config *);
/* True if the shape of the memory file, from which another process serves, fits this configuration.
 * The caller keeps the file. False: `why` gets the reason. */
bool          cache_fits_file(const struct cache_config *);
void          cache_destroy(struct cache **);             /* after every cache_thread */
/* Saves the time in the memory file; call about once a second. So items expire by the wall clock
 * even if the system's clock is set while the cache serves. */
void          cache_save_time(struct cache *);
/* Saves a text in the memory file for the next start (mem/settings_blob.h). Without a file the call
 * does nothing. False: the text is too long. One caller at a time. */
bool          cache_save_settings(struct cache *, const char *text, size_t bytes);
struct cache_recovered { /* result of recovering a memory file at the start */
    uint64_t items, expired; /* adopted; and had expired or been flushed by then */
    uint64_t torn;           /* incomplete items: the process ended while it wrote them */
    uint64_t left_out;       /* complete items for which the index had no room */
    uint32_t pages, torn_pages;
    uint32_t rounds;         /* 1; more if memory was too short for one */
    uint64_t us;             /* duration */
};
/* The descriptor of the memory file, which the cache owns; -1: no file. */
int           cache_file(const struct cache *);
const struct cache_recovered *cache_recovered(const struct cache *);
struct cache_thread *cache_thread_create(struct cache *); /* NULL: out of memory */
void                 cache_thread_destroy(struct cache_thread **);

/* A turn: brackets a batch of calls, and refreshes the thread's idea of now. Cost: two stores and a
 * read of the clock. */
void     cache_turn_begin(struct cache_thread *);
void     cache_turn_end(struct cache_thread *);
uint32_t cache_now_s(const struct cache_thread *);

/* --- what a call reports about an item --- */
struct cache_view {
    /* Not NULL: the value stays in item memory until cache_return(). NULL: the value was copied. */
    struct item *borrowed;
    uint64_t     cas;
    uint32_t     value_bytes; /* size of the item's value now */
    uint32_t     client_flags;
    uint32_t     exptime_s;
    uint32_t     exptime_before_s; /* expiry time before this call touched the item */
    uint32_t     last_access_s; /* time of the last use before this call */
    uint8_t      class_id;
    bool         fetched;  /* read before this call */
    bool         won;      /* this call won the right to recache the item (W) */
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
 *         how = cache_read_begin(ct, &key, hint, &r); // r's fields are bounded, not yet true
 *         if (how == CACHE_READ_COPY) { format r; cache_read_copy(&r, to); }
 *     } while (!cache_read_end(ct, &r)); // true: they are; counts the hit or miss, marks the item
 *
 * CACHE_READ_SLOW: large, chained, expired, flushed or invalidated: call cache_fetch instead
 * (cache_read_end is then not called). `to` needs room for value_bytes + 8. */
enum cache_read { CACHE_READ_MISS, CACHE_READ_COPY, CACHE_READ_SLOW };
struct cache_reader {
    const struct key *key;
    struct item      *item;
    struct index_lookup seen; /* for cache_read_end: the state of the bucket that the read saw */
    uint32_t     value_bytes, client_flags;
    uint64_t     cas;
    /* The item is stale, or a client is recaching the item: a meta get must call cache_fetch. */
    bool         marked;
    uint8_t      class_id;
    uint8_t      hit_max; /* the policy counts hits up to this */
    const char  *value;
};
enum cache_read cache_read_begin(struct cache_thread *, const struct key *, struct index_hint,
                                 struct cache_reader *);
void            cache_read_copy(const struct cache_reader *, char *to);
/* Sets every member of the view except class_id and total_bytes. Few readers need the view. */
void            cache_read_view(const struct cache_thread *, const struct cache_reader *,
                                struct cache_view *);
bool            cache_read_end(struct cache_thread *, const struct cache_reader *, bool mark_hit);

/* Prefetches for a group of keys, in three passes: first the buckets of all keys, then their items,
 * then the queue neighbours of items that are about to be removed. The returned spots and
 * references are hints for the next pass and for the call that finds the key; reference 0: no item
 * was seen. If the bucket shows no item, cache_prefetch_item_behind reads the bucket's next cache
 * line, after the other keys. */
struct index_hint cache_prefetch_bucket(const struct cache *, const struct key *);
uint32_t cache_prefetch_item(const struct cache *, const struct key *, struct index_hint);
uint32_t cache_prefetch_item_behind(const struct cache *, const struct key *, struct index_hint);
void     cache_prefetch_neighbours(const struct cache *, uint32_t ref);

/* --- reading with the partition's lock: reads with an effect, and large values --- */
struct cache_fetch {
    bool     no_bump;          /* leave hit mark and times alone */
    bool     touch;            /* set the expiry time to exptime_s */
    uint32_t exptime_s;
    bool     vivify;           /* on a miss create an empty item that expires at vivify_exptime_s */
    uint32_t vivify_exptime_s;
    uint64_t vivify_cas;       /* 0: the next */
    bool     recache;          /* one caller wins once the item has less than recache_s to live */
    int32_t  recache_s;
    bool     touch_first;      /* compute the time left from exptime_s */
    /* Only meta commands grant wins, and show wins and stale marks. */
    bool     meta;
    bool     never_wins;       /* show a stale item as won by another caller */
    bool     binary_key;       /* for a vivified item */
    bool     want_value;
};
/* Copies a small value to `to` (ITEM_COPY_MAX + 8 bytes), borrows a large value. */
enum cache_status cache_fetch(struct cache_thread *, const struct key *, const struct cache_fetch *,
                              char *to, struct cache_view *);
/* The same without any effect. */
enum cache_status cache_peek(struct cache_thread *, const struct key *, struct cache_view *);

/* The caller's last position in a chain, so that the next call need not walk the chain again. Zero
 * at first. */
struct cache_place {
    uint32_t tail;   /* reference of a tail; 0: none yet */
    size_t   before; /* value bytes before this tail */
};
/* Returns the number of pieces written to iov, at most `max`: the pieces of a borrowed value in
 * order, from byte `skip` of the value on. `place` may be NULL; a place serves one item while that
 * item is borrowed. */
int cache_value_iov(const struct cache_thread *, const struct item *borrowed, size_t skip,
                    struct cache_place *, struct iovec *, int max);
void cache_return(struct cache_thread *, struct item *borrowed);

/* --- storing --- */
enum cache_mode { CACHE_SET, CACHE_ADD, CACHE_REPLACE, CACHE_APPEND, CACHE_PREPEND };
struct cache_store {
    const char *value;         /* value_bytes bytes */
    uint64_t compare_cas; /* 0: compares with no item, also where items have no CAS and show 0 */
    uint64_t cas;              /* new CAS; 0: the next */
    struct index_hint hint;    /* hint for the key's bucket, or zeroes */
    enum cache_mode mode;
    uint32_t value_bytes;
    uint32_t client_flags;
    uint32_t exptime_s;
    /* store only over an item with compare_cas; CACHE_MISS if there is no item */
    bool     compare;
    /* Meta I: the store may also replace an item with a CAS higher than compare_cas. The new item
     * is then stale, and takes over the old item's expiry time and won mark. */
    bool     compare_low;
    /* append, prepend: on a miss store in any case, whatever `compare` says */
    bool     vivify;
    bool     binary_key;
    bool     won, stale;       /* marks the new item carries from the start */
    bool     counts_cas;       /* counts cas_* statistics */
    bool     uncounted;        /* a part of another command: counts as no set */
};
/* Counts a store whose value did not end in CR LF. Nothing else changes. */
void cache_store_bad_terminator(struct cache_thread *, const struct key *,
                                const struct cache_store *);
/* Stores a complete value. On CACHE_TOO_LARGE and CACHE_NO_MEMORY a plain set has removed the old
 * item. `view` may be NULL. */
enum cache_status cache_store(struct cache_thread *, const struct key *, const struct cache_store *,
                              struct cache_view *);

/* An upload: a value over ITEM_COPY_MAX whose bytes arrive piece by piece. The maker owns the
 * upload, extends it as bytes arrive, fills it, then publishes or abandons it. Publishing an append
 * or prepend joins the value with the old item. The quota of all uploads together is an eighth of
 * the pages, at least one page. One value counts for at most half of the quota, so a larger value
 * can be stored too; uploads then hold that much more. A value over a sixteenth of the quota is
 * large. cache/items/upload_quota.c has the rules. */
struct cache_upload {
    struct item *item;          /* NULL: no memory was taken yet */
    uint32_t     left;          /* value bytes that have no memory yet */
    uint32_t     last_tail;     /* reference of the chain's last tail; 0: none */
    size_t       need_bytes;    /* memory for the complete value */
    size_t       charged_bytes; /* bytes charged to the quota */
    bool         large;
    /* set by a maker that has all bytes and publishes at once: such an upload never waits */
    bool         immediate;
    /* set by the maker once all bytes have arrived and only have to be read */
    bool         arrived;
};
enum cache_upload_status {
    CACHE_UPLOAD_READY,
    /* The quota is used up: retry after another upload ends. Only an upload without an item
     * waits. */
    CACHE_UPLOAD_WAITS,
    CACHE_UPLOAD_REFUSED, /* no memory: the upload is gone; a plain set lost its old item too */
};
/* Checks the store's condition before the store has memory. Returns CACHE_OK, or the refusal that
 * cache_store would return, counted in the same way. The call is optional: publishing checks the
 * condition again. */
enum cache_status cache_store_precheck(struct cache_thread *, const struct key *,
                                       const struct cache_store *);
/* Begins an upload without memory. Returns CACHE_OK, or CACHE_TOO_LARGE with the effects of
 * cache_store. */
enum cache_status cache_upload_begin(struct cache_thread *, const struct key *,
                                     const struct cache_store *, struct cache_upload *);
/* Takes memory for at least the first `upto` bytes of the value. May evict, and may pause outside
 * the turn. */
enum cache_upload_status cache_upload_extend(struct cache_thread *, const struct key *,
                                             const struct cache_store *, struct cache_upload *,
                                             size_t upto);
/* Number of value bytes that have memory. */
static inline size_t cache_upload_room(const struct cache_upload *d, const struct cache_store *s) {
    return s->value_bytes - d->left;
}
int cache_upload_iov(const struct cache_thread *, const struct cache_upload *, size_t skip,
                     struct cache_place *, struct iovec *, int max);
enum cache_status cache_upload_publish(struct cache_thread *, struct cache_upload *taken,
                                       const struct cache_store *, struct cache_view *);
void cache_upload_abandon(struct cache_thread *, struct cache_upload *taken);
/* Abandons the upload for lack of memory: counts the failure, removes the old item of a plain set,
 * returns CACHE_NO_MEMORY. */
enum cache_status cache_upload_refuse(struct cache_thread *, const struct key *,
                                      const struct cache_store *, struct cache_upload *taken);
/* Abandons an upload whose bytes do not arrive, or that waited too long for the quota. Counts
 * nothing, since memory is not short; the caller counts. */
void cache_upload_overdue(struct cache_thread *, const struct key *, const struct cache_store *,
                          struct cache_upload *taken);
/* Bytes of values over ITEM_COPY_MAX that this thread has copied since the start: an append or
 * prepend copies both values. */
uint64_t cache_thread_copied(const struct cache_thread *);
/* The quota of all uploads, and the memory charged to the quota; two loads. */
size_t cache_uploads_max_bytes(const struct cache *);
size_t cache_uploads_held_bytes(const struct cache *);
/* True if a waiting upload may be extended now; a few relaxed loads. `guarded`: only if half of the
 * quota of its kind stays free for others, or if its kind holds nothing. */
bool   cache_upload_has_room(const struct cache *, const struct cache_upload *, bool guarded);
/* The maker reports that an upload begins or ceases to wait. While a large upload waits, small
 * uploads leave room for it. */
void     cache_upload_set_waiting(struct cache *, const struct cache_upload *, bool waits);
unsigned cache_uploads_waiting(const struct cache *, bool large);
/* True if the upload should wait because other uploads of its kind wait. */
bool     cache_upload_must_queue(const struct cache *, const struct cache_upload *);

/* --- changing and removing --- */
struct cache_delete {
    bool     compare;
    uint64_t compare_cas;
    bool     misses_mismatch;  /* another CAS counts as a miss */
    bool     mark_stale;       /* meta I: make the item stale, with a new CAS */
    bool     drop_value;       /* meta x: drop the item's value and client flags */
    uint32_t client_flags;     /* client flags of the item that x leaves behind */
    bool     touch;            /* with mark_stale or drop_value */
    uint32_t exptime_s;
    uint64_t cas;              /* new CAS; 0: the next */
};
enum cache_status cache_delete(struct cache_thread *, const struct key *,
                               const struct cache_delete *);

struct cache_arith {
    bool     decrement;
    uint64_t delta;
    bool     compare;
    uint64_t compare_cas;
    uint64_t cas;              /* new CAS; 0: the next */
    bool     touch;
    uint32_t exptime_s;
    /* On a miss store `initial` with expiry time vivify_exptime_s. This counts as no miss. */
    bool     vivify;
    uint64_t initial;
    uint32_t vivify_exptime_s;
    bool     binary_key;
};
/* Sets `number` to the new value. view->value_bytes may exceed the number of digits: spaces pad the
 * stored text to its old length. */
enum cache_status cache_arith(struct cache_thread *, const struct key *, const struct cache_arith *,
                              uint64_t *number, struct cache_view *);
enum cache_status cache_touch(struct cache_thread *, const struct key *, uint32_t exptime_s);

/* Flushes every item that was stored up to the end of second `at_s`, from that time on, or at once
 * if that time is past. Only one flush can be pending: a later call replaces the pending flush, and
 * flushed items stay flushed. A flushed item's memory is freed by the next use of its key or
 * memory, by a walk, or by a sweep. */
void cache_flush(struct cache *, uint32_t at_s);
/* Flushes every item that was stored before this call, however often the call comes in one second.
 * Items stored after the call stay. Cancels a pending flush. */
void cache_flush_now(struct cache *);
/* Changes with each flush that took effect. */
uint32_t cache_flushed_s(const struct cache *);

/* --- run-time settings --- */
/* The highest possible limit, for which address space was reserved: the configuration's, or four
 * times the limit at the start. */
size_t cache_limit_most(const struct cache *);
/* Sets a new limit of item memory. False, without a change: the limit is beyond cache_limit_most,
 * or below the memory of the classes while pages may not move or nothing may be evicted. On success
 * wakes the listener of cache_on_starved, which has to free the pages over the limit. Until then no
 * class gets a page from the pool. */
bool cache_set_limit(struct cache *, size_t limit_bytes);
/* Each victim and each store reads the values of its moment. No item is lost. */
void cache_set(struct cache *, const struct cache_settings *);
void cache_s3fifo(const struct cache *, struct evict_s3fifo_knobs *);
/* Sets the policy of one class or, with SLAB_CLASS_NONE, of the cache and all classes. No item is
 * dropped or moved. Cost: a lock of each partition. */
void cache_set_policy(struct cache *, const struct evict_policy *, unsigned class_id);
/* Sets the policy of the cache and of the classes that follow the cache's policy. A class with
 * another policy keeps that policy. Otherwise as cache_set_policy. */
void cache_change_policy(struct cache *, const struct evict_policy *);
/* The policy last set for the cache. */
const struct evict_policy *cache_policy(const struct cache *);
const struct evict_policy *cache_class_policy(const struct cache *, unsigned class_id);

/* --- facts --- */
struct cache_class_facts {
    struct slab_class_facts slab;
    /* bytes of the items whose head or tails are in the class, as clients count them */
    uint64_t items, requested_bytes;
    uint64_t list_items[EVICT_LISTS];
    uint32_t list_age_s[EVICT_LISTS]; /* seconds since the list's oldest item was stored or moved */
    uint32_t magazine_chunks;            /* free chunks in the partitions' magazines */
    /* seconds from the last use to the eviction, of the last evicted item */
    uint32_t evicted_age_s;
    struct cache_class_values counters;
};
struct cache_facts {
    struct cache_values counters;
    uint64_t items, bytes;
    uint64_t index_bytes, index_buckets;
    /* free: pages without a class; 0 while more pages are out than the limit allows. returned: free
     * pages that a class had before. */
    uint32_t pages_limit, pages_out, pages_free, pages_returned;
    unsigned class_count, partitions;
    size_t   limit_bytes;
    size_t   upload_bytes; /* memory of uploads, charged in full */
    size_t   pinned_bytes; /* values that are unlinked but still being sent */
};
void cache_facts(struct cache *, struct cache_facts *);
/* Facts of one class, or of the classes in `ids`. by_id has SLAB_CLASSES_MAX entries; entries of
 * other classes do not change. Cost: one sum of the counters, and a lock of each partition for
 * every 32 classes. */
void cache_class_facts(struct cache *, unsigned class_id, struct cache_class_facts *);
void cache_classes_facts(struct cache *, const struct class_set *ids,
                         struct cache_class_facts *by_id);
/* Ages of evicted items at their eviction, since the start or the last reset of counters. */
void cache_class_ages(struct cache *, unsigned class_id, struct cache_age_values *);
/* Counters of all classes together. */
void cache_classes_counters(struct cache *, struct cache_class_values *sum);
void cache_reset_counters(struct cache *);
/* Hits and misses of reads since the start. Cost: some microseconds, no partition's lock. */
struct cache_read_counts {
    uint64_t class_hits[SLAB_CLASSES_MAX], misses;
};
void cache_reads(struct cache *, struct cache_read_counts *);
struct slab *cache_slab(struct cache *);
enum cache_store_kind cache_store_kind(const struct cache *);
const char *cache_store_name(enum cache_store_kind);         /* slab, heap, blocks */
const char *cache_index_name(const struct cache *);
/* The store with this name; CACHE_STORE_SLAB if there is none. */
enum cache_store_kind cache_store_find(const char *name);
uint32_t cache_item_bytes_max(const struct cache *);
/* True if an item with this key and value is within the limit of an item's size. */
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
/* Visits the next bucket: copies the bucket's live items into `out` (room for `max`, at least
 * INDEX_CHAIN_MOST) and unlinks dead items. Returns the number of copies; -1: the walk has ended.
 * Each bucket is visited once. The walk may miss items that are stored or removed meanwhile. */
int cache_walk_next(struct cache_thread *, struct cache_walk *, struct cache_walked *out, int max);

/* --- geometry: changing the classes while all threads go on --- */
/* Sets the chunk sizes, as slab_set_sizes() does, and the cache's data by class. One thread only;
 * cache_quiesce must succeed between two calls. */
bool cache_set_sizes(struct cache *, const struct size_list *);
/* Frees the ids of retired classes that have no page, and their queues' memory of evicted items.
 * Ids in `named`, and ids of classes for which sets empty pages, stay. From the thread that sets
 * sizes. */
void cache_reap_classes(struct cache *, const struct class_set *named);
/* True, with the sizes, if the options ask for other chunk sizes than the memory file came with.
 * Each start asks again until cache_sizes_settled is called, after these or other sizes were set;
 * then the file's sizes count. From the thread that sets sizes. */
bool cache_sizes_wanted(const struct cache *, struct size_list *);
void cache_sizes_settled(struct cache *);
/* Counts the sizes of all live items and pieces of chained values, without a lock. In a large cache
 * reads a sample of pages, at most pages_most. Cost: some 3 ns a chunk. cache_sizing_step does one
 * or two microseconds of work, for callers that must not block. */
enum { CACHE_SIZES_PAGES = 2048, CACHE_SIZES_PAGES_QUICK = 256 };
struct cache_sizing {
    struct fit_histogram *h;
    uint32_t page, chunk, owned, now_s;
};
void cache_sizing_begin(const struct cache *, struct cache_sizing *, struct fit_histogram *,
                        uint32_t pages_most);
/* False after the last step. */
bool cache_sizing_step(const struct cache *, struct cache_sizing *);
/* Counts in one call: cache_sizing_begin and all steps. */
void cache_sizes(const struct cache *, struct fit_histogram *, uint32_t pages_most);
uint64_t cache_class_evicted(struct cache *, unsigned class_id); /* since the start */
#endif
