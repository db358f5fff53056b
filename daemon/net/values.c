#include "net/values.h"

#include <event2/event.h>
#include <poll.h>

#include "base/clock.h"
#include "net/conn.h"
#include "net/worker.h"
#include "watch/event.h"

enum {
    LOOK_WAITING_US = 5 * 1000,
    /* between two looks at those who wait, if nothing has changed but what they sent */
    LOOK_AGAIN_US = 50 * 1000,
    LOOK_LATE_US = 250 * 1000,
    LOOKS_A_SECOND = 1000000 / LOOK_LATE_US,
    LOOK_MOST = 256,          /* waiting connections in one look; the others come next */
    GO_ON_MOST = 8,           /* so many of them go on in one look */
    MUCH_BYTES = 32 * 1024,   /* half of the window with which TCP begins */
};

static void arm(struct values *v) {
    bool waits = !TAILQ_EMPTY(&v->waiting);
    if (waits || !TAILQ_EMPTY(&v->receiving)) {
        struct timeval t = {.tv_usec = waits ? LOOK_WAITING_US : LOOK_LATE_US};
        event_add(&v->timer, &t);
    }
}

static struct cache *cache_of(const struct values *v) { return v->worker->server->cache; }

/* Puts a connection on the list of those that wait. One that went on in vain keeps its place; a new
 * one is looked at soon. */
static void set_waiting(struct values *v, struct conn *c, bool waits) {
    if (waits == c->waiting) {
        return;
    }
    c->waiting = waits;
    v->waiting_count += waits ? 1 : -1u;
    if (!waits) {
        TAILQ_REMOVE(&v->waiting, c, waiting_link);
    } else if (c->waited) {
        TAILQ_INSERT_HEAD(&v->waiting, c, waiting_link);
    } else {
        TAILQ_INSERT_TAIL(&v->waiting, c, waiting_link);
        counter_add(&v->worker->counters->values_waited, 1);
        v->look_us = 0;
        c->wait_us = clock_mono_us();
    }
    if (waits) {
        c->waits_large = session_draft(c->session)->large;
    }
    cache_draft_waits(cache_of(v), c->waits_large, waits);
}

/* The bytes that must come within VALUES_GIVE_WAY_MS. */
static size_t pace_bytes(const struct conn *c) {
    size_t share = session_draft(c->session)->charged_bytes / VALUES_PACE_SHARE;
    return share > VALUES_PACE_BYTES ? share : VALUES_PACE_BYTES;
}

/* Bytes of its value that have come, and are still to be stored. */
static size_t unread_bytes(const struct conn *c) {
    return (c->kept != NULL ? c->kept->n : 0) + c->transport->unread(c);
}

/* Bytes of its value have come, or it may have memory at last. */
static void note_bytes(struct conn *c, bool anew) {
    size_t left = session_value_left(c->session);
    c->value_us = clock_mono_us();
    if (anew || left > c->pace_left || c->pace_left - left >= pace_bytes(c)) {
        c->pace_us = c->value_us;
        c->pace_left = left;
    }
}

static void set_receiving(struct values *v, struct conn *c, bool receives, bool anew) {
    bool before = c->receiving;
    if (before) {
        TAILQ_REMOVE(&v->receiving, c, receiving_link);
    }
    c->receiving = receives;
    if (receives) {
        TAILQ_INSERT_TAIL(&v->receiving, c, receiving_link);
        note_bytes(c, anew || !before);
    }
}

void values_note(struct values *v, struct conn *c, bool waits) {
    bool receives = session_holds_draft(c->session);
    if (!receives && !waits && !c->receiving && !c->waiting) {
        return;
    }
    bool before = event_pending(&v->timer, EV_TIMEOUT, NULL);
    set_receiving(v, c, receives, c->waited);
    set_waiting(v, c, waits);
    c->waited = false;
    if (!before || waits) {
        arm(v);
    }
}

void values_forget(struct values *v, struct conn *c) {
    if (c->receiving) {
        set_receiving(v, c, false, false);
    }
    set_waiting(v, c, false);
}

