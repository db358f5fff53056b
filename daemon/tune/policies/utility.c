#include "tune/policies/utility.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DOUBT  1.5        /* standard errors by which a gain must exceed a loss */
#define MARGIN 1.1
#define TAKE_BACK_MARGIN 2 /* once more, of a move that takes back what was done lately */
#define MOVE_COST (1.0 / 16) /* of a page's hits a window: a moved page drops items that are not the donor's next victims */

enum {
    REQUESTS_MIN = 256,        /* in a window */
    HOLD_WINDOWS = 3,
    FILL_WINDOWS = 32,         /* that a class may take to fill what it was given */
    TAKE_BACK_WINDOWS = 256,
    REVERSALS_MOST = 2, REVERSAL_WINDOWS = 16, FROZEN_WINDOWS = 16,
    SHARE_A_WINDOW = 16,       /* of all pages 1/16 */
    PAGES_A_MOVE = 8,
    PAGES_A_LOOK = 32,
    HASTE = 8,
    BUSY_LOOK_US = 2 * 1000, BUSY_US = 200 * 1000,
    UNREAD_US = 1000 * 1000,
    QUIET_US = 10 * 1000,      /* a class that evicted within this time gives nothing unread */
    FEW_CHUNKS = 8,            /* of a page */
    STORES_SHARE = 16,         /* of the limit: so many bytes of stores count as lately */
    /* what is stored in a donor stays so many times as long as in its receiver */
    LONGER = 4,
};

/* --- signals --- */

static void add(double *sum, double *error, double hits, double weight) {
    *sum = *sum / 2 + hits * weight;
    *error = *error / 4 + hits * weight * weight;
}

static void digest_class(struct utility_class *u, const struct snapshot_class *was,
                         const struct snapshot_class *is) {
    const struct cache_signal *b = &was->signal, *a = &is->signal;
    double within = 0, hits = (double)(a->hits - b->hits), pages = is->pages > 0 ? is->pages : 1;
    for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
        within += (double)(a->ghost_hits[d] - b->ghost_hits[d]);
        add(&u->gain[d], &u->gain_error[d], within, a->ghost_weight);
    }
    for (unsigned t = 0; t < CACHE_TAILS; t++) {
        double page_items = (double)is->chunks_per_page * (t + 1);
        if (a->tail_items[t] > 0) {
            add(&u->loss[t], &u->loss_error[t], (double)(a->tail_hits[t] - b->tail_hits[t]),
                page_items / (double)a->tail_items[t]);
        } else { /* no queue of next victims yet: the average of all */
            add(&u->loss[t], &u->loss_error[t], hits, (t + 1) / pages);
        }
    }
    u->hits = u->hits / 2 + hits;
}

static void digest(struct automove_utility *u, const struct snapshot *before,
                   const struct snapshot *after) {
    u->requests = u->requests / 2 + (double)(after->requests - before->requests);
    for (unsigned i = 1; i <= after->class_count; i++) {
        digest_class(&u->classes[i], &before->classes[i], &after->classes[i]);
        u->classes[i].done = false;
    }
}

/* A page's worth of hits that `pages` more would surely bring: the best over all depths that are
 * not less. */
static double sure_gain(const struct utility_class *u, unsigned pages) {
    double best = 0;
    for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
        double surely = (u->gain[d] - DOUBT * sqrt(u->gain_error[d])) / (1u << d);
        if (1u << d >= pages && surely > best) {
            best = surely;
        }
    }
    return best;
}

/* A set takes its chunk before the one that it replaces is free: where a page has few chunks, one
 * is no page to spare. */
static uint64_t free_pages(const struct snapshot_class *c) {
    uint64_t kept = c->chunks_per_page <= FEW_CHUNKS && c->free_chunks > 0 ? 1 : 0;
    return c->chunks_per_page > 0 ? (c->free_chunks - kept) / c->chunks_per_page : 0;
}
static bool     spare(const struct snapshot_class *c) { return free_pages(c) > 0; }
/* One without pages that evicted or left ghosts is retired, or the id is another class's than it
 * was. */
