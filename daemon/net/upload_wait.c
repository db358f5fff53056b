#include "net/upload_wait.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/conn.h"
#include "net/worker.h"
#include "watch/event.h"

enum {
    CHECK_WAITING_US = 5 * 1000,
    CHECK_OVERDUE_US = 250 * 1000,
    CHECK_MOST = 64,                   /* waiting connections checked at once */
    RESUME_MOST = 8,                   /* so many of them resume in one check */
    TCP_WINDOW_HALF_BYTES = 32 * 1024, /* half of TCP's first window */
};

static void upload_arm_timer(struct upload_wait *v) {
    if (v->waiting_count > 0 || !TAILQ_EMPTY(&v->holding)) {
        struct timeval t = {.tv_usec = v->waiting_count > 0 ? CHECK_WAITING_US : CHECK_OVERDUE_US};
        event_add(&v->timer, &t);
    }
}

static struct cache *upload_cache(const struct upload_wait *v) { return v->worker->server->cache; }

/* The bytes that must come within UPLOAD_PACE_MS. */
static size_t upload_pace_bytes(const struct conn *c) {
    return session_value_upload(c->session)->charged_bytes / UPLOAD_PACE_SHARE;
}

/* Bytes of the value that have come, and are not stored yet. */
static size_t upload_unread_bytes(const struct conn *c) {
    return (c->leftover != NULL ? c->leftover->n : 0) + c->transport->unread(c);
}

bool upload_wait_arrived(struct conn *c) {
    return upload_unread_bytes(c) >= session_value_left(c->session) &&
           session_value_arrived(c->session);
}

void upload_wait_forget(struct upload_wait *v, struct conn *c) {
    if (c->upload == UPLOAD_HOLDS) {
        TAILQ_REMOVE(&v->holding, c, upload_link);
    } else if (c->upload == UPLOAD_WAITS) {
        TAILQ_REMOVE(&v->waiting, c, upload_link);
        v->waiting_count--;
        cache_upload_set_waiting(upload_cache(v), session_value_upload(c->session), false);
    }
    c->upload = UPLOAD_NONE;
}

/* Called when bytes of the value have come, or the value has got memory. */
static void upload_note_held(struct upload_wait *v, struct conn *c) {
    size_t left = session_value_left(c->session);
    bool anew = c->upload != UPLOAD_HOLDS;
    c->upload_us = clock_mono_us();
    if (anew || left > c->pace_left || c->pace_left - left >= upload_pace_bytes(c)) {
        c->pace_us = c->upload_us;
        c->pace_left = left;
    }
    upload_wait_forget(v, c);
    c->upload = UPLOAD_HOLDS;
    TAILQ_INSERT_TAIL(&v->holding, c, upload_link);
}

/* The client of a waiting value has hung up. */
static void upload_on_client_end(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;
    (void)fd;
    (void)what;
    if (upload_unread_bytes(c) < session_value_left(c->session)) {
        upload_wait_forget(&c->worker->uploads, c);
        c->gone = true;
        c->reason = EVENT_NORMAL;
        conn_queue_put(&c->worker->ready, c);
    }
}

/* A value that resumed in vain waits at the front again. */
static void upload_note_waiting(struct upload_wait *v, struct conn *c) {
    if (c->upload == UPLOAD_WAITS) {
        return;
    }
    upload_wait_forget(v, c);
    c->upload = UPLOAD_WAITS;
    if (c->upload_waited) {
        TAILQ_INSERT_HEAD(&v->waiting, c, upload_link);
    } else {
        TAILQ_INSERT_TAIL(&v->waiting, c, upload_link);
        c->upload_us = clock_mono_us();
        counter_add(&v->worker->counters->uploads_waited, 1);
    }
    v->waiting_count++;
    cache_upload_set_waiting(upload_cache(v), session_value_upload(c->session), true);
    event_del(&c->event);
    event_assign(&c->event, v->worker->base, c->record.fd, EV_CLOSED, upload_on_client_end, c);
    event_add(&c->event, NULL);
}

void upload_wait_note(struct upload_wait *v, struct conn *c, bool waits) {
    if (waits) {
        upload_note_waiting(v, c);
    } else if (session_value_holds_memory(c->session)) {
        upload_note_held(v, c);
    } else if (c->upload != UPLOAD_NONE) {
        upload_wait_forget(v, c);
    } else { /* the turn of almost every connection */
        c->upload_waited = false;
        return;
    }
    c->upload_waited = false;
    if ((waits && v->waiting_count == 1) || !event_pending(&v->timer, EV_TIMEOUT, NULL)) {
        upload_arm_timer(v);
    }
}

/* Gives the connection its next turn, in which the value resumes or is refused. */
static void upload_resume(struct upload_wait *v, struct conn *c) {
    if (c->upload == UPLOAD_WAITS) {
        upload_wait_forget(v, c);
        c->upload_waited = true;
        conn_wait_for(c, EV_READ);
    }
    c->resume = true;
    conn_queue_put(&v->worker->ready, c);
}

/* --- overdue values --- */

/* Frees the value's memory. The connection's next turn refuses the value. Inside a cache turn. */
static void upload_refuse(struct upload_wait *v, struct conn *c) {
    counter_add(&v->worker->counters->uploads_timed_out, 1);
    upload_resume(v, c);
    upload_wait_forget(v, c);
    session_value_time_out(c->session, v->worker->batch);
}

