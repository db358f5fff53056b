/* The slab store: classes of equal chunks, carved from pages of the arena.
 *
 * Which sizes there are is the geometry (mem/geometry.h); it can be changed while everybody stores
 * and reads. A class keeps its id as long as it lives. One whose size is not in the current
 * geometry is retired: it takes no item and gets no page any more, only shrinks, and its id is free
 * again when it has no page left.
 *
 * A class has a lock over its pages and their free lists; partitions keep a small stock of chunks,
 * so it is rarely taken. Free lists belong to pages, so a page can leave its class at once.
 * Ownership: slab_take hands out FREE chunks, which the taker makes DRAFT; slab_give takes them
 * back. Threading: any thread, no other project lock held. Cost: O(1) a chunk. */
#ifndef SLATE_MEM_SLAB_H
#define SLATE_MEM_SLAB_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "mem/arena.h"
#include "mem/class_set.h"
#include "mem/geometry.h"
#include "mem/item.h"

enum { SLAB_CLASSES_MAX = CLASS_SET_IDS, SLAB_CLASS_NONE = 0 }; /* ids 1 to 255 */
/* as many as memcached has, so that a factor means the same classes */
enum { SLAB_CLASSES_AT_START = 63 };

/* The smallest chunk holds this much beside -n's bytes: what memcached's header takes. So classes
 * have memcached's sizes, and no item takes a larger chunk than it would there. */
enum { SLAB_HEADER_ROOM = 48 };

struct slab_config {
    uint32_t        chunk_bytes_min; /* of the first class: -n plus SLAB_HEADER_ROOM */
    double          growth_factor;   /* > 1 */
    /* explicit chunk sizes instead (slab_sizes), ascending; NULL: by factor */
    const uint32_t *sizes;
    unsigned        size_count;
    /* slab_chunk_max, at least SLAB_CHUNK_MAX_LEAST: larger values are chained */
    uint32_t        chunk_bytes_max;
    /* at most so many classes, 2 to 255; 0: SLAB_CLASSES_AT_START */
    unsigned        class_most;
};

/* The largest chunk holds at least the head of a chained item with the longest key, and a number
 * behind it. */
enum { SLAB_CHUNK_MAX_LEAST = 320 };
_Static_assert(SLAB_CHUNK_MAX_LEAST >= sizeof(struct item) + 8 + 12 + KEY_BYTES_MAX + 20,
               "any head fits");
/* With this much, a copied value is never chained, and so always read without a lock. */
enum { SLAB_CHUNK_MAX_CALM = 4096 };
_Static_assert(SLAB_CHUNK_MAX_CALM >= sizeof(struct item) + 8 + 12 + KEY_BYTES_MAX + ITEM_COPY_MAX,
               "chained implies large");

enum slab_class_state {
    SLAB_CLASS_UNUSED,  /* the id is free */
    SLAB_CLASS_ACTIVE,
    SLAB_CLASS_RETIRED, /* its size is not in the geometry */
};

struct slab_class {
    struct lock      lock;
    _Atomic uint8_t  state; /* enum slab_class_state; changes under the lock */
    /* change only while the class has no page and no item */
    _Atomic uint32_t chunk_bytes, chunks_per_page;
    uint32_t         partial; /* first page with free chunks */
    uint32_t         owned, owned_last; /* of all pages, the first and the last that it got */
    uint32_t         round_at; /* where the next round over them goes on; PAGE_NONE: at the first */
    _Atomic uint32_t page_count;
    _Atomic uint32_t free_count; /* free chunks in pages that are not draining */
    _Atomic uint32_t moving;     /* pages that are draining */
} __attribute__((aligned(64)));

struct slab {
    struct arena     *arena;
    /* of the configuration, as class_most is */
    uint32_t          chunk_bytes_first, chunk_bytes_max;
    struct size_list  asked; /* the sizes that the configuration makes */
    unsigned          class_most;
    _Atomic unsigned  class_count; /* highest id */
    _Atomic uint32_t  births;      /* pages that classes ever got */
    _Atomic uint32_t  withdrawn;   /* pages that were taken from a class and not placed yet */
    _Atomic(const struct geometry *) geometry; /* the current one, of these two */
    struct geometry   tables[2];
    struct slab_class classes[SLAB_CLASSES_MAX];
};

/* NULL, errno EINVAL: sizes make no classes. In a memory file that is not new there are no classes
 * before they are recalled (mem/recall.h). */
struct slab *slab_create(struct arena *, const struct slab_config *);
void         slab_destroy(struct slab **);

/* The current geometry. Valid until the turn's end (cache/cache.h): a second change after it writes
 * to its memory. */
static inline const struct geometry *slab_geometry(const struct slab *s) {
    return atomic_load_explicit(&s->geometry, memory_order_acquire);
}
/* The smallest class whose chunks hold `bytes`; SLAB_CLASS_NONE: larger than every chunk, so chain
 * it. */
static inline unsigned slab_class_of(const struct slab *s, size_t bytes) {
    return geometry_class_of(slab_geometry(s), bytes);
}
/* The class of the next larger chunks; SLAB_CLASS_NONE: there are none. */
unsigned slab_next_class(const struct slab *, unsigned class_id);

/* --- changing the geometry: one thread at a time, and between two calls every turn that was under
 * way has ended --- */

/* Makes these sizes the geometry. A size that a living class has keeps it, or brings it back; the
 * others get ids of their own; classes whose size is not there are retired. False, and nothing
 * changed: there are not enough free ids. */
bool slab_set_sizes(struct slab *, const struct size_list *);
/* How many ids a change to these sizes needs beyond those that are free; 0: it can be made. */
unsigned slab_ids_wanting(const struct slab *, const struct size_list *);
/* Frees the ids of retired classes that have no page. Returns how many. */
unsigned slab_reap(struct slab *);
/* what a list of sizes must keep to */
void     slab_rules(const struct slab *, struct size_rules *);

