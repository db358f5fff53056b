/* The geometry of a slab store: the sizes, and the id of each size's class. */
#include "mem/slab_sizes.h"

#include "base/failpoint.h"

void slab_rules(const struct slab *s, struct size_rules *rules) {
    *rules = (struct size_rules){
        .least_bytes = sizeof(struct item) + 8,
        .first_bytes = s->chunk_bytes_first,
        .most_bytes = s->chunk_bytes_max,
        .unit_bytes = 1u << s->arena->space.shift,
        .count_most = CLASS_SIZES_MAX,
    };
}

unsigned slab_next_class(const struct slab *s, unsigned class_id) {
    return slab_class_of(s, (size_t)slab_chunk_bytes(s, class_id) + 1);
}

/* The living class of a size; SLAB_CLASS_NONE: there is none. */
static unsigned slab_find_class(const struct slab *s, uint32_t chunk_bytes) {
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        if (slab_class_state(s, i) != SLAB_CLASS_UNUSED && slab_chunk_bytes(s, i) == chunk_bytes) {
            return i;
        }
    }
    return SLAB_CLASS_NONE;
}

static unsigned slab_unused_id(const struct slab *s) {
    unsigned i = 1;
    while (i < SLAB_CLASSES_MAX && slab_class_state(s, i) != SLAB_CLASS_UNUSED) {
        i++;
    }
    return i < SLAB_CLASSES_MAX ? i : SLAB_CLASS_NONE;
}

unsigned slab_ids_missing(const struct slab *s, const struct size_list *sizes) {
    unsigned unused = 0, wanted = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        unused += slab_class_state(s, i) == SLAB_CLASS_UNUSED;
    }
    for (unsigned i = 0; i < sizes->count; i++) {
        wanted += slab_find_class(s, sizes->bytes[i]) == SLAB_CLASS_NONE;
    }
    return wanted > unused ? wanted - unused : 0;
}

/* Notes the class in the memory file: before its first page comes, and after its last page has
 * left. */
static void slab_note_in_file(struct slab *s, unsigned class_id, enum slab_class_state state) {
    if (s->arena->file != NULL) {
        uint32_t word = MEMORY_CLASS(slab_chunk_bytes(s, class_id), state);
        ordered_set(&s->arena->file->head->classes[class_id],
                    state != SLAB_CLASS_UNUSED ? word : 0);
    }
}

static void slab_set_state(struct slab *s, unsigned class_id, enum slab_class_state state) {
    struct slab_class *c = &s->classes[class_id];
    lock_take(&c->lock);
    slab_note_in_file(s, class_id, state);
    failpoint_reach("class_noted");
    atomic_store_explicit(&c->state, state, memory_order_relaxed);
    lock_release(&c->lock);
}

/* The class of a size, made active: the living one, or one with an unused id. */
static unsigned slab_activate_class(struct slab *s, uint32_t chunk_bytes) {
    unsigned class_id = slab_find_class(s, chunk_bytes);
    if (class_id == SLAB_CLASS_NONE) {
        class_id = slab_unused_id(s);
        atomic_store_explicit(&s->classes[class_id].chunk_bytes, chunk_bytes, memory_order_relaxed);
        atomic_store_explicit(&s->classes[class_id].chunks_per_page, PAGE_BYTES / chunk_bytes,
                              memory_order_relaxed);
    }
    slab_set_state(s, class_id, SLAB_CLASS_ACTIVE);
    return class_id;
}

static void slab_count_classes(struct slab *s) {
    unsigned last = SLAB_CLASSES_MAX - 1;
    while (last > 0 && slab_class_state(s, last) == SLAB_CLASS_UNUSED) {
        last--;
    }
    atomic_store_explicit(&s->class_count, last, memory_order_relaxed);
}

bool slab_set_sizes(struct slab *s, const struct size_list *sizes) {
    if (slab_ids_missing(s, sizes) > 0) {
        return false;
    }
    struct class_set current = {{0}};
    struct class_sizes *next = slab_geometry(s) == &s->tables[0] ? &s->tables[1] : &s->tables[0];
    next->sizes = *sizes;
    for (unsigned i = 0; i < sizes->count; i++) {
        next->ids[i] = (uint8_t)slab_activate_class(s, sizes->bytes[i]);
        class_set_add(&current, next->ids[i]);
    }
    class_sizes_index(next);
    slab_count_classes(s);
    /* pairs with the acquire of slab_geometry */
    atomic_store_explicit(&s->geometry, next, memory_order_release);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        if (slab_class_state(s, i) == SLAB_CLASS_ACTIVE && !class_set_has(&current, i)) {
            slab_set_state(s, i, SLAB_CLASS_RETIRED);
        }
    }
    return true;
}

struct class_set slab_reap(struct slab *s, const struct class_set *named) {
    struct class_set reaped = {{0}};
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        struct slab_class *c = &s->classes[i];
        /* only the caller's thread changes states */
        if (slab_class_state(s, i) != SLAB_CLASS_RETIRED || class_set_has(named, i)) {
            continue;
        }
        lock_take(&c->lock);
        if (atomic_load_explicit(&c->page_count, memory_order_relaxed) == 0) {
            atomic_store_explicit(&c->state, SLAB_CLASS_UNUSED, memory_order_relaxed);
            slab_note_in_file(s, i, SLAB_CLASS_UNUSED);
            class_set_add(&reaped, i);
        }
        lock_release(&c->lock);
    }
    slab_count_classes(s);
    return reaped;
}
