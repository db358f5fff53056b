#include "net/transport_tls.h"

#include <errno.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/tls.h"
#include "net/worker.h"
#include "watch/event.h"

enum { RELAY_BYTES = 16 * 1024 };

/* Carries lines of the logger to a client that watches. */
struct relay {
    struct event readable; /* the worker's end of the pair */
    struct event writable; /* the client's socket */
    int          worker_end, logger_end;      /* the ends of the socket pair */
    size_t       n;                  /* bytes that the client's socket did not take */
    char         bytes[RELAY_BYTES];
};

struct tls_conn {
    SSL          *ssl;
    uint64_t      end_us;  /* when the handshake must be done */
    bool          in_handshake; /* the handshake is not done yet */
    bool          broken;  /* nothing may be sent any more, not even the end of the session */
    size_t        begun;   /* bytes of a refused write, which OpenSSL must be given again */
    struct relay *relay;   /* while the client watches, else NULL */
};

/* --- errors --- */

static void tls_report_error(const struct conn *c, const char *words) {
    if (event_watched(EVENT_CONNEVENTS)) {
        event_conn_tls_error(words, c->record.fd);
    }
}

/* A client that only checks whether the port is open. This is not logged as a refusal. */
static const char hung_up[] = "the client hung up";

static const char *tls_error_text(void) {
    unsigned long code = ERR_peek_error();
    const char *words = code != 0 ? ERR_reason_error_string(code) : NULL;
    return words != NULL ? words : hung_up;
}

/* Translates a failed call of OpenSSL into a result and errno, as recv and sendmsg have them. */
static ssize_t tls_failed(struct conn *c, int result) {
    int why = SSL_get_error(c->tls->ssl, result);
    switch (why) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL:
        c->tls->broken = true;
        errno = errno != 0 ? errno : ECONNRESET;
        break;
    default:
        c->tls->broken = true;
        atomic_fetch_add_explicit(&tls_facts(c->worker->tls)->proto_errors, 1,
                                  memory_order_relaxed);
        tls_report_error(c, tls_error_text());
        errno = EPROTO;
    }
    ERR_clear_error();
    return -1;
}

/* --- bytes --- */

/* True: another read is worth its cost after a record of n bytes. An event would come for further
 * bytes, but behind a full record there are mostly more. */
static bool tls_has_more(const struct conn *c, size_t n) {
    return SSL_has_pending(c->tls->ssl) == 1 || n == SSL3_RT_MAX_PLAIN_LENGTH;
}

/* Reads all that has come, or most of it. */
static ssize_t tls_read(struct conn *c, char *to, size_t n) {
    size_t got = 0, more = 0;
    do {
        ERR_clear_error();
        errno = 0;
        int result = SSL_read_ex(c->tls->ssl, to + got, n - got, &more);
        if (result != 1) {
            ssize_t what = tls_failed(c, result);
            bool again = what < 0 && errno == EAGAIN;
            c->tls_buffered = got > 0 && !again; /* the next receive meets the error */
            return got > 0 ? (ssize_t)got : what;
        }
        got += more;
    } while (got < n && tls_has_more(c, more));
    c->tls_buffered = SSL_has_pending(c->tls->ssl) == 1;
    return (ssize_t)got;
}

static ssize_t tls_recv(struct conn *c, void *to, size_t n) { return tls_read(c, to, n); }

static ssize_t tls_readv(struct conn *c, const struct iovec *iov, int pieces) {
    ssize_t sum = 0;
    for (int i = 0; i < pieces; i++) {
        size_t room = iov[i].iov_len;
        ssize_t got = room > 0 ? tls_read(c, iov[i].iov_base, room) : 0;
        if (got <= 0 && room > 0) {
            bool again = got < 0 && errno == EAGAIN;
            c->tls_buffered = sum > 0 && !again;
            return sum > 0 ? sum : got;
        }
        sum += got;
        if ((size_t)got < room) {
            break;
        }
    }
    return sum;
}

/* Returns the next bytes to encrypt, at most one buffer: in place if they are in one piece, else
 * joined in the buffer. */
static size_t tls_next_bytes(char *buffer, size_t room, struct iovec *iov, int pieces,
                             const char **bytes) {
    size_t n = 0;
    if (iov[0].iov_len >= room) {
        *bytes = iov[0].iov_base;
        return room;
    }
    for (int i = 0; i < pieces && n < room; i++) {
        size_t part = iov[i].iov_len < room - n ? iov[i].iov_len : room - n;
        memcpy(buffer + n, iov[i].iov_base, part);
        n += part;
    }
    *bytes = buffer;
    return n;
}

