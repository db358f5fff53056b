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
    SEND_PIECES = 256, /* most pieces of one call */
    VALUE_PIECES = 256,
    /* a turn that sent so much makes the next turn check the socket's send queue */
    SEND_QUEUE_CHECK_BYTES = 16 * 1024,
    SLOW_READER_BYTES = 64 * 1024, /* a longer send queue shows a slow reader */
    SHORT_RECEIVE_BYTES = 4 * 1024,
};

static const char no_memory_text[] = "SERVER_ERROR out of memory writing get response\r\n";

static void conn_set_state(struct conn *c, const char *state) {
    atomic_store_explicit(&c->record.state, state, memory_order_relaxed);
}

/* Drops replies that the client has taken, or will never take. */
static void conn_drop_pending(struct conn *c) {
    if (c->pending != NULL) {
        buffers_drop_replies(&c->worker->buffers, output_saved_bytes(c->pending));
        output_destroy(&c->pending);
    }
}

bool conn_open(struct conn *c, struct worker *w) {
    c->worker = w;
    c->transport = &transport_tcp;
    c->session = session_create();
    if (c->session == NULL ||
        event_assign(&c->event, w->base, c->record.fd, EV_READ | EV_PERSIST, conn_on_event, c) !=
            0 ||
        event_add(&c->event, NULL) != 0) {
        return false;
    }
    session_set_client(c->session, c->record.fd, c->record.addr);
    session_set_access(c->session, &c->access);
    conn_set_state(c, "conn_read");
    return true;
}

void conn_close(struct conn *c) {
    struct worker *w = c->worker;
    if (event_initialized(&c->event)) {
        event_del(&c->event);
    }
    upload_wait_forget(&w->uploads, c);
    conn_drop_pending(c);
    session_destroy(&c->session, w->batch);
    if (c->leftover != NULL) {
        buffers_release(&w->buffers, c->leftover);
    }
    if (c->link != NULL) {
        *c->link = c->next;
        if (c->next != NULL) {
            c->next->link = c->link;
        }
    }
    c->transport->close(c);
    w->closing_count -= c->closing;
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
    return c->discard_input || (c->leftover == NULL && c->pending == NULL &&
                                session_need(c->session) == SESSION_NEED_BYTES);
}

/* --- receiving --- */

/* Notes whether the client reads slowly: a socket that still holds many replies will take no more
 * soon. Short turns then leave few replies to hold in memory. Checked only after much was sent. */
static void conn_check_send_queue(struct conn *c) {
    int held = 0;
    if (c->check_send_queue) {
        session_set_slow_reader(c->session, ioctl(c->record.fd, SIOCOUTQ, &held) == 0 &&
                                                held > SLOW_READER_BYTES);
        c->check_send_queue = session_is_slow_reader(c->session);
    }
}

/* How many bytes to receive at once. Bytes behind the head of a waiting value stay in memory as
 * long as the value waits, so less is received at once while many values wait. */
static size_t conn_receive_bytes(const struct conn *c) {
    bool is_short = session_is_slow_reader(c->session) || upload_wait_is_long(&c->worker->uploads);
    return is_short ? SHORT_RECEIVE_BYTES : BUFFER_RECEIVE_BYTES;
}

/* Notes the result of a receive. False: no bytes came, and the connection may be gone. */
static bool conn_note_received(struct conn *c, ssize_t got) {
    if (got > 0) {
        c->worker->received_bytes += (size_t)got;
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        c->gone = true;
        /* memcached reports the end of a watcher as an error; `closing` is the server's doing */
        c->reason = got == 0 && !c->discard_input ? EVENT_NORMAL : EVENT_ERROR;
    }
    return false;
}

/* Hangs up: there is no memory for received bytes, or connections hold as much as they may. */
static void conn_refuse_bytes(struct conn *c) {
    counter_add(&c->worker->counters->read_buf_oom, 1);
    c->gone = true;
}

/* Receives more of a line that is longer than a slice, behind the part that has come. The buffer
 * doubles, so that all copies of a line cost its length. It grows up to SESSION_LINE_BYTES and one
 * receive more. */
