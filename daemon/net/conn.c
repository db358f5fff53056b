#include "net/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sanitize.h"
#include "net/buffer.h"
#include "net/upload_wait.h"
#include "net/worker.h"
#include "watch/event.h"

enum {
    SEND_PIECES = 256, /* pieces that one call sends */
    VALUE_PIECES = 256,
    /* after so much was sent in a turn, the next turn asks what the socket still holds … */
    SENT_MUCH_BYTES = 16 * 1024,
    LAG_BYTES = 64 * 1024,       /* … and if that is more than this, the client lags */
    LITTLE_RECEIVE_BYTES = 4 * 1024,
};

static const char no_memory_text[] = "SERVER_ERROR out of memory writing get response\r\n";

static void set_state(struct conn *c, const char *state) {
    atomic_store_explicit(&c->record.state, state, memory_order_relaxed);
}

/* Drops replies that the client took, or never will take. */
static void drop_pending(struct conn *c) {
    if (c->pending != NULL) {
        buffers_lose_replies(&c->worker->buffers, output_keep_bytes(c->pending));
        output_destroy(&c->pending);
    }
}

bool conn_open(struct conn *c, struct worker *w) {
    c->worker = w;
    c->transport = &transport_plain;
    c->session = session_create();
    if (c->session == NULL ||
        event_assign(&c->event, w->base, c->record.fd, EV_READ | EV_PERSIST, conn_on_event, c) !=
            0 ||
        event_add(&c->event, NULL) != 0) {
        return false;
    }
    session_set_client(c->session, c->record.fd, c->record.addr);
    session_set_access(c->session, &c->access);
    set_state(c, "conn_read");
    return true;
}

void conn_close(struct conn *c) {
    struct worker *w = c->worker;
    if (event_initialized(&c->event)) {
        event_del(&c->event);
    }
    values_forget(&w->values, c);
    drop_pending(c);
    session_destroy(&c->session, w->batch);
    if (c->kept != NULL) {
        buffers_give(&w->buffers, c->kept);
    }
    if (c->link != NULL) {
        *c->link = c->next;
        if (c->next != NULL) {
            c->next->link = c->link;
        }
    }
    c->transport->close(c);
    w->lingering -= c->lingers;
    conn_registry_remove(&w->server->registry, &c->record);
    if (event_watched(EVENT_CONNEVENTS)) {
        event_conn_close(c->record.addr, (enum event_reason)c->reason, c->record.fd);
    }
    close(c->record.fd);
    atomic_fetch_sub_explicit(&w->server->conns.current, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&w->server->conns.structures, 1, memory_order_relaxed);
    free(c);
}

bool conn_idle(const struct conn *c) {
    return c->ignored ||
           (c->kept == NULL && c->pending == NULL &&
            session_need(c->session) == SESSION_NEED_BYTES);
}

/* --- receiving --- */

/* Whether the client lags: replies that the socket still holds are a sign that the client will take
 * none soon. Small turns then leave little to be kept for it. Asked only after much was sent. */
static void look_for_lag(struct conn *c) {
    int held = 0;
    if (c->sent_much) {
        session_set_lags(c->session, ioctl(c->record.fd, SIOCOUTQ, &held) == 0 && held > LAG_BYTES);
        c->sent_much = session_lags(c->session);
    }
}

/* How many bytes to receive at once. What is received behind the head of a value that waits is kept
 * as long as the value waits, so beside many such values less is received at once. */
static size_t receive_bytes(const struct conn *c) {
    bool little = session_lags(c->session) || values_crowd(&c->worker->values);
    return little ? LITTLE_RECEIVE_BYTES : BUFFER_RECEIVE_BYTES;
}

/* Counts what a receive returned. False: nothing came, and the connection may be gone. */
static bool received(struct conn *c, ssize_t got) {
    if (got > 0) {
        c->worker->received_bytes += (size_t)got;
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        c->gone = true;
        /* to memcached the end of a watcher is an error; a client that lingers was hung up on */
        c->reason = got == 0 && !c->ignored ? EVENT_NORMAL : EVENT_ERROR;
    }
    return false;
}

/* Hangs up: there is no memory for what the client has sent, or connections hold what they may. */
static void refuse_bytes(struct conn *c) {
    counter_add(&c->worker->counters->read_buf_oom, 1);
    c->gone = true;
}

