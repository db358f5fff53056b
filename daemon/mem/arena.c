#include "mem/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "mem/item.h"

#define HUGE_BYTES ((size_t)2 << 20)
/* A page's memory returns to the system in such pieces, since threads wait for the call. */
#define RELEASE_BYTES ((size_t)128 << 10)

static size_t arena_round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static size_t arena_head_bytes(size_t reserve_bytes) {
    return arena_round_up((reserve_bytes >> PAGE_SHIFT) * sizeof(struct page), HUGE_BYTES);
}

/* The mapping has one huge page more as a guard, which a stale reader of the last chunk may read,
 * and another one so that the start can be aligned. */
static size_t arena_map_bytes(size_t reserve_bytes) {
    return arena_head_bytes(reserve_bytes) + reserve_bytes + 2 * HUGE_BYTES;
}

/* A larger reserve may need coarser references. This keeps the reserve as small as the limit's own
 * references require. */
static size_t arena_affordable_reserve(size_t limit_bytes, size_t reserve_bytes) {
    size_t most = (size_t)UINT32_MAX << page_unit_shift(arena_map_bytes(limit_bytes));
    while (reserve_bytes > limit_bytes && arena_map_bytes(reserve_bytes) > most) {
        reserve_bytes -= reserve_bytes - limit_bytes < PAGE_BYTES * 1024u
                             ? reserve_bytes - limit_bytes
                             : PAGE_BYTES * 1024u;
    }
    return reserve_bytes > limit_bytes ? reserve_bytes : limit_bytes;
}

