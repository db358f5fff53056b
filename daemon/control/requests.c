/* Page moves by the command `slabs reassign`. */
#include <stdio.h>

#include "control/tuner_state.h"

static bool request_any_class_has_two(const struct tuner *t, unsigned except) {
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

/* Writes the reason of an operator's move, for the log. In a move to the pool, the reason warns of
 * items that will find no free chunk in their class. */
static void request_print_reason(const struct tuner *t, const struct reassignment *r,
                                 struct page_move *move) {
    struct slab_class_facts f;
    slab_facts(cache_slab(t->cache), move->from, &f);
    int n =
        snprintf(move->reason, sizeof move->reason, "slabs reassign %d %d, %u of %u pages before",
                 r->from, r->to, r->moved, r->wanted);
    if (move->from != SLAB_CLASS_NONE && move->to == SLAB_CLASS_NONE &&
        f.free_chunks < (uint64_t)move->pages * f.chunks_per_page) {
        snprintf(move->reason + n, sizeof move->reason - (size_t)n,
                 "; class %u has %u free chunks: an item that finds none is dropped", move->from,
                 f.free_chunks);
    }
}

static void request_set_runs(struct tuner *t, bool runs) {
    t->request.runs = runs;
    atomic_store_explicit(&t->requested, runs, memory_order_relaxed);
}

/* A move has a few pages of the request, so that moves of other sources come in between. */
bool request_next_move(struct tuner *t, struct current_move *c, uint64_t now_us, uint64_t *due_us) {
    struct reassignment *r = &t->request;
    (void)now_us, (void)due_us;
    r->served = r->runs;
    if (!r->runs) {
        return false;
    }
    c->any = r->from < 0;
    c->except = class_set_one((unsigned)r->to);
    c->move.from = c->any ? SLAB_CLASS_NONE : (unsigned)r->from;
    c->move.to = (unsigned)r->to;
    c->move.pages = r->wanted - r->moved < MOVE_PAGES_MAX ? r->wanted - r->moved : MOVE_PAGES_MAX;
    snprintf(c->by, sizeof c->by, "operator");
    return true;
}

void request_describe_move(struct tuner *t, struct current_move *c) {
    request_print_reason(t, &t->request, &c->move);
}

void request_end(struct tuner *t) {
    struct reassignment *r = &t->request;
    void (*cancelled)(void *, unsigned, unsigned) = r->cancelled;
    r->served = false;
    r->cancelled = NULL;
    if (cancelled != NULL) {
        cancelled(r->cancelled_arg, r->moved, r->wanted);
    }
}

void request_move_ended(struct tuner *t, const struct current_move *c, unsigned moved,
                        uint64_t now_us) {
    (void)c, (void)now_us;
    t->request.moved += moved;
    request_set_runs(t, moved > 0 && t->request.moved < t->request.wanted && t->request.runs);
    request_end(t);
}

bool tuner_cancel(struct tuner *t, void (*done)(void *, unsigned moved, unsigned wanted),
                  void *arg) {
    struct reassignment *r = &t->request;
    if (!r->runs) {
        return false;
    }
    request_set_runs(t, false);
    r->cancelled = done;
    r->cancelled_arg = arg;
    if (r->served) {
        moves_cancel(t);
    } else {
        request_end(t);
    }
    return true;
}

/* Refuses the same requests as memcached. */
static enum tuner_status request_check(const struct tuner *t, int from, int to) {
    const struct slab *slab = cache_slab(t->cache);
    int most = (int)slab->class_count;
    struct slab_class_facts f;
    if (!t->reassign) {
        return TUNER_OFF;
    }
    if (t->request.runs || t->request.served) {
        return TUNER_BUSY;
    }
    if (from == to) {
        return TUNER_SAME;
    }
    if (from < -1 || from > most || to < 0 || to > most) {
        return TUNER_BAD_CLASS;
    }
    if (to > 0 && slab_class_state(slab, (unsigned)to) != SLAB_CLASS_ACTIVE) {
        return TUNER_BAD_CLASS;
    }
    if (from == -1) {
        return request_any_class_has_two(t, (unsigned)to) ? TUNER_OK : TUNER_BAD_CLASS;
    }
    slab_facts(slab, (unsigned)from, &f);
    uint32_t spare = from == 0 ? arena_pages_free(slab->arena) : f.pages;
    return spare < 2 ? TUNER_NO_SPARE : TUNER_OK;
}

enum tuner_status tuner_reassign(struct tuner *t, int from, int to, unsigned pages) {
    enum tuner_status status = request_check(t, from, to);
    if (status == TUNER_OK) {
        t->request = (struct reassignment){.from = from, .to = to, .wanted = pages};
        request_set_runs(t, true);
    }
    return status;
}
