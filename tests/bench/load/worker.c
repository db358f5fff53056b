#include "worker.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "batch.h"

#define RECEIVE_BYTES 262144 /* one receive takes all that a usual batch of replies can be */
#define EVENTS_PER_TURN 256
#define TURN_NS UINT64_C(100000000)   /* look at `stop` and the clock at least this often */
#define DRAIN_NS UINT64_C(2000000000) /* after `stop`, wait this long for replies in flight */
#define CARRY_KEEP_BYTES 65536

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_IDLE, CONN_BUSY };

struct conn {
    int fd;
    enum conn_state state;
    bool waits_to_write; /* EPOLLOUT is asked for */
    size_t sent;         /* of batch.out */
    uint64_t calls_left;
    struct batch batch;
    struct buffer carry; /* the beginning of a reply element that has not wholly come */
    size_t carry_needed;
    struct conn *next_idle;
};

struct worker {
    const struct worker_config *config;
    const struct options *options;
    struct tally *tally;
    struct failure *failure;
    struct batcher batcher;
    int epoll, timer;
    struct conn *conns;
    unsigned conn_count;
    unsigned opened, live;     /* conns[0..opened) have been opened once; live ones are open */
    unsigned busy, connecting; /* of the live ones */
    struct conn *idle_first, *idle_last; /* longest idle first */
    uint64_t budget;                     /* requests that may still be made */
    uint64_t deadline_ns;                /* 0: none */
    uint64_t last_heard_ns;
    uint64_t stop_seen_ns;
    double open_gap_ns, next_open_ns; /* --conn-rate */
    bool stopping;
    char *received;
};

uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void fail(struct worker *w, int exit_code, const char *what, const char *why) {
    if (w->failure->exit_code == 0) {
        w->failure->exit_code = exit_code;
        snprintf(w->failure->text, sizeof(w->failure->text), "%.384s%s%.100s", what,
                 *why ? ": " : "", why);
    }
    w->stopping = true;
}

/* ---------------------------------------------------------------- connections */

static void update_call_rate(struct worker *w) {
    if (w->options->call_rate > 0 && w->live > 0) {
        w->batcher.pace.interval_ns = 1e9 / (w->options->call_rate * w->live);
    }
}

/* The server's silence counts from when it first owes us something. */
static void expect_answer(struct worker *w) {
    if (w->busy + w->connecting == 0) {
        w->last_heard_ns = clock_ns();
    }
}

static void close_conn(struct worker *w, struct conn *c) {
    w->busy -= c->state == CONN_BUSY;
    w->connecting -= c->state == CONN_CONNECTING;
    close(c->fd); /* leaves the epoll set with it */
    c->state = CONN_CLOSED;
    w->live--;
    update_call_rate(w);
    buffer_fini(&c->carry);
    c->carry_needed = 0;
}

static bool watch(struct worker *w, struct conn *c, int operation, bool writing) {
    struct epoll_event e = {.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
    c->waits_to_write = writing;
    if (epoll_ctl(w->epoll, operation, c->fd, &e) < 0) {
        fail(w, LOAD_IO, "cannot watch a connection", strerror(errno));
        return false;
    }
    return true;
}

static void make_idle(struct worker *w, struct conn *c) {
    c->state = CONN_IDLE;
    c->next_idle = NULL;
    if (w->idle_first == NULL) {
        w->idle_first = c;
    } else {
        w->idle_last->next_idle = c;
    }
    w->idle_last = c;
}

static bool open_conn(struct worker *w, struct conn *c) {
    const struct options *o = w->options;
    int linger_s = o->linger_s == OPTION_AUTO ? -1 : (int)o->linger_s;
    bool tcp = w->config->address->socket.ss_family != AF_UNIX;
    c->fd = address_connect(w->config->address, false, linger_s);
    if (c->fd < 0) {
        char what[320];
        snprintf(what, sizeof(what), "cannot connect to %s", w->config->address->text);
        fail(w, LOAD_NO_CONNECTION, what, strerror(errno));
        return false;
    }
    c->calls_left = o->calls > 0 ? o->calls : UINT64_MAX;
    c->state = CONN_CONNECTING;
    expect_answer(w);
    w->connecting++;
    w->live++;
    update_call_rate(w);
    w->tally->connections++;
    if (!watch(w, c, EPOLL_CTL_ADD, tcp)) {
        return false;
    }
    if (!tcp) {
        w->connecting--;
        make_idle(w, c);
    }
    return true;
}

static void finish_connecting(struct worker *w, struct conn *c) {
    int error = 0;
    socklen_t n = sizeof(error);
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n);
    if (error != 0) {
        char what[320];
        snprintf(what, sizeof(what), "cannot connect to %s", w->config->address->text);
        fail(w, LOAD_NO_CONNECTION, what, strerror(error));
        return;
    }
    w->connecting--;
    w->last_heard_ns = clock_ns();
    make_idle(w, c);
    watch(w, c, EPOLL_CTL_MOD, false);
}

