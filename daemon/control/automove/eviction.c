#include "control/automove/eviction.h"

#include <inttypes.h>

enum {
    /* a class that evicted or took a free chunk within this time counts as stored to */
    LATELY_US = 10 * 1000,
    FILLING_US = 1000 * 1000,   /* without stores for this long, a class gives its free pages */
    /* Moves to one class within this time are a row: each has twice as many pages as the last. In
     * simulated time (make bench-policies) moves of one page do as well. With calcify's server on a
     * core that it fills, moves of one page ended its second phase with 37 to 57 of 64 pages in 7
     * runs of 10. Rows ended it with 47 to 59 in 3 of 10 runs, which alternated with those. */
    STREAK_US = 200 * 1000,
    AGE_ERROR_S = 1,            /* ages are whole seconds: a lower one says nothing */
    /* A donor's tail is older by half, so that nearly equal ages move nothing. Without this rule
     * (make bench-policies): alike moves 557 pages for 100, large 1,025 for 152. */
    OLDER_BY = 2,
    /* a donor that is stored to has a tail older than the receiver's by this factor */
    EVICTING_DONOR_FACTOR = 2,
};

static unsigned eviction_youngest_starved(const struct snapshot *s) {
    unsigned youngest = SLAB_CLASS_NONE;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i], *best = &s->classes[youngest];
        if (c->starved && (youngest == SLAB_CLASS_NONE || c->age_s < best->age_s ||
                          (c->age_s == best->age_s && c->pages < best->pages))) {
            youngest = i;
        }
    }
    return youngest;
}

struct donor {
    unsigned class_id;
    bool     spare;    /* a page's worth of its chunks is free */
    bool     quiet;    /* nothing is stored in the class */
    uint32_t age_s, pages;
};

static bool eviction_donor_is_better(const struct donor *a, const struct donor *b) {
    if (a->spare != b->spare) {
        return a->spare;
    }
    if (a->quiet != b->quiet) {
        return a->quiet;
    }
    return a->age_s != b->age_s ? a->age_s > b->age_s : a->pages > b->pages;
}

/* Whether the class may give a page to a class whose tail is receiver_s old. Fills in the donor. */
static bool eviction_donor_of(const struct automove_eviction *a, const struct snapshot *s,
                              unsigned class_id, uint32_t receiver_s, struct donor *d) {
    const struct snapshot_class *c = &s->classes[class_id];
    uint64_t stored_us = a->stored_us[class_id];
    uint64_t unstored_us = stored_us == 0 ? UINT64_MAX : s->time_us - stored_us;
    *d = (struct donor){
        .class_id = class_id,
        .spare = unstored_us > FILLING_US && snapshot_free_pages(c) > 0,
        .quiet = unstored_us > LATELY_US,
        .age_s = c->age_s,
        .pages = c->pages,
    };
    if (c->pages < 2) {
        return false;
    }
    uint32_t older_s = receiver_s > AGE_ERROR_S ? (receiver_s + OLDER_BY - 1) / OLDER_BY : 0;
    return d->spare || (d->quiet ? c->age_s >= receiver_s + older_s
                                 : c->age_s > EVICTING_DONOR_FACTOR * receiver_s + 1);
}

static unsigned eviction_pages_of(struct automove_eviction *a, const struct snapshot *s,
                                  unsigned receiver, uint32_t donor_pages) {
    bool again = a->receiver == receiver && s->time_us - a->moved_us < STREAK_US;
    a->streak = again ? a->streak + 1 : 0;
    a->receiver = receiver;
    a->moved_us = s->time_us;
    unsigned pages = a->streak < 3 ? 1u << a->streak : MOVE_PAGES_MAX;
    return pages < donor_pages - 1 ? pages : donor_pages - 1;
}

/* How many more pages sets may take while these are on the move: a set that takes one is about to
 * evict. As many as the class can give, because the mover's thread may wait for a processor for
 * any time. */
