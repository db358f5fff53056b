#include "tune/automove.h"

#include <stdlib.h>

enum {
    SOURCE_PAGES_MORE_THAN = 2,
    EVICTING_SHARE = 4, /* a class with more than 1/4 of all evictions counts as evicting */
};

bool automove_ratio_init(struct automove_ratio *a, double ratio, unsigned window) {
    *a = (struct automove_ratio){.ratio = ratio};
    return automove_ratio_resize(a, window);
}

void automove_ratio_fini(struct automove_ratio *a) {
    free(a->samples);
    a->samples = NULL;
}

bool automove_ratio_resize(struct automove_ratio *a, unsigned window) {
    struct automove_sample *samples = calloc((size_t)window * SLAB_CLASSES_MAX, sizeof *samples);
    if (samples == NULL) {
        return false;
    }
    free(a->samples);
    a->samples = samples;
    a->window = window;
    a->seen = a->at = 0;
    return true;
}

/* What a window says of a class. */
struct window_sum {
    uint64_t age_s, evicted;
    unsigned evicting, dirty; /* samples */
    bool     evicted_now;
};

static struct window_sum sum_of(const struct automove_ratio *a, unsigned class_id) {
    const struct automove_sample *of_class = &a->samples[(size_t)class_id * a->window];
    unsigned latest = (a->at + a->window - 1) % a->window;
    struct window_sum sum = {.evicted_now = of_class[latest].evicted > 0};
    for (unsigned i = 0; i < a->window; i++) {
        sum.age_s += of_class[i].age_s;
        sum.evicted += of_class[i].evicted;
        sum.evicting += of_class[i].evicted > 0;
        sum.dirty += of_class[i].dirty;
    }
    return sum;
}

/* A counter's growth; after a reset it starts again. */
static uint64_t growth(uint64_t before, uint64_t after) { return after >= before ? after - before : after; }

static void record(struct automove_ratio *a, const struct snapshot *before, const struct snapshot *after) {
    for (unsigned i = 1; i <= after->class_count; i++) {
        const struct snapshot_class *was = &before->classes[i], *is = &after->classes[i];
        uint64_t evicted = growth(was->evicted, is->evicted);
        a->samples[(size_t)i * a->window + a->at] = (struct automove_sample){
            .age_s = is->age_s,
            .evicted = evicted > UINT32_MAX ? UINT32_MAX : (uint32_t)evicted,
            .dirty = evicted > 0 || growth(was->outofmemory, is->outofmemory) > 0 || is->pages > was->pages,
        };
    }
    a->at = (a->at + 1) % a->window;
    a->seen += a->seen < a->window;
}

static bool has_surplus(const struct snapshot_class *c) { return 2 * c->free_chunks > 5 * (uint64_t)c->chunks_per_page; }

bool automove_ratio_decide(struct automove_ratio *a, const struct snapshot *before, const struct snapshot *after,
                           struct page_move *move) {
    unsigned oldest = SLAB_CLASS_NONE, youngest = SLAB_CLASS_NONE;
    uint64_t oldest_s = 0, youngest_s = UINT64_MAX, evicted_total = 0;
    bool youngest_evicts = false;
    record(a, before, after);
    if (after->pages_free > 0) {
        return false;
    }
    for (unsigned i = 1; i <= after->class_count; i++) {
        evicted_total += sum_of(a, i).evicted;
    }
    for (unsigned i = 1; i <= after->class_count; i++) {
        const struct snapshot_class *c = &after->classes[i];
        struct window_sum sum = sum_of(a, i);
        if (a->seen == a->window && sum.dirty == 0 && has_surplus(c)) {
            *move = (struct page_move){i, SLAB_CLASS_NONE, 1, "free chunks for more than two pages"};
            return true;
        }
        if (c->pages > SOURCE_PAGES_MORE_THAN && sum.age_s > oldest_s) {
            oldest = i;
            oldest_s = sum.age_s;
        }
        bool evicting = sum.evicting > a->window / 2 || sum.evicted * EVICTING_SHARE > evicted_total;
        if (sum.evicted > 0 && evicting && sum.age_s < youngest_s) {
            youngest = i;
            youngest_s = sum.age_s;
            youngest_evicts = sum.evicted_now;
        }
    }
    if (a->seen < a->window || oldest == SLAB_CLASS_NONE || youngest == SLAB_CLASS_NONE || oldest == youngest ||
        !youngest_evicts || (double)youngest_s >= (double)oldest_s * a->ratio) {
        return false;
    }
    *move = (struct page_move){oldest, youngest, 1, "the receiver evicts younger items"};
    return true;
}

bool automove_surplus_decide(const struct snapshot *before, const struct snapshot *after, struct page_move *move) {
    if (after->pages_free > 0) {
        return false;
    }
    for (unsigned i = 1; i <= after->class_count; i++) {
        const struct snapshot_class *was = &before->classes[i], *is = &after->classes[i];
        if (has_surplus(is) && has_surplus(was) && is->evicted == was->evicted && is->pages <= was->pages) {
            *move = (struct page_move){i, SLAB_CLASS_NONE, 1, "free chunks for more than two pages"};
            return true;
        }
    }
    return false;
}
