/* Magazines of free chunks. *_locked: the caller holds the partition's lock. */
#ifndef SLATE_CACHE_ALLOC_MAGAZINE_H
#define SLATE_CACHE_ALLOC_MAGAZINE_H
#include "cache/partition.h"

enum { RELEASE_MAX = 64 }; /* chunks released in one hold of a class's lock */

/* NULL: out of memory */
struct class_queue *class_queue_locked(struct cache *, struct partition *, unsigned class_id);
void class_queue_destroy(struct class_queue *taken); /* may be NULL */
uint32_t magazine_pop_locked(struct partition *, unsigned class_id); /* 0: none */
/* Puts the chunk into the magazine. If that is full, the chunk goes to its class once no lock is
 * held. */
void     magazine_push_locked(struct cache_thread *, struct partition *, uint32_t ref);
void     magazine_release_deferred(struct cache_thread *);
/* Releases what was unlinked under a lock. Call after each lock_release after which something may
 * be unlinked. */
static inline void magazine_settle(struct cache_thread *ct) {
    if (ct->deferred_chunks != 0 || ct->deferred_items != NULL) {
        magazine_release_deferred(ct);
    }
}
/* Takes the free chunks of a page that has begun to drain out of all magazines. */
void     magazines_release_page(struct cache_thread *, uint32_t page);
/* Releases the chunks of an item that nobody can reach. No lock held. */
void     magazine_release_item(struct cache_thread *, struct item *taken);
#endif
