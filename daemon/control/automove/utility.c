#include "control/automove/utility.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Each constant with the range in which the results of make bench-policies hold, or with the loss
 * of one of its loads at other values (in points of hit ratio). */

/* Standard errors. 0: recs -1.1 points, alike -1.7 and seven times the moves; 3: cdn -2.4, large
 * -3.2. */
#define DOUBT 1.5
/* The gain must be so many times the loss: 1.5 to 2. At 1.1 recs -0.8 points and twice the moves,
 * at 3 cdn -0.8. */
#define HYSTERESIS 2

enum {
    /* This part of a page's mean hits is the cost of a move, which drops items that are not the
     * next victims. Without it a steady mix moves pages to and fro: kvreg 17 for 1; the real
     * server's stationary mix 9 to 15, and 2.2 to 2.6 points above off for 3.0. */
    MOVE_COST_SHARE = 16,
    /* the time of a class to fill the pages that it got: 32 to 128; 0: scan -2.3 points, 186
     * moves more */
    FILL_WINDOWS = 32,
    /* while pages follow stores; 8 ms: a phase of calcify ends with 57 pages for 61 */
    BUSY_LOOK_US = 2 * 1000,
    /* 1 to 10 s; 0.1: flicker -3.3 points and 339 moves more */
    UNREAD_US = 1000 * 1000,
    /* Of the limit: so many bytes of stores count as lately. 4 to 64 in the bench. At 16 classes
     * that are written to alike move pages (test_tune_utility), at 4 the last pages of a phase
     * wait for 66 of its 100 MB. */
    STORES_SHARE = 8,
};

/* --- what requests met --- */

static void utility_add(double *sum, double *error, double hits, double weight) {
    *sum = *sum / 2 + hits * weight;
    *error = *error / 4 + hits * weight * weight;
}

static void utility_digest_class(struct utility_class *u, const struct snapshot_class *was,
                                 const struct snapshot_class *is) {
    const struct cache_signal *b = &was->signal, *a = &is->signal;
    double within = 0, hits = (double)(a->hits - b->hits), pages = is->pages > 0 ? is->pages : 1;
    for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
        within += (double)(a->ghost_hits[d] - b->ghost_hits[d]);
        utility_add(&u->gain[d], &u->gain_error[d], within, a->ghost_weight);
    }
    if (a->tail_items[0] > 0) {
        utility_add(&u->loss, &u->loss_error, (double)(a->tail_hits[0] - b->tail_hits[0]),
                    (double)is->chunks_per_page / (double)a->tail_items[0]);
    } else { /* no queue of next victims yet: the average of all */
        utility_add(&u->loss, &u->loss_error, hits, 1 / pages);
    }
    u->hits = u->hits / 2 + hits;
    u->filling_windows -= u->filling_windows > 0;
}

/* --- what is read, and what is stored --- */

static void utility_note_stores(struct automove_utility *u, const struct snapshot *s,
                                unsigned class_id) {
    struct utility_class *c = &u->classes[class_id];
    const struct snapshot_class *is = &s->classes[class_id];
    uint64_t evicted = snapshot_demand(is), sets = is->cmd_set;
    /* else the id belongs to another class now */
    bool known = u->looked && evicted >= c->evicted_seen;
    if (is->signal.hits != c->hits_seen) {
        c->hits_seen = is->signal.hits;
        c->read_us = s->time_us;
        c->read_requests = s->requests;
    }
    c->evicted_bytes = known ? (evicted - c->evicted_seen) * is->chunk_bytes : 0;
    uint64_t set_bytes =
        u->looked && sets > c->sets_seen ? (sets - c->sets_seen) * is->chunk_bytes : 0;
    /* each eviction made room for a store, also when that was no set */
    c->stored_now = (double)(set_bytes > c->evicted_bytes ? set_bytes : c->evicted_bytes);
    c->evicted_seen = evicted;
    c->sets_seen = sets;
}