static ssize_t tls_sendv(struct conn *c, struct iovec *iov, int pieces, bool more) {
    ssize_t sum = 0;
    (void)more;
    while (pieces > 0) {
        const char *bytes;
        size_t n = tls_next_bytes(c->worker->tls_buffer, tls_settings(c->worker->tls)->write_bytes,
                                  iov, pieces, &bytes),
               sent = 0;
        ERR_clear_error();
        errno = 0;
        int result = SSL_write_ex(c->tls->ssl, bytes, n, &sent);
        c->tls->begun = result != 1 ? n : 0;
        if (result != 1) {
            ssize_t what = tls_failed(c, result);
            errno = what == 0 ? EPIPE : errno;
            return sum > 0 && errno == EAGAIN ? sum : -1;
        }
        sum += (ssize_t)sent;
        while (pieces > 0 && sent >= iov->iov_len) {
            sent -= iov->iov_len;
            iov++, pieces--;
        }
        if (pieces > 0) {
            iov->iov_base = (char *)iov->iov_base + sent;
            iov->iov_len -= sent;
        }
    }
    return sum;
}

static size_t tls_begun(const struct conn *c) { return c->tls->begun; }

static size_t tls_unread(const struct conn *c) {
    int bytes = 0;
    size_t encrypted =
        ioctl(c->record.fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
    return encrypted + (size_t)SSL_pending(c->tls->ssl) + (size_t)SSL_has_pending(c->tls->ssl);
}

/* --- handshakes --- */

static void tls_on_handshake(evutil_socket_t fd, short what, void *conn);

static void tls_await(struct conn *c, short what) {
    uint64_t now_us = clock_mono_us(), end_us = c->tls->end_us,
             left_us = end_us > now_us ? end_us - now_us : 1;
    struct timeval t = {.tv_sec = (time_t)(left_us / 1000000),
                        .tv_usec = (suseconds_t)(left_us % 1000000)};
    event_del(&c->event);
    event_assign(&c->event, c->worker->base, c->record.fd, what, tls_on_handshake, c);
    if (event_add(&c->event, &t) != 0) {
        c->gone = true;
    }
}

static void tls_fail_handshake(struct conn *c, const char *words) {
    atomic_fetch_add_explicit(&tls_facts(c->worker->tls)->handshake_errors, 1,
                              memory_order_relaxed);
    tls_report_error(c, words);
    if (words != hung_up) {
        char what[128];
        snprintf(what, sizeof what, "TLS: %s", words);
        users_log_refusal(&c->worker->server->users, c->record.addr, what);
    }
    c->tls->broken = true;
    c->gone = true;
    c->reason = EVENT_ERROR;
    conn_queue_put(&c->worker->ready, c);
}

static void tls_on_handshake(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;
    (void)fd;
    if (what & EV_TIMEOUT) {
        tls_fail_handshake(c, "the handshake took too long");
    } else {
        conn_queue_put(&c->worker->handshakes, c);
    }
}

/* Gives the client its role if the file of users has a line for this name of the certificate. */
static bool tls_let_in(struct conn *c, const unsigned char *name, int n) {
    enum role role;
    bool is_known = n > 0 && users_certificate(&c->worker->server->users, (const char *)name,
                                               (size_t)n, &role);
    if (is_known) {
        session_let_in(c->session, (const char *)name, (size_t)n, role);
    }
    return is_known;
}

static bool tls_let_in_by_common_name(struct conn *c, const X509 *certificate) {
    const X509_NAME *subject = X509_get_subject_name(certificate);
    bool is_known = false;
    for (int at = -1; !is_known && (at = X509_NAME_get_index_by_NID(subject, NID_commonName,
                                                                    at)) >= 0;) {
        unsigned char *name = NULL;
        int n = ASN1_STRING_to_UTF8(&name,
                                    X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        is_known = tls_let_in(c, name, n);
        OPENSSL_free(name);
    }
    return is_known;
}

static bool tls_let_in_by_other_name(struct conn *c, const X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool is_known = false;
    for (int i = 0; !is_known && i < sk_GENERAL_NAME_num(names); i++) {
        int kind;
        const ASN1_STRING *name = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &kind);
        is_known = (kind == GEN_DNS || kind == GEN_URI) &&
                   tls_let_in(c, ASN1_STRING_get0_data(name), ASN1_STRING_length(name));
    }
    GENERAL_NAMES_free(names);
    return is_known;
}

/* A client with a certificate of one of our authorities may need no login. */
static void tls_let_in_by_certificate(struct conn *c) {
    const X509 *certificate = SSL_get0_peer_certificate(c->tls->ssl);
    if (c->worker->server->users.path != NULL && certificate != NULL &&
        SSL_get_verify_result(c->tls->ssl) == X509_V_OK &&
        !tls_let_in_by_common_name(c, certificate)) {
        tls_let_in_by_other_name(c, certificate);
    }
    ERR_clear_error();
}

static void tls_handshake(struct conn *c) {
    ERR_clear_error();
    errno = 0;
    int result = SSL_accept(c->tls->ssl);
    if (result == 1) {
        c->tls->in_handshake = false;
        tls_let_in_by_certificate(c);
        conn_wait_for(c, EV_READ);
        c->readable = true; /* requests may have come with the end of the handshake */
        conn_queue_put(&c->worker->ready, c);
        return;
    }
    switch (SSL_get_error(c->tls->ssl, result)) {
    case SSL_ERROR_WANT_READ: tls_await(c, EV_READ); break;
    case SSL_ERROR_WANT_WRITE: tls_await(c, EV_WRITE); break;
    default: tls_fail_handshake(c, tls_error_text());
    }
    ERR_clear_error();
    if (c->gone) {
        conn_queue_put(&c->worker->ready, c);
    }
}

void tls_handshakes(struct worker *w) {
    uint64_t end_us = clock_mono_us() + TLS_HANDSHAKES_US;
    do {
        struct conn *c = conn_queue_take(&w->handshakes);
        if (c->gone) {
            conn_queue_put(&w->ready, c);
        } else {
            tls_handshake(c);
        }
    } while (w->handshakes.first != NULL && clock_mono_us() < end_us);
}

/* --- clients that watch --- */

static void tls_relay_stop(struct conn *c) {
    event_del(&c->tls->relay->readable);
    c->gone = true;
    conn_queue_put(&c->worker->ready, c);
}

/* Sends the relay's bytes. */
static void tls_relay_send(struct conn *c) {
    struct relay *r = c->tls->relay;
    struct iovec iov = {r->bytes, r->n};
    ssize_t sent = tls_sendv(c, &iov, 1, false);
    if (sent < 0 && errno != EAGAIN) {
        tls_relay_stop(c);
        return;
    }
    r->n -= sent > 0 ? (size_t)sent : 0;
    memmove(r->bytes, r->bytes + (sent > 0 ? sent : 0), r->n);
    if ((r->n > 0 ? event_add(&r->writable, NULL) : event_add(&r->readable, NULL)) != 0) {
        tls_relay_stop(c);
    }
}

static void tls_on_log_lines(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;
    struct relay *r = c->tls->relay;
    (void)what;
    ssize_t got = recv(fd, r->bytes, sizeof r->bytes, MSG_DONTWAIT);
    if (got > 0) {
        r->n = (size_t)got;
        tls_relay_send(c);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        tls_relay_stop(c);
    } else if (event_add(&r->readable, NULL) != 0) {
        tls_relay_stop(c);
    }
}

static void tls_on_writable(evutil_socket_t fd, short what, void *arg) {
    (void)fd, (void)what;
    tls_relay_send(arg);
}

static int tls_watch_fd(struct conn *c) {
    int pair[2];
    struct relay *r = malloc(sizeof *r);
    if (r == NULL ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        free(r);
        return -1;
    }
    c->tls->relay = r;
    r->worker_end = pair[0];
    r->logger_end = pair[1];
    r->n = 0;
    event_assign(&r->readable, c->worker->base, r->worker_end, EV_READ, tls_on_log_lines, c);
    event_assign(&r->writable, c->worker->base, c->record.fd, EV_WRITE, tls_on_writable, c);
    return event_add(&r->readable, NULL) == 0 ? r->logger_end : -1;
}

static void tls_relay_end(struct relay *r) {
    event_del(&r->readable);
    event_del(&r->writable);
    close(r->worker_end);
    close(r->logger_end);
    free(r);
}

/* --- life --- */

/* Tells the client that the session ends, and does not wait for a reply. */
static void tls_send_close(struct tls_conn *t) {
    if (!t->in_handshake && !t->broken) {
        ERR_clear_error();
        SSL_shutdown(t->ssl);
        ERR_clear_error();
    }
}

static void tls_finish(struct conn *c) {
    tls_send_close(c->tls);
    shutdown(c->record.fd, SHUT_WR);
}

static void tls_close(struct conn *c) {
    struct tls_conn *t = c->tls;
    if (t->relay != NULL) {
        tls_relay_end(t->relay);
    }
    if (!c->closing) {
        tls_send_close(t);
    }
    SSL_free(t->ssl);
    free(t);
}

static const struct transport transport_tls = {
    tls_recv,   tls_readv,    tls_sendv,  tls_begun,
    tls_unread, tls_watch_fd, tls_finish, tls_close,
};

bool tls_conn_open(struct conn *c) {
    struct tls *tls = c->worker->tls;
    struct tls_conn *t = malloc(sizeof *t);
    SSL *ssl = t != NULL ? tls_session(tls, c->record.fd, c->tls_mode) : NULL;
    if (ssl == NULL) {
        free(t);
        return false;
    }
    *t = (struct tls_conn){
        .ssl = ssl,
        .in_handshake = true,
        .end_us = clock_mono_us() + (uint64_t)tls_settings(tls)->handshake_s * 1000000,
    };
    c->tls = t;
    c->transport = &transport_tls;
    tls_await(c, EV_READ);
    return !c->gone;
}