static unsigned eviction_assist_pages(const struct snapshot *s, const struct donor *d,
                                      unsigned pages) {
    uint64_t most = d->spare   ? snapshot_free_pages(&s->classes[d->class_id])
                    : d->quiet ? d->pages - 1
                               : pages;
    return most > pages ? (unsigned)most - pages : 0;
}

bool automove_eviction_decide(void *state, const struct snapshot *s, struct decision *decision) {
    struct automove_eviction *a = state;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        /* free chunks that left with a page say nothing */
        bool took = c->pages == a->pages[i] && c->free_chunks < a->free_chunks[i];
        if (c->starved || took) {
            a->stored_us[i] = s->time_us;
        }
        a->pages[i] = c->pages;
        a->free_chunks[i] = c->free_chunks;
    }
    unsigned receiver = eviction_youngest_starved(s);
    if (receiver == SLAB_CLASS_NONE || s->pages_free > 0) {
        return decision_none(decision, "no class needs memory that the pool does not have");
    }
    uint32_t receiver_s = s->classes[receiver].age_s;
    struct donor best = {.class_id = SLAB_CLASS_NONE}, d;
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (i != receiver && eviction_donor_of(a, s, i, receiver_s, &d) &&
            (best.class_id == SLAB_CLASS_NONE || eviction_donor_is_better(&d, &best))) {
            best = d;
        }
    }
    if (best.class_id == SLAB_CLASS_NONE) {
        return decision_none(
            decision, "class %u evicts at age %u s, but no class would lose less by giving a page",
            receiver, receiver_s);
    }
    unsigned pages = eviction_pages_of(a, s, receiver, best.pages);
    struct page_move *move =
        best.spare
            ? decision_move(decision, best.class_id, receiver, pages,
                            "class %u evicts at age %u s, class %u has %" PRIu64 " free chunks",
                            receiver, receiver_s, best.class_id,
                            s->classes[best.class_id].free_chunks)
            : decision_move(decision, best.class_id, receiver, pages,
                            "class %u evicts at age %u s, class %u's tail is %u s old%s", receiver,
                            receiver_s, best.class_id, best.age_s,
                            best.quiet ? "" : " though it is stored to");
    move->assisted = eviction_assist_pages(s, &best, pages);
    return true;
}

uint64_t eviction_surplus_pages(const struct snapshot_class *c) {
    uint64_t page = 2 * (uint64_t)c->chunks_per_page, most = 5 * (uint64_t)c->chunks_per_page;
    return 2 * c->free_chunks > most ? (2 * c->free_chunks - most + page - 1) / page : 0;
}

bool eviction_surplus_decide(void *unused, const struct snapshot *before,
                             const struct snapshot *after, struct decision *d) {
    (void)unused;
    if (after->pages_free > 0) {
        return decision_none(d, "the pool has %u pages", after->pages_free);
    }
    for (unsigned i = 1; i <= after->class_count; i++) {
        const struct snapshot_class *was = &before->classes[i], *is = &after->classes[i];
        if (eviction_surplus_pages(is) > 0 && eviction_surplus_pages(was) > 0 &&
            snapshot_demand(is) == snapshot_demand(was) && is->pages <= was->pages) {
            return decision_move(d, i, SLAB_CLASS_NONE, 1,
                                 "class %u has %" PRIu64 " free chunks, %u make a page", i,
                                 is->free_chunks, is->chunks_per_page) != NULL;
        }
    }
    return decision_none(d, "no class has more than two pages' worth of free chunks");
}

const struct automove_mode automove_eviction = {
    .name = "eviction",
    .number = 2,
    .help = "pages go to a class at its evictions, from the class that loses least",
    .starved_on_evict = true,
    .state_bytes = sizeof(struct automove_eviction),
    .each_window = eviction_surplus_decide,
    .at_need = automove_eviction_decide,
};
