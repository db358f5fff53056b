/* Answers orders to change the chunk sizes, or to predict a change. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/geometry/geometry_change.h"

/* --- orders --- */

bool geometry_order_take(struct geometry_change *g, struct geometry_order *o) {
    bool taken = g->order == NULL;
    g->order = taken ? o : g->order;
    return taken;
}

static void geometry_order_done(struct geometry_change *g) {
    struct geometry_order *o = g->order;
    g->order = NULL;
    o->done(o);
}

__attribute__((format(printf, 2, 3))) static void geometry_order_answer(struct geometry_order *o,
                                                                        const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(o->answer, sizeof o->answer, format, ap);
    va_end(ap);
}

/* Finds the sizes of the order. False: the answer says why there are none. */
static bool geometry_order_sizes(struct geometry_change *g, struct geometry_order *o,
                                 struct size_list *to) {
    const struct slab *slab = cache_slab(g->cache);
    struct size_rules rules;
    slab_rules(slab, &rules);
    switch (o->verb) {
    case GEOMETRY_FACTOR: size_list_by_factor(to, o->first_bytes, o->factor, &rules); return true;
    case GEOMETRY_SIZES:
        if (!size_list_of(to, o->sizes, o->size_count, &rules)) {
            geometry_order_answer(
                o,
                "BADSIZES sizes must ascend by at least %u, from %u to %u bytes, and be at most "
                "%u beside the largest chunk's %u",
                rules.unit_bytes, rules.least_bytes, rules.most_bytes, rules.count_most - 1,
                rules.most_bytes);
            return false;
        }
        return true;
    case GEOMETRY_AUTO: *to = g->fitted; return true;
    case GEOMETRY_REVERT: *to = g->was; return true;
    case GEOMETRY_PAUSE:
    case GEOMETRY_RESUME: break;
    }
    return false;
}

/* Adds to a prediction the waste of items whose sizes no item has yet, and the chunk sizes. */
static void geometry_order_add_sizes(const struct geometry_change *g, struct geometry_order *o,
                                     const struct size_list *to) {
    struct fit_absent_sizes absent;
    size_t len = strlen(o->answer);
    fit_absent_sizes(&g->sizes, to, &absent);
    len += (size_t)snprintf(o->answer + len, sizeof o->answer - len,
                            "; sizes that no item has yet would waste %.1f %% on average and "
                            "%.1f %% at most; the sizes: ",
                            absent.mean_pct, absent.most_pct);
    for (unsigned i = 0; i < to->count && len < sizeof o->answer; i++) {
        len += (size_t)snprintf(o->answer + len, sizeof o->answer - len, "%s%u", i > 0 ? "," : "",
                                to->bytes[i]);
    }
}

/* Writes the prediction: `answer` begins with the given word, and ends with the given clause. */
static void geometry_order_answer_prediction(struct geometry_order *o, const char *word,
                                             const struct size_list *to,
                                             const struct geometry_prediction *k,
                                             const char *last) {
    double gain = geometry_gain_pct(k);
    if (!(k->items_before > 0)) {
        geometry_order_answer(o, "%s there are no items to fit the sizes to%s", word, last);
        return;
    }
    geometry_order_answer(
        o,
        "%s %u classes would hold %.1f %% %s items in %u pages, %.0f instead of %.0f, and waste "
        "%.1f %% of their memory instead of %.1f %%%s",
        word, to->count, gain < 0 ? -gain : gain, gain < 0 ? "fewer" : "more", k->pages,
        k->items_after, k->items_before, k->waste_after_pct, k->waste_before_pct, last);
}

/* Whether a change to these sizes is possible. False: the answer says why not. */
static bool geometry_order_can_change(struct geometry_change *g, struct geometry_order *o,
                                      const struct size_list *from, const struct size_list *to) {
    if (size_list_same(from, to) && g->state == GEOMETRY_STEADY) {
        geometry_order_answer(o, "SAME these are the chunk sizes already");
        return false;
    }
    if (!geometry_has_ids(g, from, to)) {
        geometry_order_answer(
            o, "NOIDS %u old and %u new classes, with those still being emptied, are more than %d",
            from->count, to->count, SLAB_CLASSES_MAX - 1);
        return false;
    }
    return true;
}

