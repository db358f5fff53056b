/* Pages of the arena: their size, and the table's entry for each. */
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
    PAGE_DRAINING, /* owned, but its free chunks cannot be taken */
};

/* The page table's entry. All fields but the list links are valid after a crash, too. The lock of
 * the owning class guards the entry; any thread may read `class_id`, `state` and `chunk_bytes` at
 * any time (relaxed). One cache line. */
struct page {
    _Atomic uint8_t  state;    /* enum page_state */
    _Atomic uint8_t  class_id; /* 0: none */
    _Atomic uint32_t chunk_bytes;
    uint32_t         chunk_count;
    uint32_t         free_head;  /* reference of the first free chunk; 0: none */
    uint32_t         free_count; /* chunks on that list */
    /* neighbours among the class's pages with free chunks, by page number; PAGE_NONE ends the
     * list */
    uint32_t         next, prev;
    /* neighbours among all pages of the class, in the order of their arrival */
    uint32_t         owned_next, owned_prev;
    /* grows with each page that any class gets: the lower, the longer the class has had this
     * page */
    _Atomic uint32_t acquired_seq;
    _Atomic uint32_t created_s;  /* cache time at which the class got the page */
} __attribute__((aligned(64)));

/* The smallest unit, as a shift, in which 32 bits reach the end of so many bytes; at least 8
 * bytes. */
static inline unsigned page_unit_shift(size_t map_bytes) {
    unsigned shift = 3;
    while ((map_bytes >> shift) > UINT32_MAX) {
        shift++;
    }
    return shift;
}
#endif
