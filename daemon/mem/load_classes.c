#include "mem/load_classes.h"

#include <stdlib.h>

#include "base/failpoint.h"

/* --- classes --- */

static bool load_is_class_size(const struct slab *s, uint32_t chunk_bytes) {
    struct size_rules rules;
    slab_rules(s, &rules);
    return chunk_bytes >= rules.least_bytes && chunk_bytes <= rules.most_bytes &&
           chunk_bytes % rules.unit_bytes == 0;
}

static bool load_class(struct slab *s, unsigned class_id, uint32_t word) {
    struct slab_class *c = &s->classes[class_id];
    uint32_t chunk_bytes = memory_class_bytes(word);
    unsigned state = memory_class_state(word);
    if (word == 0) {
        return true;
    }
    if (class_id == SLAB_CLASS_NONE || !load_is_class_size(s, chunk_bytes) ||
        (state != SLAB_CLASS_ACTIVE && state != SLAB_CLASS_RETIRED)) {
        return false;
    }
    for (unsigned i = 1; i < class_id; i++) {
        if (s->classes[i].state != SLAB_CLASS_UNUSED && s->classes[i].chunk_bytes == chunk_bytes) {
            return false;
        }
    }
    c->state = (uint8_t)state;
    c->chunk_bytes = chunk_bytes;
    c->chunks_per_page = PAGE_BYTES / chunk_bytes;
    s->class_count = class_id;
    return true;
}

/* Puts an active class at the place of its size among the classes before. */
static void load_add_size(struct class_sizes *g, uint32_t chunk_bytes, unsigned class_id) {
    unsigned at = g->sizes.count++;
    for (; at > 0 && g->sizes.bytes[at - 1] > chunk_bytes; at--) {
        g->sizes.bytes[at] = g->sizes.bytes[at - 1];
        g->ids[at] = g->ids[at - 1];
    }
    g->sizes.bytes[at] = chunk_bytes;
    g->ids[at] = (uint8_t)class_id;
}

bool load_classes(struct slab *s) {
    const struct memory_head *head = s->arena->file->head;
    struct class_sizes *g = &s->tables[0];
    g->sizes.count = 0;
    s->class_count = 0;
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) { /* may have been loaded before */
        s->classes[i].state = SLAB_CLASS_UNUSED;
    }
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        uint32_t word;
        if (!ordered_get(&head->classes[i], &word) || !load_class(s, i, word)) {
            return false;
        }
        if (s->classes[i].state == SLAB_CLASS_ACTIVE) {
            load_add_size(g, s->classes[i].chunk_bytes, i);
        }
    }
    if (g->sizes.count == 0 || g->sizes.bytes[g->sizes.count - 1] != s->chunk_bytes_max) {
        return false;
    }
    class_sizes_index(g);
    atomic_store_explicit(&s->geometry, g, memory_order_release);
    return true;
}

/* --- pages --- */

/* Whether a page disagrees with its class, or finds no memory: the page is backed again, since a
 * copy of a file may have holes where there were zeroes. */
static bool load_page_is_torn(const struct slab *s, uint32_t page) {
    const struct arena *a = s->arena;
    unsigned class_id = slab_page_class(s, page);
    return slab_class_state(s, class_id) == SLAB_CLASS_UNUSED ||
           slab_chunk_bytes(s, class_id) != slab_page(s, page)->chunk_bytes ||
           !memory_file_back(a->file, a->head_bytes + ((size_t)page << PAGE_SHIFT), PAGE_BYTES);
}

/* qsort passes no context, so only one load may run at a time */
static const struct page *sorted_table;

static int load_compare_acquired(const void *a, const void *b) {
    uint32_t pages_acquired[2] = {sorted_table[*(const uint32_t *)a].acquired_seq,
                                  sorted_table[*(const uint32_t *)b].acquired_seq};
    return pages_acquired[0] < pages_acquired[1] ? -1 : pages_acquired[0] > pages_acquired[1];
}

static void load_own_page(struct slab *s, uint32_t page) {
    struct page *p = slab_page(s, page);
    struct slab_class *c = &s->classes[p->class_id];
    p->chunk_count = PAGE_BYTES / p->chunk_bytes;
    p->free_head = 0;
    p->free_count = 0;
    slab_owned_append(s, c, page);
    c->page_count++;
    p->acquired_seq = s->pages_acquired++;
    failpoint_reach("page_recalled");
    p->state = PAGE_OWNED;
}

/* Puts pages that no class has into the pool, and returns the memory that a crash left in them. */
static void load_refill_pool(struct arena *a, uint32_t page_end) {
    uint32_t out = 0, n = 0;
    for (uint32_t page = a->page_max; page-- > 0;) {
        if (page < page_end && a->table[page].class_id != SLAB_CLASS_NONE) {
            out++;
        } else {
            a->pool[n++] = page;
        }
    }
    for (uint32_t page = 0; page < page_end; page++) {
        if (a->table[page].class_id == SLAB_CLASS_NONE) {
            memory_file_unback(a->file, a->head_bytes + ((size_t)page << PAGE_SHIFT), PAGE_BYTES);
        }
    }
    failpoint_reach("pool_filled");
    a->pool_count = n;
    a->pages_out = out;
    a->page_end = page_end;
}

bool load_pages(struct slab *s, struct load_result *r) {
    struct arena *a = s->arena;
    uint32_t page_end = 0;
    *r = (struct load_result){.list = calloc(a->page_max ? a->page_max : 1, sizeof *r->list)};
    if (r->list == NULL) {
        return false;
    }
    for (uint32_t page = 0; page < a->page_max; page++) {
        struct page *p = slab_page(s, page);
        bool owned = p->class_id != SLAB_CLASS_NONE &&
                     (p->state == PAGE_OWNED || p->state == PAGE_DRAINING);
        if (owned && !load_page_is_torn(s, page)) {
            r->list[r->pages++] = page;
        } else {
            r->torn_pages += owned;
            p->state = PAGE_FREE;
            p->class_id = SLAB_CLASS_NONE;
        }
        page_end = owned ? page + 1 : page_end;
    }
    sorted_table = a->table;
    qsort(r->list, r->pages, sizeof *r->list, load_compare_acquired);
    for (uint32_t i = 0; i < r->pages; i++) {
        load_own_page(s, r->list[i]);
    }
    load_refill_pool(a, page_end);
    return true;
}

void load_free_chunks(struct slab *s, uint32_t page, uint32_t free_head, uint32_t free_count) {
    struct page *p = slab_page(s, page);
    struct slab_class *c = &s->classes[p->class_id];
    if (free_count == 0) {
        return;
    }
    lock_take(&c->lock);
    p->free_head = free_head;
    p->free_count = free_count;
    slab_partial_link(s, c, page);
    c->free_count += free_count;
    lock_release(&c->lock);
}