static void geometry_order_change(struct geometry_change *g, struct geometry_order *o) {
    struct geometry_prediction prediction;
    struct size_list from = slab_geometry(cache_slab(g->cache))->sizes, to;
    if (!geometry_order_sizes(g, o, &to) || !geometry_order_can_change(g, o, &from, &to)) {
        return;
    }
    geometry_predict(g, &from, &to, &prediction);
    bool gains = o->force || o->verb == GEOMETRY_REVERT ||
                 geometry_gain_pct(&prediction) >= GEOMETRY_GAIN_LEAST_PCT;
    if (o->dry) {
        geometry_order_answer_prediction(
            o, "PREDICTED", &to, &prediction,
            gains ? "" : "; under 2 % more it would be refused without force");
        geometry_order_add_sizes(g, o, &to);
        return;
    }
    if (!gains) {
        geometry_order_answer_prediction(o, "NOGAIN", &to, &prediction,
                                         "; under 2 % more it wants force");
        return;
    }
    if (g->state == GEOMETRY_STEADY) {
        g->was = from;
    } else if (o->verb == GEOMETRY_REVERT) {
        g->was = g->plan.to; /* a second revert takes the change up again */
    }
    geometry_begin(g, &from, &to, &prediction);
    geometry_order_answer(o, "OK");
}

/* The items are measured, and for GEOMETRY_AUTO sizes are fitted to them. */
static void geometry_order_change_and_answer(struct geometry_change *g) {
    geometry_order_change(g, g->order);
    geometry_order_done(g);
}

static void geometry_order_fit_and_change(struct geometry_change *g) {
    struct geometry_order *o = g->order;
    if (o->verb != GEOMETRY_AUTO) {
        geometry_order_change_and_answer(g);
    } else if (!geometry_fit(g, o->classes_most, false, geometry_order_change_and_answer)) {
        geometry_order_answer(o, "SERVER_ERROR out of memory");
        geometry_order_done(g);
    }
}

static void geometry_order_pause(struct geometry_change *g) {
    geometry_enter(g, GEOMETRY_PAUSED);
    refit_page_release(&g->refit);
    geometry_set_why(g, "paused by order");
}

static void geometry_order_resume(struct geometry_change *g) {
    geometry_enter(g, GEOMETRY_DRAINING);
    g->due_us = g->now_us;
}

bool geometry_order_serve(struct geometry_change *g) {
    struct geometry_order *o = g->order;
    if (o == NULL) {
        return false;
    }
    if (cache_store_kind(g->cache) != CACHE_STORE_SLAB) {
        geometry_order_answer(o, "CLIENT_ERROR the %s store has no chunk sizes to change",
                              cache_store_name(cache_store_kind(g->cache)));
    } else if (!g->may_move) {
        geometry_order_answer(o, "CLIENT_ERROR slab reassignment disabled");
    } else if (o->verb == GEOMETRY_PAUSE && g->state == GEOMETRY_DRAINING) {
        geometry_order_pause(g);
        geometry_order_answer(o, "OK");
    } else if (o->verb == GEOMETRY_RESUME && g->state == GEOMETRY_PAUSED) {
        geometry_order_resume(g);
        geometry_order_answer(o, "OK");
    } else if (o->verb == GEOMETRY_PAUSE) {
        geometry_order_answer(o, g->state == GEOMETRY_PAUSED
                                     ? "NOTRUNNING the change is paused already"
                                     : "NOTRUNNING no change is under way");
    } else if (o->verb == GEOMETRY_RESUME) {
        geometry_order_answer(o, "NOTPAUSED no change is paused");
    } else if (o->verb == GEOMETRY_REVERT && g->was.count == 0) {
        geometry_order_answer(o, "NOREVERT the chunk sizes have not been changed since the start");
    } else {
        geometry_measure(g, geometry_order_fit_and_change);
        return true;
    }
    geometry_order_done(g);
    return true;
}

void geometry_order_refuse(struct geometry_change *g) {
    struct geometry_order *o = g->order;
    if (o != NULL) {
        geometry_order_answer(o, "SERVER_ERROR the server is stopping");
        geometry_order_done(g);
    }
}
