/* The heap store: one allocation an item, by jemalloc, within the arena's mapping.
 *
 *   | head | jemalloc's extents: metadata, runs of small allocations, large ones | not used yet |
 *
 * jemalloc gets an allocation arena of its own, and its extent hooks take memory from our mapping.
 * Extents are never unmapped, so a stale reference reads stale bytes and never faults. Idle pages
 * of jemalloc return to the system and read as zeroes. The process's malloc stays the C library's.
 *
 * The limit is the arena's, and counts resident bytes: allocations, as the allocator rounds them,
 * and the holes between them. The heap reads that waste from jemalloc after each MiB of allocations
 * and frees. So the resident size stays within 2 % of the limit, and fragmentation costs items, not
 * memory.
 *
 * Every page of the arena's table is of class 1, so that code that reads an item's class need not
 * know the store. Ownership: heap_take hands out memory that the taker makes an item; heap_release
 * takes it back once no thread can hold a reference any more (cache/alloc/deferred_free.h).
 * Threading: any, no lock held. Cost: one of jemalloc's locks and some 100 ns. */
#ifndef SLATE_MEM_HEAP_H
#define SLATE_MEM_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/arena.h"

enum { HEAP_CLASS = 1 };

struct heap;

struct heap *heap_create(struct arena *); /* NULL and errno */
/* Ends the heap and all its allocations. Call this before arena_destroy. */
void         heap_destroy(struct heap **);

/* Returns the reference of an allocation; 0: the limit is reached, or the address space is used
 * up. */
uint32_t heap_take(struct heap *, size_t bytes);
void     heap_release(struct heap *, uint32_t ref);     /* frees memory that was retired */
/* Notes that so many bytes no longer count as used. The caller releases them when no thread can see
 * them any more. */
void     heap_note_retired(struct heap *, size_t bytes);

/* Bytes that an allocation of `bytes` takes. */
size_t heap_bytes_for(const struct heap *, size_t bytes);
size_t heap_bytes_of(const struct heap *, uint32_t ref);    /* bytes that this allocation takes */
/* Returns unused memory to the system and measures the resident bytes again. False: another thread
 * measures right now. Cost: a system call for each run of pages. */
bool   heap_trim(struct heap *);
/* While a lowered limit is being brought about: limits the used memory that is not retired to so
 * many bytes, however much is held. 0: the arena's limit counts again. */
void   heap_set_cap(struct heap *, uint64_t bytes);

struct heap_facts {
    uint64_t used_bytes;  /* allocations that are not retired, as the allocator rounds them */
    uint64_t retired_bytes; /* allocations that are retired */
    uint64_t limit_bytes, cap_bytes;
    /* resident: the two above, holes between allocations, and the allocator's own */
    uint64_t held_bytes;
};
void heap_facts(const struct heap *, struct heap_facts *);
#endif