/* "Lately" is measured in stored bytes, because a phase of a load may last a tenth of a second or a
 * day. */
static void utility_read_stores(struct automove_utility *u, const struct snapshot *s) {
    double all = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        utility_note_stores(u, s, i);
        all += u->classes[i].stored_now;
    }
    double fade = exp(-all * STORES_SHARE / ((double)s->pages_limit * PAGE_BYTES));
    for (unsigned i = 1; i <= s->class_count; i++) {
        u->classes[i].stored = u->classes[i].stored * fade + u->classes[i].stored_now;
    }
    u->looked = true;
}

static bool utility_is_unread(const struct automove_utility *u, const struct snapshot *s,
                              unsigned class_id) {
    const struct utility_class *c = &u->classes[class_id];
    return c->read_us == 0 || (s->time_us - c->read_us > UNREAD_US &&
                               s->requests - c->read_requests > UTILITY_WINDOW_REQUESTS);
}

/* Whether the class has a page's worth of free chunks and no use for them. A class that got pages
 * lately will fill them. */
static bool utility_has_spare_page(const struct automove_utility *u, const struct snapshot *s,
                                   unsigned class_id) {
    return u->classes[class_id].filling_windows == 0 &&
           snapshot_free_pages(&s->classes[class_id]) > 0;
}

/* Whether the class has mostly pieces of large values, whose hits, stores and evictions count in
 * the class where the values begin: the worth of its pages is unknown. When the values go, the
 * class is empty. (Without this, load large: 19 pages stolen for 5, twice as many items lost.) */
static bool utility_holds_pieces(const struct snapshot_class *c) {
    uint64_t chunks = (uint64_t)c->pages * c->chunks_per_page;
    return chunks > c->free_chunks && chunks - c->free_chunks > 2 * c->items;
}

/* --- what a page is worth --- */

/* A page's worth of hits that more pages would surely bring: the best over all depths. */
static double utility_sure_gain(const struct utility_class *u) {
    double best = 0;
    for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
        double surely = (u->gain[d] - DOUBT * sqrt(u->gain_error[d])) / (1u << d);
        best = surely > best ? surely : best;
    }
    return best;
}

/* Hits that a page less may cost: 0 only for unused pages. If no hits were seen, the cost may be
 * one hit. The last page is worth no less than one page more: the tail alone shows too little for a
 * policy with several queues (kvreg -0.6 points, recs -0.3). */
static double utility_likely_loss(const struct automove_utility *u, const struct snapshot *s,
                                  unsigned class_id) {
    const struct utility_class *c = &u->classes[class_id];
    if (utility_is_unread(u, s, class_id) || utility_has_spare_page(u, s, class_id)) {
        return 0;
    }
    double tail = c->loss + DOUBT * sqrt(c->loss_error),
           loss = tail > c->gain[0] ? tail : c->gain[0];
    loss += c->hits / s->classes[class_id].pages / MOVE_COST_SHARE;
    return loss > 1 ? loss : 1;
}

/* Bytes stored lately per page, if the class had so many pages, plus so many standard errors. One
 * chunk is added, so that of two classes without stores neither has less than the other. */
static double utility_stored_bytes(const struct automove_utility *u, const struct snapshot *s,
                                   unsigned class_id, unsigned pages, double doubt) {
    double bytes = u->classes[class_id].stored, chunk = s->classes[class_id].chunk_bytes;
    return (bytes + chunk + doubt * sqrt(bytes * chunk)) / pages;
}

/* How many pages of a donor whose loss is 0 a class may take for its stores. */
static unsigned utility_pages_for_stores(const struct automove_utility *u, const struct snapshot *s,
                                         unsigned donor, unsigned receiver) {
    const struct snapshot_class *from = &s->classes[donor], *to = &s->classes[receiver];
    uint64_t most = utility_is_unread(u, s, donor) ? from->pages - 1 : snapshot_free_pages(from);
    unsigned pages = 0;
    while (pages < most && pages + 1 < from->pages &&
           utility_stored_bytes(u, s, receiver, to->pages + pages + 1, -DOUBT) >
               HYSTERESIS * utility_stored_bytes(u, s, donor, from->pages - pages - 1, DOUBT)) {
        pages++;
    }
    return pages;
}

