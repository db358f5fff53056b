/* The memory of what-if, and of the cache and its classes. */
#include <math.h>

#include "control/sampling/whatif_internal.h"
#include "watch/ring.h"

enum {
    MEMORY_SHARE = 200,      /* the part of the cache's memory: one in so many bytes */
    SMALL_SHARE = 16,        /* the part of a small cache's memory */
    RING_BYTES_MOST = 65536, /* of a thread: half of it has 1000 records, of half a second */
    /* All rings may take one in so many bytes of this memory, in addition, unless the smallest
     * rings of so many threads need more. Most of them is not touched while the reader is in time.
     */
    RINGS_SHARE = 4,
    MALLOC_SHARE = 64, /* the part that malloc needs around blocks */
};

/* The cache's memory counts as changed when it differs by this ratio. Smaller differences come from
 * the other parts of the process, which share the memory. */
#define RESIZED_RATIO 0.05

static size_t whatif_memory_larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t whatif_memory_smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t whatif_memory_wanted(const struct whatif *w) {
    return whatif_memory_larger(
        w->limit_bytes / MEMORY_SHARE,
        whatif_memory_smaller(w->limit_bytes / SMALL_SHARE, WHATIF_BYTES_MIN));
}

size_t whatif_ring_bytes(const struct whatif *w) {
    size_t share = whatif_memory_wanted(w) / RINGS_SHARE / w->threads;
    return whatif_memory_larger(whatif_memory_smaller(share, RING_BYTES_MOST), RING_BYTES_MIN);
}

/* Memory of all parts but the rings. */
static size_t whatif_memory_counts(const struct whatif *w) {
    size_t least = sizeof *w + sizeof *w->hot + shadow_memory_least();
    return whatif_memory_larger(whatif_memory_wanted(w), least + least / MALLOC_SHARE);
}

size_t whatif_memory_most(const struct whatif *w) {
    return whatif_memory_counts(w) + w->threads * ring_memory(whatif_ring_bytes(w));
}

size_t whatif_shadow_share(const struct whatif *w) {
    size_t bytes = whatif_memory_counts(w);
    return bytes - bytes / MALLOC_SHARE - sizeof *w - sizeof *w->hot;
}

uint64_t whatif_cache_bytes(const struct whatif *w) {
    return (uint64_t)atomic_load_explicit(&cache_slab(w->cache)->arena->page_limit,
                                          memory_order_relaxed) *
           PAGE_BYTES;
}

bool whatif_is_resized(const struct whatif *w) {
    double factor = (double)whatif_cache_bytes(w) / (double)w->sized_bytes;
    return factor < 1 - RESIZED_RATIO || factor > 1 + RESIZED_RATIO;
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