static bool     takes_pages(const struct snapshot_class *c) { return c->pages > 0 && !spare(c); }

/* Mostly pieces of large values, whose hits, stores and evictions count where the values begin:
 * nothing here says what its pages are worth. When the values go, it is empty. */
static bool holds_pieces(const struct snapshot_class *c) {
    uint64_t chunks = (uint64_t)c->pages * c->chunks_per_page;
    return chunks > c->free_chunks && chunks - c->free_chunks > 2 * c->items;
}

/* A class that got pages lately: what is free in them is what it got them for. */
static bool filling(const struct automove_utility *u, unsigned class_id) {
    uint32_t received = u->classes[class_id].received;
    return received != 0 && u->window - received <= FILL_WINDOWS;
}

static bool unread(const struct automove_utility *u, const struct snapshot *s, unsigned class_id) {
    const struct utility_class *c = &u->classes[class_id];
    return c->read_us == 0 || (s->time_us - c->read_us > UNREAD_US &&
                               s->requests - c->read_requests > UTILITY_WINDOW_REQUESTS);
}

/* Free pages that the class has no use for. */
static uint64_t needless_pages(const struct automove_utility *u, const struct snapshot *s,
                               unsigned class_id) {
    return filling(u, class_id) ? 0 : free_pages(&s->classes[class_id]);
}

/* Hits that the last of `pages` pages may cost the class, the move included. Losses grow towards
 * the head of the queue, and the last page there is brings no less than one more would: of a policy
 * with several queues the tail alone tells too little. */
static double likely_loss(const struct automove_utility *u, const struct snapshot *s,
                          unsigned class_id, unsigned pages) {
    const struct utility_class *c = &u->classes[class_id];
    if (needless_pages(u, s, class_id) >= pages || unread(u, s, class_id)) {
        return 0;
    }
    double second = c->loss[1] - c->loss[0], grows = second > c->loss[0] ? second - c->loss[0] : 0;
    double tail = c->loss[0] + DOUBT * sqrt(c->loss_error[0]),
           loss = (tail > c->gain[0] ? tail : c->gain[0]) + grows * (pages - 1);
    return MARGIN * loss + MOVE_COST * c->hits / s->classes[class_id].pages;
}

/* --- pairs --- */

static struct utility_pair *pair_of(struct automove_utility *u, unsigned a, unsigned b) {
    struct utility_pair *oldest = &u->pairs[0];
    for (struct utility_pair *p = u->pairs; p < u->pairs + UTILITY_PAIRS; p++) {
        if ((p->from == a && p->to == b) || (p->from == b && p->to == a)) {
            return p;
        }
        oldest = p->moved < oldest->moved ? p : oldest;
    }
    *oldest = (struct utility_pair){.from = a, .to = b};
    return oldest;
}

static bool frozen(const struct automove_utility *u, unsigned a, unsigned b) {
    for (const struct utility_pair *p = u->pairs; p < u->pairs + UTILITY_PAIRS; p++) {
        if (p->frozen_until > u->window &&
            ((p->from == a && p->to == b) || (p->from == b && p->to == a))) {
            return true;
        }
    }
    return false;
}

static void note_pair(struct automove_utility *u, unsigned from, unsigned to) {
    struct utility_pair *p = pair_of(u, from, to);
    if (u->window - p->moved > REVERSAL_WINDOWS) {
        p->reversals = 0;
    }
    if (p->from == to && ++p->reversals >= REVERSALS_MOST) {
        p->frozen_until = u->window + FROZEN_WINDOWS;
        p->reversals = 0;
    }
    p->from = from;
    p->to = to;
    p->moved = u->window;
}

/* --- each window: gain against loss --- */

static bool held(const struct automove_utility *u, uint32_t moved) {
    return moved != 0 && u->window - moved <= HOLD_WINDOWS;
}

/* Whether either class went the other way lately: what a sample says of two that are near each
 * other changes with the sample. */