/* Takes up to `want` free chunks of the class, growing it by a page of the pool when it has none.
 * Returns how many. */
unsigned slab_take(struct slab *, unsigned class_id, uint32_t *refs, unsigned want);
void     slab_give(struct slab *, uint32_t ref);
/* cheaper than one by one when of one class */
void     slab_give_all(struct slab *, const uint32_t *refs, unsigned count);
/* The first page of a class that has none may go over the limit, within what is reserved: without
 * evictions (-M) a cache full of one size would otherwise refuse every other for ever. memcached
 * does the same. False: it has pages, or none is left. */
bool slab_grow_first(struct slab *, unsigned class_id);
/* Gives the class a page of the pool, whether it needs one or not; false: the pool is empty. */
bool     slab_grow(struct slab *, unsigned class_id);

static inline struct page *slab_page(const struct slab *s, uint32_t page) {
    return &s->arena->table[page];
}
static inline unsigned slab_page_class(const struct slab *s, uint32_t page) {
    return atomic_load_explicit(&s->arena->table[page].class_id, memory_order_relaxed);
}
static inline enum slab_class_state slab_class_state(const struct slab *s, unsigned class_id) {
    return (enum slab_class_state)atomic_load_explicit(&s->classes[class_id].state,
                                                       memory_order_relaxed);
}
static inline uint32_t slab_chunk_bytes(const struct slab *s, unsigned class_id) {
    return atomic_load_explicit(&s->classes[class_id].chunk_bytes, memory_order_relaxed);
}
static inline unsigned slab_ref_class(const struct slab *s, uint32_t ref) {
    return slab_page_class(s, arena_page_of_ref(s->arena, ref));
}
static inline bool slab_page_draining(const struct slab *s, uint32_t page) {
    return atomic_load_explicit(&s->arena->table[page].state, memory_order_relaxed) ==
           PAGE_DRAINING;
}
static inline bool slab_has_free_chunk(const struct slab *s, unsigned class_id) {
    return atomic_load_explicit(&s->classes[class_id].free_count, memory_order_relaxed) > 0;
}
/* How many pages a class could lose: those that are not on the move yet, but for `kept` of them. */
static inline uint32_t slab_pages_beyond(const struct slab *s, unsigned class_id, uint32_t kept) {
    const struct slab_class *c = &s->classes[class_id];
    uint32_t pages = atomic_load_explicit(&c->page_count, memory_order_relaxed);
    kept += atomic_load_explicit(&c->moving, memory_order_relaxed);
    return pages > kept ? pages - kept : 0;
}
/* Whether taking a chunk needs no eviction, seen without the lock. */
static inline bool slab_has_free(const struct slab *s, unsigned class_id) {
    return slab_has_free_chunk(s, class_id) || arena_pages_free(s->arena) > 0;
}

/* --- moving pages: begin, empty its chunks one by one (slab_give of a draining page only counts),
 * then end or cancel --- */

/* false: not an owned page of that class */
bool     slab_drain_begin(struct slab *, uint32_t page, unsigned class_id);
bool     slab_drain_empty(struct slab *, uint32_t page);    /* every chunk is back */
/* Hands the emptied page to a class, or to the pool when `to_class` is SLAB_CLASS_NONE. The caller
 * has made sure that no thread still holds a reference found before the page was emptied
 * (cache_quiesce). */
void     slab_drain_end(struct slab *, uint32_t page, unsigned to_class);
/* The same in two steps: a page that is withdrawn belongs to the caller until it is placed. */
void     slab_page_withdraw(struct slab *, uint32_t page);
/* a class that is not active does not get it: the pool does */
void     slab_page_place(struct slab *, uint32_t page, unsigned to_class);
void     slab_drain_cancel(struct slab *, uint32_t page);   /* its free chunks are free again */

/* The i-th chunk of a page, for walking it while it drains or for statistics; NULL past the end. */
struct item *slab_page_chunk(const struct slab *, uint32_t page, uint32_t i);

struct slab_class_facts {
    uint32_t chunk_bytes, chunks_per_page, pages, free_chunks, draining;
    bool     retired;
};
void slab_facts(const struct slab *, unsigned class_id, struct slab_class_facts *);

struct slab_page_facts {
    unsigned class_id;
    bool     draining;
    /* free ones in the page's own list: those in a partition's stock are not */
    uint32_t chunks, free_chunks;
    uint32_t created_s, used_s;   /* as in struct page */
};
/* False: no class has the page, or another store than this one. Takes the lock of its class. */
bool slab_page_facts(struct slab *, uint32_t page, struct slab_page_facts *);
/* Pages of a class that have free chunks and are not draining, at most `max`. Returns how many were
 * put into `pages`. O(max), under the class's lock. */
unsigned slab_partial_pages(struct slab *, unsigned class_id, uint32_t *pages, unsigned max);
/* The next pages of a class that are not draining, at most `max`: each call goes on where the one
 * before ended, and round again; no page comes twice in one call. Returns how many were put into
 * `pages`. O(max, and pages that drain), under the class's lock. */
unsigned slab_next_pages(struct slab *, unsigned class_id, uint32_t *pages, unsigned max);
/* Of a class's first 64 pages with free chunks those that are free as a whole, at most `max`.
 * Returns how many were put into `pages`. Under the class's lock. */
unsigned slab_whole_pages(struct slab *, unsigned class_id, uint32_t *pages, unsigned max);
/* Puts a page at the end of the list of those that the class owns. Under the class's lock, or
 * before anybody else sees the slab. */
void slab_owned_append(struct slab *, struct slab_class *, uint32_t page);
#endif