/* Receives more of a line that is longer than a slice, behind the part that is here. The buffer
 * doubles, so that copies of a line cost its length; it grows up to what a session waits for and
 * one receive more. */
static void receive_long(struct conn *c) {
    struct buffers *b = &c->worker->buffers;
    struct kept *k = c->kept;
    bool more = c->readable && !c->resume;
    if (more && k->bytes_max - k->n < BUFFER_RECEIVE_BYTES / 2) {
        size_t most = SESSION_LINE_BYTES + BUFFER_RECEIVE_BYTES,
               twice = k->bytes_max * 2 + BUFFER_RECEIVE_BYTES;
        struct kept *larger = buffers_take(b, twice < most ? twice : most);
        if (larger == NULL) {
            refuse_bytes(c);
            return;
        }
        memcpy(larger->bytes, k->bytes, k->n);
        larger->n = k->n;
        buffers_give(b, k);
        c->kept = k = larger;
    }
    if (more) {
        ssize_t got = c->transport->recv(c, k->bytes + k->n, k->bytes_max - k->n);
        if (received(c, got)) {
            k->n += (size_t)got;
        }
    }
    c->bytes = k->bytes;
    c->n = k->n;
}

/* Puts the bytes that were kept, and behind them what a receive brings, into a slice of the region.
 * While there is work left from before it receives nothing, so that what a connection has waiting
 * stays bounded. */
static void receive_slice(struct conn *c) {
    struct buffers *b = &c->worker->buffers;
    char *slice = buffers_slice(b);
    c->bytes = slice;
    c->n = 0;
    if (c->kept != NULL) {
        memcpy(slice, c->kept->bytes, c->kept->n);
        c->n = c->kept->n;
        buffers_give(b, c->kept);
        c->kept = NULL;
    }
    if (c->readable && !c->resume) {
        ssize_t got = c->transport->recv(c, slice + c->n, receive_bytes(c));
        if (received(c, got)) {
            c->n += (size_t)got;
        }
    }
    buffers_trim(b, c->n);
}

/* Receives a value into its chunks, and what the client sent behind the value into a slice, by one
 * call. */
static void receive_value(struct conn *c) {
    struct worker *w = c->worker;
    char *slice = buffers_slice(&w->buffers);
    struct iovec iov[VALUE_PIECES + 1];
    int pieces = session_value_iov(c->session, w->batch, iov, VALUE_PIECES);
    size_t wanted = 0;
    for (int i = 0; i < pieces; i++) {
        wanted += iov[i].iov_len;
    }
    if (pieces < VALUE_PIECES) { /* these are all pieces: the slice comes right behind the value */
        iov[pieces++] = (struct iovec){.iov_base = slice, .iov_len = BUFFER_RECEIVE_BYTES};
    }
    sanitize_ignore_writes_begin();
    ssize_t got = c->transport->readv(c, iov, pieces);
    sanitize_ignore_writes_end();
    c->bytes = slice;
    c->n = 0;
    if (received(c, got)) {
        size_t of_value = (size_t)got < wanted ? (size_t)got : wanted;
        session_value_got(c->session, of_value);
        c->n = (size_t)got - of_value;
    }
    buffers_trim(&w->buffers, c->n);
}

/* Receives and throws away what a watcher sends, and what a client sends after its last words. Only
 * the end of the connection counts. */
static void receive_nothing(struct conn *c) {
    struct buffers *b = &c->worker->buffers;
    char *slice = buffers_slice(b);
    ssize_t got = c->transport->recv(c, slice, BUFFER_RECEIVE_BYTES);
    if (received(c, got) && c->lingers) {
        c->gone = (size_t)got >= c->linger_left;
        c->linger_left -= c->gone ? 0 : (uint32_t)got;
    }
    buffers_trim(b, 0);
    c->readable = c->at_hand;
}

/* --- sending --- */

/* From now on the logger writes to the socket. */
static void start_watching(struct conn *c) {
    int fd = c->transport->watch_fd(c);
    if (fd < 0 || !session_watch(c->session, fd)) {
        log_warn("cannot let a client watch: %s", strerror(errno));
        c->gone = true;
        return;
    }
    c->ignored = true;
    set_state(c, "conn_watch");
}

