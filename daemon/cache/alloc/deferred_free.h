/* Memory of the heap store on its way back.
 *
 * A reader without a lock may still read an item that was unlinked, and note its hit there with one
 * byte. So memory is not given back at once but retired: it waits in the thread's limbo until every
 * other thread has left the turn it was in. That is epoch-based reclamation with the turns'
 * counters as epochs (Fraser, "Practical lock-freedom", 2004, section 5.2.3). A limbo has an open
 * part and a sealed one: the sealed part waits for the turns seen when it was sealed.
 *
 * A thread looks after its own limbo when it retires or needs memory. What an idle thread has left
 * in its limbo would count as used for ever; so a thread that needs memory also gives back what is
 * in the limbos of threads that are not within a turn. No lock held. */
#ifndef SLATE_CACHE_ALLOC_DEFERRED_FREE_H
#define SLATE_CACHE_ALLOC_DEFERRED_FREE_H
#include "cache/partition.h"

/* Memory of the heap store on its way back; linked through node.next. */
struct deferred_list {
    uint32_t first;
    unsigned items;
    size_t   bytes;
};

/* What a thread has retired, by the number of its turn. It lies in the cache's memory because other
 * threads give it back while its thread is not within a turn, or has ended. */
struct deferred_free {
    struct lock  lock; /* over what follows */
    struct deferred_list open, sealed;
    /* the turns when it was sealed; 0 for the thread that sealed it, which held no reference */
    uint64_t     turns[THREADS_MAX];
    _Atomic bool any; /* of either; may be looked at without the lock */
} __attribute__((aligned(64)));

/* Memory that was retired while the heap shrinks. It is kept until all of it can be given back. */
struct deferred_held {
    uint32_t *first;     /* by unit of addresses; linked through node.next */
    uint64_t  cap_bytes; /* how much stores may use meanwhile; falls with each item that is kept */
};
enum { DEFERRED_BYTES = 64 << 10 }; /* an open limbo is sealed at so much */
/* units of so many addresses are larger than nearly all runs of small allocations */
enum { DEFERRED_UNIT_SHIFT = 16 };

bool deferred_free_create(struct cache *); /* false: out of memory */
void deferred_free_destroy(struct cache *);
void deferred_free_retire(struct cache_thread *, const uint32_t *refs, unsigned count);
/* Puts retired memory into the thread's limbo. */
void deferred_free_add(struct cache_thread *, uint32_t ref, size_t bytes);
/* Gives back what can be given back without waiting: from this thread's limbo, and from those of
 * threads that are not within a turn. False: nothing could be. */
bool deferred_free_release(struct cache_thread *);
size_t
deferred_free_bytes(const struct cache_thread *); /* bytes that wait in this thread's limbo */
/* Waits until what this thread has retired, and what threads outside a turn have left, can be given
 * back, and gives it back. False: there is none, or it takes too long. The caller holds no
 * reference. */
bool deferred_free_wait(struct cache_thread *);
#endif
