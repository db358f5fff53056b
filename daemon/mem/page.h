/* Pages of the arena: how large they are, and what is known of each. */
#ifndef SLATE_MEM_PAGE_H
#define SLATE_MEM_PAGE_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

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

/* The smallest unit (8 bytes or more) in which 32 bits reach the end of so much, as a shift. */
static inline unsigned arena_unit_shift(size_t map_bytes) {
    unsigned shift = 3;
    while ((map_bytes >> shift) > UINT32_MAX) {
        shift++;
    }
    return shift;
}
#endif
