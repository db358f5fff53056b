/* A cache on its way to another process. Items and the page table lie in the memory file, which
 * both map; the image has the rest: index, queues, lists of chunks, counts. Nothing in it is an
 * address, and getting it changes nothing in the file, so that the process before can go on until
 * the very end. */
#include <stdio.h>
#include <stdlib.h>

#include "base/image.h"
#include "cache/geometry.h"
#include "cache/handover.h"
#include "cache/keep.h"
#include "cache/measure.h"
#include "cache/stock.h"
#include "cache/value.h"
#include "index/image.h"
#include "mem/image.h"

/* The version of the image. To be raised with each change of what an image holds, or of what its
 * numbers mean. */
enum { IMAGE_VERSION = 2 };

enum { NAME_BYTES = 32, SHELVES_END = SLAB_CLASSES_MAX };

struct cache_image {
    uint64_t layout, item_clock;
    int64_t  pinned_bytes; /* memory of values that only clients of the old process still read */
    char     index_kind[NAME_BYTES];
    uint32_t partitions, cas_flag, flush_at_s;
    /* the policies that the options named, as numbers of evict_policies */
    uint32_t policies_at_start;
    uint32_t policy, class_policies[SLAB_CLASSES_MAX];
};

struct shelf_image {
    uint64_t requested_bytes;
    uint32_t stock_count, stock[STOCK_MAX];
};

uint64_t cache_image_layout(void) {
    const uint64_t parts[] = {IMAGE_VERSION,        index_layout(),
                              slab_layout(),        sizeof(struct partition),
                              sizeof(struct shelf), sizeof(struct evict_queue),
                              sizeof(struct item),  sizeof(struct cache_image),
                              KEY_SECRET_BYTES};
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

int cache_file(const struct cache *c) { return c->arena->file != NULL ? c->arena->file->fd : -1; }

unsigned cache_partitions(const struct cache *c) { return c->partition_count; }

size_t cache_image_bytes(const struct cache *c, size_t *index_bytes) {
    size_t used = atomic_load_explicit(&c->index_pool.used, memory_order_relaxed), shelves = 0;
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        shelves += slab_class_state(c->slab, id) != SLAB_CLASS_UNUSED ? c->partition_count : 0;
    }
    *index_bytes = used + used / 16;
    return *index_bytes + shelves * (sizeof(struct shelf_image) + sizeof(struct evict_queue) + 64) +
           c->arena->page_max * sizeof(uint32_t) + sizeof(struct slab);
}

static uint32_t policy_number(const struct evict_policy *policy) {
    uint32_t number = 0;
    while (evict_policies[number] != policy) {
        number++;
    }
    return number;
}

static const struct evict_policy *policy_numbered(uint32_t number) {
    uint32_t i = 0;
    while (i < number && evict_policies[i] != NULL) {
        i++;
    }
    return evict_policies[i];
}

/* --- put --- */

static bool pages_are_on_their_way(const struct slab *s) {
    bool any = atomic_load_explicit(&s->withdrawn, memory_order_relaxed) != 0;
    for (unsigned id = 1; id <= s->class_count; id++) {
        any = any || atomic_load_explicit(&s->classes[id].moving, memory_order_relaxed) != 0;
    }
    return any;
}

static void put_head(struct image *to, const struct cache *c) {
    struct cache_image head = {
        .layout = cache_image_layout(),
        .item_clock = atomic_load_explicit(&c->item_clock, memory_order_relaxed),
        .pinned_bytes = atomic_load_explicit(&c->pinned_bytes, memory_order_relaxed),
        .partitions = c->partition_count,
        .cas_flag = c->cas_flag,
        .flush_at_s = atomic_load_explicit(&c->flush_at_s, memory_order_relaxed),
        .policies_at_start = policy_number(c->config.policy),
        .policy = policy_number(atomic_load_explicit(&c->policy, memory_order_relaxed)),
    };
    snprintf(head.index_kind, sizeof head.index_kind, "%s", cache_index_name(c));
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        head.class_policies[id] = policy_number(policy_of(c, id));
    }
    image_put(to, &head, sizeof head);
}

static void put_shelf(struct image *to, unsigned class_id, const struct shelf *s) {
    struct shelf_image i = {.requested_bytes = s->requested_bytes, .stock_count = s->stock_count};
    memcpy(i.stock, s->stock, sizeof i.stock);
    image_put_u64(to, class_id);
    image_put(to, &i, sizeof i);
    evict_put(to, &s->queue);
}

static void put_partition(struct image *to, struct partition *p) {
    const uint64_t counts[] = {p->cas, p->cas_step, p->bytes};
    image_put(to, counts, sizeof counts);
    index_put(to, &p->index);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        if (p->shelves[id] != NULL) {
            put_shelf(to, id, p->shelves[id]);
        }
    }
    image_put_u64(to, SHELVES_END);
}

bool cache_image_put(struct image *to, struct cache *c) {
    if (pages_are_on_their_way(c->slab) || !keep_set_apart(c)) {
        return false;
    }
    cache_keep_time(c);
    put_head(to, c);
    slab_put(to, c->slab);
    index_pool_put(to, &c->index_pool);
    for (unsigned i = 0; i < c->partition_count; i++) {
        put_partition(to, &c->partitions[i]);
    }
    return !to->failed;
}