static void conn_receive_long_line(struct conn *c) {
    struct buffers *b = &c->worker->buffers;
    struct leftover *leftover = c->leftover;
    bool more = c->readable && !c->resume;
    if (more && leftover->bytes_max - leftover->n < BUFFER_RECEIVE_BYTES / 2) {
        size_t most = SESSION_LINE_BYTES + BUFFER_RECEIVE_BYTES,
               twice = leftover->bytes_max * 2 + BUFFER_RECEIVE_BYTES;
        struct leftover *larger = buffers_take(b, twice < most ? twice : most);
        if (larger == NULL) {
            conn_refuse_bytes(c);
            return;
        }
        memcpy(larger->bytes, leftover->bytes, leftover->n);
        larger->n = leftover->n;
        buffers_release(b, leftover);
        c->leftover = leftover = larger;
    }
    if (more) {
        ssize_t got =
            c->transport->recv(c, leftover->bytes + leftover->n, leftover->bytes_max - leftover->n);
        if (conn_note_received(c, got)) {
            leftover->n += (size_t)got;
        }
    }
    c->bytes = leftover->bytes;
    c->n = leftover->n;
}

/* Puts the leftover bytes, and newly received ones behind them, into a slice of the region. While
 * older work is left nothing is received, so that a connection's waiting bytes stay bounded. */
static void conn_receive_slice(struct conn *c) {
    struct buffers *b = &c->worker->buffers;
    char *slice = buffers_slice(b);
    c->bytes = slice;
    c->n = 0;
    if (c->leftover != NULL) {
        memcpy(slice, c->leftover->bytes, c->leftover->n);
        c->n = c->leftover->n;
        buffers_release(b, c->leftover);
        c->leftover = NULL;
    }
    if (c->readable && !c->resume) {
        ssize_t got = c->transport->recv(c, slice + c->n, conn_receive_bytes(c));
        if (conn_note_received(c, got)) {
            c->n += (size_t)got;
        }
    }
    buffers_trim(b, c->n);
}

/* One call receives a value into its chunks, and the bytes behind the value into a slice. */
static void conn_receive_value(struct conn *c) {
    struct worker *w = c->worker;
    char *slice = buffers_slice(&w->buffers);
    struct iovec iov[VALUE_PIECES + 1];
    int pieces = session_value_iov(c->session, w->batch, iov, VALUE_PIECES);
    size_t wanted = 0;
    for (int i = 0; i < pieces; i++) {
        wanted += iov[i].iov_len;
    }
    if (pieces < VALUE_PIECES) { /* all pieces of the value fit: the slice comes right behind */
        iov[pieces++] = (struct iovec){.iov_base = slice, .iov_len = BUFFER_RECEIVE_BYTES};
    }
    sanitize_ignore_writes_begin();
    ssize_t got = c->transport->readv(c, iov, pieces);
    sanitize_ignore_writes_end();
    c->bytes = slice;
    c->n = 0;
    if (conn_note_received(c, got)) {
        size_t of_value = (size_t)got < wanted ? (size_t)got : wanted;
        session_value_got(c->session, of_value);
        c->n = (size_t)got - of_value;
    }
    buffers_trim(&w->buffers, c->n);
}

/* Receives and throws away the input of a client that watches, or whose connection closes. Only the
 * end of the connection counts. */
static void conn_discard_input(struct conn *c) {
    struct buffers *b = &c->worker->buffers;
    char *slice = buffers_slice(b);
    ssize_t got = c->transport->recv(c, slice, BUFFER_RECEIVE_BYTES);
    if (conn_note_received(c, got) && c->closing) {
        c->gone = (size_t)got >= c->linger_left;
        c->linger_left -= c->gone ? 0 : (uint32_t)got;
    }
    buffers_trim(b, 0);
    c->readable = c->tls_buffered;
}

/* --- sending --- */

/* From now on the logger writes to the socket. */
static void conn_start_watching(struct conn *c) {
    int fd = c->transport->watch_fd(c);
    if (fd < 0 || !session_watch(c->session, fd)) {
        log_warn("cannot let a client watch: %s", strerror(errno));
        c->gone = true;
        return;
    }
    c->discard_input = true;
    conn_set_state(c, "conn_watch");
}

