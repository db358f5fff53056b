/* Free chunks: what a partition keeps at hand of each class, and the way back to the classes. */
#include "cache/alloc/magazine.h"

#include <stdlib.h>

#include "base/failpoint.h"
#include "cache/admin/page_value.h"

struct shelf *shelf_of_locked(struct cache *c, struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct shelf *s = p->shelves[class_id];
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL) {
            return NULL;
        }
        evict_init(&s->queue, policy_of(c, class_id), &c->tuning, &c->arena->space);
        evict_tail_watch(&s->queue, measured_tail(c, class_id));
        p->shelves[class_id] = s;
    }
    return s;
}

void shelf_destroy(struct shelf *taken) {
    if (taken != NULL) {
        evict_fini(&taken->queue);
        free(taken);
    }
}

uint32_t stock_pop_locked(struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct shelf *s = p->shelves[class_id];
    return s != NULL && s->stock_count > 0 ? s->stock[--s->stock_count] : 0;
}

void stock_push_locked(struct cache_thread *ct, struct partition *p, uint32_t ref) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    uint32_t page = arena_page_of_ref(c->arena, ref);
    unsigned class_id = slab_page_class(c->slab, page);
    struct shelf *s = p->shelves[class_id];
    item_set_flags(item_at(c, ref), CHUNK_FREE);
    if (s != NULL && s->stock_count < c->stock_most[class_id] &&
        !slab_page_draining(c->slab, page)) {
        s->stock[s->stock_count++] = ref;
        return;
    }
    node_set_next(&item_at(c, ref)->node, ct->give);
    ct->give = ref;
}

void stocks_give_page(struct cache_thread *ct, uint32_t page) {
    struct cache *c = ct->cache;
    unsigned class_id = slab_page_class(c->slab, page);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        uint32_t given[STOCK_MAX];
        unsigned n = 0;
        lock_take(&p->lock);
        struct shelf *s = p->shelves[class_id];
        for (uint32_t j = 0; s != NULL && j < s->stock_count;) {
            if (arena_page_of_ref(c->arena, s->stock[j]) == page) {
                given[n++] = s->stock[j];
                s->stock[j] = s->stock[--s->stock_count];
            } else {
                j++;
            }
        }
        lock_release(&p->lock);
        while (n > 0) {
            slab_release(c->slab, given[--n]);
        }
    }
}

void item_release(struct cache_thread *ct, struct item *it) {
    struct cache *c = ct->cache;
    uint32_t refs[GIVE_MAX], next = item_chained(it) ? item_load32(item_chain(it)) : 0;
    unsigned n = 0;
    refs[n++] = ref_of_item(c, it);
    while (next != 0) {
        if (n == GIVE_MAX) {
            c->store->give(ct, refs, n);
            n = 0;
        }
        refs[n++] = next;
        next = item_tail_next(node_at(&c->arena->space, next));
    }
    c->store->give(ct, refs, n);
}

void chunks_give_back(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    while (ct->give != 0) {
        uint32_t refs[GIVE_MAX];
        unsigned from = GIVE_MAX; /* the last chunk is the first of the list */
        while (ct->give != 0 && from > 0) {
            refs[--from] = ct->give;
            ct->give = node_next(&item_at(c, ct->give)->node);
        }
        c->store->give(ct, refs + from, GIVE_MAX - from);
    }
    while (ct->doomed != NULL) {
        failpoint_reach("pieces_to_free");
        struct item *it = ct->doomed;
        ct->doomed = node_next(&it->node) != 0 ? item_at(ct->cache, node_next(&it->node)) : NULL;
        item_release(ct, it);
    }
}
