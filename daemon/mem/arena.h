/* The arena: one reserved mapping from which pages of 1 MiB are handed out and taken back.
 *
 *   base                    base + head_bytes (2 MiB aligned)
 *   | page table ...        | page 0 | page 1 | ...                     | page_max - 1 |
 *
 * The mapping lives as long as the cache, so a stale reference reads stale bytes and never faults.
 * A released page returns its memory to the system and reads as zeroes. References are offsets from
 * base in units of 1 << space.shift bytes: 8 up to 32 GiB, doubling with each doubling of the
 * arena; chunk sizes are multiples of the unit. Threading: arena_take_page and arena_release_page
 * are for any thread. Errors: NULL and errno. */
#ifndef SLATE_MEM_ARENA_H
#define SLATE_MEM_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/node.h"
#include "mem/memory_file.h"
#include "mem/page.h"

struct arena {
    struct node_space space; /* base and unit of every reference */
    char             *pages; /* page 0 */
    struct page      *table; /* page_max entries, at base or behind a file's head and front */
    struct memory_file *file; /* owned; NULL: the memory is anonymous */
    size_t            head_bytes, map_bytes;
    uint32_t          page_max;
    struct lock       lock;       /* guards the fields below */
    uint32_t         *pool;       /* free page numbers, a stack */
    uint32_t          pool_count;
    _Atomic uint32_t  page_limit; /* pages that may be out at once */
    _Atomic uint32_t  pages_out;
    _Atomic uint32_t  page_end;   /* no page from here on was ever out */
};

struct arena *arena_create(size_t limit_bytes, size_t reserve_bytes, bool huge_pages);
/* Makes an arena in a memory file, whose shape says how large the arena is. The arena owns the file
 * from this call on, even if the call fails. At first no page is out, whatever the file's table
 * says; mem/load_classes.h brings pages back. */
struct arena *arena_create_in(struct memory_file *taken, size_t limit_bytes, bool huge_pages);
void          arena_destroy(struct arena **);

/* Sets how many bytes of pages may be out at once. False: that is more than was reserved, or less
 * than is out. With `below_use` less than is out is allowed: the arena then hands out no page until
 * enough have come back. */
bool     arena_set_limit(struct arena *, size_t limit_bytes, bool below_use);
/* Takes a page; PAGE_NONE: the limit is reached, or the reserve. */
uint32_t arena_take_page(struct arena *, bool over_limit);
void     arena_release_page(struct arena *, uint32_t page);  /* returns its memory to the system */

static inline char *arena_page_start(const struct arena *a, uint32_t page) {
    return a->pages + ((size_t)page << PAGE_SHIFT);
}
static inline uint32_t arena_page_of(const struct arena *a, const void *p) {
    return (uint32_t)((size_t)((const char *)p - a->pages) >> PAGE_SHIFT);
}
static inline uint32_t arena_page_of_ref(const struct arena *a, uint32_t ref) {
    return arena_page_of(a, node_at(&a->space, ref));
}
/* The end for a walk over all pages. Pages from here on were never out, and reading their entries
 * would make the system back that part of the table. */
static inline uint32_t arena_page_end(const struct arena *a) {
    return atomic_load_explicit(&a->page_end, memory_order_relaxed);
}
static inline uint32_t arena_pages_free(const struct arena *a) {
    uint32_t limit = atomic_load_explicit(&a->page_limit, memory_order_relaxed);
    uint32_t out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    return out < limit ? limit - out : 0;
}
#endif
