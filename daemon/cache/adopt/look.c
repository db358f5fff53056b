/* The first pass: in each page, finds the chunks that hold whole items, and puts these into
 * bins. */
#include "cache/adopt/adoption.h"
#include "cache/value.h"

static bool item_is_whole(struct adoption *a, struct item *it, uint32_t chunk_bytes) {
    uint8_t flags = item_flags(it), key_len = item_key_len(it);
    return key_len <= KEY_BYTES_MAX &&
           item_total_bytes(flags, key_len, item_value_bytes(it)) <= chunk_bytes &&
           claim_item(&a->claims, it);
}

/* The number of the item's partition within this round; a->count or more: the partition belongs to
 * another round. */
static unsigned number_of(const struct adoption *a, uint64_t hash) {
    return (unsigned)(partition_of(a->c, hash) - a->c->partitions) - a->first;
}

static void look_at_item(struct adopter *t, struct item *it, uint32_t chunk_bytes) {
    struct adoption *a = t->a;
    struct found f = {.hash = item_hash(&it->node), /* of a torn item any hash */
                      .ref = ref_of_item(a->c, it),
                      .age = item_time_s(it) - a->clock.flushed};
    unsigned partition = number_of(a, f.hash);
    if (partition >= a->count) {
        return;
    }
    if (item_flushed_by(it, a->clock) || cache_item_expired(it, a->now_s)) {
        t->n.dead++;
    } else if (!item_is_whole(a, it, chunk_bytes)) {
        t->n.torn++;
    } else if (!bins_put(&a->bins, t->number, partition, &f)) {
        adoption_fail(a);
    }
}

static void look_at_page(struct adopter *t, uint32_t page) {
    const struct cache *c = t->a->c;
    uint32_t chunk_bytes = slab_page(c->slab, page)->chunk_bytes, count = PAGE_BYTES / chunk_bytes;
    for (uint32_t i = 0; i < count; i++) {
        char *chunk = arena_page_start(c->arena, page) + (size_t)i * chunk_bytes;
        struct item *it = (struct item *)(void *)chunk;
        prefetch(chunk + (i + AHEAD < count ? AHEAD * (size_t)chunk_bytes : 0));
        if (item_state(it) == CHUNK_LINKED && item_key_len(it) != 0) {
            look_at_item(t, it, chunk_bytes);
        }
    }
}

void adopt_look(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (!adoption_fails(a) && adoption_next(&a->next_look, a->recall.pages, &i)) {
        look_at_page(t, a->recall.list[i]);
        crash_point("page_looked_at");
        adoption_say_progress(t, "looking at page", i, a->recall.pages);
    }
}