static bool takes_back(const struct automove_utility *u, unsigned donor, unsigned receiver) {
    uint32_t received = u->classes[donor].received, gave = u->classes[receiver].gave;
    return (received != 0 && u->window - received <= TAKE_BACK_WINDOWS) ||
           (gave != 0 && u->window - gave <= TAKE_BACK_WINDOWS);
}

static unsigned best_receiver(const struct automove_utility *u, const struct snapshot *s) {
    unsigned best = SLAB_CLASS_NONE;
    double most = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        double gain = sure_gain(&u->classes[i], 1);
        if (gain > most && !u->classes[i].done && !held(u, u->classes[i].gave) &&
            takes_pages(&s->classes[i])) {
            best = i;
            most = gain;
        }
    }
    return best;
}

static unsigned best_donor(const struct automove_utility *u, const struct snapshot *s,
                           unsigned receiver) {
    unsigned best = SLAB_CLASS_NONE;
    double least = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        double loss = likely_loss(u, s, i, 1);
        if (i != receiver && s->classes[i].pages >= 2 && !holds_pieces(&s->classes[i]) &&
            !u->classes[i].done && !held(u, u->classes[i].received) && !frozen(u, i, receiver) &&
            (best == SLAB_CLASS_NONE || loss < least)) {
            best = i;
            least = loss;
        }
    }
    return best;
}

/* How many pages the move is worth, at most `most`; 0: none. */
static unsigned worth(const struct automove_utility *u, const struct snapshot *s, unsigned donor,
                      unsigned receiver, unsigned most) {
    unsigned pages = most < s->classes[donor].pages - 1 ? most : s->classes[donor].pages - 1;
    double margin = takes_back(u, donor, receiver) ? TAKE_BACK_MARGIN : 1;
    while (pages > 0 &&
           !(sure_gain(&u->classes[receiver], pages) > margin * likely_loss(u, s, donor, pages))) {
        pages--;
    }
    return pages;
}

static double per_1000(const struct automove_utility *u, double sum) {
    return u->requests > 0 ? sum * 1000 / u->requests : 0;
}

static void add_move(struct automove_utility *u, const struct snapshot *s, unsigned donor,
                     unsigned receiver, unsigned pages, struct decision *d) {
    struct utility_class *to = &u->classes[receiver], *from = &u->classes[donor];
    double gain = per_1000(u, sure_gain(to, pages)),
           loss = per_1000(u, from->loss[0] > from->gain[0] ? from->loss[0] : from->gain[0]);
    bool needless = needless_pages(u, s, donor) > 0;
    if (unread(u, s, donor)) {
        decision_move(
            d, donor, receiver, pages,
            "class %u would gain %.2f hits a page and 1000 requests, class %u is not read",
            receiver, gain, donor);
    } else {
        decision_move(
            d, donor, receiver, pages,
            "class %u would gain %.2f hits a page and 1000 requests, class %u lose %.2f%s",
            receiver, gain, donor, needless ? 0.0 : loss, needless ? ": it has free chunks" : "");
    }
    to->step = pages;
    to->received = from->gave = u->window;
    memset(to->gain, 0, sizeof to->gain); /* of the class as it was */
    memset(to->gain_error, 0, sizeof to->gain_error);
    to->done = from->done = true;
    note_pair(u, donor, receiver);
}

