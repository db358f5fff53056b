#include "mem/image.h"

/* The fields of a class, without its lock. */
struct class_image {
    uint32_t state, chunk_bytes, chunks_per_page, partial, owned, owned_last, round_at, page_count,
        free_count, moving;
};

struct slab_image {
    uint32_t class_count, births, withdrawn, geometry, page_max, pool_count, pages_out, page_end;
};

uint64_t slab_layout(void) {
    return (uint64_t)sizeof(struct geometry) << 40 ^ (uint64_t)sizeof(struct page) << 24 ^
           (uint64_t)SLAB_CLASSES_MAX << 8 ^ sizeof(struct class_image);
}

static void class_put(struct image *to, const struct slab_class *c) {
    struct class_image i = {.state = c->state,
                            .chunk_bytes = c->chunk_bytes,
                            .chunks_per_page = c->chunks_per_page,
                            .partial = c->partial,
                            .owned = c->owned,
                            .owned_last = c->owned_last,
                            .round_at = c->round_at,
                            .page_count = c->page_count,
                            .free_count = c->free_count,
                            .moving = c->moving};
    image_put(to, &i, sizeof i);
}

static void class_get(struct image *from, struct slab_class *c) {
    struct class_image i;
    image_take(from, &i, sizeof i);
    c->state = (uint8_t)i.state;
    c->chunk_bytes = i.chunk_bytes;
    c->chunks_per_page = i.chunks_per_page;
    c->partial = i.partial;
    c->owned = i.owned;
    c->owned_last = i.owned_last;
    c->round_at = i.round_at;
    c->page_count = i.page_count;
    c->free_count = i.free_count;
    c->moving = i.moving;
}

void slab_put(struct image *to, const struct slab *s) {
    const struct arena *a = s->arena;
    struct slab_image i = {.class_count = s->class_count,
                           .births = s->births,
                           .withdrawn = s->withdrawn,
                           .geometry = slab_geometry(s) == &s->tables[1],
                           .page_max = a->page_max,
                           .pool_count = a->pool_count,
                           .pages_out = a->pages_out,
                           .page_end = a->page_end};
    image_put(to, &i, sizeof i);
    image_put(to, s->tables, sizeof s->tables);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        class_put(to, &s->classes[id]);
    }
    image_put(to, a->pool, a->pool_count * sizeof *a->pool);
}

bool slab_get(struct image *from, struct slab *s) {
    struct arena *a = s->arena;
    struct slab_image i;
    image_take(from, &i, sizeof i);
    image_take(from, s->tables, sizeof s->tables);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        class_get(from, &s->classes[id]);
    }
    if (from->failed || i.page_max != a->page_max || i.pool_count > a->page_max ||
        i.page_end > a->page_max || i.class_count >= SLAB_CLASSES_MAX) {
        return false;
    }
    s->class_count = i.class_count;
    s->births = i.births;
    s->withdrawn = i.withdrawn;
    atomic_store_explicit(&s->geometry, &s->tables[i.geometry & 1], memory_order_release);
    image_take(from, a->pool, i.pool_count * sizeof *a->pool);
    a->pool_count = i.pool_count;
    a->pages_out = i.pages_out;
    a->page_end = i.page_end;
    return !from->failed;
}
