#include "net/worker.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "net/net_config.h"
#include "net/transport_tls.h"
#include "net/udp/udp.h"
#include "watch/event.h"

enum {
    FINISH_TICK_US = 20 * 1000,
    SLICE_US = 300, /* time slice of the scheduler; the mover copies some hundred items in it */
};

/* Closes a connection between two turns. Closing may release the memory of a half-read value. */
static void worker_close_conn(struct conn *c) {
    struct worker *w = c->worker;
    if (c->ready) { /* the connection is in a queue: its next turn closes it */
        c->gone = true;
        return;
    }
    cache_turn_begin(w->cache_thread);
    conn_close(c);
    cache_turn_end(w->cache_thread);
}

/* --- events --- */

static void worker_own_conn(struct worker *w, struct conn *c) {
    c->next = w->conns;
    c->link = &w->conns;
    if (w->conns != NULL) {
        w->conns->link = &c->next;
    }
    w->conns = c;
    if (event_watched(EVENT_CONNEVENTS)) {
        event_conn_new(c->record.addr, c->record.fd);
    }
    if (!conn_open(c, w) || (c->tls_mode != LISTEN_TLS_NONE && !tls_conn_open(c))) {
        log_warn("out of memory for a connection");
        worker_close_conn(c);
    }
}

static void worker_take_inbox(struct worker *w) {
    lock_take(&w->inbox_lock);
    struct conn *c = w->inbox;
    w->inbox = NULL;
    lock_release(&w->inbox_lock);
    while (c != NULL) {
        struct conn *next = c->ready_next;
        worker_own_conn(w, c);
        c = next;
    }
}

static void worker_on_wake(evutil_socket_t fd, short what, void *arg) {
    struct worker *w = arg;
    uint64_t count;
    (void)what;
    if (read(fd, &count, sizeof count) < 0 && errno != EAGAIN) {
        log_warn("worker: cannot read a wake-up: %s", strerror(errno));
    }
    worker_take_inbox(w);
    udp_wake(w);
    /* Perhaps one of these connections has its reply. The others wait again after their turn. */
    while (w->waiting_for_reply.first != NULL) {
        struct conn *c = conn_queue_take(&w->waiting_for_reply);
        conn_wait_for(c, EV_READ);
        conn_queue_put(&w->ready, c);
    }
}

/* True: the client has sent no request for more than most_s. */
static bool worker_conn_is_silent(const struct conn *c, uint32_t now_s, uint32_t most_s) {
    uint32_t last_s = atomic_load_explicit(&c->record.last_cmd_s, memory_order_relaxed);
    return now_s > last_s && now_s - last_s > most_s;
}

/* Closes connections that are idle for too long, and closing ones whose time is over. A client that
 * never reads its replies counts as idle; a client that watches does not. */
static void worker_on_idle_timer(evutil_socket_t fd, short what, void *arg) {
    struct worker *w = arg;
    uint32_t now_s = clock_now_s();
    uint32_t timeout_s =
        atomic_load_explicit(&w->server->conns.idle_timeout_s, memory_order_relaxed);
    bool any = timeout_s > 0 || w->closing_count > 0;
    (void)fd;
    (void)what;
    for (struct conn *c = any ? w->conns : NULL, *next; c != NULL; c = next) {
        next = c->next;
        if (c->closing && worker_conn_is_silent(c, now_s, LINGER_S)) {
            worker_close_conn(c);
        } else if (timeout_s > 0 && !c->ready && !c->discard_input &&
                   worker_conn_is_silent(c, now_s, timeout_s)) {
            counter_add(&w->counters->idle_kicks, 1);
            c->reason = EVENT_IDLE_TIMEOUT;
            worker_close_conn(c);
        }
    }
}

/* --- the loop --- */

/* While the worker stops gracefully, a connection is done when nothing of it is unfinished and its
 * socket is empty, or when its client is gone. A client that is gone may have left requests in the
 * socket. */
static void worker_finish_conn(struct worker *w, struct conn *c) {
    if (c->gone) {
        return;
    }
    if (c->transport->unread(c) == 0) {
        if (conn_idle(c)) {
            c->gone = true;
            c->reason = EVENT_SHUTDOWN;
        }
    } else if (c->pending == NULL && c->upload != UPLOAD_WAITS) {
        c->readable = true;
        conn_queue_put(&w->ready, c);
    }
}

static void worker_count_turn(struct worker *w) {
    if (w->received_bytes != 0) {
        counter_add(&w->counters->bytes_read, w->received_bytes);
        w->received_bytes = 0;
    }
    if (w->sent_bytes != 0) {
        counter_add(&w->counters->bytes_written, w->sent_bytes);
        w->sent_bytes = 0;
    }
}

/* --- commands, and long answers --- */

/* True: long answers pause. Once the pause has ended, turns do not read the clock for it. */
static bool worker_answers_paused(struct worker *w) {
    if (w->answers_due_us > 0 && clock_mono_us() >= w->answers_due_us) {
        w->answers_due_us = 0;
    }
    return w->answers_due_us > 0;
}