/* --- those whose bytes are late --- */

static uint64_t timeout_us(const struct values *v) {
    return v->timeout_s > 0 ? (uint64_t)v->timeout_s * 1000000 : UINT64_MAX;
}

/* Takes the value's memory back; the value is refused in the connection's next turn. Inside a cache
 * turn. */
static void refuse(struct values *v, struct conn *c) {
    struct worker *w = v->worker;
    bool waited = c->waiting;
    values_forget(v, c);
    counter_add(&w->counters->values_late, 1);
    session_value_late(c->session, w->batch);
    if (waited) {
        conn_wait_over(c);
    } else {
        c->resume = true;
        worker_ready(w, c);
    }
}

/* Whether a value goes on too slowly. A worker that got no processor for a second has not received
 * what the client sent meanwhile; of that the kernel holds at least this much. */
static bool is_slow(const struct conn *c, uint64_t now_us) {
    if (now_us - c->pace_us < VALUES_GIVE_WAY_MS * 1000) {
        return false;
    }
    size_t left = session_value_left(c->session), pace = pace_bytes(c),
           most = pace < MUCH_BYTES ? pace : MUCH_BYTES;
    return unread_bytes(c) < (left < most ? left : most);
}

static void end_late(struct values *v, uint64_t now_us) {
    unsigned all = cache_drafts_waiting(cache_of(v)),
             large = cache_drafts_waiting_large(cache_of(v));
    struct conn *c, *next;
    for (c = TAILQ_FIRST(&v->receiving);
         c != NULL && (all > 0 || now_us - c->value_us >= timeout_us(v)); c = next) {
        next = TAILQ_NEXT(c, receiving_link);
        bool is_large = session_draft(c->session)->large,
             is_wanted = is_large ? large > 0 : all > 0;
        if ((is_wanted && is_slow(c, now_us)) || now_us - c->value_us >= timeout_us(v)) {
            refuse(v, c);
            all -= all > 0;
            large -= is_large && large > 0;
        }
    }
}

/* --- those that wait --- */

bool values_arrived(struct conn *c) {
    return unread_bytes(c) >= session_value_left(c->session) && session_value_arrived(c->session);
}

/* Whether connection a goes on before b. */
enum rank { RANK_LITTLE, RANK_MUCH, RANK_ARRIVED };

static enum rank rank_of(struct conn *c) {
    size_t unread = unread_bytes(c);
    if (unread >= session_value_left(c->session)) {
        session_value_arrived(c->session);
        return RANK_ARRIVED;
    }
    return unread >= MUCH_BYTES ? RANK_MUCH : RANK_LITTLE;
}

/* Keeps the best so far, the best first. Of equal ones the earlier comes first. */
struct choice {
    struct conn *conns[GO_ON_MOST];
    enum rank    rank[GO_ON_MOST];
    unsigned     count;
};

static void consider(struct choice *best, struct conn *c, enum rank rank) {
    unsigned at = best->count < GO_ON_MOST ? best->count++ : GO_ON_MOST;
    for (; at > 0 && best->rank[at - 1] < rank; at--) {
        if (at < GO_ON_MOST) {
            best->conns[at] = best->conns[at - 1];
            best->rank[at] = best->rank[at - 1];
        }
    }
    if (at < GO_ON_MOST) {
        best->conns[at] = c;
        best->rank[at] = rank;
    }
}

/* Moves the connections before `c`, which were looked at, to the end of the list: the next look
 * begins at `c`. */
static void look_on_from(struct values *v, const struct conn *c) {
    while (c != NULL && TAILQ_FIRST(&v->waiting) != c) {
        struct conn *looked = TAILQ_FIRST(&v->waiting);
        TAILQ_REMOVE(&v->waiting, looked, waiting_link);
        TAILQ_INSERT_TAIL(&v->waiting, looked, waiting_link);
    }
}

/* Chooses among the values for which there is room. Clients that have sent little leave half of the
 * room to others. */
