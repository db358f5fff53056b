/* The way of a page from one class to another. */
#include "cache/stock.h"

bool cache_page_take(struct page_take *t, struct cache_thread *ct, uint32_t page,
                     unsigned class_id) {
    struct slab *slab = ct->cache->slab;
    if (!slab_drain_begin(slab, page, class_id)) {
        return false;
    }
    /* no other thread gives this page to another class now */
    const struct page *p = slab_page(slab, page);
    uint32_t chunk_bytes = atomic_load_explicit(&p->chunk_bytes, memory_order_relaxed);
    *t = (struct page_take){.ct = ct, .page = page, .chunk_bytes = chunk_bytes};
    stocks_give_page(ct, page);
    return true;
}

bool cache_page_pass(struct page_take *t, uint32_t bytes, unsigned (*chunk)(void *, uint32_t),
                     void *arg) {
    const struct slab *slab = t->ct->cache->slab;
    t->bytes_passed = 0;
    while (t->bytes_passed < bytes && slab_page_chunk(slab, t->page, t->at) != NULL) {
        unsigned chunks = chunk(arg, t->at);
        if (chunks == 0) {
            t->at = 0;
            return false;
        }
        t->bytes_passed += t->chunk_bytes * chunks;
        t->at++;
    }
    bool more = slab_page_chunk(slab, t->page, t->at) != NULL;
    t->at = more ? t->at : 0;
    return more;
}

bool cache_page_emptied(const struct page_take *t) {
    return slab_drain_empty(t->ct->cache->slab, t->page);
}

void cache_page_hand_over(const struct page_take *t, unsigned to_class) {
    slab_drain_end(t->ct->cache->slab, t->page, to_class);
}

void cache_page_put_back(const struct page_take *t) {
    slab_drain_cancel(t->ct->cache->slab, t->page);
}