/* Takes the next connection of `commands` or of `answers`, in alternation. */
static struct conn *worker_take_command(struct worker *w, bool paused, unsigned n) {
    bool answer = w->answers.first != NULL && !paused, command = w->commands.first != NULL;
    if (!answer && !command) {
        return NULL;
    }
    return conn_queue_take(answer && (n % 2 == 0 || !command) ? &w->answers : &w->commands);
}

/* Gathers commands while the turn has time for them. Commands leave half of the turn's room to
 * other requests. */
static unsigned worker_gather_commands(struct worker *w, struct conn **conns) {
    unsigned n = 0;
    bool paused = worker_answers_paused(w);
    while (n < WORKER_TURN_CONNS / 2 && buffers_half_free(&w->buffers) &&
           batch_has_time(w->batch) && (conns[n] = worker_take_command(w, paused, n)) != NULL) {
        conn_gather(conns[n++]);
    }
    if (w->commands.first != NULL) {
        batch_defer_commands(w->batch);
    }
    if (w->answers.first != NULL || paused) {
        batch_defer_answers(w->batch);
    }
    return n;
}

/* Makes long answers pause after a piece while other clients send requests: otherwise a client that
 * gets items would wait for each piece. */
static void worker_note_answers(struct worker *w) {
    uint32_t took_us = batch_answers_us(w->batch);
    if (took_us == 0 && w->answers.first == NULL) {
        return;
    }
    uint64_t now_us = clock_mono_us();
    worker_note_interactive(w, now_us);
    if (took_us > 0) {
        bool interactive = now_us < w->interactive_until_us;
        w->answers_due_us = interactive ? now_us + worker_answers_pause_us(took_us) : 0;
    }
}

static void worker_on_answers_due(evutil_socket_t fd, short what, void *arg) {
    uint64_t times;
    (void)what, (void)arg;
    if (read(fd, &times, sizeof times) < 0 && errno != EAGAIN) {
        log_warn("worker: cannot read its timer: %s", strerror(errno));
    }
}

/* True: long answers may continue now. False: a timer ends the worker's wait in time. */
static bool worker_answers_are_due(struct worker *w) {
    if (!worker_answers_paused(w)) {
        return true;
    }
    uint64_t now_us = clock_mono_us();
    uint64_t pause_us = w->answers_due_us > now_us ? w->answers_due_us - now_us : 1;
    struct itimerspec in = {.it_value.tv_nsec = (long)pause_us * 1000};
    return timerfd_settime(w->answers_fd, 0, &in, NULL) != 0;
}

/* --- turns --- */

static void worker_turn(struct worker *w) {
    struct conn *conns[WORKER_TURN_CONNS];
    cache_turn_begin(w->cache_thread);
    batch_begin(w->batch);
    unsigned n = worker_gather_commands(w, conns);
    while (w->ready.first != NULL && n < WORKER_TURN_CONNS && buffers_have_slice(&w->buffers) &&
           !batch_full(w->batch)) {
        conns[n] = conn_queue_take(&w->ready);
        conn_gather(conns[n++]);
    }
    batch_run(w->batch);
    for (unsigned i = 0; i < n; i++) {
        conn_answer(conns[i]);
        if (w->finishing) {
            worker_finish_conn(w, conns[i]);
        }
        if (conns[i]->gone && !conns[i]->ready) {
            conn_close(conns[i]);
        }
    }
    worker_note_answers(w);
    batch_end(w->batch);
    buffers_turn_end(&w->buffers);
    cache_turn_end(w->cache_thread);
    worker_count_turn(w);
}

static void worker_finish_begin(struct worker *w) {
    static const struct timeval tick = {.tv_usec = FINISH_TICK_US};
    w->finishing = true;
    w->finish_by_us = clock_mono_us() + w->grace_us;
    worker_take_inbox(w); /* no connection comes after these */
    event_add(&w->idle_timer, &tick);
    for (struct conn *c = w->conns; c != NULL; c = c->next) {
        c->readable = c->pending == NULL && c->upload != UPLOAD_WAITS;
        conn_queue_put(&w->ready, c);
    }
}

/* False: the worker is to end now. */
static bool worker_is_to_run(struct worker *w) {
    if (!atomic_load_explicit(&w->stops, memory_order_acquire)) {
        return true;
    }
    if (w->grace_us == 0) {
        return false;
    }
    if (!w->finishing) {
        worker_finish_begin(w);
    }
    return w->conns != NULL && clock_mono_us() < w->finish_by_us;
}