static void choose(struct values *v, struct choice *best) {
    struct conn *c = TAILQ_FIRST(&v->waiting), *next;
    for (unsigned looked = 0; c != NULL && looked < LOOK_MOST; c = next, looked++) {
        next = TAILQ_NEXT(c, waiting_link);
        enum rank rank = rank_of(c);
        if (cache_draft_has_room(cache_of(v), session_draft(c->session), rank == RANK_LITTLE)) {
            consider(best, c, rank);
        }
    }
    look_on_from(v, c);
}

/* Lets those that find room go on in the next turn. Of clients that have sent little only one goes
 * on, because such clients stop more often than others. */
static void end_waits(struct values *v, uint64_t now_us) {
    size_t held_bytes = cache_drafts_held(cache_of(v));
    if (TAILQ_EMPTY(&v->waiting) || (held_bytes == v->held_bytes && now_us < v->look_us)) {
        return;
    }
    v->held_bytes = held_bytes;
    v->look_us = now_us + LOOK_AGAIN_US;
    struct choice best = {.count = 0};
    choose(v, &best);
    bool little = false;
    for (unsigned i = 0; i < best.count && !little; i++) {
        little = best.rank[i] == RANK_LITTLE;
        best.conns[i]->waited = true;
        set_waiting(v, best.conns[i], false);
        conn_wait_over(best.conns[i]);
    }
}

/* Looks at `n` of those that were not looked at for longest. Nothing is received from connections
 * that wait, so nobody would see that one has hung up. A client that has sent its whole value
 * before it hung up is served; the others are closed. Those that have waited too long are refused.
 * Inside a cache turn. */
static void look_at_waiting(struct values *v, unsigned n, uint64_t now_us) {
    struct pollfd fds[LOOK_MOST];
    struct conn  *conns[LOOK_MOST], *c = TAILQ_FIRST(&v->waiting);
    for (unsigned i = 0; i < n; i++, c = TAILQ_NEXT(c, waiting_link)) {
        fds[i] = (struct pollfd){.fd = c->record.fd, .events = POLLRDHUP};
        conns[i] = c;
    }
    look_on_from(v, c);
    bool some_gone = poll(fds, n, 0) > 0;
    for (unsigned i = 0; i < n; i++) {
        if (some_gone && fds[i].revents != 0 && rank_of(conns[i]) != RANK_ARRIVED) {
            set_waiting(v, conns[i], false);
            conns[i]->gone = true;
            conns[i]->reason = EVENT_NORMAL;
            worker_ready(v->worker, conns[i]);
        } else if (now_us - conns[i]->wait_us >= timeout_us(v)) {
            refuse(v, conns[i]);
        }
    }
}

/* Looks at a quarter of those that wait and LOOK_MOST more, so that one second sees all of them. */
static void end_gone(struct values *v, uint64_t now_us) {
    unsigned left = v->waiting_count / LOOKS_A_SECOND + LOOK_MOST;
    left = left < v->waiting_count ? left : v->waiting_count;
    for (unsigned n; left > 0; left -= n) {
        n = left < LOOK_MOST ? left : LOOK_MOST;
        look_at_waiting(v, n, now_us);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct values *v = arg;
    uint64_t now_us = clock_mono_us();
    (void)fd;
    (void)what;
    if (now_us >= v->late_look_us) {
        v->late_look_us = now_us + LOOK_LATE_US;
        cache_turn_begin(v->worker->cache_thread);
        end_late(v, now_us);
        end_gone(v, now_us);
        cache_turn_end(v->worker->cache_thread);
    }
    end_waits(v, now_us);
    arm(v);
}

void values_init(struct values *v, struct worker *w, uint32_t timeout_s) {
    *v = (struct values){.worker = w, .timeout_s = timeout_s};
    TAILQ_INIT(&v->receiving);
    TAILQ_INIT(&v->waiting);
    evtimer_assign(&v->timer, w->base, on_timer, v);
}
