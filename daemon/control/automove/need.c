#include "control/automove/need.h"

#include <inttypes.h>

#include "base/random.h"

/* A class whose page may be chosen for `receiver`. */
static bool need_takes_part(const struct snapshot *s, unsigned class_id, unsigned receiver) {
    uint32_t pages = s->classes[class_id].pages;
    return class_id == receiver ? pages > 0 : pages > 1;
}

typedef unsigned choose_function(struct automove_need *, const struct snapshot *,
                                 unsigned receiver);

static unsigned need_choose_random(struct automove_need *a, const struct snapshot *s,
                                   unsigned receiver) {
    uint64_t pages = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        pages += need_takes_part(s, i, receiver) ? s->classes[i].pages : 0;
    }
    uint64_t at = pages > 0 ? random_next(&a->random) % pages : 0;
    for (unsigned i = 1; i <= s->class_count && pages > 0; i++) {
        uint64_t of_class = need_takes_part(s, i, receiver) ? s->classes[i].pages : 0;
        if (at < of_class) {
            return i;
        }
        at -= of_class;
    }
    return SLAB_CLASS_NONE;
}

/* For how long the oldest items of the class have had their place; free chunks hold none. */
static uint32_t need_idle_s(const struct snapshot_class *c) {
    return c->free_chunks >= c->chunks_per_page ? UINT32_MAX : c->age_s;
}

static unsigned need_choose_least_accessed(struct automove_need *a, const struct snapshot *s,
                                           unsigned receiver) {
    (void)a;
    unsigned best = SLAB_CLASS_NONE;
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (need_takes_part(s, i, receiver) &&
            (best == SLAB_CLASS_NONE ||
             need_idle_s(&s->classes[i]) > need_idle_s(&s->classes[best]))) {
            best = i;
        }
    }
    return best;
}

static unsigned need_choose_least_created(struct automove_need *a, const struct snapshot *s,
                                          unsigned receiver) {
    (void)a;
    unsigned best = SLAB_CLASS_NONE;
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (need_takes_part(s, i, receiver) &&
            (best == SLAB_CLASS_NONE ||
             s->classes[i].oldest_page_seq < s->classes[best].oldest_page_seq)) {
            best = i;
        }
    }
    return best;
}

/* Writes the choice and its reason in words. */
static struct page_move *need_add_move(struct decision *d, const struct snapshot *s, unsigned from,
                                       unsigned to, enum page_pick pick) {
    const struct snapshot_class *donor = &s->classes[from];
    uint32_t receiver_s = s->classes[to].age_s;
    switch (pick) {
    case PICK_LEAST_ACCESSED:
        if (need_idle_s(donor) == UINT32_MAX) {
            return decision_move(d, from, to, 1,
                                 "class %u needs memory at age %u s, class %u has a page's worth "
                                 "of free chunks",
                                 to, receiver_s, from);
        }
        return decision_move(d, from, to, 1,
                             "class %u needs memory at age %u s, class %u has the items least "
                             "recently accessed, %u s ago",
                             to, receiver_s, from, donor->age_s);
    case PICK_LEAST_CREATED:
        return decision_move(d, from, to, 1,
                             "class %u needs memory at age %u s, class %u has the page least "
                             "recently created, %u s ago",
                             to, receiver_s, from, donor->page_age_s);
    case PICK_LEAST_VALUE:
    case PICK_RANDOM:
    case PICK_FREE: break;
    }
    return decision_move(d, from, to, 1,
                         "class %u needs memory at age %u s, one of class %u's %u pages was drawn",
                         to, receiver_s, from, donor->pages);
}

static bool need_decide(struct automove_need *a, const struct snapshot *s, struct decision *d,
                        enum page_pick pick, choose_function *choose) {
    unsigned waits = SLAB_CLASS_NONE;
    if (s->pages_free > 0) {
        return decision_none(d, "the pool has %u pages", s->pages_free);
    }
    for (unsigned to = 1; to <= s->class_count && d->count < DECISION_MOVES_MAX; to++) {
        const struct snapshot_class *c = &s->classes[to];
        if (!c->starved) {
            continue;
        }
        uint64_t evicted = snapshot_demand(c);
        if (evicted < a->evict_until[to] && evicted + c->chunks_per_page >= a->evict_until[to]) {
            waits = to; /* else the counter was reset */
            continue;
        }
        unsigned from = choose(a, s, to);
        if (from == to) {
            a->evict_until[to] = evicted + c->chunks_per_page;
            waits = to;
        } else if (from != SLAB_CLASS_NONE) {
            need_add_move(d, s, from, to, pick)->pick = pick;
        }
    }
    if (d->count > 0) {
        return true;
    }
    return waits != SLAB_CLASS_NONE
               ? decision_none(d,
                               "the page chosen for class %u is its own, so it evicts %u of its "
                               "own items first",
                               waits, s->classes[waits].chunks_per_page)
               : decision_none(d, "no class needs memory, or none has two pages");
}

bool automove_random_decide(void *state, const struct snapshot *s, struct decision *d) {
    return need_decide(state, s, d, PICK_RANDOM, need_choose_random);
}

bool automove_lra_decide(void *state, const struct snapshot *s, struct decision *d) {
    return need_decide(state, s, d, PICK_LEAST_ACCESSED, need_choose_least_accessed);
}

bool automove_lrc_decide(void *state, const struct snapshot *s, struct decision *d) {
    return need_decide(state, s, d, PICK_LEAST_CREATED, need_choose_least_created);
}

static bool need_init(void *state, const struct automove_config *cfg, const char *argument,
                      char *why) {
    struct automove_need *a = state;
    (void)cfg, (void)argument, (void)why;
    a->random = RANDOM_ODD; /* the drawn pages need not be secret */
    return true;
}

const struct automove_mode automove_random = {
    .name = "random",
    .number = -1,
    .help = "a class in need gets any page",
    .starved_on_evict = true,
    .state_bytes = sizeof(struct automove_need),
    .init = need_init,
    .at_need = automove_random_decide,
};

const struct automove_mode automove_lra = {
    .name = "lra",
    .number = -1,
    .help = "a class in need gets the page whose items were longest not accessed",
    .starved_on_evict = true,
    .state_bytes = sizeof(struct automove_need),
    .init = need_init,
    .at_need = automove_lra_decide,
};

const struct automove_mode automove_lrc = {
    .name = "lrc",
    .number = -1,
    .help = "a class in need gets the page that its class has had for longest",
    .starved_on_evict = true,
    .wants_pages = true,
    .state_bytes = sizeof(struct automove_need),
    .init = need_init,
    .at_need = automove_lrc_decide,
};
