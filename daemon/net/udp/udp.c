#include "net/udp/udp.h"

#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/buffer.h"
#include "net/listen/address.h"
#include "net/takeover/handover.h"
#include "net/udp/udp_frame.h"
#include "net/udp/udp_out.h"
#include "net/worker.h"
#include "server/text_out.h"

enum {
    BUFFER_WANTED_BYTES = 8 * 1024 * 1024, /* buffers of a socket, as far as the system allows */
    /* most turns of a datagram's requests, each with time for commands */
    TURNS_MAX = 256,
    REPLY_BUFFER_BYTES = 4 * 1024, /* a larger buffer of a reply is freed */
};

static const char too_long[] = "SERVER_ERROR reply too long for UDP\r\n",
                  not_here[] = "CLIENT_ERROR not over UDP\r\n";

/* A datagram, its session while requests run, and its reply so far. */
struct exchange {
    const struct sockaddr *from;
    socklen_t       from_bytes;
    uint16_t        id;
    size_t          n;    /* bytes of the datagram */
    char           *at;   /* the next byte that no request has taken */
    size_t          left; /* bytes from `at` on */
    struct session *session; /* NULL: nothing to run, or all has run */
    struct text_out reply;
};

/* A worker's batch of datagrams. */
struct udp_batch {
    struct udp_socket *owner; /* the socket whose datagrams are not all answered yet, or NULL */
    unsigned        count, turns; /* exchanges, and the turns that have run for them */
    bool            asleep; /* all remaining exchanges wait for another thread's reply */
    /* Received messages; the kernel may have joined several datagrams in one. The messages before
     * `next`, and `taken` bytes of message `next`, have become exchanges. */
    unsigned        received, next;
    size_t          taken;
    struct udp_out  out;
    struct exchange exchange[UDP_BATCH];
    struct mmsghdr  message[UDP_BATCH];
    struct iovec    iov[UDP_BATCH];
    struct sockaddr_storage name[UDP_BATCH];
    _Alignas(struct cmsghdr) char control[UDP_BATCH][CMSG_SPACE(sizeof(int))];
    char            bytes[UDP_BATCH][UDP_RECEIVE_BYTES + BUFFER_SLACK];
};

/* --- sockets --- */

/* inherited_fd: a socket of the previous process; -1: makes a new one. */
static struct udp_socket *udp_open_one(const struct sockaddr_storage *at, socklen_t at_bytes,
                                       int inherited_fd) {
    int on = 1, wanted = BUFFER_WANTED_BYTES;
    struct sockaddr_storage bound;
    socklen_t bound_bytes = sizeof bound;
    struct udp_socket *s = calloc(1, sizeof *s);
    int fd = inherited_fd >= 0
                 ? inherited_fd
                 : socket(at->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s == NULL || fd < 0) {
        goto fail;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    if (at->ss_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
        (inherited_fd < 0 && bind(fd, (const struct sockaddr *)at, at_bytes) != 0) ||
        getsockname(fd, (struct sockaddr *)&bound, &bound_bytes) != 0) {
        goto fail;
    }
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on); /* lets the kernel join datagrams */
    s->record.fd = fd;
    s->cuts = udp_out_cuts(fd);
    s->is_v6 = bound.ss_family == AF_INET6;
    s->port = address_port((struct sockaddr *)&bound);
    s->is_local = address_is_local((struct sockaddr *)&bound);
    address_show((struct sockaddr *)&bound, "", s->record.addr, sizeof s->record.addr);
    memcpy(s->record.addr, "udp", 3); /* in place of tcp */
    atomic_store_explicit(&s->record.state, "conn_read", memory_order_relaxed);
    return s;
fail:;
    int saved = errno;
    free(s);
    if (fd >= 0) {
        close(fd);
    }
    errno = saved;
    return NULL;
}

static int udp_open_all(const struct addrinfo *ai, unsigned workers, struct handover_fds *inherited,
                        struct udp_socket **list) {
    struct sockaddr_storage at;
    memcpy(&at, ai->ai_addr, ai->ai_addrlen);
    int inherited_fd = handover_fds_take(inherited, SOCK_DGRAM, ai->ai_addr);
    /* with SO_REUSEPORT two servers of one user could share the port, and each would receive half
     * of the requests */
    if (inherited_fd < 0 && !listen_may_bind(SOCK_DGRAM, ai->ai_addr, ai->ai_addrlen)) {
        return -1;
    }
    for (unsigned i = 0; i < workers; i++) {
        struct udp_socket *s = udp_open_one(&at, ai->ai_addrlen, inherited_fd);
        if (s == NULL) {
            return -1;
        }
        /* at most one socket a worker: no thread would read further ones */
        inherited_fd = i + 1 < workers
                           ? handover_fds_take(inherited, SOCK_DGRAM, (const struct sockaddr *)&at)
                           : -1;
        address_set_port((struct sockaddr *)&at, s->port);
        while (*list != NULL) {
            list = &(*list)->next;
        }
        *list = s;
    }
    return 0;
}

