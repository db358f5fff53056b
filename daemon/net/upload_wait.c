#include "net/upload_wait.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/conn.h"
#include "net/worker.h"
#include "watch/event.h"

enum {
    LOOK_WAITING_US = 5 * 1000,
    LOOK_LATE_US = 250 * 1000,
    LOOK_MOST = 64,           /* waiting connections in one look; the others come next */
    GO_ON_MOST = 8,           /* so many of them go on in one look */
    MUCH_BYTES = 32 * 1024, /* half of the window with which TCP begins */
};

static void arm(struct values *v) {
    if (v->waiting_count > 0 || !TAILQ_EMPTY(&v->holding)) {
        struct timeval t = {.tv_usec = v->waiting_count > 0 ? LOOK_WAITING_US : LOOK_LATE_US};
        event_add(&v->timer, &t);
    }
}

static struct cache *cache_of(const struct values *v) { return v->worker->server->cache; }

/* The bytes that must come within VALUES_GIVE_WAY_MS. */
static size_t pace_bytes(const struct conn *c) {
    return session_draft(c->session)->charged_bytes / VALUES_PACE_SHARE;
}

/* Bytes of its value that have come, and are still to be stored. */
static size_t unread_bytes(const struct conn *c) {
    return (c->kept != NULL ? c->kept->n : 0) + c->transport->unread(c);
}

bool values_arrived(struct conn *c) {
    return unread_bytes(c) >= session_value_left(c->session) && session_value_arrived(c->session);
}

void values_forget(struct values *v, struct conn *c) {
    if (c->value == VALUE_HOLDS) {
        TAILQ_REMOVE(&v->holding, c, value_link);
    } else if (c->value == VALUE_WAITS) {
        TAILQ_REMOVE(&v->waiting, c, value_link);
        v->waiting_count--;
        cache_upload_set_waiting(cache_of(v), session_draft(c->session), false);
    }
    c->value = VALUE_NONE;
}

/* Bytes of the value have come, or it has got memory. */
static void note_held(struct values *v, struct conn *c) {
    size_t left = session_value_left(c->session);
    bool anew = c->value != VALUE_HOLDS;
    c->value_us = clock_mono_us();
    if (anew || left > c->pace_left || c->pace_left - left >= pace_bytes(c)) {
        c->pace_us = c->value_us;
        c->pace_left = left;
    }
    values_forget(v, c);
    c->value = VALUE_HOLDS;
    TAILQ_INSERT_TAIL(&v->holding, c, value_link);
}

/* The client of a value that waits sends no more. */
static void on_client_end(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;
    (void)fd;
    (void)what;
    if (unread_bytes(c) < session_value_left(c->session)) {
        values_forget(&c->worker->values, c);
        c->gone = true;
        c->reason = EVENT_NORMAL;
        conn_queue_put(&c->worker->ready, c);
    }
}

/* One that went on in vain keeps its place. */
static void note_waiting(struct values *v, struct conn *c) {
    if (c->value == VALUE_WAITS) {
        return;
    }
    values_forget(v, c);
    c->value = VALUE_WAITS;
    if (c->waited) {
        TAILQ_INSERT_HEAD(&v->waiting, c, value_link);
    } else {
        TAILQ_INSERT_TAIL(&v->waiting, c, value_link);
        c->value_us = clock_mono_us();
        counter_add(&v->worker->counters->values_waited, 1);
    }
    v->waiting_count++;
    cache_upload_set_waiting(cache_of(v), session_draft(c->session), true);
    event_del(&c->event);
    event_assign(&c->event, v->worker->base, c->record.fd, EV_CLOSED, on_client_end, c);
    event_add(&c->event, NULL);
}

void values_note(struct values *v, struct conn *c, bool waits) {
    if (waits) {
        note_waiting(v, c);
    } else if (session_holds_draft(c->session)) {
        note_held(v, c);
    } else if (c->value != VALUE_NONE) {
        values_forget(v, c);
    } else { /* the turn of almost every connection */
        c->waited = false;
        return;
    }
    c->waited = false;
    if ((waits && v->waiting_count == 1) || !event_pending(&v->timer, EV_TIMEOUT, NULL)) {
        arm(v);
    }
}

/* Lets a connection have its next turn, in which its value goes on or is refused. */
static void resume(struct values *v, struct conn *c) {
    if (c->value == VALUE_WAITS) {
        values_forget(v, c);
        c->waited = true;
        conn_wait_for(c, EV_READ);
    }
    c->resume = true;
    conn_queue_put(&v->worker->ready, c);
}

/* --- those whose bytes are late --- */

/* Takes the value's memory back; the value is refused in the connection's next turn. Inside a cache
 * turn. */
static void refuse(struct values *v, struct conn *c) {
    counter_add(&v->worker->counters->values_late, 1);
    resume(v, c);
    values_forget(v, c);
    session_value_late(c->session, v->worker->batch);
}