/* Sends as much as the socket takes. True: all is sent. Sets `gone` if the client is gone. */
static bool conn_send_output(struct conn *c, struct output *out) {
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

/* Ends a connection whose replies are all sent. When the client has sent quit, the socket is closed
 * at once. Any other client may still be sending, and the kernel drops unsent replies when bytes
 * arrive at a closed socket, or lie in it unread. So the socket is closed when the client has
 * closed its end, or when its time for that is over. */
static void conn_hang_up(struct conn *c) {
    if (session_client_quit(c->session)) {
        c->gone = true;
        return;
    }
    c->transport->finish(c);
    upload_wait_forget(&c->worker->uploads, c);
    if (c->leftover != NULL) {
        buffers_release(&c->worker->buffers, c->leftover);
        c->leftover = NULL;
    }
    c->closing = c->discard_input = true;
    c->linger_left = LINGER_BYTES;
    c->worker->closing_count++;
    conn_set_state(c, "conn_closing");
    conn_wait_for(c, EV_READ);
}

/* The socket takes bytes again: sends pending replies. */
static void conn_send_pending(struct conn *c) {
    if (conn_send_output(c, c->pending)) {
        conn_drop_pending(c);
        if (c->close_after) {
            conn_hang_up(c);
            return;
        }
        c->resume = true;
        conn_set_state(c, "conn_read");
        conn_wait_for(c, EV_READ);
        if (session_need(c->session) == SESSION_WATCHES) {
            conn_start_watching(c);
        }
    }
}

/* --- a turn --- */

void conn_gather(struct conn *c) {
    struct worker *w = c->worker;
    if (c->gone) {
        return;
    }
    c->bytes = NULL;
    c->n = 0;
    if (c->read_off) {
        c->read_off = false;
        conn_wait_for(c, EV_READ);
    }
    if (c->discard_input) {
        conn_discard_input(c);
        return;
    }
    atomic_store_explicit(&c->record.last_cmd_s, cache_now_s(w->cache_thread),
                          memory_order_relaxed);
    if (c->pending != NULL) {
        if (c->writable) {
            conn_send_pending(c);
        }
        c->writable = false;
        if (c->pending != NULL || c->gone || c->discard_input) {
            return;
        }
    }
    conn_check_send_queue(c);
    if (c->leftover != NULL && c->leftover->n > BUFFER_LEFTOVER_BYTES) {
        conn_receive_long_line(c);
    } else if (c->readable && session_need(c->session) == SESSION_NEED_VALUE) {
        conn_receive_value(c);
    } else {
        conn_receive_slice(c);
    }
    c->readable = c->tls_buffered;
    c->resume = false;
    if (!c->gone) {
        conn_set_state(c, "conn_parse_cmd");
        size_t used = batch_add(w->batch, c->session, c->bytes, c->n);
        c->bytes += used;
        c->n -= used;
    }
}

/* Saves, for the next turn, the bytes that this turn has not used. */
static void conn_save_leftover(struct conn *c) {
    struct leftover *leftover =
        c->leftover; /* a long line's buffer, which holds these bytes already */
    if (c->n == 0) {
        if (leftover != NULL) {
            buffers_release(&c->worker->buffers, leftover);
            c->leftover = NULL;
        }
        return;
    }
    if (leftover == NULL) {
        c->leftover = leftover = buffers_take(&c->worker->buffers, c->n);
        if (leftover == NULL) {
            conn_refuse_bytes(c);
            return;
        }
    }
    memmove(leftover->bytes, c->bytes, c->n);
    leftover->n = c->n;
}

/* There is no memory for replies that the client does not take, or connections hold as much as they
 * may. An error follows the line, or value, that has begun to be sent, if at least the end of that
 * may be held. Then the connection ends. */
static void conn_refuse_replies(struct conn *c, struct output *out) {
    counter_add(&c->worker->counters->response_obj_oom, 1);
    if (output_cut(out, c->transport->begun(c)) &&
        buffers_may_hold_final(&c->worker->buffers,
                               output_saved_bytes(out) + sizeof no_memory_text)) {
        c->pending = output_save(out, no_memory_text);
    }
    c->no_memory = true;
    c->gone = c->pending == NULL;
    c->n = 0; /* further requests of the client do not run */
}

/* The memory that conn_save_leftover is going to take. */
static size_t conn_leftover_room_bytes(const struct conn *c) {
    if (c->n == 0 || c->leftover != NULL) {
        return 0;
    }
    return c->n > BUFFER_LEFTOVER_BYTES ? c->n : BUFFER_LEFTOVER_BYTES;
}

/* Saves replies that the socket did not take, but only if the unused requests can be saved, too: a
 * client must not lose replies without an error because its other requests found no room. */
static void conn_save_replies(struct conn *c, struct output *out) {
    struct buffers *b = &c->worker->buffers;
    if (buffers_may_hold(b, output_saved_bytes(out) + conn_leftover_room_bytes(c))) {
        c->pending = output_save(out, "");
    }
    if (c->pending == NULL) {
        conn_refuse_replies(c, out);
    }
    if (c->pending != NULL) {
        buffers_hold_replies(b, output_saved_bytes(c->pending));
    }
}

static void conn_send_replies(struct conn *c) {
    struct output *out = batch_output(c->worker->batch, c->session);
    size_t before = c->worker->sent_bytes;
    if (out != NULL && !conn_send_output(c, out) && !c->gone) {
        conn_save_replies(c, out);
    }
    c->check_send_queue |= c->worker->sent_bytes - before >= SEND_QUEUE_CHECK_BYTES;
}

/* Queues the connection for its next turn, for time for a command, or for another thread's reply.
 * Nothing is received until then. */
static void conn_enqueue(struct conn *c, enum session_need need) {
    if (need == SESSION_NEED_TURN) {
        conn_queue_put(&c->worker->ready, c);
    } else if (need == SESSION_NEED_COMMAND_TIME && session_answer_continues(c->session)) {
        conn_queue_put(&c->worker->answers, c);
    } else if (need == SESSION_NEED_COMMAND_TIME) {
        conn_queue_put(&c->worker->commands, c);
    } else {
        /* with the event on, bytes of the client would wake the worker again and again */
        event_del(&c->event);
        conn_queue_put(&c->worker->waiting_for_reply, c);
        if (session_ends_with_client(c->session)) {
            conn_wait_for(c, EV_CLOSED);
        }
    }
}

/* True: a request is complete except for its value. */
static bool conn_waits_for_value(const struct conn *c, enum session_need need) {
    return need == SESSION_NEED_VALUE || need == SESSION_NEED_MEMORY ||
           session_value_left(c->session) > 0 ||
           (need == SESSION_NEED_BYTES && c->leftover != NULL &&
            session_waits_for_value(c->session, c->leftover->bytes, c->leftover->n));
}

void conn_answer(struct conn *c) {
    if (c->gone || c->pending != NULL) {
        return;
    }
    if (c->discard_input) {
        if (c->tls_buffered) { /* a turn takes a connection only once: read on in the next turn */
            conn_queue_put(&c->worker->ready, c);
        }
        return;
    }
    conn_send_replies(c);
    enum session_need need = session_need(c->session);
    conn_save_leftover(c);
    if (need == SESSION_NEED_MEMORY && upload_wait_arrived(c)) {
        need = SESSION_NEED_TURN; /* a value that has come completely may use the reserved memory */
    }
    c->resume =
        need == SESSION_NEED_TURN || need == SESSION_NEED_COMMAND_TIME || need == SESSION_NEED_WAKE;
    c->close_after = need == SESSION_CLOSE || c->no_memory;
    if (c->close_after && session_client_quit(c->session)) {
        c->reason = EVENT_NORMAL;
    }
    if (c->gone) {
        return;
    }
    upload_wait_note(&c->worker->uploads, c, need == SESSION_NEED_MEMORY && c->pending == NULL);
    if (c->pending != NULL) {
        conn_set_state(c, "conn_mwrite");
        conn_wait_for(c, EV_WRITE);
        return;
    }
    if (need == SESSION_WATCHES) {
        conn_start_watching(c);
        return;
    }
    if (c->close_after) {
        conn_hang_up(c);
        return;
    }
    conn_set_state(c, conn_waits_for_value(c, need) ? "conn_nread" : "conn_read");
    if (c->resume) {
        conn_enqueue(c, need);
    } else if (c->tls_buffered && c->upload != UPLOAD_WAITS) {
        conn_queue_put(&c->worker->ready, c);
    }
}
