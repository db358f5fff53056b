#include "control/automove/ratio.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/automove/eviction.h"

enum {
    SOURCE_PAGES_MORE_THAN = 2,
    EVICTING_SHARE = 4, /* a class with more than 1/4 of all evictions counts as evicting */
    AGAIN_US = 1000,    /* to the next decision, if one had no room for all moves */
    /* The first decisions, and those after pages went to the pool, come ten times a second, as in
     * memcached: then the window passes in a second, and pages that become free follow soon. */
    QUICK_LOOKS = 10,
    QUICK_US = 100 * 1000,
};

bool automove_ratio_init(struct automove_ratio *a, double ratio, unsigned window) {
    *a = (struct automove_ratio){.ratio = ratio, .quick = QUICK_LOOKS};
    return automove_ratio_resize(a, window);
}

void automove_ratio_fini(void *state) {
    struct automove_ratio *a = state;
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
    a->goes_on = false;
    return true;
}

/* A class over the window. */
struct window_sum {
    uint64_t age_s, evicted;
    unsigned evicting, dirty; /* samples */
    bool     evicted_now;
};

/* The oldest sample does not count as dirty, so that a class gives pages within the window after
 * its last eviction, whose time is known to a sample only. */
static struct window_sum ratio_sum_of(const struct automove_ratio *a, unsigned class_id) {
    const struct automove_sample *of_class = &a->samples[(size_t)class_id * a->window];
    struct window_sum sum = {.evicted_now = of_class[a->at].evicted > 0};
    for (unsigned i = 0; i < a->window; i++) {
        sum.age_s += of_class[i].age_s;
        sum.evicted += of_class[i].evicted;
        sum.evicting += of_class[i].evicted > 0;
        sum.dirty += of_class[i].dirty && i != (a->at + 1) % a->window;
    }
    return sum;
}

/* A counter's growth; after a reset it starts again. */
static uint64_t ratio_growth(uint64_t before, uint64_t after) {
    return after >= before ? after - before : after;
}

/* An open sample is written again. */
static void ratio_record(struct automove_ratio *a, const struct snapshot *before,
                         const struct snapshot *after) {
    a->full = a->full || after->pages_free == 0;
    if (!a->goes_on) {
        a->at = (a->at + 1) % a->window;
        a->seen += a->seen < a->window;
    }
    for (unsigned i = 1; i <= after->class_count; i++) {
        const struct snapshot_class *was = &before->classes[i], *is = &after->classes[i];
        uint64_t evicted = ratio_growth(snapshot_demand(was), snapshot_demand(is));
        a->samples[(size_t)i * a->window + a->at] = (struct automove_sample){
            .age_s = is->age_s,
            .evicted = evicted > UINT32_MAX ? UINT32_MAX : (uint32_t)evicted,
            .dirty = evicted > 0 || ratio_growth(was->outofmemory, is->outofmemory) > 0 ||
                     is->pages > was->pages,
        };
    }
}

/* Adds moves to the pool, until the class has no more free chunks than it may have. False: there is
 * no room for all moves. */
static bool ratio_add_surplus(struct decision *d, unsigned class_id,
                              const struct snapshot_class *c) {
    uint64_t pages = eviction_surplus_pages(c);
    bool room = true;
    while (pages > 0 && room) {
        unsigned some = pages < MOVE_PAGES_MAX ? (unsigned)pages : MOVE_PAGES_MAX;
        room = decision_move(d, class_id, SLAB_CLASS_NONE, some,
                             "class %u has %" PRIu64 " free chunks, %u make a page", class_id,
                             c->free_chunks, c->chunks_per_page) != NULL;
        pages -= some;
    }
    return room;
}

/* Once memory has been full, unused pages go to the pool, whether or not a class evicts. */
static bool ratio_release_surplus(const struct automove_ratio *a, const struct snapshot *s,
                                  struct decision *d) {
    for (unsigned i = 1; i <= s->class_count && a->full && a->seen == a->window; i++) {
        if (ratio_sum_of(a, i).dirty == 0 && !ratio_add_surplus(d, i, &s->classes[i])) {
            d->extend = true;
        }
    }
    return d->count > 0;
}

/* The means of a window, from which a move follows. */
struct ends {
    unsigned oldest, youngest; /* classes */
    uint64_t oldest_s, youngest_s; /* sums over the window */
    bool     youngest_evicts;
};

