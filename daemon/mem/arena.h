/* The arena: one reserved mapping from which pages of 1 MiB are handed out and taken back.
 *
 *   base                    base + head_bytes (2 MiB aligned)
 *   | page table ...        | page 0 | page 1 | ...                     | page_max - 1 |
 *
 * It is never unmapped while the cache lives, so a stale reference reads stale bytes and never
 * faults. A page that is given back returns its memory to the system and reads as zeroes.
 * References are offsets from base in units of 1 << space.shift bytes: 8 up to 32 GiB, doubling
 * with each doubling of the arena; chunk sizes are multiples of the unit. Threading:
 * arena_take_page and arena_give_page are for any thread. Errors: NULL and errno. */
#ifndef SLATE_MEM_ARENA_H
#define SLATE_MEM_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/node.h"
#include "mem/memory_file.h"

#define PAGE_BYTES (1u << 20)
#define PAGE_SHIFT 20
#define PAGE_NONE UINT32_MAX

enum page_state {
    PAGE_FREE,     /* in the pool, or never used */
    PAGE_OWNED,    /* carved into chunks of its class */
    PAGE_DRAINING, /* owned, but its chunks only become free */
};

/* What is known of a page: a fact that survives in the arena, apart from the list links. Guarded by
 * the owning class's lock; `class_id`, `state` and `chunk_bytes` may be read by anyone at any time
 * (relaxed). One cache line. */
struct page {
    _Atomic uint8_t  state;    /* enum page_state */
    _Atomic uint8_t  class_id; /* 0: none */
    _Atomic uint32_t chunk_bytes;
    uint32_t         chunk_count;
    uint32_t         free_head;  /* reference of the first free chunk; 0: none */
    uint32_t         free_count; /* chunks on that list */
    /* pages of the class that have free chunks, by page number; PAGE_NONE ends */
    uint32_t         next, prev;
    uint32_t         owned_next, owned_prev; /* all pages of the class, as it got them */
    /* grows with each page that any class gets: the lower, the longer it is there */
    _Atomic uint32_t birth;
    _Atomic uint32_t created_s;  /* cache time at which the class got it */
    _Atomic uint32_t used_s;     /* when it was last read or written, if the cache notes that */
} __attribute__((aligned(64)));

struct arena {
    struct node_space space; /* base and unit of every reference */
    char             *pages; /* page 0 */
    struct page      *table; /* page_max entries, at base or behind a file's head and front */
    struct memory_file *file; /* its own; NULL: anonymous memory */
    size_t            head_bytes, map_bytes;
    uint32_t          page_max;
    struct lock       lock;       /* over what follows */
    uint32_t         *pool;       /* free page numbers, a stack */
    uint32_t          pool_count;
    _Atomic uint32_t  page_limit; /* pages that may be out at once */
    _Atomic uint32_t  pages_out;
    _Atomic uint32_t  page_end;   /* no page from here on was ever out */
};

struct arena *arena_create(size_t limit_bytes, size_t reserve_bytes, bool huge_pages);
/* In a file, whose shape says how large it is; the file is the arena's from now on, also when this
 * fails. No page is out yet, whatever the file's table says: see mem/recall.h. */
struct arena *arena_create_in(struct memory_file *taken, size_t limit_bytes, bool huge_pages);
void          arena_destroy(struct arena **);

/* How many bytes of pages may be out at once. False: more than was reserved, or fewer than are out;
 * with `below_use` that is allowed: no more are handed out until enough have come back. */
bool     arena_set_limit(struct arena *, size_t limit_bytes, bool below_use);
/* PAGE_NONE: the limit (or the reserve) is reached */
uint32_t arena_take_page(struct arena *, bool over_limit);
void     arena_give_page(struct arena *, uint32_t page);  /* its memory goes back to the system */

/* The smallest unit (8 bytes or more) in which 32 bits reach the end of so much, as a shift. */
static inline unsigned arena_unit_shift(size_t map_bytes) {
    unsigned shift = 3;
    while ((map_bytes >> shift) > UINT32_MAX) {
        shift++;
    }
    return shift;
}
static inline char *arena_page_start(const struct arena *a, uint32_t page) {
    return a->pages + ((size_t)page << PAGE_SHIFT);
}
static inline uint32_t arena_page_of(const struct arena *a, const void *p) {
    return (uint32_t)((size_t)((const char *)p - a->pages) >> PAGE_SHIFT);
}
static inline uint32_t arena_page_of_ref(const struct arena *a, uint32_t ref) {
    return arena_page_of(a, node_at(&a->space, ref));
}
/* Where a look at all pages may end. Those from there on were never out: looking at their entries
 * would have the system back them. */
static inline uint32_t arena_page_end(const struct arena *a) {
    return atomic_load_explicit(&a->page_end, memory_order_relaxed);
}
static inline uint32_t arena_pages_free(const struct arena *a) {
    uint32_t limit = atomic_load_explicit(&a->page_limit, memory_order_relaxed);
    uint32_t out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    return out < limit ? limit - out : 0;
}
#endif
