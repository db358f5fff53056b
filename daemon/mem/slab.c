#include "mem/slab.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t round_up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }

static void class_init(struct slab_class *c, uint32_t chunk_bytes) {
    lock_init(&c->lock);
    c->chunk_bytes = chunk_bytes;
    c->chunks_per_page = chunk_bytes ? PAGE_BYTES / chunk_bytes : 0;
    c->partial = PAGE_NONE;
    c->owned = PAGE_NONE;
}

/* Chunk sizes ascending in `sizes`; the last is always chunk_bytes_max. Returns how many, 0 when they make no sense. */
static unsigned plan_sizes(const struct slab_config *cfg, uint32_t unit, uint32_t *sizes) {
    unsigned n = 0;
    uint32_t most = cfg->chunk_bytes_max;
    if (cfg->sizes != NULL) {
        for (unsigned i = 0; i < cfg->size_count && n < SLAB_CLASSES_MAX - 2; i++) {
            uint32_t size = round_up(cfg->sizes[i], unit);
            if (size >= most) {
                break;
            }
            if (n > 0 && size <= sizes[n - 1]) {
                return 0;
            }
            sizes[n++] = size;
        }
    } else {
        double size = cfg->chunk_bytes_min;
        while (n < SLAB_CLASSES_MAX - 2 && size <= most / cfg->growth_factor) {
            sizes[n] = round_up((uint32_t)size, unit);
            size = sizes[n] * cfg->growth_factor;
            if (size < sizes[n] + unit) {
                size = sizes[n] + unit; /* a small factor of a small size: the next one is still another */
            }
            n++;
        }
    }
    sizes[n++] = most;
    return n;
}