static bool decide_window(struct automove_utility *u, const struct snapshot *s,
                          struct decision *d) {
    unsigned left = s->pages_limit / SHARE_A_WINDOW > 0 ? s->pages_limit / SHARE_A_WINDOW : 1,
             receiver;
    unsigned first = best_receiver(u, s);
    double gain = first != SLAB_CLASS_NONE ? per_1000(u, sure_gain(&u->classes[first], 1)) : 0;
    while (left > 0 && d->count < DECISION_MOVES_MAX &&
           (receiver = best_receiver(u, s)) != SLAB_CLASS_NONE) {
        struct utility_class *to = &u->classes[receiver];
        unsigned donor = best_donor(u, s, receiver),
                 step = to->received == u->window - 1 ? 2 * to->step : 1;
        step = step < left ? step : left;
        unsigned pages = donor != SLAB_CLASS_NONE ? worth(u, s, donor, receiver,
                                                          step < PAGES_A_MOVE ? step : PAGES_A_MOVE)
                                                  : 0;
        to->done = true;
        if (pages > 0) {
            add_move(u, s, donor, receiver, pages, d);
            left -= pages;
        }
    }
    if (d->count > 0) {
        snprintf(u->why, sizeof u->why, "%s", d->moves[0].reason);
        return true;
    }
    if (first == SLAB_CLASS_NONE) {
        snprintf(u->why, sizeof u->why, "no class would surely gain by a page");
    } else {
        snprintf(
            u->why, sizeof u->why,
            "class %u would gain %.2f hits a page and 1000 requests, but no class would lose less",
            first, gain);
    }
    return decision_none(d, "%s", u->why);
}

/* --- each look: pages that nobody reads, for whoever evicts --- */

/* Bytes stored lately, by class: time is counted in stores, for a phase of a load may last a tenth
 * of a second or a day. Whatever evicted was stored, also when no set did it. */
static void note_stores(struct automove_utility *u, const struct snapshot *s) {
    double all = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct utility_class *c = &u->classes[i];
        const struct snapshot_class *is = &s->classes[i];
        uint64_t sets = u->look > UTILITY_EPOCH + 1 && is->cmd_set > c->sets_seen
                            ? is->cmd_set - c->sets_seen
                            : 0;
        uint64_t bytes = sets * is->chunk_bytes;
        c->sets_seen = is->cmd_set;
        c->stored_now = (double)(bytes > c->evicted_bytes ? bytes : c->evicted_bytes);
        all += c->stored_now;
    }
    double keep = exp(-all * STORES_SHARE / ((double)s->pages_limit * PAGE_BYTES));
    for (unsigned i = 1; i <= s->class_count; i++) {
        u->classes[i].stored = u->classes[i].stored * keep + u->classes[i].stored_now;
    }
}

/* Pages that a donor may give until what is stored in it stays only LONGER times as long as what is
 * stored in the receiver: it will want those that are left for what comes to it. */
static double spared(const struct automove_utility *u, const struct snapshot *s, unsigned donor,
                     unsigned receiver) {
    const struct snapshot_class *d = &s->classes[donor], *r = &s->classes[receiver];
    double from = u->classes[donor].stored, to = u->classes[receiver].stored;
    double at_most = LONGER * (from + DOUBT * sqrt(from * d->chunk_bytes) + d->chunk_bytes),
           at_least = to - DOUBT * sqrt(to * r->chunk_bytes);
    return at_least > 0 ? (d->pages * at_least - r->pages * at_most) / (at_least + at_most) : 0;
}

static void look(struct automove_utility *u, const struct snapshot *s) {
    u->look++;
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct utility_class *c = &u->classes[i];
        const struct snapshot_class *is = &s->classes[i];
        uint64_t evicted = snapshot_demand(is);
        /* else the id is another class's than it was */
        bool known = u->look > UTILITY_EPOCH + 1 && evicted >= c->evicted_seen;
        if (is->signal.hits != c->hits_seen) {
            c->hits_seen = is->signal.hits;
            c->read_us = s->time_us;
            c->read_requests = s->requests;
        }
        c->evicted_bytes = known ? (evicted - c->evicted_seen) * is->chunk_bytes : 0;
        if (c->evicted_bytes > 0) {
            c->evicted_us = s->time_us;
        }
        c->evicted_seen = evicted;
    }
    note_stores(u, s);
}

/* The class that evicts most and has no page's worth of free chunks. */
static unsigned neediest(const struct automove_utility *u, const struct snapshot *s) {
    unsigned best = SLAB_CLASS_NONE;
    uint64_t most_bytes = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        uint64_t bytes = u->classes[i].evicted_bytes;
        if (bytes > most_bytes && takes_pages(&s->classes[i])) {
            best = i;
            most_bytes = bytes;
        }
    }
    return best;
}

