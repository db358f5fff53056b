/* Ghosts: fingerprints of keys that were evicted lately, by slab class. They show the hits that
 * more memory would have had.
 *
 * Every sampled eviction of a live item leaves a fingerprint with its class and that class's count
 * of evictions. A miss that finds the fingerprint shows how many more pages the class would have
 * needed to retain the item: the ghost's depth, in steps of 1, 2, 4 … 64 pages. Keys are sampled by
 * their hash: 1 of 16; more in classes of fewer than 1024 chunks a page, so that each class has at
 * least 64 sampled keys a page (or all its keys).
 *
 * The table is 8-way associative. A full set forgets the ghost that is deepest in pages, so that
 * classes that evict fast do not push out the ghosts of others, and the table reaches deeper when
 * few classes evict. A ghost ends when its item would have expired: more memory would not have
 * saved that item. Source: the shadow queues of Cidon et al., "Cliffhanger", NSDI 2016; sampling as
 * in Waldspurger et al., "SHARDS", FAST 2015.
 *
 * Threading: any thread, wait-free; two evictions at once may lose one ghost, or swap the times of
 * expiry of two. Memory: 320 KiB and 2 KiB for the classes, whatever the cache's size. Cost: a
 * cache line a miss; two and a shared count a sampled eviction. */
#ifndef SLATE_SAMPLE_GHOST_H
#define SLATE_SAMPLE_GHOST_H
#include <stdint.h>

enum {
    GHOST_CLASSES = 256,
    GHOST_DEPTHS = 7,         /* depth d: within 1 << d pages */
    GHOST_SAMPLE_SHIFT = 4,   /* at least 1 of 16 keys is sampled */
    GHOST_PAGE_SAMPLES = 64,  /* and at least so many a page */
    GHOST_ENTRIES = 32768,
};

struct ghost;
struct ghost *ghost_create(void); /* NULL: out of memory */
void          ghost_destroy(struct ghost **);
void          ghost_clear(struct ghost *); /* forgets all ghosts, but no class */

/* Sets how many chunks a page of the class has; 0: the class leaves no ghosts, as is every class's
 * state at first. */
void     ghost_set_class(struct ghost *, unsigned class_id, uint32_t chunks_per_page);
uint32_t ghost_class_chunks(const struct ghost *, unsigned class_id);
/* How many evictions one ghost of the class stands for: 1, 2, 4, 8 or 16. */
unsigned ghost_weight(const struct ghost *, unsigned class_id);

/* The item would have expired at expires_s; 0: never. */
void ghost_evicted(struct ghost *, unsigned class_id, uint64_t key_hash, uint32_t expires_s,
                   uint32_t now_s);
/* The class from which a missed key was evicted, and the depth (0 to GHOST_DEPTHS - 1). 0: the key
 * has no ghost, or a deeper one, or has expired by now. */
unsigned ghost_missed(const struct ghost *, uint64_t key_hash, uint32_t now_s, unsigned *depth);
#endif