static void open_due_conns(struct worker *w, uint64_t now_ns) {
    while (w->opened < w->conn_count && !w->stopping) {
        if (w->open_gap_ns > 0) {
            if (w->next_open_ns > (double)now_ns) {
                return;
            }
            w->next_open_ns += w->open_gap_ns;
        }
        if (!open_conn(w, &w->conns[w->opened])) {
            return;
        }
        w->opened++;
    }
}

/* The server hung up. What it had sent last, if anything, says why. */
static void hung_up(struct worker *w, const char *why) {
    const struct samples *e = &w->tally->errors;
    char what[sizeof(w->config->address->text) + SAMPLE_BYTES + 64];
    snprintf(what, sizeof(what), "the server at %s closed a connection%s%s%s",
             w->config->address->text, e->count ? " (it had said: " : "",
             e->count ? e->list[e->count - 1].text : "", e->count ? ")" : "");
    fail(w, LOAD_IO, what, why);
}

/* ---------------------------------------------------------------- sending */

static void send_batch(struct worker *w, struct conn *c) {
    struct buffer *out = &c->batch.out;
    while (c->sent < out->n) {
        ssize_t n =
            send(c->fd, out->bytes + c->sent, out->n - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno != EAGAIN) {
            hung_up(w, strerror(errno));
            return;
        }
        if (n < 0) {
            if (!c->waits_to_write) {
                watch(w, c, EPOLL_CTL_MOD, true);
            }
            return;
        }
        c->sent += (size_t)n;
        w->tally->sent_bytes += (uint64_t)n;
    }
    if (c->waits_to_write) {
        watch(w, c, EPOLL_CTL_MOD, false);
    }
}

static bool may_build(const struct worker *w) {
    return !w->stopping && w->budget > 0 && !(w->batcher.ended && !w->batcher.has_held);
}

/* Gives an unoccupied connection its next batch. False when there is none for it now. */
static bool start_batch(struct worker *w, struct conn *c, uint64_t now_ns) {
    uint64_t budget = w->budget < c->calls_left ? w->budget : c->calls_left;
    if (!may_build(w)) {
        return false;
    }
    if (w->options->shift.count > 0) {
        source_set_time(w->batcher.source, (double)(now_ns - w->config->start_ns) / 1e9);
    }
    uint64_t built = batch_build(&c->batch, &w->batcher, budget, now_ns);
    if (w->batcher.failure[0] != '\0') {
        fail(w, LOAD_IO, w->batcher.failure, "");
        return false;
    }
    if (built == 0) {
        return false;
    }
    w->budget -= built;
    c->calls_left -= c->calls_left == UINT64_MAX ? 0 : built;
    expect_answer(w);
    w->busy++;
    c->state = CONN_BUSY;
    c->sent = 0;
    send_batch(w, c);
    return true;
}

static void start_idle(struct worker *w, uint64_t now_ns) {
    while (w->idle_first != NULL && start_batch(w, w->idle_first, now_ns)) {
        w->idle_first = w->idle_first->next_idle;
    }
}

/* Goes on when the last reply of the batch has come. A server may refuse a value before it has all
 * of its bytes; these must still be sent. */
static void end_batch_if_done(struct worker *w, struct conn *c, uint64_t now_ns) {
    if (c->state != CONN_BUSY || !batch_is_answered(&c->batch) || c->sent < c->batch.out.n) {
        return;
    }
    if (batch_build_fills(&c->batch, &w->batcher, now_ns)) {
        c->sent = 0;
        send_batch(w, c);
        return;
    }
    if (w->batcher.failure[0] != '\0') {
        fail(w, LOAD_IO, w->batcher.failure, "");
        return;
    }
    w->busy--;
    c->state = CONN_IDLE;
    if (c->calls_left == 0) {
        close_conn(w, c);
        if (w->options->reconnect && may_build(w)) {
            open_conn(w, c);
        }
        return;
    }
    /* Under a rate the connection that has been idle longest is served first. */
    if (w->idle_first != NULL || !start_batch(w, c, now_ns)) {
        make_idle(w, c);
    }
}

/* ---------------------------------------------------------------- receiving */