/* The same before stores are known: as if both classes had equal stores. */
static unsigned utility_pages_if_equal(const struct snapshot *s, unsigned donor,
                                       unsigned receiver) {
    unsigned from = s->classes[donor].pages, to = s->classes[receiver].pages, pages = 0;
    while (from > pages + 1 && from - pages - 1 > HYSTERESIS * (to + pages + 1)) {
        pages++;
    }
    return pages;
}

/* How many of them at once: no more than hold the bytes stored lately. */
static unsigned utility_pages_at_once(const struct automove_utility *u, const struct snapshot *s,
                                      unsigned receiver, unsigned most) {
    const struct snapshot_class *to = &s->classes[receiver];
    double page_bytes = (double)to->chunk_bytes * to->chunks_per_page;
    double pages = ceil(u->classes[receiver].stored / page_bytes);
    most = most < MOVE_PAGES_MAX ? most : MOVE_PAGES_MAX;
    return pages < most ? (unsigned)pages : most;
}

/* --- receiver and donor --- */

static double utility_gain(const struct automove_utility *u, unsigned class_id, bool window_ended) {
    return window_ended ? utility_sure_gain(&u->classes[class_id]) : 0;
}

/* The class that gains most, or else evicts most. A class without pages does not count, even with
 * evictions or ghosts: it is retired, or its id belonged to another class before. */
static unsigned utility_best_receiver(const struct automove_utility *u, const struct snapshot *s,
                                      bool window_ended, const struct class_set *but) {
    unsigned best = SLAB_CLASS_NONE;
    double most = 0;
    uint64_t most_bytes = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        double gain = utility_gain(u, i, window_ended);
        uint64_t bytes = u->classes[i].evicted_bytes;
        bool wants_more = gain > most || (gain >= most && bytes > most_bytes);
        if (wants_more && c->pages > 0 && snapshot_free_pages(c) == 0 && !class_set_has(but, i)) {
            best = i;
            most = gain;
            most_bytes = bytes;
        }
    }
    return best;
}

/* The class that loses least, of equals the one in which least is stored. */
static unsigned utility_best_donor(const struct automove_utility *u, const struct snapshot *s,
                                   unsigned receiver, const struct class_set *but) {
    unsigned best = SLAB_CLASS_NONE;
    double least = 0, least_stored = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        if (i == receiver || c->pages < 2 || utility_holds_pieces(c) || class_set_has(but, i)) {
            continue;
        }
        double loss = utility_likely_loss(u, s, i),
               stores = utility_stored_bytes(u, s, i, c->pages, 0);
        if (best == SLAB_CLASS_NONE || loss < least || (loss <= least && stores < least_stored)) {
            best = i;
            least = loss;
            least_stored = stores;
        }
    }
    return best;
}

/* --- moves --- */

static double utility_per_1000(const struct automove_utility *u, double sum) {
    return u->requests > 0 ? sum * 1000 / u->requests : 0;
}

static const char *utility_why_useless(const struct automove_utility *u, const struct snapshot *s,
                                       unsigned donor) {
    return utility_has_spare_page(u, s, donor) ? "has free chunks"
           : u->classes[donor].read_us == 0    ? "was never read"
                                               : "is not read any more";
}