bool cache_leave(struct cache *c) { return keep_leave(c); }

void cache_take_up_again(struct cache *c) { keep_take_up_again(c); }

/* --- get --- */

static const char not_whole[] = "the hand-over is not whole, or there is no memory for it";

#define ANEW "; stop it and start this one, which with -e has the items"

/* What the options of both processes must have alike. NULL: all is alike. */
static const char *difference(const struct cache *c, const struct cache_image *head,
                              const struct index_kind *kind) {
    return head->layout != cache_image_layout()
               ? "it lays its index out otherwise than this build" ANEW
           : strncmp(head->index_kind, kind->name, NAME_BYTES) != 0 ? "it has another --index" ANEW
           : head->partitions != c->partition_count
               ? "it has another number of --partitions" ANEW
           : head->cas_flag != c->cas_flag ? "one of the two has -C" ANEW
                                           : NULL;
}

static bool get_policies(struct cache *c, const struct cache_image *head) {
    /* where the new process's options name another policy, theirs counts */
    bool renamed = policy_numbered(head->policies_at_start) != c->config.policy, whole = true;
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        const struct evict_policy *policy = policy_numbered(head->class_policies[id]);
        whole = whole && policy != NULL;
        atomic_store_explicit(&c->class_policy[id], policy, memory_order_relaxed);
    }
    const struct evict_policy *policy = policy_numbered(head->policy);
    atomic_store_explicit(&c->policy, policy, memory_order_relaxed);
    c->policy_renamed = renamed;
    return whole && policy != NULL;
}

static bool get_shelf(struct image *from, struct cache *c, struct partition *p, unsigned class_id) {
    struct shelf_image i;
    struct shelf *s = p->shelves[class_id] == NULL ? calloc(1, sizeof *s) : NULL;
    image_take(from, &i, sizeof i);
    if (s == NULL || i.stock_count > STOCK_MAX) {
        free(s);
        return false;
    }
    p->shelves[class_id] = s;
    s->requested_bytes = i.requested_bytes;
    s->stock_count = i.stock_count;
    memcpy(s->stock, i.stock, sizeof s->stock);
    evict_init(&s->queue, policy_of(c, class_id), &c->tuning, &c->arena->space);
    return evict_get(from, &s->queue);
}

static bool get_partition(struct image *from, struct cache *c, struct partition *p,
                          const struct index_kind *kind) {
    uint64_t counts[3], class_id;
    image_take(from, counts, sizeof counts);
    p->cas = counts[0];
    p->cas_step = counts[1];
    p->bytes = counts[2];
    /* the partition's own empty index, which uses nothing of the pool any more */
    index_fini(&p->index);
    bool whole = index_get(from, &p->index, kind, &c->index_pool, &c->arena->space);
    while (whole && (class_id = image_take_u64(from)) != SHELVES_END) {
        whole = class_id < SLAB_CLASSES_MAX && class_id != SLAB_CLASS_NONE && !from->failed &&
                get_shelf(from, c, p, (unsigned)class_id);
    }
    return whole && !from->failed;
}

const char *cache_image_get(struct image *from, struct cache *c) {
    const struct index_kind *kind = c->config.index != NULL ? c->config.index : index_kinds[0];
    struct cache_image head;
    image_take(from, &head, sizeof head);
    const char *other = from->failed ? not_whole : difference(c, &head, kind);
    if (other != NULL) {
        return other;
    }
    bool whole = get_policies(c, &head) && slab_get(from, c->slab) &&
                 index_pool_get(from, &c->index_pool);
    for (unsigned i = 0; i < c->partition_count && whole; i++) {
        whole = get_partition(from, c, &c->partitions[i], kind);
    }
    if (!whole) {
        return not_whole;
    }
    atomic_store_explicit(&c->item_clock, head.item_clock, memory_order_relaxed);
    atomic_store_explicit(&c->flush_at_s, head.flush_at_s, memory_order_relaxed);
    atomic_store_explicit(&c->pinned_bytes, head.pinned_bytes, memory_order_relaxed);
    geometry_note_classes(c);
    geometry_set_stocks(c);
    return NULL;
}

/* --- what is held --- */

struct cache_held cache_held(const struct cache *c, enum cache_held_kind kind,
                             const struct item *it) {
    return (struct cache_held){.ref = ref_of_item(c, it), .kind = kind};
}

void cache_held_give_back(struct cache_thread *ct, const struct cache_held *held, unsigned count) {
    struct cache *c = ct->cache;
    for (unsigned i = 0; i < count; i++) {
        struct item *it = chunk_is_at(c, held[i].ref) ? item_at(c, held[i].ref) : NULL;
        if (it != NULL && held[i].kind == CACHE_HELD_DRAFT) {
            item_release(ct, it);
        } else if (it != NULL) {
            cache_return(ct, it);
        }
    }
}

/* --- own --- */

bool cache_may_own(struct cache *c) { return memory_file_may_own(c->arena->file); }

void cache_own(struct cache *c) {
    keep_own(c);
    keep_serve(c);
}

void cache_settle_in(struct cache *c) {
    if (c->policy_renamed) {
        cache_set_policy(c, c->config.policy, SLAB_CLASS_NONE);
    }
}
