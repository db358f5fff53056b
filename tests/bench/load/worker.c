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

#include "conn.h"
#include "tls.h"

#define EVENTS_PER_TURN 256
#define TURN_NS UINT64_C(100000000)   /* check `stop` and the clock at least this often */
#define DRAIN_NS UINT64_C(2000000000) /* after `stop`, wait this long for replies in flight */

uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void open_due_conns(struct worker *w, uint64_t now_ns) {
    while (w->opened < w->conn_count && !w->stopping) {
        if (w->open_gap_ns > 0) {
            if (w->next_open_ns > (double)now_ns) {
                return;
            }
            w->next_open_ns += w->open_gap_ns;
        }
        if (!conn_open(w, &w->conns[w->opened])) {
            return;
        }
        w->opened++;
    }
}

/* Sleeps are cut short by the timer when a request or a connection falls due earlier. */
static void arm_timer(struct worker *w, uint64_t now_ns) {
    double due = (double)now_ns + (double)TURN_NS;
    if (pace_is_open(&w->batcher.pace) && w->idle_first != NULL && worker_may_build(w)) {
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
    return pace_is_open(&w->batcher.pace) || w->open_gap_ns > 0;
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

/* Whether the run is over: no request in flight and no more to come. */
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
            worker_fail(w, LOAD_IO, what, "");
            return true;
        }
    }
    if (w->busy > 0) {
        return false;
    }
    return !worker_may_build(w) || (w->opened == w->conn_count && w->live == 0);
}

static void loop(struct worker *w) {
    struct epoll_event events[EVENTS_PER_TURN];
    uint64_t now_ns = clock_ns();
    while (!is_over(w, now_ns)) {
        open_due_conns(w, now_ns);
        conn_start_idle(w, now_ns);
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
                conn_handle_event(w, events[i].data.ptr, events[i].events);
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
    struct source *source = source_create(config->source, o, config->thread, why, sizeof(why));
    if (source == NULL) {
        worker_fail(w, LOAD_IO, why, "");
        return false;
    }
    if (!batcher_init(&w->batcher, o, source, w->tally, o->seed ^ mix64(config->thread + 1)) ||
        w->conns == NULL || w->received == NULL) {
        worker_fail(w, LOAD_IO, "out of memory", "");
        return false;
    }
    if (w->epoll < 0 || w->timer < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->timer, &e) < 0) {
        worker_fail(w, LOAD_IO, "cannot set up the event loop", strerror(errno));
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
    w->batcher.pace.speed = o->speed;
    w->batcher.pace.start_ns = start;
    return true;
}

static void tear_down(struct worker *w) {
    for (unsigned i = 0; w->conns != NULL && i < w->conn_count; i++) {
        if (w->conns[i].state != CONN_CLOSED) {
            conn_close(w, &w->conns[i]);
        }
        tls_forget(&w->conns[i].resume);
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
