/* The heap store: one allocation an item, by jemalloc, within the arena's mapping.
 *
 *   | head | jemalloc's extents: metadata, runs of small allocations, large ones | not used yet |
 *
 * jemalloc gets an allocation arena of its own whose memory comes from our mapping by extent hooks.
 * Extents are never given back, so a stale reference reads stale bytes and never faults; pages that
 * jemalloc has no use for return to the system and read as zeroes. The process's malloc is the C
 * library's still (the Makefile keeps jemalloc's names to itself).
 *
 * The limit is the arena's, in bytes of memory that is really held: what allocations take, rounded
 * up as the allocator does, and what it wastes in holes between them, which is asked of it once a
 * MiB of allocations or frees. So the resident size, to 2 %, keeps to the limit, and fragmentation
 * costs items, not memory.
 *
 * Every page of the arena's table is said to be of class 1, so that whoever asks for an item's
 * class need not know the store. Ownership: heap_take hands out memory that the taker makes an
 * item; heap_give wants it back when no thread can hold a reference any more (cache/heap/limbo.h).
 * Threading: any, no lock held. Cost: a lock of jemalloc's and some 100 ns. */
#ifndef SLATE_MEM_HEAP_H
#define SLATE_MEM_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/arena.h"

enum { HEAP_CLASS = 1 };

struct heap;

struct heap *heap_create(struct arena *); /* NULL and errno */
/* before the arena; what is still allocated goes with it */
void         heap_destroy(struct heap **);

/* 0: the limit is reached, or the address space is used up */
uint32_t heap_take(struct heap *, size_t bytes);
void     heap_give(struct heap *, uint32_t ref);     /* memory that was retired */
/* so many bytes no longer count as used: they wait until no thread can see them, and are then given
 * back */
void     heap_retired(struct heap *, size_t bytes);

/* what an allocation of `bytes` takes */
size_t heap_bytes_for(const struct heap *, size_t bytes);
size_t heap_bytes_of(const struct heap *, uint32_t ref);    /* what this one takes */
/* Returns unused memory to the system and counts again what is held. False: another thread counts
 * this moment. Cost: a system call for each run of pages. */
bool   heap_trim(struct heap *);
/* While a lowered limit is being brought about: so much may be used, retired memory not counted,
 * whatever is held; 0: the limit counts again. */
void   heap_cap(struct heap *, uint64_t bytes);

struct heap_facts {
    uint64_t used_bytes;  /* of allocations that are not retired, as the allocator rounds them */
    uint64_t retired_bytes; /* of those that are */
    uint64_t limit_bytes, cap_bytes;
    uint64_t held_bytes;  /* resident: all these, holes between them, and the allocator's own */
};
void heap_facts(const struct heap *, struct heap_facts *);
#endif
