/* Carries out page moves, one at a time; the sources take turns: an operator, abandoned uploads,
 * the limit, automove. Steps all other work on pages, too. */
#include <stdio.h>

#include "cache/alloc/heap_shrink.h"
#include "control/tuner_state.h"

enum { TURNS_LOOK_US = 1000 }; /* between two looks at emptied pages that wait for turns */

/* --- the empty pages of abandoned uploads go to the pool --- */

/* A class may have got these pages only for the uploads, and another class may be evicting. Only
 * empty pages move: no item is copied or dropped, and a page with a new item stays. */
static bool moves_next_empty(struct tuner *t, struct current_move *c, uint64_t now_us,
                             uint64_t *due_us) {
    struct class_set left = cache_take_left_free(t->cache);
    (void)now_us;
    (void)due_us;
    if (!t->reassign) {
        return false;
    }
    class_set_join(&t->left_free, &left);
    for (unsigned i = 1; i <= cache_slab(t->cache)->class_count; i++) {
        if (class_set_has(&t->left_free, i)) {
            c->move = (struct page_move){.from = i,
                                         .to = SLAB_CLASS_NONE,
                                         .pages = MOVE_PAGES_MAX,
                                         .pick = PICK_FREE};
            snprintf(c->by, sizeof c->by, "drafts");
            snprintf(c->move.reason, sizeof c->move.reason,
                     "pages are free since values that never came whole were given up");
            return true;
        }
    }
    return false;
}

/* The class stays in left_free if it may have more empty pages, or if pages went back because too
 * many others wait to change hands. */
static void moves_empty_ended(struct tuner *t, const struct current_move *c, unsigned moved,
                       uint64_t now_us) {
    (void)now_us;
    if (moved < MOVE_PAGES_MAX && t->mover.result.given_up == 0) {
        class_set_remove(&t->left_free, c->move.from);
    }
}

/* The sources of moves. */
static const struct move_source {
    /* Fills in the next move. False: no move now; lowers *due_us to the time of the next call. */
    bool     (*next)(struct tuner *, struct current_move *, uint64_t now_us, uint64_t *due_us);
    /* Writes the reason once the donor is chosen; NULL: the reason is there already. */
    void     (*chosen)(struct tuner *, struct current_move *);
    /* How many pages of the move are still wanted; NULL: all of them. */
    unsigned (*wanted)(struct tuner *);
    /* `moved` pages have moved. */
    void     (*ended)(struct tuner *, const struct current_move *, unsigned moved, uint64_t now_us);
} sources[] = {
    {request_next_move, request_describe_move, NULL, request_move_ended},
    {moves_next_empty, NULL, NULL, moves_empty_ended},
    {limit_next_move, NULL, limit_pages_wanted, limit_move_ended},
    {decide_next_move, NULL, NULL, decide_move_ended},
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* --- moves that sets continue --- */

static void moves_count_assist(struct tuner *t, uint64_t now_us) {
    struct move_result result = {.pages = 0};
    t->assisted.pages = mover_count_assist(&t->mover, &result);
    move_log_count(&t->moves, &result);
    if (result.pages > 0) {
        result.duration_us = now_us - t->assist_begun_us;
        move_log_add(&t->moves, t->assisted_by, &t->assisted, &result);
    }
}

/* Ends the move that sets continue, once they need no more pages. Returns when to call it again. */
static uint64_t moves_step_assist(struct tuner *t, uint64_t now_us) {
    struct cache_assist_state h = cache_assist_state(t->cache);
    if (!h.open) {
        return PACE_NEVER;
    }
    if (h.bytes != t->assist_bytes) {
        t->assist_bytes = h.bytes;
        t->assist_until_us = now_us + ASSIST_IDLE_US;
    } else if (now_us >= t->assist_until_us && t->current_move.source == NULL) {
        cache_assist_end(t->ct);
        moves_count_assist(t, now_us);
        return PACE_NEVER;
    }
    return t->assist_until_us > now_us ? t->assist_until_us : now_us + ASSIST_IDLE_US;
}

/* --- a move --- */

static void moves_begin(struct tuner *t, uint64_t now_us) {
    struct current_move *c = &t->current_move;
    if (c->source->chosen != NULL) {
        c->source->chosen(t, c);
    }
    moves_count_assist(t, now_us);
    mover_begin(&t->mover, &c->move, now_us);
}

/* Takes the next move. The source of the last move comes last. False: no source has a move. */
static bool moves_take_next(struct tuner *t, uint64_t now_us, uint64_t *due_us) {
    struct current_move *c = &t->current_move;
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
    c->choosing = c->any && class_choice_begin(&c->class_choice, &t->pace, t->cache, t->pages_ct,
                                               &c->except, &c->move, now_us);
    if (!c->any) {
        moves_begin(t, now_us);
    }
    return true;
}

static void moves_end(struct tuner *t, uint64_t now_us) {
    struct current_move *c = &t->current_move;
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
        if (c->move.assisted > 0) {
            t->assisted = c->move;
            t->assist_begun_us = now_us;
            t->assist_until_us = now_us + ASSIST_IDLE_US;
            snprintf(t->assisted_by, sizeof t->assisted_by, "%s", c->by);
        }
    }
    c->source = NULL;
    s->ended(t, c, moved, now_us);
}

/* Continues the move that is under way, or takes the next one. */
static uint64_t moves_step(struct tuner *t, uint64_t now_us) {
    struct current_move *c = &t->current_move;
    uint64_t due_us = PACE_NEVER;
    if (c->source == NULL && !moves_take_next(t, now_us, &due_us)) {
        return due_us;
    }
    if (c->choosing) {
        if (!pace_job_done(&c->class_choice.job)) {
            return PACE_NEVER;
        }
        c->choosing = false;
        if (class_choice_found(&c->class_choice)) {
            moves_begin(t, now_us);
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
        moves_end(t, now_us);
        return now_us;
    }
    return due_us;
}

void moves_stop(struct tuner *t) {
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

static uint64_t moves_earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The donors and receivers that jobs name. Their ids must stand for the same classes until those
 * jobs end. A job that chooses a class may name any class. */
static struct class_set moves_classes_named(const struct tuner *t) {
    const struct current_move *c = &t->current_move;
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

uint64_t moves_step_all(struct tuner *t, uint64_t now_us) {
    if (cache_handover_step(t->ct)) {
        return now_us; /* one page is a slice of work */
    }
    uint64_t due_us = moves_step(t, now_us);
    due_us = moves_earlier(due_us, shrink_heap_step(t, now_us));
    struct class_set named = moves_classes_named(t);
    geometry_hold_ids(t->geometry, &named);
    due_us = moves_earlier(due_us, geometry_step(t->geometry, now_us));
    due_us = moves_earlier(due_us, moves_step_assist(t, now_us));
    unsigned waiting = cache_handover_waiting(t->cache);
    if (waiting > 0) {
        due_us = moves_earlier(due_us, now_us + TURNS_LOOK_US);
    }
    atomic_store_explicit(&t->moving, t->current_move.source != NULL || waiting > 0,
                          memory_order_relaxed);
    return moves_earlier(due_us, pace_step(&t->pace, now_us));
}