/* Whether a value goes on too slowly. A worker that got no processor for a second has not received
 * what the client sent meanwhile; of that the kernel holds at least MUCH_BYTES. */
static bool is_slow(const struct conn *c, uint64_t now_us) {
    if (now_us - c->pace_us < VALUES_GIVE_WAY_MS * 1000) {
        return false;
    }
    size_t left = session_value_left(c->session), pace = pace_bytes(c),
           most = pace < MUCH_BYTES ? pace : MUCH_BYTES;
    return unread_bytes(c) < (left < most ? left : most);
}

static uint64_t later_by(uint64_t at_us, uint64_t us, uint64_t now_us) {
    return now_us - at_us > us ? at_us + us : now_us;
}

/* A look comes late when the worker got no processor, or other clients had it. What clients sent
 * meanwhile may be unread, so that time counts for none of them. */
static void forgive_absence(struct values *v, uint64_t now_us) {
    uint64_t absent_us = now_us - v->late_look_us;
    struct conn *c;
    TAILQ_FOREACH(c, &v->holding, value_link) {
        c->pace_us = later_by(c->pace_us, absent_us, now_us);
        c->value_us = later_by(c->value_us, absent_us, now_us);
    }
    TAILQ_FOREACH(c, &v->waiting, value_link) {
        c->value_us = later_by(c->value_us, absent_us, now_us);
    }
}

static void end_late(struct values *v, uint64_t now_us) {
    uint64_t timeout_us = v->timeout_s > 0 ? (uint64_t)v->timeout_s * 1000000 : UINT64_MAX;
    unsigned large = cache_uploads_waiting(cache_of(v), true),
             all = cache_uploads_waiting(cache_of(v), false) + large;
    struct conn *c, *next;
    for (c = TAILQ_FIRST(&v->holding); c != NULL; c = next) {
        next = TAILQ_NEXT(c, value_link);
        bool is_large = session_draft(c->session)->large;
        if (((is_large ? large : all) > 0 && is_slow(c, now_us)) ||
            now_us - c->value_us >= timeout_us) {
            refuse(v, c);
            all -= all > 0;
            large -= is_large && large > 0;
        }
    }
    for (c = TAILQ_FIRST(&v->waiting); c != NULL; c = next) {
        next = TAILQ_NEXT(c, value_link);
        if (now_us - c->value_us >= timeout_us) {
            refuse(v, c);
        }
    }
}

/* --- those that wait --- */

struct candidate {
    struct conn *conn;
    size_t       come_bytes;
    unsigned     place;  /* among those that wait */
    bool         little; /* has come */
};

/* The one of which most has come first, and of equals the one that came first. */
static int compare_candidates(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->come_bytes != y->come_bytes) {
        return x->come_bytes > y->come_bytes ? -1 : 1;
    }
    return x->place < y->place ? -1 : 1;
}

/* Finds those for which there is room. Moves those that were looked at to the end of the list: the
 * next look begins behind them. */
static unsigned find_candidates(struct values *v, struct candidate *found) {
    unsigned n = 0;
    for (unsigned i = 0; i < v->waiting_count && i < LOOK_MOST; i++) {
        struct conn *c = TAILQ_FIRST(&v->waiting);
        TAILQ_REMOVE(&v->waiting, c, value_link);
        TAILQ_INSERT_TAIL(&v->waiting, c, value_link);
        values_arrived(c);
        const struct cache_upload *d = session_draft(c->session);
        size_t come_bytes = unread_bytes(c);
        bool little = !d->arrived && come_bytes < MUCH_BYTES;
        if (cache_upload_has_room(cache_of(v), d, little)) {
            found[n++] = (struct candidate){c, come_bytes, i, little};
        }
    }
    return n;
}

/* Of clients that have sent little only one goes on, because such clients stop more often than
 * others. */
static void end_waits(struct values *v) {
    struct candidate found[LOOK_MOST];
    unsigned n = find_candidates(v, found);
    qsort(found, n, sizeof found[0], compare_candidates);
    bool little = false;
    for (unsigned i = 0; i < n && i < GO_ON_MOST && !little; i++) {
        little = found[i].little;
        resume(v, found[i].conn);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct values *v = arg;
    uint64_t now_us = clock_mono_us();
    (void)fd;
    (void)what;
    if (now_us >= v->late_look_us) {
        forgive_absence(v, now_us);
        v->late_look_us = now_us + LOOK_LATE_US;
        cache_turn_begin(v->worker->cache_thread);
        end_late(v, now_us);
        cache_turn_end(v->worker->cache_thread);
    }
    end_waits(v);
    arm(v);
}

void values_init(struct values *v, struct worker *w, uint32_t timeout_s) {
    *v = (struct values){.worker = w, .timeout_s = timeout_s};
    TAILQ_INIT(&v->holding);
    TAILQ_INIT(&v->waiting);
    evtimer_assign(&v->timer, w->base, on_timer, v);
}
