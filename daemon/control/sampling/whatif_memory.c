/* The memory of what-if, and of the cache and its classes. */
#include <math.h>

#include "control/sampling/whatif_internal.h"
#include "watch/ring.h"

enum {
    MEMORY_SHARE = 200,      /* the part of the cache's memory: one in so many bytes */
    SMALL_SHARE = 16,        /* the part of a small cache's memory */
    /* the part of the cache's memory for each thread's ring, at least RING_BYTES_LEAST */
    RING_SHARE = 16384,
    RING_BYTES_LEAST = 4096,
    RING_BYTES_MOST = 65536,
    /* the part of this memory for all rings, unless the smallest rings of so many threads need
     * more */
    RINGS_SHARE = 8,
    MALLOC_SHARE = 64,       /* the part that malloc needs around blocks */
};

static size_t whatif_memory_larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t whatif_memory_smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t whatif_memory_wanted(const struct whatif *w) {
    return whatif_memory_larger(
        w->limit_bytes / MEMORY_SHARE,
        whatif_memory_smaller(w->limit_bytes / SMALL_SHARE, WHATIF_BYTES_MIN));
}

size_t whatif_ring_bytes(const struct whatif *w) {
    size_t bytes = whatif_memory_smaller(
        whatif_memory_larger(w->limit_bytes / RING_SHARE, RING_BYTES_LEAST), RING_BYTES_MOST);
    return whatif_memory_larger(
        whatif_memory_smaller(bytes, whatif_memory_wanted(w) / RINGS_SHARE / w->threads),
        RING_BYTES_MIN);
}

/* Memory of all parts but the miniatures. */
static size_t whatif_memory_other(const struct whatif *w) {
    return sizeof *w + sizeof *w->hot + w->threads * ring_memory(whatif_ring_bytes(w));
}

size_t whatif_memory_most(const struct whatif *w) {
    size_t least = whatif_memory_other(w) + shadow_memory_least();
    return whatif_memory_larger(whatif_memory_wanted(w), least + least / MALLOC_SHARE);
}

size_t whatif_shadow_share(const struct whatif *w) {
    return whatif_memory_most(w) - whatif_memory_most(w) / MALLOC_SHARE - whatif_memory_other(w);
}

uint64_t whatif_cache_bytes(const struct whatif *w) {
    return (uint64_t)atomic_load_explicit(&cache_slab(w->cache)->arena->page_limit,
                                          memory_order_relaxed) *
           PAGE_BYTES;
}

void whatif_classes_bytes(const struct whatif *w, struct share_classes *to) {
    const struct slab *slab = cache_slab(w->cache);
    struct slab_class_facts f;
    *to = (struct share_classes){.page_bytes = PAGE_BYTES};
    for (unsigned i = 1; i <= slab->class_count; i++) {
        slab_facts(slab, i, &f);
        to->bytes[i] = (double)slab_pages_beyond(slab, i, 0) * PAGE_BYTES;
        to->chunk_bytes[i] = f.chunk_bytes;
        to->idle[i] = fmin((double)f.free_chunks * f.chunk_bytes, to->bytes[i]);
    }
    /* a heap store has one class, and its allocations lie in no page */
    if (cache_store_kind(w->cache) == CACHE_STORE_HEAP) {
        to->bytes[1] = (double)whatif_cache_bytes(w);
        to->chunk_bytes[1] = 0;
    }
}
