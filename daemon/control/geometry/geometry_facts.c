/* The facts of a change of the chunk sizes: state, progress, waste. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "control/geometry/geometry_change.h"

/* The lock is held. */
static double geometry_running_s(const struct geometry_change *g) {
    return g->since_us != 0 ? (double)(g->facts_us - g->since_us) / CLOCK_SECOND_US : 0;
}

void geometry_facts(struct geometry_change *g, struct geometry_facts *f) {
    lock_take(&g->lock);
    *f = g->facts;
    f->seconds += geometry_running_s(g);
    lock_release(&g->lock);
}

void geometry_enter(struct geometry_change *g, enum geometry_state state) {
    lock_take(&g->lock);
    g->facts_us = g->now_us;
    g->facts.seconds += geometry_running_s(g);
    g->since_us = state == GEOMETRY_DRAINING ? g->now_us : 0;
    g->facts.state = g->state = state;
    lock_release(&g->lock);
}

void geometry_set_why(struct geometry_change *g, const char *format, ...) {
    va_list ap;
    lock_take(&g->lock);
    va_start(ap, format);
    vsnprintf(g->facts.why, sizeof g->facts.why, format, ap);
    va_end(ap);
    lock_release(&g->lock);
}

void geometry_update_facts(struct geometry_change *g) {
    const struct refit_page *r = &g->refit;
    lock_take(&g->lock);
    struct geometry_facts *f = &g->facts;
    g->facts_us = g->now_us;
    f->now = slab_geometry(cache_slab(g->cache))->sizes;
    f->ranges = g->plan.from.count;
    f->ranges_done = g->plan.done;
    if (!r->under_way) { /* else a job may take one of them at this moment */
        f->pages_held = r->held_count;
    }
    f->pages_drained = r->pages;
    f->did = r->did;
    lock_release(&g->lock);
}