static void utility_move_for_hits(struct automove_utility *u, const struct snapshot *s,
                                  unsigned donor, unsigned receiver, struct decision *d) {
    struct utility_class *to = &u->classes[receiver];
    const struct utility_class *from = &u->classes[donor];
    double gain = utility_per_1000(u, utility_sure_gain(to)),
           loss = utility_per_1000(u, from->loss > from->gain[0] ? from->loss : from->gain[0]);
    if (utility_likely_loss(u, s, donor) > 0) {
        decision_move(d, donor, receiver, 1,
                      "class %u would gain %.2f hits per page and 1000 requests, "
                      "class %u lose %.2f",
                      receiver, gain, donor, loss);
    } else {
        decision_move(d, donor, receiver, 1,
                      "class %u would gain %.2f hits per page and 1000 requests, class %u %s",
                      receiver, gain, donor, utility_why_useless(u, s, donor));
    }
    memset(to->gain, 0, sizeof to->gain); /* the gain is out of date */
    memset(to->gain_error, 0, sizeof to->gain_error);
    snprintf(u->why, sizeof u->why, "%s", d->moves[d->count - 1].reason);
}

/* Adds a move from one class to the other if it is worth it. Returns how many pages. */
static unsigned utility_consider(struct automove_utility *u, const struct snapshot *s,
                                 unsigned donor, unsigned receiver, bool window_ended,
                                 struct decision *d) {
    double gain = utility_gain(u, receiver, window_ended), loss = utility_likely_loss(u, s, donor);
    unsigned pages = 0;
    if (gain > HYSTERESIS * loss) {
        pages = 1;
        utility_move_for_hits(u, s, donor, receiver, d);
    } else if (gain <= 0 && loss <= 0) {
        unsigned most = utility_pages_for_stores(u, s, donor, receiver);
        pages = utility_pages_at_once(u, s, receiver, most);
        if (pages > 0) {
            decision_move(d, donor, receiver, pages, "class %u evicts, class %u %s", receiver,
                          donor, utility_why_useless(u, s, donor))
                ->assisted = most - pages;
        }
    }
    if (pages > 0) {
        u->classes[receiver].filling_windows = FILL_WINDOWS;
    }
    return pages;
}

/* A class that gave or got a page no longer matches its figures: it takes no part before the next
 * decision. */
static bool utility_decide(struct automove_utility *u, const struct snapshot *s, bool window_ended,
                           struct decision *d) {
    struct class_set done = {{0}};
    unsigned receiver;
    while (d->count < DECISION_MOVES_MAX &&
           (receiver = utility_best_receiver(u, s, window_ended, &done)) != SLAB_CLASS_NONE) {
        unsigned donor = utility_best_donor(u, s, receiver, &done);
        class_set_add(&done, receiver);
        if (donor != SLAB_CLASS_NONE &&
            utility_consider(u, s, donor, receiver, window_ended, d) > 0) {
            class_set_add(&done, donor);
        }
    }
    return d->count > 0;
}

/* --- the mode --- */

/* Writes the reason of a window without moves. */
static void utility_note_why(struct automove_utility *u, const struct snapshot *s) {
    static const struct class_set nobody;
    unsigned first = utility_best_receiver(u, s, true, &nobody);
    double gain = first != SLAB_CLASS_NONE ? utility_sure_gain(&u->classes[first]) : 0;
    if (gain > 0) {
        snprintf(u->why, sizeof u->why,
                 "class %u would gain %.2f hits per page and 1000 requests, "
                 "but no class would lose less",
                 first, utility_per_1000(u, gain));
    } else {
        snprintf(u->why, sizeof u->why, "no class would surely gain by a page");
    }
}

/* When to look again: soon while unread pages move to other classes, seldom while no requests
 * come. */
static uint32_t utility_next_step_us(struct automove_utility *u, const struct snapshot *s,
                                     bool assisted) {
    bool requested = s->requests != u->requests_seen;
    u->requests_seen = s->requests;
    if (assisted) {
        u->busy_until_us = s->time_us + UTILITY_LATELY_US;
    }
    return s->time_us < u->busy_until_us ? BUSY_LOOK_US : requested ? UTILITY_LOOK_US : 0;
}