int udp_listen(const struct listen_place *at, const struct addrinfo *found, unsigned workers,
               struct udp_socket **list) {
    unsigned opened = 0;
    int why = EADDRNOTAVAIL;
    for (const struct addrinfo *ai = found; ai != NULL && !listen_error_is_fatal(why);
         ai = ai->ai_next) {
        if (udp_open_all(ai, workers, at->inherited, list) == 0) {
            opened++;
        } else {
            why = errno;
        }
    }
    return listen_result(at, opened, why);
}

void udp_close(struct udp_socket **list) {
    while (*list != NULL) {
        struct udp_socket *s = *list;
        *list = s->next;
        if (event_initialized(&s->event)) {
            event_del(&s->event);
        }
        if (s->record.link != NULL) {
            conn_registry_remove(&s->worker->server->registry, &s->record);
        }
        close(s->record.fd);
        free(s);
    }
}

/* --- requests --- */

static void udp_begin_exchange(const struct udp_socket *s, struct exchange *e, char *bytes,
                               size_t n) {
    *e = (struct exchange){.from = e->from, .from_bytes = e->from_bytes, .n = n, .reply = e->reply};
    if (!udp_frame_read((unsigned char *)bytes, n, &e->id) ||
        udp_is_error(bytes + UDP_FRAME_BYTES, n - UDP_FRAME_BYTES)) {
        counter_add(&s->worker->counters->udp_dropped, 1);
        return;
    }
    e->at = bytes + UDP_FRAME_BYTES;
    e->left = n - UDP_FRAME_BYTES;
    e->session = session_create();
    if (e->session != NULL) {
        session_set_access(e->session, &s->access);
        session_set_client(e->session, s->record.fd, s->record.addr);
    }
}

static void udp_replace_reply(struct exchange *e, const char *text) {
    text_out_clear(&e->reply);
    text_out_str(&e->reply, text);
}

/* Appends the turn's output to the reply. False: the reply is too long. */
static bool udp_take_output(struct exchange *e, struct batch *batch) {
    struct output *out = batch_output(batch, e->session);
    struct iovec   iov[16];
    int            pieces;
    while (out != NULL && e->reply.used <= UDP_REPLY_BYTES &&
           (pieces = output_iov(out, iov, sizeof iov / sizeof *iov)) > 0) {
        size_t sent = 0;
        for (int i = 0; i < pieces; i++) {
            text_out_bytes(&e->reply, iov[i].iov_base, iov[i].iov_len);
            sent += iov[i].iov_len;
        }
        output_sent(out, sent);
    }
    return !e->reply.failed && e->reply.used <= UDP_REPLY_BYTES;
}

/* After a turn. True: the session has more to do. */
static bool udp_exchange_continues(struct exchange *e, struct batch *batch) {
    if (!udp_take_output(e, batch)) {
        udp_replace_reply(e, too_long);
        return false;
    }
    switch (session_need(e->session)) {
    case SESSION_NEED_TURN:
    case SESSION_NEED_COMMAND_TIME:
    case SESSION_NEED_WAKE: return true;
    case SESSION_WATCHES: udp_replace_reply(e, not_here); return false;
    case SESSION_NEED_BYTES:
    case SESSION_NEED_VALUE:
    case SESSION_NEED_MEMORY:
    case SESSION_NEED_ROOM:
    case SESSION_CLOSE: return false;
    }
    return false;
}

