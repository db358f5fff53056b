/* Queues of connections, and the events that put connections there. */
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/worker.h"
#include "watch/event.h"

/* For so long after a request its client counts as interactive. */
enum { INTERACTIVE_US = 2000 };

void conn_queue_init(struct conn_queue *q) {
    q->first = NULL;
    q->end = &q->first;
}

void conn_queue_put(struct conn_queue *q, struct conn *c) {
    if (!c->ready) {
        c->ready = true;
        c->ready_next = NULL;
        *q->end = c;
        q->end = &c->ready_next;
    }
}

struct conn *conn_queue_take(struct conn_queue *q) {
    struct conn *c = q->first;
    q->first = c->ready_next;
    if (q->first == NULL) {
        q->end = &q->first;
    }
    c->ready = false;
    return c;
}

void worker_wake(void *arg) {
    const struct worker *w = arg;
    uint64_t one = 1;
    if (write(w->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN) {
        log_warn("worker: cannot wake it: %s", strerror(errno));
    }
}

void worker_note_interactive(struct worker *w, uint64_t now_us) {
    if (batch_has_interactive(w->batch)) {
        w->interactive_until_us = now_us + INTERACTIVE_US;
    }
}

void conn_on_event(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;
    (void)fd;
    c->readable = c->readable || what & EV_READ;
    c->writable = c->writable || what & EV_WRITE;
    if (what & EV_CLOSED) { /* only a waiting connection waits for this; all are woken together */
        c->gone = true;
        c->reason = EVENT_NORMAL;
        event_del(&c->event);
        worker_wake(c->worker);
        return;
    }
    if (c->ready && c->resume && c->pending == NULL && session_answer_continues(c->session)) {
        /* A long answer waits for its turn. Nothing is received until the answer has ended, so
         * bytes in the socket would wake the worker again and again. */
        c->read_off = true;
        event_del(&c->event);
        return;
    }
    conn_queue_put(&c->worker->ready, c);
}

void conn_wait_for(struct conn *c, short what) {
    event_del(&c->event);
    event_assign(&c->event, c->worker->base, c->record.fd, (short)(what | EV_PERSIST),
                 conn_on_event, c);
    if (event_add(&c->event, NULL) != 0) {
        c->gone = true;
    }
}
