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
#include "mem/slab_class.h"
#include "mem/slab_sizes.h"

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

/* NULL, errno EINVAL: sizes make no classes. In a memory file that is not new there are no classes
 * before they are recalled (mem/recall.h). */
struct slab *slab_create(struct arena *, const struct slab_config *);
void         slab_destroy(struct slab **);

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
