/* Page moves that an operator asks for. */
#include <stdio.h>
#include <unistd.h>

#include "tune/state.h"

enum { CANCEL_LOOK_US = 200 };

static bool any_class_has_two(const struct tuner *t, unsigned except) {
    const struct slab *slab = cache_slab(t->cache);
    for (unsigned i = 1; i <= slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(slab, i, &f);
        if (i != except && f.pages > 1) {
            return true;
        }
    }
    return false;
}

/* The reason of an operator's move, for the log. It says whether what lives in the pages is lost:
 * the class has chunks for it, or it has none. */
static void give_reason(const struct tuner *t, const struct reassignment *r,
                        struct page_move *move) {
    struct slab_class_facts f;
    slab_facts(cache_slab(t->cache), move->from, &f);
    int n =
        snprintf(move->reason, sizeof move->reason, "slabs reassign %d %d, %u of %u pages before",
                 r->from, r->to, r->moved, r->wanted);
    if (move->from != SLAB_CLASS_NONE && move->to == SLAB_CLASS_NONE &&
        f.free_chunks < (uint64_t)move->pages * f.chunks_per_page) {
        snprintf(move->reason + n, sizeof move->reason - (size_t)n,
                 "; class %u has %u free chunks: what finds none is dropped", move->from,
                 f.free_chunks);
    }
}

static struct reassignment request_of(struct tuner *t) {
    lock_take(&t->lock);
    struct reassignment r = t->request;
    lock_release(&t->lock);
    return r;
}

/* A few pages of the request at a time, so that others have their turn in between. */
bool tuner_next_requested(struct tuner *t, struct carried *c, uint64_t now_us, uint64_t *due_us) {
    (void)now_us;
    (void)due_us;
    lock_take(&t->lock);
    struct reassignment r = t->request;
    t->request.served = r.runs;
    lock_release(&t->lock);
    if (!r.runs) {
        return false;
    }
    c->any = r.from < 0;
    c->except = class_set_one((unsigned)r.to);
    c->move.from = c->any ? SLAB_CLASS_NONE : (unsigned)r.from;
    c->move.to = (unsigned)r.to;
    c->move.pages = r.wanted - r.moved < MOVE_PAGES_MAX ? r.wanted - r.moved : MOVE_PAGES_MAX;
    snprintf(c->by, sizeof c->by, "operator");
    return true;
}

void tuner_requested_chosen(struct tuner *t, struct carried *c) {
    struct reassignment r = request_of(t);
    give_reason(t, &r, &c->move);
}

void tuner_requested_ended(struct tuner *t, const struct carried *c, unsigned moved,
                           uint64_t now_us) {
    (void)c;
    (void)now_us;
    lock_take(&t->lock);
    t->request.moved += moved;
    t->request.runs = moved > 0 && t->request.moved < t->request.wanted && t->request.runs;
    t->request.served = false;
    lock_release(&t->lock);
}

bool tuner_cancel(struct tuner *t, unsigned *moved, unsigned *wanted) {
    lock_take(&t->lock);
    bool ran = t->request.runs;
    t->request.runs = false;
    if (t->request.served) {
        tuner_cancel_move(t);
    }
    while (t->request.served && !t->by_hand) { /* a part of a page's work at a time */
        lock_release(&t->lock);
        usleep(CANCEL_LOOK_US);
        lock_take(&t->lock);
    }
    *moved = t->request.moved;
    *wanted = t->request.wanted;
    lock_release(&t->lock);
    return ran;
}

/* Refuses what memcached refuses. The lock is held. */
static enum tune_status check_reassign(const struct tuner *t, int from, int to) {
    const struct slab *slab = cache_slab(t->cache);
    int most = (int)slab->class_count;
    struct slab_class_facts f;
    if (!t->reassign) {
        return TUNE_DISABLED;
    }
    if (t->request.runs) {
        return TUNE_BUSY;
    }
    if (from == to) {
        return TUNE_SAME;
    }
    if (from < -1 || from > most || to < 0 || to > most) {
        return TUNE_BAD_CLASS;
    }
    if (to > 0 && slab_class_state(slab, (unsigned)to) != SLAB_CLASS_ACTIVE) {
        return TUNE_BAD_CLASS;
    }
    if (from == -1) {
        return any_class_has_two(t, (unsigned)to) ? TUNE_OK : TUNE_BAD_CLASS;
    }
    slab_facts(slab, (unsigned)from, &f);
    uint32_t spare = from == 0 ? arena_pages_free(slab->arena) : f.pages;
    return spare < 2 ? TUNE_NO_SPARE : TUNE_OK;
}

enum tune_status tuner_reassign(struct tuner *t, int from, int to, unsigned pages) {
    lock_take(&t->lock);
    enum tune_status status = check_reassign(t, from, to);
    if (status == TUNE_OK) {
        t->request = (struct reassignment){.from = from, .to = to, .wanted = pages, .runs = true};
    }
    lock_release(&t->lock);
    if (status == TUNE_OK) {
        tuner_wake(t);
    }
    return status;
}
