#include "tune/automove.h"

enum {
    LATELY_US = 10 * 1000,      /* a class that was hungry within this time counts as evicting */
    STREAK_US = 200 * 1000,     /* moves to one class within this time are in a row */
    PAGES_AT_ONCE = 8,
    OLDER_BY = 8,               /* a donor's tail is older by an eighth, so that equal ages move nothing */
    EVICTING_DONOR_FACTOR = 2,  /* how much older the tail of a donor must be that evicts itself */
};

static unsigned youngest_hungry(const struct snapshot *s) {
    unsigned youngest = SLAB_CLASS_NONE;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i], *best = &s->classes[youngest];
        if (c->hungry && (youngest == SLAB_CLASS_NONE || c->age_s < best->age_s ||
                          (c->age_s == best->age_s && c->pages < best->pages))) {
            youngest = i;
        }
    }
    return youngest;
}

struct donor {
    unsigned class_id;
    bool     spare;    /* a page's worth of its chunks is free */
    bool     quiet;    /* it does not evict */
    uint32_t age_s, pages;
};

static bool better(const struct donor *a, const struct donor *b) {
    if (a->spare != b->spare) {
        return a->spare;
    }
    if (a->quiet != b->quiet) {
        return a->quiet;
    }
    return a->age_s != b->age_s ? a->age_s > b->age_s : a->pages > b->pages;
}

/* Whether the class may give a page to one whose tail is receiver_s old; fills in what it would lose. */
static bool donor_of(const struct automove_eviction *a, const struct snapshot *s, unsigned class_id, uint32_t receiver_s,
                     struct donor *d) {
    const struct snapshot_class *c = &s->classes[class_id];
    uint64_t hungry_us = a->hungry_us[class_id];
    *d = (struct donor){
        .class_id = class_id,
        .spare = c->free_chunks >= c->chunks_per_page,
        .quiet = hungry_us == 0 || s->time_us - hungry_us > LATELY_US,
        .age_s = c->age_s,
        .pages = c->pages,
    };
    if (c->pages < 2) {
        return false;
    }
    return d->spare || (d->quiet ? c->age_s >= receiver_s + receiver_s / OLDER_BY : c->age_s > EVICTING_DONOR_FACTOR * receiver_s + 1);
}

static unsigned pages_of(struct automove_eviction *a, const struct snapshot *s, unsigned receiver, uint32_t donor_pages) {
    bool again = a->receiver == receiver && s->time_us - a->moved_us < STREAK_US;
    a->streak = again ? a->streak + 1 : 0;
    a->receiver = receiver;
    a->moved_us = s->time_us;
    unsigned pages = a->streak < 3 ? 1u << a->streak : PAGES_AT_ONCE;
    return pages < donor_pages - 1 ? pages : donor_pages - 1;
}

bool automove_eviction_decide(struct automove_eviction *a, const struct snapshot *s, struct page_move *move) {
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (s->classes[i].hungry) {
            a->hungry_us[i] = s->time_us;
        }
    }
    unsigned receiver = youngest_hungry(s);
    if (receiver == SLAB_CLASS_NONE || s->pages_free > 0) {
        return false;
    }
    struct donor best = {.class_id = SLAB_CLASS_NONE}, d;
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (i != receiver && donor_of(a, s, i, s->classes[receiver].age_s, &d) &&
            (best.class_id == SLAB_CLASS_NONE || better(&d, &best))) {
            best = d;
        }
    }
    if (best.class_id == SLAB_CLASS_NONE) {
        return false;
    }
    unsigned pages = pages_of(a, s, receiver, best.pages);
    *move = (struct page_move){best.class_id, receiver, pages, best.spare ? "the donor has free chunks" : "the receiver evicts"};
    return true;
}
