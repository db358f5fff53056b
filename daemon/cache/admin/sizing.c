/* The geometry of a live cache: its classes, and the sizes of its items. */
#include "cache/admin/sizing.h"

#include "cache/admin/cache_stats.h"
#include "cache/admin/class_policy.h"
#include "cache/items/item_value.h"
#include "cache/pages/assist.h"

enum { SIZING_CHUNKS = 64 }; /* chunks of one step */

/* A magazine holds several small chunks, but no large ones. */
void sizing_set_magazines(struct cache *c) {
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        bool active = slab_class_state(c->slab, i) == SLAB_CLASS_ACTIVE;
        uint32_t bytes = active ? slab_chunk_bytes(c->slab, i) : UINT32_MAX;
        uint8_t most = bytes <= 512 ? MAGAZINE_MAX : bytes <= 4096 ? 2 : 0;
        atomic_store_explicit(&c->magazine_most[i], most, memory_order_relaxed);
    }
}

void sizing_note_classes(struct cache *c) {
    unsigned now = c->slab->class_count;
    if (now > atomic_load_explicit(&c->class_id_most, memory_order_relaxed)) {
        atomic_store_explicit(&c->class_id_most, now, memory_order_relaxed);
    }
}

/* Adds the counts of a class id to class 0, which no class uses. So totals stay, and the next class
 * with this id begins at zero. */
static void sizing_forget_counts(struct cache *c, unsigned class_id) {
    enum { COUNTERS = sizeof(struct cache_class_values) / sizeof(uint64_t) };
    struct cache_class_values now;
    lock_take(&c->threads_lock);
    cache_stats_sum_class_locked(c, class_id, &now);
    uint64_t *base = (uint64_t *)&c->class_baseline[class_id],
             *nobody = (uint64_t *)&c->class_baseline[0];
    for (size_t i = 0; i < COUNTERS; i++) {
        nobody[i] -= ((uint64_t *)&now)[i] - base[i];
        base[i] = ((uint64_t *)&now)[i];
    }
    lock_release(&c->threads_lock);
}

bool cache_set_sizes(struct cache *c, const struct size_list *sizes) {
    struct class_set unused = {{0}};
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        if (slab_class_state(c->slab, i) == SLAB_CLASS_UNUSED) {
            class_set_add(&unused, i);
        }
    }
    if (!slab_set_sizes(c->slab, sizes)) {
        return false;
    }
    sizing_note_classes(c);
    sizing_set_magazines(c);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        enum slab_class_state state = slab_class_state(c->slab, i);
        if (class_set_has(&unused, i) && state != SLAB_CLASS_UNUSED) {
            sizing_forget_counts(c, i);
            atomic_store_explicit(&c->evicted_age_s[i], 0, memory_order_relaxed);
        }
        if (state == SLAB_CLASS_ACTIVE) {
            class_policy_follow_size(c, i);
        }
    }
    return true;
}

void cache_reap_classes(struct cache *c, const struct class_set *named) {
    struct class_set in_use = *named;
    if (!assist_add_classes(c, &in_use)) {
        return;
    }
    const struct class_set reaped = slab_reap(c->slab, &in_use);
    if (class_set_empty(&reaped)) {
        return;
    }
    class_set_shared_subtract(&c->starved, &reaped);
    class_set_shared_subtract(&c->left_free, &reaped);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        for (unsigned id = 1; id < SLAB_CLASSES_MAX; id++) {
            if (class_set_has(&reaped, id) && p->class_queues[id] != NULL) {
                evict_fini(&p->class_queues[id]->queue);
            }
        }
        lock_release(&p->lock);
    }
    for (unsigned id = 1; id < SLAB_CLASSES_MAX; id++) {
        if (class_set_has(&reaped, id)) {
            class_policy_follow_size(c, id);
        }
    }
}

/* --- sizes of live items, read without a lock --- */

/* The bytes of a chunk's contents; 0: the chunk is free, or changes this moment. */
static uint32_t sizing_content_bytes(const struct cache *c, const struct item *it,
                                     uint32_t chunk_bytes, uint32_t now_s) {
    if (item_state(it) != CHUNK_LINKED) {
        return 0;
    }
    uint64_t bytes;
    if (item_key_len(it) == 0) {
        bytes = ITEM_TAIL_HEADER +
                (uint64_t)item_load32(&((const struct item_tail *)(const void *)it)->used_bytes);
    } else {
        bytes = item_total_bytes(item_flags(it), item_key_len(it), item_value_bytes(it)) +
                value_bytes_in_head(c, it);
        if (cache_item_dead(c, it, now_s)) {
            return 0;
        }
    }
    return bytes <= chunk_bytes ? (uint32_t)bytes : 0;
}

void cache_sizing_begin(const struct cache *c, struct cache_sizing *s, struct fit_histogram *h,
                        uint32_t pages_most) {
    *s = (struct cache_sizing){.h = h, .now_s = clock_now_s()};
    fit_histogram_init(
        h, atomic_load_explicit(&c->arena->pages_out, memory_order_relaxed) / pages_most + 1);
}

/* Reads some chunks of the current page. Returns true if there may be more. */
static bool sizing_add_chunks(const struct cache *c, struct cache_sizing *s) {
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(c->slab, s->page)->chunk_bytes, memory_order_relaxed);
    const struct item *it = NULL;
    for (unsigned i = 0;
         i < SIZING_CHUNKS && (it = slab_page_chunk(c->slab, s->page, s->chunk)) != NULL;
         i++, s->chunk++) {
        uint32_t bytes = sizing_content_bytes(c, it, chunk_bytes, s->now_s);
        if (bytes != 0) {
            fit_histogram_add(s->h, bytes, chunk_bytes);
        }
    }
    return it != NULL;
}

bool cache_sizing_step(const struct cache *c, struct cache_sizing *s) {
    while (s->page < arena_page_end(c->arena) && s->chunk == 0 &&
           (slab_page_class(c->slab, s->page) == SLAB_CLASS_NONE ||
            s->owned++ % s->h->every != 0)) {
        s->page++;
    }
    if (s->page < arena_page_end(c->arena) && !sizing_add_chunks(c, s)) {
        s->chunk = 0;
        s->page++;
    }
    return s->page < arena_page_end(c->arena);
}

void cache_sizes(const struct cache *c, struct fit_histogram *h, uint32_t pages_most) {
    struct cache_sizing s;
    cache_sizing_begin(c, &s, h, pages_most);
    while (cache_sizing_step(c, &s)) {
    }
}

bool cache_page_fits(const struct cache *c, uint32_t page) {
    unsigned class_id = slab_page_class(c->slab, page);
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    const struct item *it;
    for (uint32_t i = 0; (it = slab_page_chunk(c->slab, page, i)) != NULL; i++) {
        uint32_t bytes = sizing_content_bytes(c, it, chunk_bytes, 0);
        if (bytes != 0 && slab_class_of(c->slab, bytes) != class_id) {
            return false;
        }
    }
    return true;
}
