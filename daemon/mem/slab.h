/* The slab store: classes of equal chunks, carved from pages of the arena.
 *
 * The geometry (mem/class_sizes.h) has the sizes, and can change while other threads store and
 * read. A class has one id as long as it lives. A class whose size is not in the current geometry
 * is retired: it gets no more items and pages. When its last page is gone, its id is free again.
 *
 * A class has a lock over its pages and their free lists. Partitions have a small magazine of
 * chunks, so the lock is rarely taken. Free lists belong to pages, so a page can leave its class at
 * once. Ownership: slab_take hands out FREE chunks, whose state the taker makes FILLING;
 * slab_release takes chunks back. Threading: any thread, no other project lock held. Cost: O(1) a
 * chunk. */
#ifndef SLATE_MEM_SLAB_H
#define SLATE_MEM_SLAB_H
#include "mem/slab_class.h"
#include "mem/slab_sizes.h"

struct slab_config {
    uint32_t        chunk_bytes_min; /* of the first class: -n and SLAB_HEADER_ROOM */
    double          growth_factor;   /* > 1 */
    /* explicit chunk sizes (slab_sizes), ascending; NULL: growth_factor makes them */
    const uint32_t *sizes;
    unsigned        size_count;
    /* slab_chunk_max, at least SLAB_CHUNK_MAX_LEAST; larger values are chained */
    uint32_t        chunk_bytes_max;
    /* the most classes, 2 to 255; 0: SLAB_CLASSES_AT_START */
    unsigned        class_most;
};

/* NULL, errno EINVAL: the sizes make no classes. In a memory file that is not new there are no
 * classes until load_classes (mem/load_classes.h). */
struct slab *slab_create(struct arena *, const struct slab_config *);
void         slab_destroy(struct slab **);

/* Takes up to `want` free chunks of the class. If there are none, the class first gets a page of
 * the pool. Returns the number of chunks. */
unsigned slab_take(struct slab *, unsigned class_id, uint32_t *refs, unsigned want);
void     slab_release(struct slab *, uint32_t ref);
/* Cheaper than one by one if the chunks are of one class. */
void     slab_release_all(struct slab *, const uint32_t *refs, unsigned count);
/* Adds a page to a class that has none, if need be over the limit, within the reserve. Without
 * evictions (-M) a cache full of one size would else refuse every other size for ever. True also if
 * another thread has just done so. False: the class has pages and none of their chunks is free, or
 * the reserve has no page left. */
bool slab_grow_first(struct slab *, unsigned class_id);
/* Adds a page of the pool to the class, even if the class has free chunks; false: the pool is
 * empty. */
bool     slab_grow(struct slab *, unsigned class_id);

/* --- moving pages: begin; return the page's chunks one by one (slab_release of a draining page
 * only counts them); then end or cancel --- */

/* False: the class does not own that page, or the page is draining already, or the class would not
 * retain `retained` other pages. */
bool     slab_drain_begin(struct slab *, uint32_t page, unsigned class_id, uint32_t retained);
bool     slab_drain_empty(struct slab *, uint32_t page);    /* whether every chunk is back */
/* Hands the emptied page to a class, or to the pool if `to_class` is SLAB_CLASS_NONE. The caller
 * has made sure that no thread holds a reference from before the page was emptied
 * (cache_quiesce). */
void     slab_drain_end(struct slab *, uint32_t page, unsigned to_class);
/* slab_drain_end in two steps: the caller owns a page between withdrawing and placing it. */
void     slab_page_withdraw(struct slab *, uint32_t page);
/* If the class is not active, the pool gets the page. */
void     slab_page_place(struct slab *, uint32_t page, unsigned to_class);
void     slab_drain_cancel(struct slab *, uint32_t page);   /* its free chunks can be taken again */

/* The i-th chunk of a page, for a walk while it drains or for statistics; NULL past the end. */
struct item *slab_page_chunk(const struct slab *, uint32_t page, uint32_t i);

struct slab_class_facts {
    uint32_t chunk_bytes, chunks_per_page, pages, free_chunks, draining;
    bool     retired;
};
void slab_facts(const struct slab *, unsigned class_id, struct slab_class_facts *);

struct slab_page_facts {
    unsigned class_id;
    bool     draining;
    /* free chunks of the page's own list; those in a partition's magazine do not count */
    uint32_t chunks, free_chunks;
    uint32_t created_s;           /* as in struct page */
};
/* False: no class of this store has the page. Takes the lock of the page's class. */
bool slab_page_facts(struct slab *, uint32_t page, struct slab_page_facts *);
/* Visits a class's first 64 pages that have free chunks and are not draining, and puts them into
 * `pages`, at most `max`; with `all_free` only those whose chunks are all free. Returns their
 * number. Takes the class's lock. */
unsigned slab_partial_pages(struct slab *, unsigned class_id, bool all_free, uint32_t *pages,
                            unsigned max);
/* Puts the next pages of a class that are not draining into `pages`, at most `max`, and returns
 * their number. Each call continues where the one before ended, round and round; no page comes
 * twice in one call. O(max, and pages that drain). Takes the class's lock. */
unsigned slab_next_pages(struct slab *, unsigned class_id, uint32_t *pages, unsigned max);
/* Puts a page among those of its class that have free chunks. The caller holds the class's lock. */
void slab_partial_link(struct slab *, struct slab_class *, uint32_t page);
/* Puts a page at the end of the list of the class's pages. The caller holds the class's lock, or no
 * other thread sees the slab yet. */
void slab_owned_append(struct slab *, struct slab_class *, uint32_t page);
#endif