/* Pages of `donor` that nobody needs: those with free chunks, or all but one when it is not read.
 * Of two that are not read neither is worth more than the other, and each is to have what its
 * stores take. */
static unsigned useless_pages(const struct automove_utility *u, const struct snapshot *s,
                              unsigned donor, unsigned receiver) {
    const struct snapshot_class *c = &s->classes[donor];
    bool idle = unread(u, s, donor), quiet = u->classes[donor].evicted_us == 0 ||
                                             s->time_us - u->classes[donor].evicted_us > QUIET_US;
    uint64_t pages = holds_pieces(c) ? 0 : idle ? c->pages : needless_pages(u, s, donor);
    if (idle && !unread(u, s, receiver)) {
        pages = quiet ? pages : 0;
    } else {
        double most = spared(u, s, donor, receiver);
        pages = (double)pages < most ? pages : most > 0 ? (uint64_t)most : 0;
    }
    return pages < c->pages ? (unsigned)pages : c->pages > 0 ? c->pages - 1 : 0;
}

/* Of the classes whose pages nobody needs: one with free chunks, else the one with most pages. */
static unsigned useless(const struct automove_utility *u, const struct snapshot *s,
                        unsigned receiver) {
    unsigned best = SLAB_CLASS_NONE;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i], *b = &s->classes[best];
        if (i == receiver || u->classes[i].done || useless_pages(u, s, i, receiver) == 0) {
            continue;
        }
        if (best == SLAB_CLASS_NONE || (spare(c) != spare(b) ? spare(c) : c->pages > b->pages)) {
            best = i;
        }
    }
    return best;
}

static bool decide_look(struct automove_utility *u, const struct snapshot *s, struct decision *d) {
    unsigned receiver = neediest(u, s), donor;
    for (unsigned i = 1; i <= s->class_count; i++) {
        u->classes[i].done = false;
    }
    if (receiver == SLAB_CLASS_NONE) {
        return false;
    }
    /* As many as would have held what it evicted meanwhile; in a row more, for then that is only
     * what the pages before did not hold: HASTE / (HASTE + 1) of what comes is followed. All at
     * once where stores alone say how many it is to have. */
    uint64_t page_bytes =
        (uint64_t)s->classes[receiver].chunk_bytes * s->classes[receiver].chunks_per_page;
    uint64_t missing = (u->classes[receiver].evicted_bytes + page_bytes - 1) / page_bytes;
    missing = s->time_us >= u->busy_until_us ? missing
              : unread(u, s, receiver)       ? PAGES_A_LOOK
                                             : HASTE * missing;
    unsigned wanted = missing < PAGES_A_LOOK ? (unsigned)missing : PAGES_A_LOOK;
    while (wanted > 0 && d->count < DECISION_MOVES_MAX &&
           (donor = useless(u, s, receiver)) != SLAB_CLASS_NONE) {
        unsigned given = useless_pages(u, s, donor, receiver);
        given = given < wanted ? given : wanted;
        wanted -= given;
        u->classes[donor].done = true;
        u->classes[receiver].received = u->window;
        for (unsigned pages; given > 0 && d->count < DECISION_MOVES_MAX; given -= pages) {
            pages = given < PAGES_A_MOVE ? given : PAGES_A_MOVE;
            decision_move(d, donor, receiver, pages, "class %u evicts, class %u %s", receiver,
                          donor,
                          spare(&s->classes[donor])        ? "has free chunks"
                          : u->classes[donor].read_us == 0 ? "was never read"
                                                           : "is not read any more");
        }
    }
    return d->count > 0;
}

/* --- the mode --- */

/* When to look again: soon while pages that nobody reads find takers, seldom while nobody asks for
 * anything. */
