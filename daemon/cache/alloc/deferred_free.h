/* Frees memory of the heap store once no reader can hold it.
 *
 * A reader without a lock may still read an unlinked item, and store one byte there for its hit. So
 * memory is not freed at once but retired: it waits in its thread's list until every other thread
 * has left the turn in which that thread was. This is epoch-based reclamation with the turns'
 * counters as epochs (Fraser, "Practical lock-freedom", 2004, section 5.2.3). A thread has an open
 * list and a sealed list; the sealed list waits for the turns seen when it was sealed.
 *
 * A thread tends its own lists when it retires or needs memory. The lists of an idle thread would
 * count as used for ever; so a thread that needs memory also tends the lists of threads outside a
 * turn. No lock held. */
#ifndef SLATE_CACHE_ALLOC_DEFERRED_FREE_H
#define SLATE_CACHE_ALLOC_DEFERRED_FREE_H
#include "cache/partition.h"

/* Retired memory, linked through node.next. */
struct deferred_list {
    uint32_t first;
    unsigned items;
    size_t   bytes;
};

/* The lists of one thread, by the number of its turn. They lie in the cache's memory because other
 * threads tend them while the owner is outside a turn, or has ended. */
struct deferred_free {
    struct lock  lock; /* protects the other members */
    struct deferred_list open, sealed;
    /* turns seen at the sealing; 0 for the thread that sealed and held no reference */
    uint64_t     turns[THREADS_MAX];
    _Atomic bool any; /* true: a list is not empty; may be read without the lock */
} __attribute__((aligned(64)));

/* Memory retired while the heap shrinks, held until all of it can be freed. */
struct deferred_held {
    uint32_t *first;     /* for each unit of addresses; linked through node.next */
    uint64_t  cap_bytes; /* bound on the memory of stores meanwhile; falls with each held item */
};
enum { DEFERRED_BYTES = 64 << 10 }; /* an open list of this size is sealed */
/* nearly every run of small allocations is shorter than one unit of addresses */
enum { DEFERRED_UNIT_SHIFT = 16 };

bool deferred_free_create(struct cache *); /* false: out of memory */
void deferred_free_destroy(struct cache *);
void deferred_free_retire(struct cache_thread *, const uint32_t *refs, unsigned count);
/* Adds retired memory to the thread's open list. */
void deferred_free_add(struct cache_thread *, uint32_t ref, size_t bytes);
/* Frees what can be freed without waiting: from this thread's lists, and from those of threads
 * outside a turn. False: nothing was freed. */
bool deferred_free_release(struct cache_thread *);
size_t
deferred_free_bytes(const struct cache_thread *); /* bytes in this thread's lists */
/* Waits until the memory retired by this thread, and by threads outside a turn, can be freed, and
 * frees it. False: there is none, or a turn takes too long. The caller holds no reference. */
bool deferred_free_wait(struct cache_thread *);
#endif