/* Keeps the bytes of an element that has not wholly come. They may lie in the carry already. */
static bool keep_rest(struct worker *w, struct conn *c, const char *rest, size_t n, size_t needed) {
    if (c->carry.n > 0) {
        memmove(c->carry.bytes, rest, n);
        c->carry.n = n;
    } else {
        if (!buffer_reserve(&c->carry, n)) {
            fail(w, LOAD_IO, "out of memory", "");
            return false;
        }
        buffer_put(&c->carry, rest, n);
    }
    c->carry_needed = needed;
    return true;
}

static void receive(struct worker *w, struct conn *c) {
    char *into = w->received;
    size_t room = RECEIVE_BYTES;
    if (c->carry.n > 0) {
        size_t missing = c->carry_needed > c->carry.n ? c->carry_needed - c->carry.n : 1;
        if (!buffer_reserve(&c->carry, missing > 16384 ? missing : 16384)) {
            fail(w, LOAD_IO, "out of memory", "");
            return;
        }
        into = c->carry.bytes + c->carry.n;
        room = c->carry.room - c->carry.n;
    }
    ssize_t got = recv(c->fd, into, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        hung_up(w, got < 0 ? strerror(errno) : "");
        return;
    }
    uint64_t now_ns = clock_ns();
    w->last_heard_ns = now_ns;
    w->tally->received_bytes += (uint64_t)got;

    const char *bytes = c->carry.n > 0 ? c->carry.bytes : w->received;
    size_t n = c->carry.n + (size_t)got, needed;
    if (c->carry.n > 0 && n < c->carry_needed) {
        c->carry.n = n;
        return;
    }
    size_t used = batch_feed(&c->batch, &w->batcher, bytes, n, now_ns, &needed);
    if (w->batcher.failure[0] != '\0') {
        fail(w, LOAD_IO, w->batcher.failure, "");
        return;
    }
    if (used < n) {
        keep_rest(w, c, bytes + used, n - used, needed);
        return;
    }
    c->carry.n = 0;
    if (c->carry.room > CARRY_KEEP_BYTES) {
        buffer_fini(&c->carry);
    }
    end_batch_if_done(w, c, now_ns);
}

static void handle_event(struct worker *w, struct conn *c, uint32_t events) {
    switch (c->state) {
    case CONN_CLOSED:
        return;
    case CONN_CONNECTING:
        finish_connecting(w, c);
        return;
    case CONN_BUSY:
        if (c->waits_to_write && (events & EPOLLOUT)) {
            send_batch(w, c);
            end_batch_if_done(w, c, clock_ns());
        }
        break;
    case CONN_IDLE:
        break;
    }
    if (c->state != CONN_CLOSED && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
        receive(w, c);
    }
}

/* ---------------------------------------------------------------- the loop */