static unsigned class_search(const struct slab *s, size_t bytes) {
    unsigned low = 1, high = s->class_count;
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (s->classes[mid].chunk_bytes < bytes) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

unsigned slab_class_of(const struct slab *s, size_t bytes) {
    if (bytes <= SLAB_SMALL_BYTES && bytes <= s->chunk_bytes_max) {
        return s->class_of_small[(bytes + 7) / 8];
    }
    return bytes > s->chunk_bytes_max ? SLAB_CLASS_NONE : class_search(s, bytes);
}

struct slab *slab_create(struct arena *arena, const struct slab_config *cfg) {
    uint32_t sizes[SLAB_CLASSES_MAX];
    uint32_t unit = 1u << arena->space.shift;
    unsigned n = 0;
    if (cfg->growth_factor > 1.0 && cfg->chunk_bytes_max >= SLAB_CHUNK_MAX_LEAST && cfg->chunk_bytes_max <= PAGE_BYTES && cfg->chunk_bytes_max % unit == 0 &&
        cfg->chunk_bytes_min >= sizeof(struct item) + 8) {
        n = plan_sizes(cfg, unit, sizes);
    }
    struct slab *s = n == 0 ? NULL : aligned_alloc(64, sizeof *s);
    if (s == NULL) {
        errno = n == 0 ? EINVAL : ENOMEM;
        return NULL;
    }
    memset(s, 0, sizeof *s);
    s->arena = arena;
    s->chunk_bytes_max = cfg->chunk_bytes_max;
    s->class_count = n;
    class_init(&s->classes[0], 0);
    for (unsigned i = 0; i < n; i++) {
        class_init(&s->classes[i + 1], sizes[i]);
    }
    for (unsigned i = 0; i <= SLAB_SMALL_BYTES / 8; i++) {
        s->class_of_small[i] = (uint8_t)class_search(s, (size_t)i * 8);
    }
    return s;
}

void slab_destroy(struct slab **taken) {
    if (*taken == NULL) {
        return;
    }
    for (unsigned i = 0; i <= (*taken)->class_count; i++) {
        lock_fini(&(*taken)->classes[i].lock);
    }
    free(*taken);
    *taken = NULL;
}

/* --- lists of pages, under the class's lock --- */

static void partial_link_locked(struct slab *s, struct slab_class *c, uint32_t page) {
    assert(lock_held(&c->lock));
    struct page *p = slab_page(s, page);
    p->prev = PAGE_NONE;
    p->next = c->partial;
    if (c->partial != PAGE_NONE) {
        slab_page(s, c->partial)->prev = page;
    }
    c->partial = page;
}

static void partial_unlink_locked(struct slab *s, struct slab_class *c, uint32_t page) {
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

static void owned_link_locked(struct slab *s, struct slab_class *c, uint32_t page) {
    assert(lock_held(&c->lock));
    struct page *p = slab_page(s, page);
    p->owned_prev = PAGE_NONE;
    p->owned_next = c->owned;
    if (c->owned != PAGE_NONE) {
        slab_page(s, c->owned)->owned_prev = page;
    }
    c->owned = page;
}

static void owned_unlink_locked(struct slab *s, struct slab_class *c, uint32_t page) {
    assert(lock_held(&c->lock));
    struct page *p = slab_page(s, page);
    if (p->owned_prev != PAGE_NONE) {
        slab_page(s, p->owned_prev)->owned_next = p->owned_next;
    } else {
        c->owned = p->owned_next;
    }
    if (p->owned_next != PAGE_NONE) {
        slab_page(s, p->owned_next)->owned_prev = p->owned_prev;
    }
}

static void add32(_Atomic uint32_t *n, uint32_t by) { atomic_fetch_add_explicit(n, by, memory_order_relaxed); }

/* Carves a page that nobody else knows of and gives it to the class. */
static void class_add_page(struct slab *s, unsigned class_id, uint32_t page) {
    struct slab_class *c = &s->classes[class_id];
    struct page *p = slab_page(s, page);
    char *start = arena_page_start(s->arena, page);
    uint32_t next = 0;
    for (uint32_t i = c->chunks_per_page; i-- > 0;) {
        struct item *it = (void *)(start + (size_t)i * c->chunk_bytes);
        node_set_next(&it->node, next);
        item_set_flags(it, CHUNK_FREE);
        next = node_ref(&s->arena->space, it);
    }
    lock_take(&c->lock);
    p->chunk_count = c->chunks_per_page;
    p->free_head = next;
    p->free_count = c->chunks_per_page;
    atomic_store_explicit(&p->chunk_bytes, c->chunk_bytes, memory_order_relaxed);
    atomic_store_explicit(&p->class_id, (uint8_t)class_id, memory_order_relaxed);
    atomic_store_explicit(&p->state, PAGE_OWNED, memory_order_release);
    partial_link_locked(s, c, page);
    owned_link_locked(s, c, page);
    add32(&c->page_count, 1);
    add32(&c->free_count, c->chunks_per_page);
    lock_release(&c->lock);
}

static unsigned class_pop(struct slab *s, struct slab_class *c, uint32_t *refs, unsigned want) {
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
            partial_unlink_locked(s, c, page);
        }
    }
    add32(&c->free_count, (uint32_t)-(int32_t)got);
    lock_release(&c->lock);
    return got;
}

unsigned slab_take(struct slab *s, unsigned class_id, uint32_t *refs, unsigned want) {
    struct slab_class *c = &s->classes[class_id];
    for (;;) {
        unsigned got = 0;
        if (atomic_load_explicit(&c->free_count, memory_order_relaxed) > 0) {
            got = class_pop(s, c, refs, want);
        }
        if (got > 0) {
            return got;
        }
        uint32_t page = arena_take_page(s->arena, false);
        if (page == PAGE_NONE) {
            return 0;
        }
        class_add_page(s, class_id, page);
    }
}

bool slab_grow(struct slab *s, unsigned class_id) {
    uint32_t page = arena_take_page(s->arena, false);
    if (page == PAGE_NONE) {
        return false;
    }
    class_add_page(s, class_id, page);
    return true;
}

bool slab_grow_first(struct slab *s, unsigned class_id) {
    struct slab_class *c = &s->classes[class_id];
    uint32_t page = PAGE_NONE;
    if (atomic_load_explicit(&c->page_count, memory_order_relaxed) == 0) {
        page = arena_take_page(s->arena, true);
    }
    if (page == PAGE_NONE) {
        return false;
    }
    class_add_page(s, class_id, page);
    return true;
}