/* Sends as much as the socket takes. True: all of it. Sets `gone` if the client is gone. */
static bool send_output(struct conn *c, struct output *out) {
    struct iovec iov[SEND_PIECES];
    for (size_t left = output_bytes(out); left > 0; left = output_bytes(out)) {
        int pieces = output_iov(out, iov, SEND_PIECES);
        size_t offered = 0;
        for (int i = 0; i < pieces; i++) {
            offered += iov[i].iov_len;
        }
        ssize_t sent = c->transport->sendv(c, iov, pieces, offered < left);
        if (sent < 0) {
            if (errno == EINTR) {
                continue;
            }
            c->gone = errno != EAGAIN && errno != EWOULDBLOCK;
            return false;
        }
        c->worker->sent_bytes += (size_t)sent;
        output_sent(out, (size_t)sent);
        if ((size_t)sent < offered) {
            return false;
        }
    }
    return true;
}

/* Ends a connection whose replies are all sent. A client that asked to end is hung up on. Another
 * client may still be sending, and the kernel forgets unsent replies when bytes arrive at a closed
 * socket, or lie in it unread. So the socket is closed once the client has closed its end, or has
 * had its time for that. */
static void hang_up(struct conn *c) {
    if (session_quit(c->session)) {
        c->gone = true;
        return;
    }
    c->transport->finish(c);
    values_forget(&c->worker->values, c);
    if (c->kept != NULL) {
        buffers_give(&c->worker->buffers, c->kept);
        c->kept = NULL;
    }
    c->lingers = c->ignored = true;
    c->linger_left = LINGER_BYTES;
    c->worker->lingering++;
    set_state(c, "conn_closing");
    conn_wait_for(c, EV_READ);
}

/* The socket takes bytes again. */
static void send_pending(struct conn *c) {
    if (send_output(c, c->pending)) {
        drop_pending(c);
        if (c->close_after) {
            hang_up(c);
            return;
        }
        c->resume = true;
        set_state(c, "conn_read");
        conn_wait_for(c, EV_READ);
        if (session_need(c->session) == SESSION_WATCHES) {
            start_watching(c);
        }
    }
}

/* --- a turn --- */

void conn_gather(struct conn *c) {
    struct worker *w = c->worker;
    c->bytes = NULL;
    c->n = 0;
    if (c->deaf) {
        c->deaf = false;
        conn_wait_for(c, EV_READ);
    }
    if (c->ignored) {
        receive_nothing(c);
        return;
    }
    atomic_store_explicit(&c->record.last_cmd_s, cache_now_s(w->cache_thread),
                          memory_order_relaxed);
    if (c->pending != NULL) {
        if (c->writable) {
            send_pending(c);
        }
        c->writable = false;
        if (c->pending != NULL || c->gone || c->ignored) {
            return;
        }
    }
    look_for_lag(c);
    if (c->kept != NULL && c->kept->n > BUFFER_KEPT_BYTES) {
        receive_long(c);
    } else if (c->readable && session_need(c->session) == SESSION_NEED_VALUE) {
        receive_value(c);
    } else {
        receive_slice(c);
    }
    c->readable = c->at_hand;
    c->resume = false;
    if (!c->gone) {
        set_state(c, "conn_parse_cmd");
        size_t used = batch_add(w->batch, c->session, c->bytes, c->n);
        c->bytes += used;
        c->n -= used;
    }
}

/* Keeps the bytes that the turn has not used, until the next turn. */
static void keep_rest(struct conn *c) {
    struct kept *k = c->kept; /* a long line's buffer, which holds the rest already */
    if (c->n == 0) {
        if (k != NULL) {
            buffers_give(&c->worker->buffers, k);
            c->kept = NULL;
        }
        return;
    }
    if (k == NULL) {
        c->kept = k = buffers_take(&c->worker->buffers, c->n);
        if (k == NULL) {
            refuse_bytes(c);
            return;
        }
    }
    memmove(k->bytes, c->bytes, c->n);
    k->n = c->n;
}

/* There is no memory for replies that the client does not take, or connections hold what they may.
 * The client is told so, behind what has begun to be sent, if at least the end of that may be held;
 * then it is hung up on. */
static void refuse_replies(struct conn *c, struct output *out) {
    counter_add(&c->worker->counters->response_obj_oom, 1);
    if (output_cut(out, c->transport->begun(c)) &&
        buffers_may_hold_last(&c->worker->buffers,
                              output_keep_bytes(out) + sizeof no_memory_text)) {
        c->pending = output_keep(out, no_memory_text);
    }
    c->no_memory = true;
    c->gone = c->pending == NULL;
    c->n = 0; /* what the client asks beyond that does not run */
}

