#include "mem/slab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/failpoint.h"

enum { PARTIAL_PAGES_MOST = 64 }; /* pages that one hold of a class's lock visits */

static bool slab_plan_sizes(const struct slab_config *cfg, unsigned class_most,
                            struct size_rules *rules, struct size_list *sizes) {
    bool sane = cfg->growth_factor > 1.0 && cfg->chunk_bytes_max >= SLAB_CHUNK_MAX_LEAST &&
                cfg->chunk_bytes_max <= PAGE_BYTES &&
                cfg->chunk_bytes_max % rules->unit_bytes == 0 &&
                cfg->chunk_bytes_min >= rules->least_bytes && cfg->class_most < SLAB_CLASSES_MAX &&
                cfg->class_most != 1;
    rules->count_most = class_most;
    if (sane && cfg->sizes != NULL) {
        return size_list_of(sizes, cfg->sizes, cfg->size_count, rules);
    }
    if (sane) {
        size_list_by_factor(sizes, cfg->chunk_bytes_min, cfg->growth_factor, rules);
    }
    return sane;
}

struct slab *slab_create(struct arena *arena, const struct slab_config *cfg) {
    struct size_list sizes;
    struct size_rules rules;
    struct slab *s = aligned_alloc(64, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    memset(s, 0, sizeof *s);
    s->arena = arena;
    s->chunk_bytes_first = cfg->chunk_bytes_min;
    s->chunk_bytes_max = cfg->chunk_bytes_max;
    s->class_most = cfg->class_most != 0 ? cfg->class_most : SLAB_CLASSES_AT_START;
    slab_rules(s, &rules);
    if (!slab_plan_sizes(cfg, s->class_most, &rules, &sizes)) {
        free(s);
        errno = EINVAL;
        return NULL;
    }
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        struct slab_class *c = &s->classes[i];
        lock_init(&c->lock);
        c->partial = c->owned = c->owned_last = c->round_at = PAGE_NONE;
    }
    s->configured_sizes = sizes;
    if (arena->file == NULL || arena->file->is_new) {
        slab_set_sizes(s, &sizes);
    }
    return s;
}

void slab_destroy(struct slab **taken) {
    if (*taken == NULL) {
        return;
    }
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        lock_fini(&(*taken)->classes[i].lock);
    }
    free(*taken);
    *taken = NULL;
}

/* --- lists of pages; the caller holds the class's lock --- */

void slab_partial_link(struct slab *s, struct slab_class *c, uint32_t page) {
    assert(lock_held(&c->lock));
    struct page *p = slab_page(s, page);
    p->prev = PAGE_NONE;
    p->next = c->partial;
    if (c->partial != PAGE_NONE) {
        slab_page(s, c->partial)->prev = page;
    }
    c->partial = page;
}

static void slab_partial_unlink_locked(struct slab *s, struct slab_class *c, uint32_t page) {
    assert(lock_held(&c->lock));
    struct page *p = slab_page(s, page);
    if (p->prev != PAGE_NONE) {
        slab_page(s, p->prev)->next = p->next;
    } else {
        c->partial = p->next;
    }
    if (p->next != PAGE_NONE) {
        slab_page(s, p->next)->prev = p->prev;
    }
}

void slab_owned_append(struct slab *s, struct slab_class *c, uint32_t page) {
    struct page *p = slab_page(s, page);
    p->owned_prev = c->owned_last;
    p->owned_next = PAGE_NONE;
    if (c->owned_last != PAGE_NONE) {
        slab_page(s, c->owned_last)->owned_next = page;
    } else {
        c->owned = page;
    }
    c->owned_last = page;
}

static void slab_owned_unlink_locked(struct slab *s, struct slab_class *c, uint32_t page) {
    assert(lock_held(&c->lock));
    struct page *p = slab_page(s, page);
    c->round_at = c->round_at == page ? p->owned_next : c->round_at;
    if (p->owned_prev != PAGE_NONE) {
        slab_page(s, p->owned_prev)->owned_next = p->owned_next;
    } else {
        c->owned = p->owned_next;
    }
    if (p->owned_next != PAGE_NONE) {
        slab_page(s, p->owned_next)->owned_prev = p->owned_prev;
    } else {
        c->owned_last = p->owned_prev;
    }
}

