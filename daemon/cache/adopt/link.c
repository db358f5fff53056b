/* The second pass: the items that were found for a partition, the oldest first, go into its index
 * and queues. */
#include <stdlib.h>

#include "cache/adopt/adoption.h"
#include "cache/stock.h"
#include "cache/value.h"

static void unlink_twin(struct adopter *t, struct partition *p, uint64_t hash, struct item *it) {
    struct cache *c = t->a->c;
    struct shelf *shelf = p->shelves[cache_item_class(c, it)];
    uint64_t bytes = cache_item_requested_bytes(c, it);
    index_remove(&p->index, hash, ref_of_item(c, it));
    evict_remove(&shelf->queue, &it->node);
    shelf->requested_bytes -= bytes;
    p->bytes -= bytes;
    t->n.items--;
    unclaim_item(&t->a->claims, it);
}

/* Whether the item is to be linked: its key has no other item, or has one with a lower CAS, which
 * is unlinked. */
static bool settle_twins(struct adopter *t, struct partition *p, const struct key *key,
                         struct item *it) {
    uint32_t ref = index_find(&p->index, key);
    if (ref == 0) {
        return true;
    }
    struct item *twin = item_at(t->a->c, ref);
    bool stays = item_cas(twin) >= item_cas(it);
    t->n.twins++;
    if (stays) {
        unclaim_item(&t->a->claims, it);
    } else {
        unlink_twin(t, p, key->hash, twin);
    }
    return !stays;
}

static void link_item(struct adopter *t, struct partition *p, const struct found *f) {
    struct adoption *a = t->a;
    struct cache *c = a->c;
    struct item *it = item_at(c, f->ref);
    size_t key_at = item_key_offset(item_flags(it), item_value_bytes(it));
    struct key key = {.ptr = (const char *)it + key_at,
                      .hash = f->hash,
                      .len = item_key_len(it)};
    if (!settle_twins(t, p, &key, it)) {
        return;
    }
    unsigned class_id = cache_item_class(c, it);
    struct shelf *shelf = shelf_of_locked(c, p, class_id);
    if (shelf == NULL || !index_insert(&p->index, f->hash, f->ref)) {
        t->n.left_out++;
        unclaim_item(&a->claims, it);
        return;
    }
    if (item_large(it)) {
        /* the count that the link holds */
        atomic_store_explicit(item_refs(it), 1, memory_order_relaxed);
    }
    uint64_t bytes = cache_item_requested_bytes(c, it);
    shelf->requested_bytes += bytes;
    p->bytes += bytes;
    shelf->queue.flushed_s = a->clock.flushed;
    evict_restore(&shelf->queue, &it->node, a->policies[class_id], a->now_s + a->clock.ahead_s);
    t->n.items++;
    crash_point("item_adopted");
}

static void link_partition(struct adopter *t, unsigned number) {
    struct adoption *a = t->a;
    struct partition *p = &a->c->partitions[a->first + number];
    uint32_t count;
    struct found *memory;
    const struct found *found = bins_gather(&a->bins, number, &count, &memory);
    if (found == NULL) {
        adoption_fail(a);
        return;
    }
    lock_take(&p->lock);
    index_expect(&p->index, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            prefetch_to_write(item_at(a->c, found[i + AHEAD].ref));
            index_prefetch(&p->index, found[i + AHEAD].hash);
        }
        link_item(t, p, &found[i]);
    }
    lock_release(&p->lock);
    atomic_fetch_add_explicit(&a->linked, count, memory_order_relaxed);
    free(memory);
}

void adopt_link(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (!adoption_fails(a) && adoption_next(&a->next_link, a->count, &i)) {
        link_partition(t, i);
        adoption_say_progress(t, "linking partition", a->first + i, a->c->partition_count);
    }
}