/* True: a value comes too slowly. A worker without a processor for a second has not received bytes
 * that came meanwhile; the kernel then holds at least TCP_WINDOW_HALF_BYTES of them. */
static bool upload_is_slow(const struct conn *c, uint64_t now_us) {
    if (now_us - c->pace_us < UPLOAD_PACE_MS * 1000) {
        return false;
    }
    size_t left = session_value_left(c->session), pace = upload_pace_bytes(c),
           most = pace < TCP_WINDOW_HALF_BYTES ? pace : TCP_WINDOW_HALF_BYTES;
    return upload_unread_bytes(c) < (left < most ? left : most);
}

static uint64_t upload_shift_us(uint64_t at_us, uint64_t us, uint64_t now_us) {
    return now_us - at_us > us ? at_us + us : now_us;
}

/* A check is overdue when the worker had no processor, or was busy. Bytes that clients sent
 * meanwhile may be unread, so that time counts against no client. */
static void upload_forgive_absence(struct upload_wait *v, uint64_t now_us) {
    uint64_t absent_us = now_us - v->overdue_check_us;
    struct conn *c;
    TAILQ_FOREACH(c, &v->holding, upload_link) {
        c->pace_us = upload_shift_us(c->pace_us, absent_us, now_us);
        c->upload_us = upload_shift_us(c->upload_us, absent_us, now_us);
    }
    TAILQ_FOREACH(c, &v->waiting, upload_link) {
        c->upload_us = upload_shift_us(c->upload_us, absent_us, now_us);
    }
}

static void upload_end_overdue(struct upload_wait *v, uint64_t now_us) {
    uint64_t timeout_us = v->timeout_s > 0 ? (uint64_t)v->timeout_s * 1000000 : UINT64_MAX;
    unsigned large = cache_uploads_waiting(upload_cache(v), true),
             all = cache_uploads_waiting(upload_cache(v), false) + large;
    struct conn *c, *next;
    for (c = TAILQ_FIRST(&v->holding); c != NULL; c = next) {
        next = TAILQ_NEXT(c, upload_link);
        bool is_large = session_value_upload(c->session)->large;
        if (((is_large ? large : all) > 0 && upload_is_slow(c, now_us)) ||
            now_us - c->upload_us >= timeout_us) {
            upload_refuse(v, c);
            all -= all > 0;
            large -= is_large && large > 0;
        }
    }
    for (c = TAILQ_FIRST(&v->waiting); c != NULL; c = next) {
        next = TAILQ_NEXT(c, upload_link);
        if (now_us - c->upload_us >= timeout_us) {
            upload_refuse(v, c);
        }
    }
}

/* --- waiting values --- */

struct candidate {
    struct conn *conn;
    size_t       arrived_bytes;
    unsigned     place;         /* in the list */
    bool         is_short; /* few bytes have come */
};

/* Orders values by bytes that have come, most first; equal ones by their place. */
static int upload_compare_candidates(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->arrived_bytes != y->arrived_bytes) {
        return x->arrived_bytes > y->arrived_bytes ? -1 : 1;
    }
    return x->place < y->place ? -1 : 1;
}

/* Finds values for which there is room. Moves the checked values to the end of the list: the next
 * check begins behind them. */
static unsigned upload_find_candidates(struct upload_wait *v, struct candidate *found) {
    unsigned n = 0;
    for (unsigned i = 0; i < v->waiting_count && i < CHECK_MOST; i++) {
        struct conn *c = TAILQ_FIRST(&v->waiting);
        TAILQ_REMOVE(&v->waiting, c, upload_link);
        TAILQ_INSERT_TAIL(&v->waiting, c, upload_link);
        upload_wait_arrived(c);
        const struct cache_upload *d = session_value_upload(c->session);
        size_t arrived_bytes = upload_unread_bytes(c);
        bool is_short = !d->arrived && arrived_bytes < TCP_WINDOW_HALF_BYTES;
        if (cache_upload_has_room(upload_cache(v), d, is_short)) {
            found[n++] = (struct candidate){c, arrived_bytes, i, is_short};
        }
    }
    return n;
}

/* Only one of the clients that have sent few bytes resumes at once, because such clients stop more
 * often than others. */
static void upload_end_waits(struct upload_wait *v) {
    struct candidate found[CHECK_MOST];
    unsigned n = upload_find_candidates(v, found);
    qsort(found, n, sizeof found[0], upload_compare_candidates);
    bool is_short = false;
    for (unsigned i = 0; i < n && i < RESUME_MOST && !is_short; i++) {
        is_short = found[i].is_short;
        upload_resume(v, found[i].conn);
    }
}

static void upload_on_timer(evutil_socket_t fd, short what, void *arg) {
    struct upload_wait *v = arg;
    uint64_t now_us = clock_mono_us();
    (void)fd;
    (void)what;
    if (now_us >= v->overdue_check_us) {
        upload_forgive_absence(v, now_us);
        v->overdue_check_us = now_us + CHECK_OVERDUE_US;
        cache_turn_begin(v->worker->cache_thread);
        upload_end_overdue(v, now_us);
        cache_turn_end(v->worker->cache_thread);
    }
    upload_end_waits(v);
    upload_arm_timer(v);
}

void upload_wait_init(struct upload_wait *v, struct worker *w, uint32_t timeout_s) {
    *v = (struct upload_wait){.worker = w, .timeout_s = timeout_s};
    TAILQ_INIT(&v->holding);
    TAILQ_INIT(&v->waiting);
    evtimer_assign(&v->timer, w->base, upload_on_timer, v);
}