static void slab_add32(_Atomic uint32_t *n, uint32_t by) {
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/* Carves a page that no other thread knows of, for the class. False: the class is not active (any
 * more), or has pages although this is to be its first. */
static bool slab_class_add_page(struct slab *s, unsigned class_id, uint32_t page, bool first) {
    struct slab_class *c = &s->classes[class_id];
    struct page *p = slab_page(s, page);
    char *start = arena_page_start(s->arena, page);
    uint32_t next = 0, chunk_bytes = slab_chunk_bytes(s, class_id), now_s = clock_now_s();
    if (slab_class_state(s, class_id) != SLAB_CLASS_ACTIVE) {
        return false;
    }
    for (uint32_t i = PAGE_BYTES / chunk_bytes; i-- > 0;) {
        struct item *it = (void *)(start + (size_t)i * chunk_bytes);
        node_set_next(&it->node, next);
        item_set_flags(it, CHUNK_FREE);
        next = node_ref(&s->arena->space, it);
    }
    failpoint_reach("page_carved");
    lock_take(&c->lock);
    bool wanted = slab_class_state(s, class_id) == SLAB_CLASS_ACTIVE &&
                  !(first && atomic_load_explicit(&c->page_count, memory_order_relaxed) > 0);
    if (wanted) {
        p->chunk_count = PAGE_BYTES / chunk_bytes;
        p->free_head = next;
        p->free_count = p->chunk_count;
        atomic_store_explicit(
            &p->acquired_seq,
            atomic_fetch_add_explicit(&s->pages_acquired, 1, memory_order_relaxed),
            memory_order_relaxed);
        atomic_store_explicit(&p->created_s, now_s, memory_order_relaxed);
        atomic_store_explicit(&p->chunk_bytes, chunk_bytes, memory_order_relaxed);
        atomic_store_explicit(&p->class_id, (uint8_t)class_id, memory_order_relaxed);
        failpoint_reach("page_half_owned");
        atomic_store_explicit(&p->state, PAGE_OWNED, memory_order_release);
        failpoint_reach("page_owned");
        slab_partial_link(s, c, page);
        slab_owned_append(s, c, page);
        slab_add32(&c->page_count, 1);
        slab_add32(&c->free_count, p->chunk_count);
    }
    lock_release(&c->lock);
    return wanted;
}

/* Takes a page of the pool for the class; its first may go over the limit. */
static bool slab_class_grow(struct slab *s, unsigned class_id, bool first) {
    uint32_t page = slab_class_state(s, class_id) == SLAB_CLASS_ACTIVE
                        ? arena_take_page(s->arena, first)
                        : PAGE_NONE;
    if (page != PAGE_NONE && !slab_class_add_page(s, class_id, page, first)) {
        arena_release_page(s->arena,
                           page); /* the class was retired this moment, or has got a page */
        page = PAGE_NONE;
    }
    return page != PAGE_NONE;
}

static unsigned slab_class_pop(struct slab *s, struct slab_class *c, uint32_t *refs,
                               unsigned want) {
    unsigned got = 0;
    lock_take(&c->lock);
    while (got < want && c->partial != PAGE_NONE) {
        uint32_t page = c->partial;
        struct page *p = slab_page(s, page);
        while (got < want && p->free_head != 0) {
            refs[got++] = p->free_head;
            p->free_head = node_next(node_at(&s->arena->space, p->free_head));
            p->free_count--;
        }
        if (p->free_head == 0) {
            slab_partial_unlink_locked(s, c, page);
        }
    }
    slab_add32(&c->free_count, (uint32_t)-(int32_t)got);
    lock_release(&c->lock);
    return got;
}

unsigned slab_take(struct slab *s, unsigned class_id, uint32_t *refs, unsigned want) {
    for (;;) {
        unsigned got = slab_has_free_chunk(s, class_id)
                           ? slab_class_pop(s, &s->classes[class_id], refs, want)
                           : 0;
        if (got > 0 || !slab_class_grow(s, class_id, false)) {
            return got;
        }
    }
}

bool slab_grow(struct slab *s, unsigned class_id) { return slab_class_grow(s, class_id, false); }

bool slab_grow_first(struct slab *s, unsigned class_id) {
    bool none = atomic_load_explicit(&s->classes[class_id].page_count, memory_order_relaxed) == 0;
    return (none && slab_class_grow(s, class_id, true)) || slab_has_free_chunk(s, class_id);
}

static void slab_release_locked(struct slab *s, struct slab_class *c, uint32_t ref) {
    assert(lock_held(&c->lock));
    struct item *it = node_at(&s->arena->space, ref);
    uint32_t page = arena_page_of(s->arena, it);
    struct page *p = slab_page(s, page);
    item_set_flags(it, CHUNK_FREE);
    node_set_next(&it->node, p->free_head);
    p->free_head = ref;
    p->free_count++;
    if (!slab_page_draining(s, page)) {
        slab_add32(&c->free_count, 1);
        if (p->free_count == 1) {
            slab_partial_link(s, c, page);
        }
    }
}

void slab_release_all(struct slab *s, const uint32_t *refs, unsigned count) {
    for (unsigned i = 0; i < count;) {
        struct slab_class *c = &s->classes[slab_ref_class(s, refs[i])];
        lock_take(&c->lock);
        do {
            slab_release_locked(s, c, refs[i++]);
        } while (i < count && &s->classes[slab_ref_class(s, refs[i])] == c);
        lock_release(&c->lock);
    }
}

void slab_release(struct slab *s, uint32_t ref) { slab_release_all(s, &ref, 1); }

/* --- moving pages --- */

bool slab_drain_begin(struct slab *s, uint32_t page, unsigned class_id, uint32_t retained) {
    struct slab_class *c = &s->classes[class_id];
    struct page *p = slab_page(s, page);
    bool begun = false;
    lock_take(&c->lock);
    if (slab_page_class(s, page) == class_id && slab_pages_beyond(s, class_id, retained) > 0 &&
        atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_OWNED) {
        if (p->free_count > 0) {
            slab_partial_unlink_locked(s, c, page);
            slab_add32(&c->free_count, (uint32_t)-(int32_t)p->free_count);
        }
        atomic_store_explicit(&p->state, PAGE_DRAINING, memory_order_relaxed);
        failpoint_reach("page_draining");
        slab_add32(&c->moving, 1);
        begun = true;
    }
    lock_release(&c->lock);
    return begun;
}

bool slab_drain_empty(struct slab *s, uint32_t page) {
    struct slab_class *c = &s->classes[slab_page_class(s, page)];
    struct page *p = slab_page(s, page);
    lock_take(&c->lock);
    bool empty = p->free_count == p->chunk_count;
    lock_release(&c->lock);
    return empty;
}

void slab_page_withdraw(struct slab *s, uint32_t page) {
    struct slab_class *c = &s->classes[slab_page_class(s, page)];
    struct page *p = slab_page(s, page);
    lock_take(&c->lock);
    assert(p->free_count == p->chunk_count);
    slab_owned_unlink_locked(s, c, page);
    atomic_store_explicit(&p->state, PAGE_FREE, memory_order_relaxed);
    ordered_fence();
    failpoint_reach("page_half_withdrawn");
    atomic_store_explicit(&p->class_id, SLAB_CLASS_NONE, memory_order_relaxed);
    failpoint_reach("page_withdrawn");
    p->free_head = 0;
    p->free_count = 0;
    slab_add32(&s->withdrawn, 1);
    slab_add32(&c->page_count, (uint32_t)-1);
    slab_add32(&c->moving, (uint32_t)-1);
    lock_release(&c->lock);
}

void slab_page_place(struct slab *s, uint32_t page, unsigned to_class) {
    if (to_class == SLAB_CLASS_NONE || !slab_class_add_page(s, to_class, page, false)) {
        arena_release_page(s->arena, page);
    }
    slab_add32(&s->withdrawn, (uint32_t)-1);
}

void slab_drain_end(struct slab *s, uint32_t page, unsigned to_class) {
    slab_page_withdraw(s, page);
    slab_page_place(s, page, to_class);
}

void slab_drain_cancel(struct slab *s, uint32_t page) {
    struct slab_class *c = &s->classes[slab_page_class(s, page)];
    struct page *p = slab_page(s, page);
    lock_take(&c->lock);
    atomic_store_explicit(&p->state, PAGE_OWNED, memory_order_relaxed);
    slab_add32(&c->moving, (uint32_t)-1);
    if (p->free_count > 0) {
        slab_partial_link(s, c, page);
        slab_add32(&c->free_count, p->free_count);
    }
    lock_release(&c->lock);
}

struct item *slab_page_chunk(const struct slab *s, uint32_t page, uint32_t i) {
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(s, page)->chunk_bytes, memory_order_relaxed);
    if (chunk_bytes == 0 || i >= PAGE_BYTES / chunk_bytes) {
        return NULL;
    }
    return (void *)(arena_page_start(s->arena, page) + (size_t)i * chunk_bytes);
}