static void ratio_widen(struct ends *e, const struct automove_ratio *a,
                        const struct snapshot_class *c, unsigned class_id, uint64_t evicted_total) {
    struct window_sum sum = ratio_sum_of(a, class_id);
    if (c->pages > SOURCE_PAGES_MORE_THAN && sum.age_s > e->oldest_s) {
        e->oldest = class_id;
        e->oldest_s = sum.age_s;
    }
    bool evicting = sum.evicting > a->window / 2 || sum.evicted * EVICTING_SHARE > evicted_total;
    if (sum.evicted > 0 && evicting && sum.age_s < e->youngest_s) {
        e->youngest = class_id;
        e->youngest_s = sum.age_s;
        e->youngest_evicts = sum.evicted_now;
    }
}

/* Moves a page from the oldest to the youngest, or writes why not. */
static bool ratio_move_between(const struct automove_ratio *a, const struct ends *e,
                               struct decision *d) {
    uint64_t young_s = e->youngest_s / a->window, old_s = e->oldest_s / a->window;
    if (a->seen < a->window) {
        return decision_none(d, "the window has seen %u of %u s", a->seen, a->window);
    }
    if (e->youngest == SLAB_CLASS_NONE) {
        return decision_none(d, "no class evicts enough");
    }
    if (e->oldest == SLAB_CLASS_NONE) {
        return decision_none(d,
                             "class %u evicts at age %" PRIu64
                             " s, but no class has more than %d pages to give one",
                             e->youngest, young_s, SOURCE_PAGES_MORE_THAN);
    }
    if (e->oldest == e->youngest || (double)e->youngest_s >= (double)e->oldest_s * a->ratio) {
        return decision_none(
            d, "class %u evicts at age %" PRIu64 " s, not below %.2f of class %u's %" PRIu64 " s",
            e->youngest, young_s, a->ratio, e->oldest, old_s);
    }
    if (!e->youngest_evicts) {
        return decision_none(d, "class %u is young, but did not evict in this second", e->youngest);
    }
    return decision_move(d, e->oldest, e->youngest, 1,
                         "class %u evicts at age %" PRIu64 " s, class %u's tail is %" PRIu64
                         " s old",
                         e->youngest, young_s, e->oldest, old_s) != NULL;
}

static bool ratio_even_ages(const struct automove_ratio *a, const struct snapshot *s,
                            struct decision *d) {
    struct ends ends = {.youngest_s = UINT64_MAX};
    uint64_t evicted_total = 0;
    if (s->pages_free > 0) {
        return decision_none(d, "the pool has %u pages", s->pages_free);
    }
    for (unsigned i = 1; i <= s->class_count; i++) {
        evicted_total += ratio_sum_of(a, i).evicted;
    }
    for (unsigned i = 1; i <= s->class_count; i++) {
        ratio_widen(&ends, a, &s->classes[i], i, evicted_total);
    }
    return ratio_move_between(a, &ends, d);
}

bool automove_ratio_decide(void *state, const struct snapshot *before, const struct snapshot *after,
                           struct decision *d) {
    struct automove_ratio *a = state;
    ratio_record(a, before, after);
    bool gives = ratio_release_surplus(a, after, d);
    a->goes_on = d->extend;
    a->quick = gives ? QUICK_LOOKS : a->quick > 0 ? a->quick - 1 : 0;
    d->again_us = d->extend ? AGAIN_US : a->quick > 0 ? QUICK_US : 0;
    return gives || ratio_even_ages(a, after, d);
}

static bool ratio_init(void *state, const struct automove_config *cfg, const char *argument,
                       char *why) {
    (void)argument;
    return automove_ratio_init(state, cfg->ratio, cfg->window_s) ||
           (snprintf(why, REASON_BYTES, "out of memory"), false);
}

static bool ratio_configure(void *state, const struct automove_config *cfg, char *why) {
    struct automove_ratio *a = state;
    a->ratio = cfg->ratio;
    if (cfg->window_s != a->window && !automove_ratio_resize(a, cfg->window_s)) {
        snprintf(why, REASON_BYTES, "out of memory for a window of %u s", cfg->window_s);
        return false;
    }
    return true;
}

static void ratio_describe(const void *state, char *to, size_t room) {
    const struct automove_ratio *a = state;
    snprintf(to, room, "ratio %.2f, window %u s, %u of it seen", a->ratio, a->window, a->seen);
}

const struct automove_mode automove_ratio = {
    .name = "ratio",
    .number = 1,
    .help =
        "a page a second goes from the class with the oldest tail to the one that evicts youngest",
    .with_free_pages = true,
    .state_bytes = sizeof(struct automove_ratio),
    .init = ratio_init,
    .configure = ratio_configure,
    .fini = automove_ratio_fini,
    .each_window = automove_ratio_decide,
    .describe = ratio_describe,
};