bool automove_utility_decide(void *state, const struct snapshot *before,
                             const struct snapshot *after, struct decision *d) {
    struct automove_utility *u = state;
    bool ends = after->requests - before->requests >= UTILITY_WINDOW_REQUESTS;
    utility_read_stores(u, after);
    if (after->pages_free > 0) { /* classes in need take pages of the pool: rare looks are enough */
        return decision_none(d, "the pool has %u pages", after->pages_free);
    }
    d->extend = !ends;
    if (ends) {
        u->requests = u->requests / 2 + (double)(after->requests - before->requests);
        for (unsigned i = 1; i <= after->class_count; i++) {
            utility_digest_class(&u->classes[i], &before->classes[i], &after->classes[i]);
        }
        utility_note_why(u, after);
    }
    bool moves = utility_decide(u, after, ends, d);
    d->again_us = utility_next_step_us(u, after, moves && !ends);
    return moves || decision_none(d, "%s", u->why);
}

bool automove_utility_at_need(void *state, const struct snapshot *s, struct decision *d) {
    static const struct class_set nobody;
    struct automove_utility *u = state;
    d->again_us = utility_next_step_us(u, s, true);
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        unsigned donor = c->starved && c->free_chunks == 0 ? utility_best_donor(u, s, i, &nobody)
                                                          : SLAB_CLASS_NONE;
        if (donor != SLAB_CLASS_NONE) {
            decision_move(d, donor, i, 1,
                          "class %u has nothing left, class %u would lose least: %.2f hits a page "
                          "and 1000 requests",
                          i, donor, utility_per_1000(u, u->classes[donor].loss))
                ->assisted =
                utility_likely_loss(u, s, donor) <= 0 ? utility_pages_if_equal(s, donor, i) : 0;
            return true;
        }
    }
    return decision_none(d, "no class has nothing left");
}

/* The window's figures of the classes stay, but a receiver's gain begins again. */
static void utility_worth(const void *state, const struct snapshot *s,
                          struct page_worth *by_class) {
    const struct automove_utility *u = state;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct utility_class *c = &u->classes[i];
        struct page_worth *w = &by_class[i];
        *w = (struct page_worth){.loss = utility_per_1000(u, c->loss),
                                 .loss_doubt = utility_per_1000(u, DOUBT * sqrt(c->loss_error)),
                                 .average = s->classes[i].pages > 0
                                                ? utility_per_1000(u, c->hits) / s->classes[i].pages
                                                : 0};
        for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
            double gain = utility_per_1000(u, c->gain[d]) / (1u << d),
                   doubt = utility_per_1000(u, DOUBT * sqrt(c->gain_error[d])) / (1u << d);
            if (gain - doubt > w->gain - w->gain_doubt) {
                w->gain = gain;
                w->gain_doubt = doubt;
                w->gain_pages = 1u << d;
            }
        }
    }
}

static bool utility_init(void *state, const struct automove_config *cfg, const char *argument,
                         char *why) {
    (void)argument;
    struct automove_utility *u = state;
    u->cache = cfg->cache;
    snprintf(u->why, sizeof u->why, "the first window has not ended");
    if (!cache_measure(cfg->cache, true)) {
        snprintf(why, REASON_BYTES, "out of memory for the sampled keys");
        return false;
    }
    return true;
}

static void utility_fini(void *state) {
    cache_measure(((struct automove_utility *)state)->cache, false);
}

const struct automove_mode automove_utility = {
    .name = "utility",
    .number = -1,
    .help = "pages go where they bring most hits, by sampled keys",
    .with_free_pages = true,
    .window_us = UTILITY_LATELY_US,
    .state_bytes = sizeof(struct automove_utility),
    .init = utility_init,
    .fini = utility_fini,
    .each_window = automove_utility_decide,
    .at_need = automove_utility_at_need,
    .worth = utility_worth,
};
