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

struct guest {
    int                    fd;
    bool                   told; /* it has its answer, and is to hang up */
    const struct listener *from;
};

struct starting {
    pthread_t        thread;
    int              wake_fd;
    bool             by_tls;
    bool             refused; /* there was no descriptor for a client: listeners rest for a while */
    struct listener *listeners;
    unsigned         count;
    struct guest     guests[STARTING_GUESTS];
};

static void drop(struct starting *s, unsigned i) {
    close(s->guests[i].fd);
    s->guests[i] = s->guests[--s->count];
}

/* Says what there is to say to a guest. What else it sends is read until it hangs up: to close
 * before that could take the answer away from it. False: the guest is to be dropped. */
static bool hear(struct guest *g) {
    static const char answer[] = "SERVER_ERROR starting\r\n";
    char bytes[DISCARD_BYTES];
    ssize_t n = recv(g->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if (g->told) {
        return true;
    }
    g->told = (unsigned char)bytes[0] != BINARY_REQUEST &&
              send(g->fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                  (ssize_t)sizeof answer - 1 &&
              shutdown(g->fd, SHUT_WR) == 0;
    return g->told;
}

static void welcome(struct starting *s, const struct listener *l) {
    int fd = accept4(l->record.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        s->guests[s->count++] = (struct guest){.fd = fd, .from = l};
    } else {
        s->refused = errno != EAGAIN && errno != ECONNABORTED && errno != EINTR;
    }
}

/* Whether clients of the listener are accepted already. A client of TLS could not read the text, so
 * those are not. */
static bool is_open(const struct starting *s, const struct listener *l) {
    return !s->refused && s->count < STARTING_GUESTS && !(s->by_tls && l->tls != LISTEN_TLS_NONE);
}

static bool is_ready(const struct pollfd *p) { return p->revents != 0; }

static void *starting_main(void *arg) {
    struct starting *s = arg;
    struct pollfd fds[1 + LISTENERS_MOST + STARTING_GUESTS];
    const struct listener *from[LISTENERS_MOST];
    for (;;) {
        unsigned n = 0, guests = s->count;
        for (const struct listener *l = s->listeners; l != NULL && n < LISTENERS_MOST;
             l = l->next) {
            if (is_open(s, l)) {
                fds[1 + n] = (struct pollfd){.fd = l->record.fd, .events = POLLIN};
                from[n++] = l;
            }
        }
        fds[0] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
        for (unsigned i = 0; i < guests; i++) {
            fds[1 + n + i] = (struct pollfd){.fd = s->guests[i].fd, .events = POLLIN};
        }
        if (poll(fds, 1 + n + guests, s->refused ? RETRY_MS : -1) < 0 && errno != EINTR) {
            return NULL;
        }
        s->refused = false;
        if (is_ready(&fds[0])) {
            return NULL;
        }
        /* from the end, because the last guest takes the place of a dropped one */
        for (unsigned i = guests; i-- > 0;) {
            if (is_ready(&fds[1 + n + i]) && !hear(&s->guests[i])) {
                drop(s, i);
            }
        }
        for (unsigned i = 0; i < n && s->count < STARTING_GUESTS; i++) {
            if (is_ready(&fds[1 + i])) {
                welcome(s, from[i]);
            }
        }
    }
}

struct starting *starting_begin(struct listener *listeners, bool everybody_speaks_tls) {
    struct starting *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->listeners = listeners;
    s->by_tls = everybody_speaks_tls;
    s->wake_fd = eventfd(0, EFD_CLOEXEC);
    int error = s->wake_fd >= 0 ? pthread_create(&s->thread, NULL, starting_main, s) : errno;
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

void starting_end(struct starting **taken, void (*take)(void *arg, const struct listener *, int fd),
                  void *arg) {
    struct starting *s = *taken;
    uint64_t one = 1;
    *taken = NULL;
    if (s == NULL) {
        return;
    }
    while (write(s->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->count; i++) {
        if (s->guests[i].told || take == NULL) {
            close(s->guests[i].fd);
        } else {
            take(arg, s->guests[i].from, s->guests[i].fd);
        }
    }
    close(s->wake_fd);
    free(s);
}