static uint32_t pace(struct automove_utility *u, const struct snapshot *s, bool helped) {
    bool asked = s->requests != u->requests_seen;
    u->requests_seen = s->requests;
    if (helped) {
        u->busy_until_us = s->time_us + BUSY_US;
    }
    return s->time_us < u->busy_until_us ? BUSY_LOOK_US : asked ? UTILITY_LOOK_US : 0;
}

static bool window_ends(const struct snapshot *before, const struct snapshot *after) {
    uint64_t requests = after->requests - before->requests;
    return requests >= UTILITY_WINDOW_REQUESTS ||
           (after->time_us - before->time_us >= UTILITY_WINDOW_US && requests >= REQUESTS_MIN);
}

bool automove_utility_decide(void *state, const struct snapshot *before,
                             const struct snapshot *after, struct decision *d) {
    struct automove_utility *u = state;
    bool ends = window_ends(before, after);
    look(u, after);
    if (after->pages_free > 0) { /* who needs a page takes one: it is enough to look seldom */
        return decision_none(d, "the pool has %u pages", after->pages_free);
    }
    d->extend = !ends;
    if (ends) {
        u->window++;
        digest(u, before, after);
    }
    bool helps = decide_look(u, after, d);
    d->again_us = pace(u, after, helps);
    if (helps) {
        return true;
    }
    return ends ? decide_window(u, after, d) : decision_none(d, "%s", u->why);
}

bool automove_utility_at_need(void *state, const struct snapshot *s, struct decision *d) {
    struct automove_utility *u = state;
    d->again_us = pace(u, s, true);
    for (unsigned i = 1; i <= s->class_count; i++) {
        u->classes[i].done = false;
    }
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        unsigned donor = c->hungry && c->free_chunks == 0 ? best_donor(u, s, i) : SLAB_CLASS_NONE;
        if (donor != SLAB_CLASS_NONE) {
            return decision_move(d, donor, i, 1,
                                 "class %u has nothing left, class %u would lose least: %.2f hits "
                                 "a page and 1000 requests",
                                 i, donor, per_1000(u, u->classes[donor].loss[0])) != NULL;
        }
    }
    return decision_none(d, "no class has nothing left");
}

/* The class is as the window found it, but for a receiver's gain, which begins anew. */
static void weigh(const void *state, const struct snapshot *s, struct page_worth *by_class) {
    const struct automove_utility *u = state;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct utility_class *c = &u->classes[i];
        struct page_worth *w = &by_class[i];
        *w = (struct page_worth){
            .loss = per_1000(u, c->loss[0]),
            .loss_doubt = per_1000(u, DOUBT * sqrt(c->loss_error[0])),
            .average = s->classes[i].pages > 0 ? per_1000(u, c->hits) / s->classes[i].pages : 0};
        for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
            double gain = per_1000(u, c->gain[d]) / (1u << d),
                   doubt = per_1000(u, DOUBT * sqrt(c->gain_error[d])) / (1u << d);
            if (gain - doubt > w->gain - w->gain_doubt) {
                w->gain = gain;
                w->gain_doubt = doubt;
                w->gain_pages = 1u << d;
            }
        }
    }
}

static bool init(void *state, const struct automove_config *cfg, const char *argument, char *why) {
    (void)argument;
    struct automove_utility *u = state;
    u->cache = cfg->cache;
    u->window = u->look = UTILITY_EPOCH;
    snprintf(u->why, sizeof u->why, "the first window has not ended");
    if (!cache_measure(cfg->cache, true)) {
        snprintf(why, REASON_BYTES, "out of memory for the sampled keys");
        return false;
    }
    return true;
}

static void fini(void *state) { cache_measure(((struct automove_utility *)state)->cache, false); }

const struct automove_mode automove_utility = {
    .name = "utility",
    .number = -1,
    .help = "pages go where they bring most hits, as sampled keys tell",
    .with_free_pages = true,
    .window_us = UTILITY_IDLE_LOOK_US,
    .state_bytes = sizeof(struct automove_utility),
    .init = init,
    .fini = fini,
    .each_window = automove_utility_decide,
    .at_need = automove_utility_at_need,
    .worth = weigh,
};