void slab_facts(const struct slab *s, unsigned class_id, struct slab_class_facts *f) {
    const struct slab_class *c = &s->classes[class_id];
    *f = (struct slab_class_facts){
        .chunk_bytes = c->chunk_bytes,
        .chunks_per_page = c->chunks_per_page,
        .pages = atomic_load_explicit(&c->page_count, memory_order_relaxed),
        .free_chunks = atomic_load_explicit(&c->free_count, memory_order_relaxed),
        .draining = atomic_load_explicit(&c->moving, memory_order_relaxed),
        .retired = slab_class_state(s, class_id) == SLAB_CLASS_RETIRED,
    };
}

bool slab_page_facts(struct slab *s, uint32_t page, struct slab_page_facts *f) {
    const struct page *p = slab_page(s, page);
    unsigned class_id = slab_page_class(s, page);
    if (class_id == SLAB_CLASS_NONE) {
        return false; /* as most pages are; that needs no lock */
    }
    struct slab_class *c = &s->classes[class_id];
    lock_take(&c->lock);
    bool still = slab_page_class(s, page) == class_id;
    *f = (struct slab_page_facts){
        .class_id = class_id,
        .draining = slab_page_draining(s, page),
        .chunks = p->chunk_count,
        .free_chunks = p->free_count,
        .created_s = atomic_load_explicit(&p->created_s, memory_order_relaxed),
    };
    lock_release(&c->lock);
    return still && f->chunks > 0;
}

