#include "index/image.h"

#include <stddef.h>
#include <string.h>

/* The fields of an index that belong to its kind: the union in the middle of the struct. */
#define OWN_AT offsetof(struct index, buckets)
#define OWN_BYTES (offsetof(struct index, pool) - OWN_AT)

uint64_t index_layout(void) {
    return (uint64_t)sizeof(struct index) << 32 ^ (uint64_t)OWN_BYTES << 16 ^
           (uint64_t)sizeof(struct bucket) << 8 ^ (uint64_t)BUCKET_SEGMENT;
}

void index_pool_put(struct image *to, const struct index_pool *p) {
    size_t used = atomic_load_explicit(&p->used, memory_order_relaxed);
    image_put_u64(to, used);
    image_put(to, p->base, used);
}

bool index_pool_get(struct image *from, struct index_pool *p) {
    size_t used = image_take_u64(from);
    const void *bytes = image_part(from, used);
    if (bytes == NULL || used > p->bytes) {
        return false;
    }
    memcpy(p->base, bytes, used);
    atomic_store_explicit(&p->used, used, memory_order_relaxed);
    return true;
}

static uint32_t segments_of(const index_array *a) {
    const struct index_directory *d = atomic_load_explicit(a, memory_order_relaxed);
    uint32_t n = 0;
    while (d != NULL && n < d->room &&
           atomic_load_explicit(&d->segments[n], memory_order_relaxed) != NULL) {
        n++;
    }
    return n;
}

void index_put(struct image *to, struct index *ix) {
    index_array *arrays[INDEX_ARRAYS_MOST];
    unsigned count = ix->kind->arrays(ix, arrays);
    image_put_u64(to, ix->item_count);
    image_put(to, (const char *)ix + OWN_AT, OWN_BYTES);
    for (unsigned i = 0; i < count; i++) {
        uint32_t segments = segments_of(arrays[i]);
        image_put_u64(to, segments);
        for (uint32_t n = 0; n < segments; n++) {
            const char *at = index_array_segment(arrays[i], n);
            image_put_u64(to, (uint64_t)(at - ix->pool->base));
        }
    }
}

static bool array_get(struct image *from, index_array *a, struct index_pool *pool) {
    uint64_t segments = image_take_u64(from), used = atomic_load(&pool->used);
    const uint64_t *at =
        image_part(from, segments <= UINT32_MAX ? segments * sizeof *at : SIZE_MAX);
    for (uint32_t n = 0; at != NULL && n < segments; n++) {
        if (at[n] >= used || !index_array_put(a, n, pool->base + at[n])) {
            return false;
        }
    }
    return at != NULL;
}

bool index_get(struct image *from, struct index *ix, const struct index_kind *kind,
               struct index_pool *pool, const struct node_space *space) {
    index_array *arrays[INDEX_ARRAYS_MOST];
    memset(ix, 0, sizeof *ix);
    ix->item_count = (uint32_t)image_take_u64(from);
    image_take(from, (char *)ix + OWN_AT, OWN_BYTES);
    ix->kind = kind;
    ix->pool = pool;
    ix->space = space;
    unsigned count = kind->arrays(ix, arrays);
    for (unsigned i = 0; i < count; i++) { /* these are addresses of the other process */
        atomic_store_explicit(arrays[i], NULL, memory_order_relaxed);
    }
    bool whole = !from->failed;
    for (unsigned i = 0; i < count && whole; i++) {
        whole = array_get(from, arrays[i], pool);
    }
    return whole;
}
