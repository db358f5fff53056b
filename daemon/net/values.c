#include "net/values.h"

#include <event2/event.h>

#include "base/clock.h"
#include "net/conn.h"
#include "net/worker.h"

enum { LOOK_WAITING_US = 5 * 1000, LOOK_LATE_US = 250 * 1000 };

static void arm(struct values *v) {
    bool waits = !TAILQ_EMPTY(&v->waiting);
    if (waits || !TAILQ_EMPTY(&v->receiving)) {
        struct timeval t = {.tv_usec = waits ? LOOK_WAITING_US : LOOK_LATE_US};
        event_add(&v->timer, &t);
    }
}

static void set_waiting(struct values *v, struct conn *c, bool waits) {
    if (waits == c->waiting) {
        return;
    }
    c->waiting = waits;
    if (waits) {
        TAILQ_INSERT_TAIL(&v->waiting, c, waiting_link);
    } else {
        TAILQ_REMOVE(&v->waiting, c, waiting_link);
    }
    atomic_fetch_add_explicit(&v->worker->server->conns.values_waiting, waits ? 1 : (uint64_t)-1, memory_order_relaxed);
}

static void set_receiving(struct values *v, struct conn *c, bool receives) {
    if (c->receiving) {
        TAILQ_REMOVE(&v->receiving, c, receiving_link);
    }
    c->receiving = receives;
    if (receives) {
        TAILQ_INSERT_TAIL(&v->receiving, c, receiving_link);
        c->value_us = clock_mono_us();
    }
}

void values_note(struct values *v, struct conn *c, bool waits) {
    bool receives = session_holds_draft(c->session);
    if (!receives && !waits && !c->receiving && !c->waiting) {
        return;
    }
    bool before = event_pending(&v->timer, EV_TIMEOUT, NULL);
    set_receiving(v, c, receives);
    set_waiting(v, c, waits);
    if (!before || waits) {
        arm(v);
    }
}

void values_forget(struct values *v, struct conn *c) {
    if (c->receiving) {
        set_receiving(v, c, false);
    }
    set_waiting(v, c, false);
}

/* Those whose bytes are late give their memory back, and are refused in their next turn. One that waits for memory itself is not late. */
static void end_late(struct values *v) {
    struct worker *w = v->worker;
    bool     wanted = atomic_load_explicit(&w->server->conns.values_waiting, memory_order_relaxed) > 0;
    uint64_t now_us = clock_mono_us(), timeout_us = v->timeout_s > 0 ? (uint64_t)v->timeout_s * 1000000 : UINT64_MAX;
    uint64_t most_us = wanted ? VALUES_GIVE_WAY_MS * 1000 : timeout_us;
    struct conn *c, *next;
    for (c = TAILQ_FIRST(&v->receiving); c != NULL && now_us - c->value_us >= most_us; c = next) {
        next = TAILQ_NEXT(c, receiving_link);
        set_receiving(v, c, c->waiting);
        if (!c->waiting && session_holds_draft(c->session)) {
            counter_add(&w->counters->values_late, 1);
            session_value_late(c->session, w->batch);
            c->resume = true;
            worker_ready(w, c);
        }
    }
}

/* Clients that have sent much go first: one that sends a byte and stops is not to have the memory before one that goes on. */
static void end_waits(struct values *v, bool much) {
    struct conn *c, *next;
    for (c = TAILQ_FIRST(&v->waiting); c != NULL; c = next) {
        next = TAILQ_NEXT(c, waiting_link);
        if (!much || (c->kept != NULL && c->kept->n > BUFFER_KEPT_BYTES)) {
            set_waiting(v, c, false);
            conn_wait_over(c);
        }
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct values *v = arg;
    (void)fd;
    (void)what;
    cache_turn_begin(v->worker->cache_thread);
    end_late(v);
    cache_turn_end(v->worker->cache_thread);
    end_waits(v, true);
    end_waits(v, false);
    arm(v);
}

void values_init(struct values *v, struct worker *w, uint32_t timeout_s) {
    *v = (struct values){.worker = w, .timeout_s = timeout_s};
    TAILQ_INIT(&v->receiving);
    TAILQ_INIT(&v->waiting);
    evtimer_assign(&v->timer, w->base, on_timer, v);
}