unsigned slab_partial_pages(struct slab *s, unsigned class_id, bool all_free, uint32_t *pages,
                            unsigned max) {
    struct slab_class *c = &s->classes[class_id];
    unsigned n = 0, left = PARTIAL_PAGES_MOST;
    lock_take(&c->lock);
    for (uint32_t page = c->partial; page != PAGE_NONE && left-- > 0 && n < max;
         page = slab_page(s, page)->next) {
        const struct page *p = slab_page(s, page);
        if (!all_free || p->free_count == p->chunk_count) {
            pages[n++] = page;
        }
    }
    lock_release(&c->lock);
    return n;
}

unsigned slab_next_pages(struct slab *s, unsigned class_id, uint32_t *pages, unsigned max) {
    struct slab_class *c = &s->classes[class_id];
    unsigned n = 0;
    lock_take(&c->lock);
    uint32_t first = c->round_at != PAGE_NONE ? c->round_at : c->owned, page = first;
    while (page != PAGE_NONE && n < max) {
        if (!slab_page_draining(s, page)) {
            pages[n++] = page;
        }
        page =
            slab_page(s, page)->owned_next != PAGE_NONE ? slab_page(s, page)->owned_next : c->owned;
        if (page == first) {
            break;
        }
    }
    c->round_at = page;
    lock_release(&c->lock);
    return n;
}
