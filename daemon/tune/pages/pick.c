#include "tune/pages/pick.h"

struct picking {
    struct cache_thread *ct;
    unsigned             class_id;
    enum page_pick       pick;
    uint32_t            *pages;
    unsigned             count;
};

static bool pick(void *arg) {
    struct picking *p = arg;
    p->count = cache_spare_pages(p->ct, p->class_id, p->pick, p->pages, CACHE_SPARE_MAX);
    return false;
}

unsigned pick_pages(struct pace *pace, struct cache_thread *ct, unsigned class_id,
                    enum page_pick how, uint32_t pages[CACHE_SPARE_MAX]) {
    struct picking picking = {ct, class_id, how, pages, 0};
    struct pace_job job = {.ct = ct, .step = pick, .arg = &picking};
    pace_run(pace, &job);
    return picking.count;
}

bool page_is_held(struct cache *c, uint32_t page) {
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(cache_slab(c), page)->chunk_bytes, memory_order_relaxed);
    return chunk_bytes > ITEM_COPY_MAX && cache_page_in_use(c, page);
}