/* Maps map_bytes at an address that is a multiple of `align_bytes`. NULL: errno. */
static char *arena_map_aligned(size_t map_bytes, size_t align_bytes) {
    char *map = mmap(NULL, map_bytes + align_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    char *base = (char *)arena_round_up((size_t)map, align_bytes);
    if (base != map) {
        munmap(map, (size_t)(base - map));
    }
    size_t tail = align_bytes - (size_t)(base - map);
    if (tail != 0) {
        munmap(base + map_bytes, tail);
    }
    return base;
}

/* Maps the arena. The caller has set head_bytes, map_bytes and page_max; `table_at` is the page
 * table's place in the head. */
static bool arena_map(struct arena *a, size_t table_at, size_t limit_bytes, size_t align_bytes,
                      bool huge_pages) {
    a->pool = calloc(a->page_max ? a->page_max : 1, sizeof *a->pool);
    char *base = a->pool != NULL ? arena_map_aligned(a->map_bytes, align_bytes) : NULL;
    if (base == NULL) {
        return false;
    }
    unsigned shift = page_unit_shift(a->map_bytes);
    uint32_t first = a->head_bytes > 0 ? (uint32_t)(a->head_bytes >> shift) : 1;
    a->space =
        (struct node_space){.base = base, .shift = shift, .first = first, .hash_of = item_hash};
    a->table = (struct page *)(void *)(base + table_at);
    a->pages = base + a->head_bytes;
    if (a->file != NULL && !memory_file_map(a->file, base)) {
        return false;
    }
    if (huge_pages) { /* only a request: a system that refuses it serves small pages */
        madvise(a->pages, (size_t)a->page_max << PAGE_SHIFT, MADV_HUGEPAGE);
    }
    for (uint32_t i = 0; i < a->page_max; i++) {
        a->pool[i] = a->page_max - 1 - i; /* page 0 is taken first */
    }
    a->pool_count = a->page_max;
    atomic_init(&a->page_limit, (uint32_t)(limit_bytes >> PAGE_SHIFT));
    return true;
}

static struct arena *arena_finish(struct arena *a, size_t table_at, size_t limit_bytes,
                                  size_t align_bytes, bool huge_pages) {
    lock_init(&a->lock);
    if (!arena_map(a, table_at, limit_bytes, align_bytes, huge_pages)) {
        int saved = a->pool == NULL ? ENOMEM : errno;
        arena_destroy(&a);
        errno = saved;
    }
    return a;
}

struct arena *arena_create(size_t limit_bytes, size_t reserve_bytes, bool huge_pages) {
    struct arena *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    size_t reserve =
        arena_affordable_reserve(limit_bytes, reserve_bytes) & ~(size_t)(PAGE_BYTES - 1);
    a->page_max = (uint32_t)(reserve >> PAGE_SHIFT);
    a->head_bytes = arena_head_bytes(reserve);
    a->map_bytes = arena_map_bytes(reserve) - HUGE_BYTES;
    return arena_finish(a, 0, limit_bytes, HUGE_BYTES, huge_pages);
}

struct arena *arena_create_in(struct memory_file *taken, size_t limit_bytes, bool huge_pages) {
    struct arena *a = calloc(1, sizeof *a);
    if (a == NULL) {
        memory_file_close(&taken);
        return NULL;
    }
    const struct memory_shape *shape = &taken->shape;
    a->file = taken;
    a->page_max = shape->page_max;
    a->head_bytes = shape->head_bytes;
    a->map_bytes = shape->file_bytes + HUGE_BYTES; /* HUGE_BYTES more, as a guard */
    return arena_finish(a, shape->table_at, limit_bytes, taken->map_align_bytes, huge_pages);
}

void arena_destroy(struct arena **taken) {
    struct arena *a = *taken;
    if (a == NULL) {
        return;
    }
    if (a->space.base != NULL) {
        munmap(a->space.base, a->map_bytes);
    }
    memory_file_close(&a->file);
    lock_fini(&a->lock);
    free(a->pool);
    free(a);
    *taken = NULL;
}

bool arena_set_limit(struct arena *a, size_t limit_bytes, bool below_use) {
    lock_take(&a->lock);
    size_t limit = limit_bytes >> PAGE_SHIFT;
    bool possible =
        limit <= a->page_max &&
        (below_use || limit >= atomic_load_explicit(&a->pages_out, memory_order_relaxed));
    if (possible) {
        atomic_store_explicit(&a->page_limit, (uint32_t)limit, memory_order_relaxed);
    }
    lock_release(&a->lock);
    return possible;
}

static uint32_t arena_pool_pop(struct arena *a, bool over_limit) {
    uint32_t page = PAGE_NONE;
    lock_take(&a->lock);
    if ((over_limit || arena_pages_free(a) > 0) && a->pool_count > 0) {
        page = a->pool[--a->pool_count];
        if (page >= arena_page_end(a)) {
            atomic_store_explicit(&a->page_end, page + 1, memory_order_relaxed);
        }
        atomic_fetch_add_explicit(&a->pages_out, 1, memory_order_relaxed);
    }
    lock_release(&a->lock);
    return page;
}

static void arena_pool_push(struct arena *a, uint32_t page) {
    lock_take(&a->lock);
    a->pool[a->pool_count++] = page;
    atomic_fetch_sub_explicit(&a->pages_out, 1, memory_order_relaxed);
    lock_release(&a->lock);
}

static size_t arena_file_offset(const struct arena *a, uint32_t page) {
    return a->head_bytes + ((size_t)page << PAGE_SHIFT);
}

/* The file system has no memory for another page of the file. The pages that are out become the
 * limit, until the next arena_set_limit. */
static void arena_stop_growing(struct arena *a) {
    uint32_t out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    if (atomic_exchange_explicit(&a->page_limit, out, memory_order_relaxed) != out) {
        log_warn("the memory file stays at %u MB: its file system has no room for more", out);
    }
}

uint32_t arena_take_page(struct arena *a, bool over_limit) {
    uint32_t page = arena_pool_pop(a, over_limit);
    if (page != PAGE_NONE && a->file != NULL &&
        !memory_file_back(a->file, arena_file_offset(a, page), PAGE_BYTES)) {
        arena_pool_push(a, page);
        arena_stop_growing(a);
        page = PAGE_NONE;
    }
    failpoint_reach("page_taken");
    return page;
}

void arena_release_page(struct arena *a, uint32_t page) {
    for (size_t at = 0; at < PAGE_BYTES; at += RELEASE_BYTES) {
        if (a->file != NULL) {
            memory_file_unback(a->file, arena_file_offset(a, page) + at, RELEASE_BYTES);
        } else {
            madvise(arena_page_start(a, page) + at, RELEASE_BYTES, MADV_DONTNEED);
        }
    }
    failpoint_reach("page_given");
    arena_pool_push(a, page);
}
