/* The slab store: classes of equal chunks, carved from pages of the arena.
 *
 * A class has a lock over its pages and their free lists; partitions keep a small stock of chunks, so it is rarely taken.
 * Free lists belong to pages, so a page can leave its class at once. Ownership: slab_take hands out FREE chunks, which the
 * taker makes DRAFT; slab_give takes them back. Threading: any thread, no other project lock held. Cost: O(1) a chunk. */
#ifndef SLATE_MEM_SLAB_H
#define SLATE_MEM_SLAB_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "mem/arena.h"
#include "mem/item.h"

enum { SLAB_CLASSES_MAX = 64, SLAB_CLASS_NONE = 0 }; /* ids 1 to 63, as memcached's */

/* The smallest chunk holds this much beside -n's bytes: what memcached's header takes. So classes have memcached's sizes,
 * and no item takes a larger chunk than it would there. */
enum { SLAB_HEADER_ROOM = 48 };

struct slab_config {
    uint32_t        chunk_bytes_min; /* of the first class: -n plus SLAB_HEADER_ROOM */
    double          growth_factor;   /* > 1 */
    const uint32_t *sizes;           /* explicit chunk sizes instead (slab_sizes), ascending; NULL: by factor */
    unsigned        size_count;
    uint32_t        chunk_bytes_max; /* slab_chunk_max, at least SLAB_CHUNK_MAX_LEAST: larger values are chained */
};

enum { SLAB_SMALL_BYTES = 4096 };

/* The largest chunk holds at least a copied value with its key: so only large items are chained (mem/item.h relies on it). */
enum { SLAB_CHUNK_MAX_LEAST = 4096 };
_Static_assert(SLAB_CHUNK_MAX_LEAST >= sizeof(struct item) + 8 + 12 + KEY_BYTES_MAX + ITEM_COPY_MAX, "chained implies large");

struct slab_class {
    struct lock      lock;
    uint32_t         chunk_bytes, chunks_per_page;
    uint32_t         partial; /* first page with free chunks */
    uint32_t         owned;   /* first page of all */
    _Atomic uint32_t page_count;
    _Atomic uint32_t free_count; /* free chunks in pages that are not draining */
    _Atomic uint32_t moving;     /* pages that are draining */
} __attribute__((aligned(64)));

struct slab {
    struct arena     *arena;
    uint32_t          chunk_bytes_max;
    unsigned          class_count; /* highest id */
    uint8_t           class_of_small[SLAB_SMALL_BYTES / 8 + 1]; /* by size in words: most items are found here */
    struct slab_class classes[SLAB_CLASSES_MAX];
};

struct slab *slab_create(struct arena *, const struct slab_config *); /* NULL, errno EINVAL: sizes make no classes */
void         slab_destroy(struct slab **);

/* The smallest class whose chunks hold `bytes`; SLAB_CLASS_NONE: larger than every chunk, so chain it. */
unsigned slab_class_of(const struct slab *, size_t bytes);

/* Takes up to `want` free chunks of the class, growing it by a page of the pool when it has none. Returns how many. */
unsigned slab_take(struct slab *, unsigned class_id, uint32_t *refs, unsigned want);
void     slab_give(struct slab *, uint32_t ref);
/* The first page of a class that has none may go over the limit, within what is reserved: without evictions (-M) a cache full
 * of one size would otherwise refuse every other for ever. memcached does the same. False: it has pages, or none is left. */
bool slab_grow_first(struct slab *, unsigned class_id);
/* Gives the class a page of the pool, whether it needs one or not; false: the pool is empty. */
bool     slab_grow(struct slab *, unsigned class_id);

static inline struct page *slab_page(const struct slab *s, uint32_t page) { return &s->arena->table[page]; }
static inline unsigned slab_page_class(const struct slab *s, uint32_t page) {
    return atomic_load_explicit(&s->arena->table[page].class_id, memory_order_relaxed);
}
static inline unsigned slab_ref_class(const struct slab *s, uint32_t ref) {
    return slab_page_class(s, arena_page_of_ref(s->arena, ref));
}
static inline bool slab_page_draining(const struct slab *s, uint32_t page) {
    return atomic_load_explicit(&s->arena->table[page].state, memory_order_relaxed) == PAGE_DRAINING;
}
static inline bool slab_has_free_chunk(const struct slab *s, unsigned class_id) {
    return atomic_load_explicit(&s->classes[class_id].free_count, memory_order_relaxed) > 0;
}
/* Whether taking a chunk needs no eviction, seen without the lock. */
static inline bool slab_has_free(const struct slab *s, unsigned class_id) {
    return slab_has_free_chunk(s, class_id) || arena_pages_free(s->arena) > 0;
}

/* --- moving pages: begin, empty its chunks one by one (slab_give of a draining page only counts), then end or cancel --- */

bool     slab_drain_begin(struct slab *, uint32_t page, unsigned class_id); /* false: not an owned page of that class */
bool     slab_drain_empty(struct slab *, uint32_t page);    /* every chunk is back */
/* Hands the emptied page to a class, or to the pool when `to_class` is SLAB_CLASS_NONE. The caller has made sure that no
 * thread still holds a reference found before the page was emptied (cache_quiesce). */
void     slab_drain_end(struct slab *, uint32_t page, unsigned to_class);
void     slab_drain_cancel(struct slab *, uint32_t page);   /* its free chunks are free again */

/* The i-th chunk of a page, for walking it while it drains or for statistics; NULL past the end. */
struct item *slab_page_chunk(const struct slab *, uint32_t page, uint32_t i);

struct slab_class_facts {
    uint32_t chunk_bytes, chunks_per_page, pages, free_chunks, draining;
};
void slab_facts(const struct slab *, unsigned class_id, struct slab_class_facts *);
/* The pages of a class that are not draining, the ones with the most free chunks first, of equals the oldest. Returns how
 * many were put into `pages`. O(pages of the class), under its lock. */
unsigned slab_spare_pages(struct slab *, unsigned class_id, uint32_t *pages, unsigned max);
#endif
