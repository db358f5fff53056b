#include "cache/admin/class_policy.h"

#include <string.h>

#include "cache/persist/file_state.h"

const struct evict_policy *cache_class_policy(const struct cache *c, unsigned class_id) {
    return policy_of(c, class_id);
}
const struct evict_policy *cache_policy(const struct cache *c) {
    return atomic_load_explicit(&c->policy, memory_order_relaxed);
}

/* A class without items has no queue yet, and gets the policy with its first item. `all`: also
 * switches queues that have the policy already; these then spare their read items once more. */
static void class_policy_switch_queues(struct cache *c, unsigned first_class, unsigned last_class,
                                       bool all) {
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        for (unsigned class_id = first_class; class_id <= last_class; class_id++) {
            struct class_queue *s = p->class_queues[class_id];
            if (s != NULL && (all || s->queue.policy != policy_of(c, class_id))) {
                evict_switch(&s->queue, policy_of(c, class_id));
            }
        }
        lock_release(&p->lock);
    }
}

static void class_policy_put(struct cache *c, unsigned class_id, const struct evict_policy *to) {
    atomic_store_explicit(&c->class_policy[class_id], to, memory_order_relaxed);
    file_state_save_policy(c, class_id);
}

/* Notes a class's policy for the sizes that the class serves. A retired class serves none. */
static void class_policy_note_sizes(struct cache *c, unsigned class_id) {
    const struct size_list *sizes = &slab_geometry(c->slab)->sizes;
    uint32_t most = slab_chunk_bytes(c->slab, class_id), above = 0;
    uint8_t number = 0;
    if (slab_class_state(c->slab, class_id) != SLAB_CLASS_ACTIVE) {
        return;
    }
    for (unsigned i = 0; sizes->bytes[i] < most; i++) {
        above = sizes->bytes[i];
    }
    if (policy_of(c, class_id) != cache_policy(c)) {
        while (evict_policies[number++] != policy_of(c, class_id)) {
        }
    }
    memset(&c->policy_by_size[above / POLICY_SIZES_UNIT], number,
           (most - above) / POLICY_SIZES_UNIT);
}

/* The policy of a class by its size; of an id without a class: the cache's. */
static const struct evict_policy *class_policy_of_size(const struct cache *c, unsigned class_id) {
    uint32_t bytes = slab_chunk_bytes(c->slab, class_id);
    uint8_t number = slab_class_state(c->slab, class_id) != SLAB_CLASS_UNUSED
                         ? c->policy_by_size[(bytes - 1) / POLICY_SIZES_UNIT]
                         : 0;
    return number != 0 ? evict_policies[number - 1] : cache_policy(c);
}

void cache_set_policy(struct cache *c, const struct evict_policy *policy, unsigned class_id) {
    unsigned first = 1, last = SLAB_CLASSES_MAX - 1;
    if (class_id != SLAB_CLASS_NONE) {
        first = last = class_id;
    } else {
        atomic_store_explicit(&c->policy, policy, memory_order_relaxed);
        memset(c->policy_by_size, 0, sizeof c->policy_by_size);
    }
    for (unsigned i = first; i <= last; i++) {
        class_policy_put(c, i, policy);
    }
    if (class_id != SLAB_CLASS_NONE) {
        class_policy_note_sizes(c, class_id);
    }
    file_state_save_policy(c, 0);
    class_policy_switch_queues(c, first, last, true);
}

void cache_change_policy(struct cache *c, const struct evict_policy *policy) {
    atomic_store_explicit(&c->policy, policy, memory_order_relaxed);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        class_policy_put(c, i, class_policy_of_size(c, i));
    }
    file_state_save_policy(c, 0);
    class_policy_switch_queues(c, 1, SLAB_CLASSES_MAX - 1, false);
}

void class_policy_follow_size(struct cache *c, unsigned class_id) {
    const struct evict_policy *to = class_policy_of_size(c, class_id);
    if (to != policy_of(c, class_id)) {
        class_policy_put(c, class_id, to);
        class_policy_switch_queues(c, class_id, class_id, false);
    }
}

void class_policy_recover(struct cache *c) {
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        if (policy_of(c, i) != cache_policy(c)) {
            class_policy_note_sizes(c, i);
        }
    }
}