/* Sleeps are cut short by the timer when a request or a connection falls due earlier. */
static void arm_timer(struct worker *w, uint64_t now_ns) {
    double due = (double)now_ns + (double)TURN_NS;
    if (w->batcher.pace.interval_ns > 0 && w->idle_first != NULL && may_build(w)) {
        due = fmin(due, w->batcher.pace.next_due_ns);
    }
    if (w->open_gap_ns > 0 && w->opened < w->conn_count) {
        due = fmin(due, w->next_open_ns);
    }
    if (w->deadline_ns != 0) {
        due = fmin(due, (double)w->deadline_ns);
    }
    uint64_t due_ns = due > (double)now_ns ? (uint64_t)due : now_ns + 1;
    struct itimerspec t = {.it_value = {.tv_sec = (time_t)(due_ns / 1000000000),
                                        .tv_nsec = (long)(due_ns % 1000000000)}};
    timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static bool needs_timer(const struct worker *w) {
    return w->batcher.pace.interval_ns > 0 || w->open_gap_ns > 0;
}

static void publish(struct worker *w) {
    struct progress *p = w->config->progress;
    const struct tally *t = w->tally;
    atomic_store_explicit(&p->requests, t->requests, memory_order_relaxed);
    atomic_store_explicit(&p->hits, t->hits, memory_order_relaxed);
    atomic_store_explicit(&p->misses, t->misses, memory_order_relaxed);
    atomic_store_explicit(&p->errors, t->errors.total, memory_order_relaxed);
    atomic_store_explicit(&p->wrong, t->wrong.total, memory_order_relaxed);
}

/* Whether the run is over: nothing in flight and nothing more to be had. */
static bool is_over(struct worker *w, uint64_t now_ns) {
    if (atomic_load_explicit(w->config->stop, memory_order_relaxed) && w->stop_seen_ns == 0) {
        w->stop_seen_ns = now_ns;
        w->stopping = true;
    }
    if (w->deadline_ns != 0 && now_ns >= w->deadline_ns) {
        w->stopping = true;
    }
    if (w->failure->exit_code != 0 ||
        (w->stop_seen_ns != 0 && now_ns - w->stop_seen_ns > DRAIN_NS)) {
        return true;
    }
    if (w->busy + w->connecting > 0) {
        if ((double)(now_ns - w->last_heard_ns) > w->options->timeout_s * 1e9) {
            char what[384];
            snprintf(what, sizeof(what), "no reply from %s for %g seconds",
                     w->config->address->text, w->options->timeout_s);
            fail(w, LOAD_IO, what, "");
            return true;
        }
    }
    if (w->busy > 0) {
        return false;
    }
    return !may_build(w) || (w->opened == w->conn_count && w->live == 0);
}

static void loop(struct worker *w) {
    struct epoll_event events[EVENTS_PER_TURN];
    uint64_t now_ns = clock_ns();
    while (!is_over(w, now_ns)) {
        open_due_conns(w, now_ns);
        start_idle(w, now_ns);
        if (w->failure->exit_code != 0) {
            break;
        }
        if (needs_timer(w)) {
            arm_timer(w, now_ns);
        }
        int n = epoll_wait(w->epoll, events, EVENTS_PER_TURN, (int)(TURN_NS / 1000000));
        for (int i = 0; i < n && w->failure->exit_code == 0; i++) {
            if (events[i].data.ptr == NULL) {
                uint64_t fired;
                (void)!read(w->timer, &fired, sizeof(fired));
            } else {
                handle_event(w, events[i].data.ptr, events[i].events);
            }
        }
        publish(w);
        now_ns = clock_ns();
    }
    publish(w);
}

/* This thread's part of n things; the parts of all threads add up to n. */
static uint64_t share(uint64_t n, const struct worker_config *config) {
    uint64_t threads = config->options->threads;
    return n / threads + (config->thread < n % threads ? 1 : 0);
}

static bool set_up(struct worker *w) {
    const struct worker_config *config = w->config;
    const struct options *o = w->options;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    char why[256] = "";

    w->conn_count = (unsigned)share(o->conns, config);
    w->conns = calloc(w->conn_count, sizeof(*w->conns));
    w->received = malloc(RECEIVE_BYTES);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct source *source =
        source_create(config->source, o, config->thread, config->keys_made, why, sizeof(why));
    if (source == NULL) {
        fail(w, LOAD_IO, why, "");
        return false;
    }
    if (!batcher_init(&w->batcher, o, source, w->tally, o->seed ^ mix64(config->thread + 1)) ||
        w->conns == NULL || w->received == NULL) {
        fail(w, LOAD_IO, "out of memory", "");
        return false;
    }
    if (w->epoll < 0 || w->timer < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->timer, &e) < 0) {
        fail(w, LOAD_IO, "cannot set up the event loop", strerror(errno));
        return false;
    }
    double start = (double)config->start_ns;
    w->budget = o->requests == OPTION_AUTO || config->source == SOURCE_INSERT
                    ? UINT64_MAX
                    : share(o->requests, config);
    if (o->duration_s > 0 && config->source != SOURCE_INSERT) {
        w->deadline_ns = config->start_ns + (uint64_t)(o->duration_s * 1e9);
    }
    if (o->conn_rate > 0) {
        w->open_gap_ns = 1e9 * (double)o->threads / o->conn_rate;
        w->next_open_ns = start + w->open_gap_ns * config->thread / (double)o->threads;
    }
    if (o->rate > 0) {
        w->batcher.pace.interval_ns = 1e9 * (double)o->threads / o->rate;
        w->batcher.pace.next_due_ns =
            start + w->batcher.pace.interval_ns * config->thread / (double)o->threads;
    }
    if (o->call_rate > 0) {
        w->batcher.pace.interval_ns = 1e9 / o->call_rate; /* until connections are open */
        w->batcher.pace.next_due_ns = start;
    }
    return true;
}

static void tear_down(struct worker *w) {
    for (unsigned i = 0; w->conns != NULL && i < w->conn_count; i++) {
        if (w->conns[i].state != CONN_CLOSED) {
            close_conn(w, &w->conns[i]);
        }
        batch_fini(&w->conns[i].batch);
        buffer_fini(&w->conns[i].carry);
    }
    source_destroy(&w->batcher.source);
    batcher_fini(&w->batcher);
    if (w->epoll >= 0) {
        close(w->epoll);
    }
    if (w->timer >= 0) {
        close(w->timer);
    }
    free(w->conns);
    free(w->received);
}

void worker_run(const struct worker_config *config, struct tally *tally, struct failure *failure) {
    struct worker w = {.config = config,
                       .options = config->options,
                       .tally = tally,
                       .failure = failure,
                       .epoll = -1,
                       .timer = -1};
    if (set_up(&w)) {
        loop(&w);
    }
    tear_down(&w);
}
