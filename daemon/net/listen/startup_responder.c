#include "net/listen/startup_responder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

enum { BINARY_REQUEST = 0x80, DISCARD_BYTES = 4096, LISTENERS_MOST = 64, RETRY_MS = 100 };

struct early_client {
    int                    fd;
    bool                   answered; /* the answer is sent, and the client is to hang up */
    const struct listener *from;
};

struct startup_responder {
    pthread_t        thread;
    int              wake_fd;
    bool             by_tls;
    bool             refused; /* no descriptor was free: polling of listeners pauses */
    struct listener *listeners;
    unsigned         count;
    struct early_client     clients[STARTUP_CLIENTS_MOST];
};

static void startup_drop_client(struct startup_responder *s, unsigned i) {
    close(s->clients[i].fd);
    s->clients[i] = s->clients[--s->count];
}

/* Answers a client that has sent bytes. Further bytes are read until the client hangs up, because
 * closing earlier could destroy the answer. False: the client is to be dropped. */
static bool startup_read_client(struct early_client *g) {
    static const char answer[] = "SERVER_ERROR starting\r\n";
    char bytes[DISCARD_BYTES];
    ssize_t n = recv(g->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if (g->answered) {
        return true;
    }
    g->answered = (unsigned char)bytes[0] != BINARY_REQUEST &&
                  send(g->fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                      (ssize_t)sizeof answer - 1 &&
                  shutdown(g->fd, SHUT_WR) == 0;
    return g->answered;
}

static void startup_accept_client(struct startup_responder *s, const struct listener *l) {
    int fd = accept4(l->record.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        s->clients[s->count++] = (struct early_client){.fd = fd, .from = l};
    } else {
        s->refused = errno != EAGAIN && errno != ECONNABORTED && errno != EINTR;
    }
}

/* True: clients of the listener are accepted now. A client of TLS could not read the answer, and is
 * not accepted. */
static bool startup_accepts_from(const struct startup_responder *s, const struct listener *l) {
    return !s->refused && s->count < STARTUP_CLIENTS_MOST &&
           !(s->by_tls && l->tls != LISTEN_TLS_NONE);
}

static void *startup_responder_main(void *arg) {
    struct startup_responder *s = arg;
    struct pollfd fds[1 + LISTENERS_MOST + STARTUP_CLIENTS_MOST];
    const struct listener *from[LISTENERS_MOST];
    for (;;) {
        unsigned n = 0, clients = s->count;
        for (const struct listener *l = s->listeners; l != NULL && n < LISTENERS_MOST;
             l = l->next) {
            if (startup_accepts_from(s, l)) {
                fds[1 + n] = (struct pollfd){.fd = l->record.fd, .events = POLLIN};
                from[n++] = l;
            }
        }
        fds[0] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
        for (unsigned i = 0; i < clients; i++) {
            fds[1 + n + i] = (struct pollfd){.fd = s->clients[i].fd, .events = POLLIN};
        }
        if (poll(fds, 1 + n + clients, s->refused ? RETRY_MS : -1) < 0 && errno != EINTR) {
            return NULL;
        }
        s->refused = false;
        if (fds[0].revents != 0) {
            return NULL;
        }
        /* from the end, because the last client takes the place of a dropped one */
        for (unsigned i = clients; i-- > 0;) {
            if (fds[1 + n + i].revents != 0 && !startup_read_client(&s->clients[i])) {
                startup_drop_client(s, i);
            }
        }
        for (unsigned i = 0; i < n && s->count < STARTUP_CLIENTS_MOST; i++) {
            if (fds[1 + i].revents != 0) {
                startup_accept_client(s, from[i]);
            }
        }
    }
}

struct startup_responder *startup_responder_begin(struct listener *listeners,
                                                  bool everybody_speaks_tls) {
    struct startup_responder *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->listeners = listeners;
    s->by_tls = everybody_speaks_tls;
    s->wake_fd = eventfd(0, EFD_CLOEXEC);
    int error =
        s->wake_fd >= 0 ? pthread_create(&s->thread, NULL, startup_responder_main, s) : errno;
    if (error != 0) {
        if (s->wake_fd >= 0) {
            close(s->wake_fd);
        }
        free(s);
        errno = error;
        return NULL;
    }
    return s;
}

void startup_responder_end(struct startup_responder **taken,
                           void (*take)(void *arg, const struct listener *, int fd), void *arg) {
    struct startup_responder *s = *taken;
    uint64_t one = 1;
    *taken = NULL;
    if (s == NULL) {
        return;
    }
    while (write(s->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->count; i++) {
        if (s->clients[i].answered || take == NULL) {
            close(s->clients[i].fd);
        } else {
            take(arg, s->clients[i].from, s->clients[i].fd);
        }
    }
    close(s->wake_fd);
    free(s);
}
