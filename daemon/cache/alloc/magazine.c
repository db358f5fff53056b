/* Magazines of free chunks, one for each class in a partition, and the release of chunks to their
 * classes. */
#include "cache/alloc/magazine.h"

#include <stdlib.h>

#include "base/failpoint.h"
#include "cache/admin/page_value.h"

struct class_queue *class_queue_locked(struct cache *c, struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct class_queue *s = p->class_queues[class_id];
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL) {
            return NULL;
        }
        evict_init(&s->queue, policy_of(c, class_id), &c->tuning, &c->arena->space);
        evict_tail_watch(&s->queue, page_value_tail_nodes(c, class_id));
        p->class_queues[class_id] = s;
    }
    return s;
}

void class_queue_destroy(struct class_queue *taken) {
    if (taken != NULL) {
        evict_fini(&taken->queue);
        free(taken);
    }
}

uint32_t magazine_pop_locked(struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct class_queue *s = p->class_queues[class_id];
    return s != NULL && s->magazine_count > 0 ? s->magazine[--s->magazine_count] : 0;
}

void magazine_push_locked(struct cache_thread *ct, struct partition *p, uint32_t ref) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    uint32_t page = arena_page_of_ref(c->arena, ref);
    unsigned class_id = slab_page_class(c->slab, page);
    struct class_queue *s = p->class_queues[class_id];
    item_set_flags(item_at(c, ref), CHUNK_FREE);
    if (s != NULL && s->magazine_count < c->magazine_most[class_id] &&
        !slab_page_draining(c->slab, page)) {
        s->magazine[s->magazine_count++] = ref;
        return;
    }
    node_set_next(&item_at(c, ref)->node, ct->deferred_chunks);
    ct->deferred_chunks = ref;
}

void magazines_release_page(struct cache_thread *ct, uint32_t page) {
    struct cache *c = ct->cache;
    unsigned class_id = slab_page_class(c->slab, page);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        uint32_t taken_refs[MAGAZINE_MAX];
        unsigned n = 0;
        lock_take(&p->lock);
        struct class_queue *s = p->class_queues[class_id];
        for (uint32_t j = 0; s != NULL && j < s->magazine_count;) {
            if (arena_page_of_ref(c->arena, s->magazine[j]) == page) {
                taken_refs[n++] = s->magazine[j];
                s->magazine[j] = s->magazine[--s->magazine_count];
            } else {
                j++;
            }
        }
        lock_release(&p->lock);
        while (n > 0) {
            slab_release(c->slab, taken_refs[--n]);
        }
    }
}

void magazine_release_item(struct cache_thread *ct, struct item *it) {
    struct cache *c = ct->cache;
    uint32_t refs[RELEASE_MAX], next = item_chained(it) ? item_load32(item_chain(it)) : 0;
    unsigned n = 0;
    refs[n++] = ref_of_item(c, it);
    while (next != 0) {
        if (n == RELEASE_MAX) {
            c->store->release(ct, refs, n);
            n = 0;
        }
        refs[n++] = next;
        next = item_tail_next(node_at(&c->arena->space, next));
    }
    c->store->release(ct, refs, n);
}

void magazine_release_deferred(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    while (ct->deferred_chunks != 0) {
        uint32_t refs[RELEASE_MAX];
        unsigned from = RELEASE_MAX; /* the last chunk is the first of the list */
        while (ct->deferred_chunks != 0 && from > 0) {
            refs[--from] = ct->deferred_chunks;
            ct->deferred_chunks = node_next(&item_at(c, ct->deferred_chunks)->node);
        }
        c->store->release(ct, refs + from, RELEASE_MAX - from);
    }
    while (ct->deferred_items != NULL) {
        failpoint_reach("pieces_to_free");
        struct item *it = ct->deferred_items;
        ct->deferred_items =
            node_next(&it->node) != 0 ? item_at(ct->cache, node_next(&it->node)) : NULL;
        magazine_release_item(ct, it);
    }
}
