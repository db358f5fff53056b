/* Carries out page moves, one at a time: an operator's, those of the limit and of automove, … in
 * turn; and does whatever else concerns pages. */
#include <stdio.h>

#include "cache/alloc/heap_shrink.h"
#include "control/state.h"

enum { TURNS_LOOK_US = 1000 }; /* between two looks at emptied pages that wait for turns */

/* Who wants pages moved. */
static const struct move_source {
    /* Says which move is next. False: it wants none now; *due_us: lowered to when to ask again. */
    bool     (*next)(struct tuner *, struct carried *, uint64_t now_us, uint64_t *due_us);
    /* Gives the reason, once it is known which class gives; NULL: it is given already. */
    void     (*chosen)(struct tuner *, struct carried *);
    /* How many pages of the move are wanted by now; NULL: as many as it says. */
    unsigned (*wanted)(struct tuner *);
    /* `moved` pages have moved. */
    void     (*ended)(struct tuner *, const struct carried *, unsigned moved, uint64_t now_us);
} sources[] = {
    {tuner_next_requested, tuner_requested_chosen, NULL, tuner_requested_ended},
    {tuner_next_whole, NULL, NULL, tuner_whole_ended},
    {tuner_next_over_limit, NULL, tuner_wanted_over_limit, tuner_over_limit_ended},
    {tuner_next_decided, NULL, NULL, tuner_decided_ended},
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* --- what sets go on with --- */

static void count_help(struct tuner *t, uint64_t now_us) {
    struct move_result result = {.pages = 0};
    t->helped.pages = mover_count_help(&t->mover, &result);
    move_log_count(&t->moves, &result);
    if (result.pages > 0) {
        result.duration_us = now_us - t->helped_us;
        move_log_add(&t->moves, t->helped_by, &t->helped, &result);
    }
}

/* Ends the decision with which sets go on, once they need no more pages. Returns when to look
 * again. */
static uint64_t tend_help(struct tuner *t, uint64_t now_us) {
    struct cache_assist_state h = cache_assist_state(t->cache);
    if (!h.open) {
        return PACE_NEVER;
    }
    if (h.bytes != t->help_bytes) {
        t->help_bytes = h.bytes;
        t->help_until_us = now_us + HELP_IDLE_US;
    } else if (now_us >= t->help_until_us && t->carried.source == NULL) {
        cache_assist_end(t->ct);
        count_help(t, now_us);
        return PACE_NEVER;
    }
    return t->help_until_us > now_us ? t->help_until_us : now_us + HELP_IDLE_US;
}

/* --- a move --- */

static void begin_move(struct tuner *t, uint64_t now_us) {
    struct carried *c = &t->carried;
    if (c->source->chosen != NULL) {
        c->source->chosen(t, c);
    }
    count_help(t, now_us);
    mover_begin(&t->mover, &c->move, now_us);
}

/* Takes the next move. The source that had the last one is asked last. False: nobody wants one. */
static bool take_next(struct tuner *t, uint64_t now_us, uint64_t *due_us) {
    struct carried *c = &t->carried;
    for (unsigned i = 0; i < SOURCES && c->source == NULL; i++) {
        const struct move_source *s = &sources[(c->turn + i) % SOURCES];
        c->any = c->cancelled = false;
        c->move = (struct page_move){.pages = 0};
        c->source = s->next(t, c, now_us, due_us) ? s : NULL;
    }
    if (c->source == NULL) {
        return false;
    }
    c->turn = (unsigned)(c->source - sources + 1) % SOURCES;
    c->choosing = c->any && spare_begin(&c->spare, &t->pace, t->cache, t->pages_ct, &c->except,
                                        &c->move, now_us);
    if (!c->any) {
        begin_move(t, now_us);
    }
    return true;
}

static void end_move(struct tuner *t, uint64_t now_us) {
    struct carried *c = &t->carried;
    const struct move_source *s = c->source;
    const struct move_result *result = &t->mover.result;
    unsigned moved = 0;
    if (!c->any || c->move.from != SLAB_CLASS_NONE) {
        c->move = t->mover.move;
        moved = (unsigned)result->pages;
        move_log_count(&t->moves, result);
        if (c->move.pages > 0) {
            move_log_add(&t->moves, c->by, &c->move, result);
        }
        if (c->move.helped > 0) {
            t->helped = c->move;
            t->helped_us = now_us;
            t->help_until_us = now_us + HELP_IDLE_US;
            snprintf(t->helped_by, sizeof t->helped_by, "%s", c->by);
        }
    }
    c->source = NULL;
    s->ended(t, c, moved, now_us);
}

/* Goes on with the move under way, or takes the next. */
static uint64_t carry(struct tuner *t, uint64_t now_us) {
    struct carried *c = &t->carried;
    uint64_t due_us = PACE_NEVER;
    if (c->source == NULL && !take_next(t, now_us, &due_us)) {
        return due_us;
    }
    if (c->choosing) {
        if (!pace_job_done(&c->spare.job)) {
            return PACE_NEVER;
        }
        c->choosing = false;
        if (spare_chosen(&c->spare)) {
            begin_move(t, now_us);
        }
    }
    if (c->source->wanted != NULL) {
        t->mover.wanted = c->source->wanted(t);
    }
    if (c->cancelled) {
        mover_cancel(&t->mover);
    }
    due_us = mover_step(&t->mover, now_us);
    if (due_us == PACE_DONE) {
        end_move(t, now_us);
        return now_us;
    }
    return due_us;
}

void tuner_stop_pages(struct tuner *t) {
    mover_stop(&t->mover);
    if (t->heap_shrink.shrink != NULL) {
        cache_shrink_end(&t->heap_shrink.shrink);
    }
    if (t->ct != NULL) {
        cache_assist_end(t->ct);
        cache_handover_finish(t->ct, PAGE_WAIT_US);
    }
}

/* --- all that concerns pages --- */

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The classes that jobs name, which ask for pages of a class or for it: an id must mean the same
 * class as long as one does. A job that chooses a class may name any. */
static struct class_set classes_named(const struct tuner *t) {
    const struct carried *c = &t->carried;
    struct class_set named = t->limit_lowered ? t->limit_emptied : (struct class_set){{0}};
    if (c->source != NULL && c->choosing) {
        return class_set_all();
    }
    if (c->source != NULL) {
        class_set_add(&named, c->move.from);
        class_set_add(&named, c->move.to);
    }
    if (t->request.runs || t->request.served) {
        class_set_add(&named, t->request.from > 0 ? (unsigned)t->request.from : SLAB_CLASS_NONE);
        class_set_add(&named, (unsigned)t->request.to);
    }
    for (unsigned i = t->decided_at; i < t->decision.count; i++) {
        class_set_add(&named, t->decision.moves[i].from);
        class_set_add(&named, t->decision.moves[i].to);
    }
    return named;
}

uint64_t tuner_tend_pages(struct tuner *t, uint64_t now_us) {
    if (cache_handover_step(t->ct)) {
        return now_us; /* a page is a slice */
    }
    uint64_t due_us = carry(t, now_us);
    due_us = earlier(due_us, tuner_shrink_heap(t, now_us));
    struct class_set named = classes_named(t);
    geometry_keep_ids(t->geometry, &named);
    due_us = earlier(due_us, geometry_step(t->geometry, now_us));
    due_us = earlier(due_us, tend_help(t, now_us));
    unsigned waiting = cache_handover_waiting(t->cache);
    if (waiting > 0) {
        due_us = earlier(due_us, now_us + TURNS_LOOK_US);
    }
    atomic_store_explicit(&t->moving, t->carried.source != NULL || waiting > 0,
                          memory_order_relaxed);
    return earlier(due_us, pace_step(&t->pace, now_us));
}