/* Runs a turn of the batch. Returns how many exchanges need another turn. */
static unsigned udp_run_turn(struct worker *w, struct exchange *e, unsigned n) {
    unsigned more = 0, asleep = 0;
    bool     added[UDP_BATCH] = {false};
    cache_turn_begin(w->cache_thread);
    batch_begin(w->batch);
    for (unsigned i = 0; i < n && !batch_full(w->batch); i++) {
        if (e[i].session != NULL) {
            size_t used = batch_add(w->batch, e[i].session, e[i].at, e[i].left);
            e[i].at += used;
            e[i].left -= used;
            added[i] = true;
        }
    }
    batch_run(w->batch);
    for (unsigned i = 0; i < n; i++) {
        if (added[i] && !udp_exchange_continues(&e[i], w->batch)) {
            session_destroy(&e[i].session, w->batch);
        }
        more += e[i].session != NULL;
        asleep += e[i].session != NULL && session_need(e[i].session) == SESSION_NEED_WAKE;
    }
    w->udp->asleep = more > 0 && asleep == more;
    if (w->answers.first != NULL) {
        worker_note_interactive(w, clock_mono_us());
    }
    batch_end(w->batch);
    cache_turn_end(w->cache_thread);
    return more;
}

/* Ends exchanges that have used up their turns. */
static void udp_abandon(struct worker *w, struct exchange *e, unsigned n) {
    cache_turn_begin(w->cache_thread);
    for (unsigned i = 0; i < n; i++) {
        if (e[i].session != NULL) {
            session_destroy(&e[i].session, w->batch);
            udp_replace_reply(&e[i], too_long);
        }
    }
    cache_turn_end(w->cache_thread);
}

/* --- replies --- */

/* True: the reply may be sent, or the error in its place. */
static bool udp_bound_reply(struct worker *w, const struct udp_socket *s, struct exchange *e) {
    uint32_t factor = address_is_local(e->from) ? 0 : s->factor;
    if (udp_reply_within_factor(e->reply.used, e->n, factor)) {
        return true;
    }
    if (counter_get(&w->counters->udp_refused) == 0) {
        /* logged once for each worker */
        log_warn("a reply by UDP to another machine was longer than udp_reply_factor allows");
    }
    counter_add(&w->counters->udp_refused, 1);
    udp_replace_reply(e, too_long);
    return udp_reply_within_factor(e->reply.used, e->n, factor);
}

static void udp_flush(struct worker *w, const struct udp_socket *s) {
    counter_add(&w->counters->udp_lost, udp_out_flush(&w->udp->out, s->record.fd));
}

static void udp_answer_all(struct worker *w, const struct udp_socket *s, struct exchange *e,
                           unsigned n) {
    struct udp_out *o = &w->udp->out;
    for (unsigned i = 0; i < n; i++) {
        if (e[i].reply.used == 0 || !udp_bound_reply(w, s, &e[i])) {
            continue;
        }
        size_t all = udp_parts(e[i].reply.used);
        counter_add(&w->counters->bytes_written, e[i].reply.used + all * UDP_FRAME_BYTES);
        for (size_t at = 0; at < all; at++) {
            size_t first = at * UDP_PART_BYTES, left = e[i].reply.used - first;
            if (udp_out_full(o)) {
                udp_flush(w, s);
            }
            udp_frame_write(udp_out_put(o, e[i].from, e[i].from_bytes,
                                        e[i].reply.bytes + first,
                                        left < UDP_PART_BYTES ? left : UDP_PART_BYTES, s->cuts),
                            e[i].id, (uint16_t)at, (uint16_t)all);
        }
    }
    udp_flush(w, s);
}

static unsigned udp_receive(struct udp_batch *b, int fd) {
    for (unsigned i = 0; i < UDP_BATCH; i++) {
        b->iov[i] = (struct iovec){b->bytes[i], UDP_RECEIVE_BYTES};
        b->message[i].msg_hdr = (struct msghdr){.msg_name = &b->name[i],
                                                .msg_namelen = sizeof b->name[i],
                                                .msg_iov = &b->iov[i],
                                                .msg_iovlen = 1,
                                                .msg_control = b->control[i],
                                                .msg_controllen = sizeof b->control[i]};
    }
    int n = recvmmsg(fd, b->message, UDP_BATCH, MSG_DONTWAIT, NULL);
    return n > 0 ? (unsigned)n : 0;
}

/* Returns the length of each datagram of a message; the last may be shorter. */
static size_t udp_datagram_bytes(struct mmsghdr *m) {
    struct cmsghdr *c = CMSG_FIRSTHDR(&m->msg_hdr);
    int each = 0;
    if (c != NULL && c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
        memcpy(&each, CMSG_DATA(c), sizeof each);
    }
    return each > 0 ? (size_t)each : UDP_RECEIVE_BYTES;
}