/* The memory that keep_rest will take. */
static size_t rest_takes(const struct conn *c) {
    if (c->n == 0 || c->kept != NULL) {
        return 0;
    }
    return c->n > BUFFER_KEPT_BYTES ? c->n : BUFFER_KEPT_BYTES;
}

/* Keeps replies that the socket did not take. They are kept only if the requests behind them can be
 * kept, too: a client must not lose its replies without a word because there is no room for its
 * other requests. */
static void keep_replies(struct conn *c, struct output *out) {
    struct buffers *b = &c->worker->buffers;
    if (buffers_may_hold(b, output_keep_bytes(out) + rest_takes(c))) {
        c->pending = output_keep(out, "");
    }
    if (c->pending == NULL) {
        refuse_replies(c, out);
    }
    if (c->pending != NULL) {
        buffers_hold_replies(b, output_keep_bytes(c->pending));
    }
}

static void send_replies(struct conn *c) {
    struct output *out = batch_output(c->worker->batch, c->session);
    size_t before = c->worker->sent_bytes;
    if (out != NULL && !send_output(c, out) && !c->gone) {
        keep_replies(c, out);
    }
    c->sent_much |= c->worker->sent_bytes - before >= SENT_MUCH_BYTES;
}

/* Lists the connection for what its session waits for: its turn, time for a command, or another
 * thread's answer. Nothing is received until then. */
static void go_on(struct conn *c, enum session_need need) {
    if (need == SESSION_NEED_TURN) {
        conn_queue_put(&c->worker->ready, c);
    } else if (need == SESSION_NEED_COMMAND && session_answers(c->session)) {
        conn_queue_put(&c->worker->answers, c);
    } else if (need == SESSION_NEED_COMMAND) {
        conn_queue_put(&c->worker->commands, c);
    } else {
        /* otherwise what the client sends meanwhile would wake the worker again and again */
        event_del(&c->event);
        conn_queue_put(&c->worker->asleep, c);
        if (session_ends_with_client(c->session)) {
            conn_wait_for(c, EV_CLOSED);
        }
    }
}

/* Whether a request is complete except for its value. */
static bool waits_for_value(const struct conn *c, enum session_need need) {
    return need == SESSION_NEED_VALUE || need == SESSION_NEED_MEMORY ||
           session_value_left(c->session) > 0 ||
           (need == SESSION_NEED_BYTES && c->kept != NULL &&
            session_waits_for_value(c->session, c->kept->bytes, c->kept->n));
}

void conn_answer(struct conn *c) {
    if (c->gone || c->pending != NULL) {
        return;
    }
    if (c->ignored) {
        if (c->at_hand) { /* in the next turn, because a turn has a connection only once */
            conn_queue_put(&c->worker->ready, c);
        }
        return;
    }
    send_replies(c);
    enum session_need need = session_need(c->session);
    keep_rest(c);
    if (need == SESSION_NEED_MEMORY && values_arrived(c)) {
        need = SESSION_NEED_TURN; /* the value may have the memory that is kept for such values */
    }
    c->resume =
        need == SESSION_NEED_TURN || need == SESSION_NEED_COMMAND || need == SESSION_NEED_EVENT;
    c->close_after = need == SESSION_CLOSE || c->no_memory;
    if (c->close_after && session_quit(c->session)) {
        c->reason = EVENT_NORMAL;
    }
    if (c->gone) {
        return;
    }
    values_note(&c->worker->values, c, need == SESSION_NEED_MEMORY && c->pending == NULL);
    if (c->pending != NULL) {
        set_state(c, "conn_mwrite");
        conn_wait_for(c, EV_WRITE);
        return;
    }
    if (need == SESSION_WATCHES) {
        start_watching(c);
        return;
    }
    if (c->close_after) {
        hang_up(c);
        return;
    }
    set_state(c, waits_for_value(c, need) ? "conn_nread" : "conn_read");
    if (c->resume) {
        go_on(c, need);
    } else if (c->at_hand && c->value != VALUE_WAITS) {
        conn_queue_put(&c->worker->ready, c);
    }
}
