/* Free chunks at hand. *_locked: the caller holds the partition's lock. */
#ifndef SLATE_CACHE_ALLOC_MAGAZINE_H
#define SLATE_CACHE_ALLOC_MAGAZINE_H
#include "cache/partition.h"

enum { GIVE_MAX = 64 }; /* chunks that go back in one hold of a class's lock */

/* NULL: out of memory */
struct shelf *shelf_of_locked(struct cache *, struct partition *, unsigned class_id);
void shelf_destroy(struct shelf *taken); /* taken: may be NULL */
uint32_t stock_pop_locked(struct partition *, unsigned class_id);                     /* 0: none */
/* Puts the chunk into the stock; where that is full it goes back to its class once no lock is
 * held. */
void     stock_push_locked(struct cache_thread *, struct partition *, uint32_t ref);
void     chunks_give_back(struct cache_thread *);
/* Gives back what was unlinked under a lock. To be called after each lock_release behind which
 * something may have been unlinked. */
static inline void chunks_settle(struct cache_thread *ct) {
    if (ct->give != 0 || ct->doomed != NULL) {
        chunks_give_back(ct);
    }
}
/* Takes the free chunks of a page that has begun to drain out of every partition's stock. */
void     stocks_give_page(struct cache_thread *, uint32_t page);
/* Gives back the chunks of an item nobody can reach any more. No lock held. */
void     item_release(struct cache_thread *, struct item *taken);
#endif