void slab_give(struct slab *s, uint32_t ref) {
    struct item *it = node_at(&s->arena->space, ref);
    uint32_t page = arena_page_of(s->arena, it);
    struct page *p = slab_page(s, page);
    struct slab_class *c = &s->classes[slab_page_class(s, page)];
    item_set_flags(it, CHUNK_FREE);
    lock_take(&c->lock);
    node_set_next(&it->node, p->free_head);
    p->free_head = ref;
    p->free_count++;
    if (!slab_page_draining(s, page)) {
        add32(&c->free_count, 1);
        if (p->free_count == 1) {
            partial_link_locked(s, c, page);
        }
    }
    lock_release(&c->lock);
}

/* --- moving pages --- */

bool slab_drain_begin(struct slab *s, uint32_t page, unsigned class_id) {
    struct slab_class *c = &s->classes[class_id];
    struct page *p = slab_page(s, page);
    bool begun = false;
    lock_take(&c->lock);
    if (slab_page_class(s, page) == class_id && atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_OWNED) {
        if (p->free_count > 0) {
            partial_unlink_locked(s, c, page);
            add32(&c->free_count, (uint32_t)-(int32_t)p->free_count);
        }
        atomic_store_explicit(&p->state, PAGE_DRAINING, memory_order_relaxed);
        add32(&c->moving, 1);
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

void slab_drain_end(struct slab *s, uint32_t page, unsigned to_class) {
    struct slab_class *c = &s->classes[slab_page_class(s, page)];
    struct page *p = slab_page(s, page);
    lock_take(&c->lock);
    assert(p->free_count == p->chunk_count);
    owned_unlink_locked(s, c, page);
    atomic_store_explicit(&p->state, PAGE_FREE, memory_order_relaxed);
    atomic_store_explicit(&p->class_id, SLAB_CLASS_NONE, memory_order_relaxed);
    p->free_head = 0;
    p->free_count = 0;
    add32(&c->page_count, (uint32_t)-1);
    add32(&c->moving, (uint32_t)-1);
    lock_release(&c->lock);
    if (to_class != SLAB_CLASS_NONE) {
        class_add_page(s, to_class, page);
    } else {
        arena_give_page(s->arena, page);
    }
}

void slab_drain_cancel(struct slab *s, uint32_t page) {
    struct slab_class *c = &s->classes[slab_page_class(s, page)];
    struct page *p = slab_page(s, page);
    lock_take(&c->lock);
    atomic_store_explicit(&p->state, PAGE_OWNED, memory_order_relaxed);
    add32(&c->moving, (uint32_t)-1);
    if (p->free_count > 0) {
        partial_link_locked(s, c, page);
        add32(&c->free_count, p->free_count);
    }
    lock_release(&c->lock);
}

struct item *slab_page_chunk(const struct slab *s, uint32_t page, uint32_t i) {
    uint32_t chunk_bytes = atomic_load_explicit(&slab_page(s, page)->chunk_bytes, memory_order_relaxed);
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
    };
}

unsigned slab_spare_pages(struct slab *s, unsigned class_id, uint32_t *pages, unsigned max) {
    struct slab_class *c = &s->classes[class_id];
    unsigned n = 0;
    lock_take(&c->lock);
    for (uint32_t page = c->owned; page != PAGE_NONE; page = slab_page(s, page)->owned_next) {
        if (slab_page_draining(s, page)) {
            continue;
        }
        /* Insertion into the best `max`: newest first in the list, so an equal page goes before those already there. */
        uint32_t free_count = slab_page(s, page)->free_count;
        unsigned at = 0;
        while (at < n && slab_page(s, pages[at])->free_count > free_count) {
            at++;
        }
        if (at == max) {
            continue;
        }
        n = n < max ? n + 1 : n;
        memmove(&pages[at + 1], &pages[at], (n - at - 1) * sizeof *pages);
        pages[at] = page;
    }
    lock_release(&c->lock);
    return n;
}