/* Turns a message's datagrams into exchanges, as far as there is room. */
static void udp_take_message(struct udp_socket *s, struct udp_batch *b) {
    struct mmsghdr *m = &b->message[b->next];
    size_t each = udp_datagram_bytes(m);
    do { /* an empty datagram counts, too */
        struct exchange *e = &b->exchange[b->count++];
        size_t left = m->msg_len - b->taken, n = left < each ? left : each;
        e->from = (struct sockaddr *)&b->name[b->next];
        e->from_bytes = m->msg_hdr.msg_namelen;
        udp_begin_exchange(s, e, b->bytes[b->next] + b->taken, n);
        b->taken += n;
    } while (b->taken < m->msg_len && b->count < UDP_BATCH);
    if (b->taken == m->msg_len) {
        b->taken = 0;
        b->next++;
    }
}

/* Makes the next batch of messages that were received already. */
static void udp_begin_batch(struct udp_socket *s, struct udp_batch *b) {
    b->count = b->turns = 0;
    b->asleep = false;
    while (b->next < b->received && b->count < UDP_BATCH) {
        udp_take_message(s, b);
    }
    counter_add(&s->worker->counters->udp_datagrams, b->count);
    b->owner = b->count > 0 ? s : NULL;
}

static void udp_receive_batch(struct udp_socket *s, struct udp_batch *b) {
    size_t bytes = 0;
    b->received = udp_receive(b, s->record.fd);
    b->next = 0;
    b->taken = 0;
    for (unsigned i = 0; i < b->received; i++) {
        bytes += b->message[i].msg_len;
    }
    counter_add(&s->worker->counters->bytes_read, bytes);
    atomic_store_explicit(&s->record.last_cmd_s, clock_now_s(), memory_order_relaxed);
    udp_begin_batch(s, b);
}

static void udp_end_batch(struct udp_batch *b) {
    for (unsigned i = 0; i < b->count; i++) {
        struct text_out *reply = &b->exchange[i].reply;
        text_out_clear(reply);
        if (reply->room > REPLY_BUFFER_BYTES) {
            text_out_fini(reply);
        }
    }
    b->owner = NULL;
}

static bool udp_has_exchanges(const struct worker *w) {
    return w->udp != NULL && w->udp->owner != NULL;
}

bool udp_wants_turn(const struct worker *w) { return udp_has_exchanges(w) && !w->udp->asleep; }

void udp_wake(struct worker *w) {
    if (w->udp != NULL) {
        w->udp->asleep = false;
    }
}

void udp_turn(struct worker *w) {
    struct udp_batch *b = w->udp;
    bool more = udp_run_turn(w, b->exchange, b->count) > 0;
    if (more && ++b->turns < TURNS_MAX) {
        return; /* other connections have their turn first */
    }
    if (more) {
        udp_abandon(w, b->exchange, b->count);
    }
    udp_answer_all(w, b->owner, b->exchange, b->count);
    struct udp_socket *s = b->owner;
    udp_end_batch(b);
    udp_begin_batch(s, b);
}

void udp_drop(struct worker *w) {
    if (udp_has_exchanges(w)) {
        udp_abandon(w, w->udp->exchange, w->udp->count);
        udp_end_batch(w->udp);
    }
    for (unsigned i = 0; w->udp != NULL && i < UDP_BATCH; i++) {
        text_out_fini(&w->udp->exchange[i].reply);
    }
}

static void udp_on_datagrams(evutil_socket_t fd, short what, void *arg) {
    struct udp_socket *s = arg;
    struct worker     *w = s->worker;
    (void)fd;
    (void)what;
    if (w->udp->owner != NULL) {
        return; /* the datagrams stay in the kernel, and the event comes again */
    }
    udp_receive_batch(s, w->udp);
    if (w->udp->owner != NULL) {
        udp_turn(w);
    }
}

bool udp_attach(struct udp_socket *s, struct worker *w) {
    struct udp_batch *batch = w->udp != NULL ? w->udp : calloc(1, sizeof *batch);
    if (batch == NULL) {
        return false;
    }
    w->udp = batch;
    s->worker = w;
    conn_registry_add(&w->server->registry, &s->record);
    atomic_store_explicit(&s->record.last_cmd_s, clock_now_s(), memory_order_relaxed);
    return event_assign(&s->event, w->base, s->record.fd, EV_READ | EV_PERSIST, udp_on_datagrams,
                        s) == 0 &&
           event_add(&s->event, NULL) == 0;
}