static bool worker_has_work(struct worker *w) {
    return w->ready.first != NULL || w->commands.first != NULL || w->handshakes.first != NULL ||
           udp_wants_turn(w) || (w->answers.first != NULL && worker_answers_are_due(w));
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    thread_name("slated-worker");
    thread_request_slice(SLICE_US);
    if (!event_thread_begin()) {
        log_warn("worker: no memory to send its events to clients that watch");
    }
    while (worker_is_to_run(w)) {
        /* Without EVLOOP_ONCE a poll would not end while a socket that nobody reads is readable. */
        event_base_loop(w->base, EVLOOP_ONCE | (worker_has_work(w) ? EVLOOP_NONBLOCK : 0));
        if (w->handshakes.first != NULL) {
            tls_handshakes(w);
        }
        if (udp_wants_turn(w)) {
            udp_turn(w);
        }
        if (worker_has_work(w)) {
            worker_turn(w);
        }
    }
    event_thread_end();
    return NULL;
}

/* --- life --- */

/* The worker's share of the bytes that connections may hold: at least one receive. */
static size_t worker_held_bytes_most(const struct net_config *config) {
    size_t share = config->held_bytes_most / config->worker_count;
    bool   little = config->held_bytes_most > 0 && share < BUFFER_RECEIVE_BYTES;
    return little ? BUFFER_RECEIVE_BYTES : share;
}

bool worker_init(struct worker *w, struct server *server, const struct net_config *config,
                 struct tls *tls) {
    *w = (struct worker){
        .server = server, .wake_fd = -1, .answers_fd = -1, .tls = tls};
    conn_queue_init(&w->ready);
    conn_queue_init(&w->commands);
    conn_queue_init(&w->answers);
    conn_queue_init(&w->waiting_for_reply);
    conn_queue_init(&w->handshakes);
    lock_init(&w->inbox_lock);
    struct event_config *ec = event_config_new();
    if (ec != NULL) {
        /* only the worker's thread uses the base */
        event_config_set_flag(ec, EVENT_BASE_FLAG_NOLOCK);
        w->base = event_base_new_with_config(ec);
        event_config_free(ec);
    }
    w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    w->answers_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    w->counters = aligned_alloc(64, (sizeof *w->counters + 63) / 64 * 64);
    w->cache_thread = cache_thread_create(server->cache);
    if (w->base == NULL || w->wake_fd < 0 || w->answers_fd < 0 || w->counters == NULL ||
        w->cache_thread == NULL ||
        !buffers_init(&w->buffers, &server->conns, worker_held_bytes_most(config))) {
        return false;
    }
    memset(w->counters, 0, sizeof *w->counters);
    if (tls != NULL && (w->tls_buffer = malloc(tls_settings(tls)->write_bytes)) == NULL) {
        return false;
    }
    upload_wait_init(&w->uploads, w, config->value_timeout_s);
    w->batch = batch_create(server, w->cache_thread, w->counters);
    event_assign(&w->wake_event, w->base, w->wake_fd, EV_READ | EV_PERSIST, worker_on_wake, w);
    event_assign(&w->answers_event, w->base, w->answers_fd, EV_READ | EV_PERSIST,
                 worker_on_answers_due, w);
    event_assign(&w->idle_timer, w->base, -1, EV_PERSIST, worker_on_idle_timer, w);
    if (w->batch != NULL) {
        batch_on_event(w->batch, worker_wake, w);
    }
    if (w->batch == NULL || event_add(&w->wake_event, NULL) != 0 ||
        event_add(&w->answers_event, NULL) != 0) {
        return false;
    }
    static const struct timeval every_second = {.tv_sec = 1};
    return event_add(&w->idle_timer, &every_second) == 0;
}

bool worker_start(struct worker *w) {
    int error = thread_start(&w->thread, worker_main, w);
    w->started = error == 0;
    errno = error;
    return w->started;
}

void worker_adopt(struct worker *w, struct conn *c) {
    lock_take(&w->inbox_lock);
    bool first = w->inbox == NULL;
    c->ready_next = w->inbox;
    w->inbox = c;
    lock_release(&w->inbox_lock);
    if (first) {
        worker_wake(w);
    }
}

void worker_stop(struct worker *w, uint32_t grace_us) {
    w->grace_us = grace_us;
    atomic_store_explicit(&w->stops, true, memory_order_release);
    worker_wake(w);
}

void worker_join(struct worker *w) {
    if (w->started) {
        pthread_join(w->thread, NULL);
        w->started = false;
    }
}

void worker_fini(struct worker *w) {
    if (w->batch != NULL) {
        udp_drop(w);
        worker_take_inbox(w);
        cache_turn_begin(w->cache_thread);
        while (w->conns != NULL) {
            conn_close(w->conns);
        }
        cache_turn_end(w->cache_thread);
        batch_destroy(&w->batch);
    }
    buffers_fini(&w->buffers);
    cache_thread_destroy(&w->cache_thread);
    free(w->counters);
    free(w->tls_buffer);
    free(w->udp);
    if (w->answers_fd >= 0) {
        close(w->answers_fd);
    }
    if (w->wake_fd >= 0) {
        close(w->wake_fd);
    }
    if (w->base != NULL) {
        event_base_free(w->base);
    }
    lock_fini(&w->inbox_lock);
}
