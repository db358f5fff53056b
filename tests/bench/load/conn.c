#include "conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tls.h"

#define CARRY_KEEP_BYTES 65536 /* a larger buffer is freed once empty */

void worker_fail(struct worker *w, int exit_code, const char *what, const char *why) {
    if (w->failure->exit_code == 0) {
        w->failure->exit_code = exit_code;
        snprintf(w->failure->text, sizeof(w->failure->text), "%.384s%s%.100s", what,
                 *why ? ": " : "", why);
    }
    w->stopping = true;
}

/* ---------------------------------------------------------------- connections */

/* The server's silence counts from the first request without a reply. */
static void expect_answer(struct worker *w) {
    if (w->busy + w->connecting == 0) {
        w->last_heard_ns = clock_ns();
    }
}

void conn_close(struct worker *w, struct conn *c) {
    w->busy -= c->state == CONN_BUSY;
    w->connecting -= c->state == CONN_CONNECTING || c->state == CONN_SHAKING;
    tls_close(&c->tls, &c->resume);
    close(c->fd); /* this also removes the fd from the epoll set */
    c->state = CONN_CLOSED;
    w->live--;
    buffer_fini(&c->carry);
    c->carry_needed = 0;
}

static bool watch(struct worker *w, struct conn *c, int operation, bool writing) {
    struct epoll_event e = {.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
    c->waits_to_write = writing;
    if (epoll_ctl(w->epoll, operation, c->fd, &e) < 0) {
        worker_fail(w, LOAD_IO, "cannot watch a connection", strerror(errno));
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

/* Ready for the first batch. */
static void established(struct worker *w, struct conn *c) {
    w->connecting--;
    w->last_heard_ns = clock_ns();
    make_idle(w, c);
    if (c->waits_to_write) {
        watch(w, c, EPOLL_CTL_MOD, false);
    }
}

static void shake_hands(struct worker *w, struct conn *c) {
    enum tls_shaken how = tls_shake(c->tls);
    if (how == TLS_FAILED) {
        char what[320];
        const char *why = tls_why(errno);
        snprintf(what, sizeof(what), "cannot agree on TLS with %s", w->config->address->text);
        worker_fail(w, LOAD_NO_CONNECTION, what, why);
    } else if (how == TLS_DONE) {
        w->tally->handshakes++;
        w->tally->resumed += tls_is_resumed(c->tls);
        histogram_record(&w->tally->handshake_latency, clock_ns() - c->shaking_ns, 1);
        established(w, c);
    } else if ((how == TLS_WANTS_WRITE) != c->waits_to_write) {
        watch(w, c, EPOLL_CTL_MOD, how == TLS_WANTS_WRITE);
    }
}

static void connected(struct worker *w, struct conn *c) {
    if (w->config->address->tls == NULL) {
        established(w, c);
        return;
    }
    c->state = CONN_SHAKING;
    c->shaking_ns = clock_ns();
    c->tls = tls_open(w->config->address->tls, c->fd, w->config->address->host, &c->resume);
    if (c->tls == NULL) {
        worker_fail(w, LOAD_IO, "out of memory", "");
        return;
    }
    shake_hands(w, c);
}

bool conn_open(struct worker *w, struct conn *c) {
    const struct options *o = w->options;
    int linger_s = o->linger_s == OPTION_AUTO ? -1 : (int)o->linger_s;
    bool tcp = w->config->address->socket.ss_family != AF_UNIX;
    c->fd = address_connect(w->config->address, false, linger_s);
    if (c->fd < 0) {
        char what[320];
        snprintf(what, sizeof(what), "cannot connect to %s", w->config->address->text);
        worker_fail(w, LOAD_NO_CONNECTION, what, strerror(errno));
        return false;
    }
    c->calls_left = o->calls > 0 ? o->calls : UINT64_MAX;
    c->batch.last_error[0] = '\0';
    c->state = CONN_CONNECTING;
    expect_answer(w);
    w->connecting++;
    w->live++;
    w->tally->connections++;
    if (!watch(w, c, EPOLL_CTL_ADD, tcp)) {
        return false;
    }
    if (!tcp) {
        connected(w, c);
    }
    return w->failure->exit_code == 0;
}

static void finish_connecting(struct worker *w, struct conn *c) {
    int error = 0;
    socklen_t n = sizeof(error);
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n);
    if (error != 0) {
        char what[320];
        snprintf(what, sizeof(what), "cannot connect to %s", w->config->address->text);
        worker_fail(w, LOAD_NO_CONNECTION, what, strerror(error));
        return;
    }
    connected(w, c);
}

/* The reason of the last failed call, in words. */
static const char *why_failed(const struct conn *c) {
    return c->tls != NULL ? tls_why(errno) : strerror(errno);
}

/* The server hung up. An error reply explains that when it was the last reply; one followed by other replies does not. */
static void hung_up(struct worker *w, const struct conn *c, const char *why) {
    const char *said = c->batch.last_error;
    char what[sizeof(w->config->address->text) + SAMPLE_BYTES + 64];
    snprintf(what, sizeof(what), "the server at %s closed a connection%s%s%s",
             w->config->address->text, said[0] != '\0' ? " (its last reply there: " : "", said,
             said[0] != '\0' ? ")" : "");
    worker_fail(w, LOAD_IO, what, why);
}

/* ---------------------------------------------------------------- sending */

static void send_batch(struct worker *w, struct conn *c) {
    struct buffer *out = &c->batch.out;
    size_t turn_bytes = w->options->send_bytes > 0 ? w->options->send_bytes : SIZE_MAX;
    while (c->sent < out->n && turn_bytes > 0) {
        const char *bytes = out->bytes + c->sent;
        size_t rest = out->n - c->sent, most = rest < turn_bytes ? rest : turn_bytes;
        ssize_t n = c->tls != NULL ? tls_send(c->tls, bytes, most)
                                   : send(c->fd, bytes, most, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno != EAGAIN) {
            hung_up(w, c, why_failed(c));
            return;
        }
        if (n < 0) {
            break;
        }
        c->sent += (size_t)n;
        turn_bytes -= (size_t)n;
        w->tally->sent_bytes += (uint64_t)n;
    }
    if (c->sent < out->n) {
        if (!c->waits_to_write) {
            watch(w, c, EPOLL_CTL_MOD, true);
        }
        return;
    }
    if (c->waits_to_write) {
        watch(w, c, EPOLL_CTL_MOD, false);
    }
}

bool worker_may_build(const struct worker *w) {
    return !w->stopping && w->budget > 0 && !(w->batcher.ended && !w->batcher.has_held);
}

/* Gives an unoccupied connection its next batch. False when none is due now. */
static bool start_batch(struct worker *w, struct conn *c, uint64_t now_ns) {
    uint64_t budget = w->budget < c->calls_left ? w->budget : c->calls_left;
    if (!worker_may_build(w)) {
        return false;
    }
    if (w->options->shift.count > 0) {
        source_set_time(w->batcher.source, (double)(now_ns - w->config->start_ns) / 1e9);
    }
    uint64_t built = batch_build(&c->batch, &w->batcher, budget, now_ns);
    if (w->batcher.failure[0] != '\0') {
        worker_fail(w, LOAD_IO, w->batcher.failure, "");
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

void conn_start_idle(struct worker *w, uint64_t now_ns) {
    while (w->idle_first != NULL && start_batch(w, w->idle_first, now_ns)) {
        w->idle_first = w->idle_first->next_idle;
    }
}

/* Goes on after the last reply of the batch. A server may refuse a value before it has all bytes; these must still be sent. */
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
        worker_fail(w, LOAD_IO, w->batcher.failure, "");
        return;
    }
    w->busy--;
    c->state = CONN_IDLE;
    if (c->calls_left == 0) {
        conn_close(w, c);
        if (w->options->reconnect && worker_may_build(w)) {
            conn_open(w, c);
        }
        return;
    }
    /* Under a rate the connection that has been idle longest is served first. */
    if (w->idle_first != NULL || !start_batch(w, c, now_ns)) {
        make_idle(w, c);
    }
}

/* ---------------------------------------------------------------- receiving */

/* Saves the bytes of an incomplete element. They may lie in the carry already. */
static bool keep_rest(struct worker *w, struct conn *c, const char *rest, size_t n, size_t needed) {
    if (c->carry.n > 0) {
        memmove(c->carry.bytes, rest, n);
        c->carry.n = n;
    } else {
        if (!buffer_reserve(&c->carry, n)) {
            worker_fail(w, LOAD_IO, "out of memory", "");
            return false;
        }
        buffer_put(&c->carry, rest, n);
    }
    c->carry_needed = needed;
    return true;
}

/* Returns whether bytes came. */
static bool receive(struct worker *w, struct conn *c) {
    char *into = w->received;
    size_t room = RECEIVE_BYTES;
    if (c->carry.n > 0) {
        size_t missing = c->carry_needed > c->carry.n ? c->carry_needed - c->carry.n : 1;
        if (!buffer_reserve(&c->carry, missing > 16384 ? missing : 16384)) {
            worker_fail(w, LOAD_IO, "out of memory", "");
            return false;
        }
        into = c->carry.bytes + c->carry.n;
        room = c->carry.room - c->carry.n;
    }
    ssize_t got = c->tls != NULL ? tls_recv(c->tls, into, room)
                                 : recv(c->fd, into, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (got <= 0) {
        hung_up(w, c, got < 0 ? why_failed(c) : "");
        return false;
    }
    uint64_t now_ns = clock_ns();
    w->last_heard_ns = now_ns;
    w->tally->received_bytes += (uint64_t)got;

    const char *bytes = c->carry.n > 0 ? c->carry.bytes : w->received;
    size_t n = c->carry.n + (size_t)got, needed;
    if (c->carry.n > 0 && n < c->carry_needed) {
        c->carry.n = n;
        return true;
    }
    size_t used = batch_feed(&c->batch, &w->batcher, bytes, n, now_ns, &needed);
    if (w->batcher.failure[0] != '\0') {
        worker_fail(w, LOAD_IO, w->batcher.failure, "");
        return false;
    }
    if (used < n) {
        return keep_rest(w, c, bytes + used, n - used, needed);
    }
    c->carry.n = 0;
    if (c->carry.room > CARRY_KEEP_BYTES) {
        buffer_fini(&c->carry);
    }
    end_batch_if_done(w, c, now_ns);
    return true;
}

/* Bytes in the TLS buffer cause no epoll event. */
static bool has_more(const struct worker *w, const struct conn *c) {
    bool open = c->state == CONN_IDLE || c->state == CONN_BUSY;
    return open && w->failure->exit_code == 0 && c->tls != NULL && tls_has_more(c->tls);
}

void conn_handle_event(struct worker *w, struct conn *c, uint32_t events) {
    switch (c->state) {
    case CONN_CLOSED:
        return;
    case CONN_CONNECTING:
        finish_connecting(w, c);
        return;
    case CONN_SHAKING:
        shake_hands(w, c);
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
        while (receive(w, c) && has_more(w, c)) {
        }
    }
}
