#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SLOW_SEGMENT_BYTES = 600 }; /* the send buffer follows from the segment; otherwise megabytes come at once */
enum { HANG_MS = 120 * 1000, FIRST_ROOM = 1 << 16, LINE_BYTES_MAX = 4096 };

static void need(char **buffer, size_t *room, size_t n) {
    if (n <= *room) {
        return;
    }
    size_t more = *room != 0 ? *room : FIRST_ROOM;
    while (more < n) {
        more *= 2;
    }
    *buffer = realloc(*buffer, more);
    if (*buffer == NULL) {
        abort();
    }
    *room = more;
}

/* Takes the descriptor of a new connection, which is not connected yet. */
static bool begin(struct wire *w, int fd, const void *to, socklen_t bytes) {
    w->out_bytes = w->in_at = w->in_end = 0;
    w->fd = fd;
    if (fd >= 0 && connect(fd, to, bytes) != 0) {
        close(fd);
        w->fd = -1;
    }
    return w->fd >= 0;
}

bool wire_open_path(struct wire *w, const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    return begin(w, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), &to, sizeof to);
}

bool wire_open(struct wire *w, int port, int receive_buffer_bytes) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, segment_bytes = SLOW_SEGMENT_BYTES, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (receive_buffer_bytes != 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    return begin(w, fd, &to, sizeof to);
}

void wire_close(struct wire *w, bool reset) {
    struct linger at_once = {.l_onoff = 1};
    if (w->fd < 0) {
        return;
    }
    if (reset) {
        setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close(w->fd);
    w->fd = -1;
}

void wire_free(struct wire *w) {
    wire_close(w, false);
    free(w->out);
    free(w->in);
    *w = (struct wire){.fd = -1};
}

char *wire_room(struct wire *w, size_t n) {
    need(&w->out, &w->out_room, w->out_bytes + n);
    w->out_bytes += n;
    return w->out + w->out_bytes - n;
}

void wire_say(struct wire *w, const char *format, ...) {
    va_list ap;
    need(&w->out, &w->out_room, w->out_bytes + LINE_BYTES_MAX);
    va_start(ap, format);
    w->out_bytes += (size_t)vsnprintf(w->out + w->out_bytes, LINE_BYTES_MAX, format, ap);
    va_end(ap);
}

/* Waits for `events`; false: nothing for two minutes. */
static bool comes_to(const struct wire *w, short events, short *ready) {
    struct pollfd p = {.fd = w->fd, .events = events};
    int n;
    do {
        n = poll(&p, 1, HANG_MS);
    } while (n < 0 && errno == EINTR);
    *ready = p.revents;
    return n > 0;
}

static bool again(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/* The bytes that can be read without waiting; false: the end. */
static bool take_in(struct wire *w) {
    if (w->in_at > 0 && w->in_at == w->in_end) {
        w->in_at = w->in_end = 0;
    }
    if (w->in_room - w->in_end < FIRST_ROOM && w->in_at > w->in_room / 2) {
        memmove(w->in, w->in + w->in_at, w->in_end - w->in_at);
        w->in_end -= w->in_at;
        w->in_at = 0;
    }
    need(&w->in, &w->in_room, w->in_end + FIRST_ROOM);
    ssize_t got = recv(w->fd, w->in + w->in_end, w->in_room - w->in_end, MSG_DONTWAIT);
    if (got > 0) {
        w->in_end += (size_t)got;
    }
    return got > 0 || (got < 0 && again());
}

bool wire_flush(struct wire *w) {
    size_t sent = 0;
    while (sent < w->out_bytes) {
        short ready;
        if (w->fd < 0 || !comes_to(w, POLLIN | POLLOUT, &ready)) {
            return false;
        }
        if (ready & (POLLIN | POLLHUP | POLLERR) && !take_in(w)) {
            return false;
        }
        if (ready & POLLOUT) {
            ssize_t n = send(w->fd, w->out + sent, w->out_bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && !again()) {
                return false;
            }
            sent += n > 0 ? (size_t)n : 0;
        }
    }
    w->out_bytes = 0;
    return true;
}

static bool wait_in(struct wire *w) {
    short ready;
    return w->fd >= 0 && comes_to(w, POLLIN, &ready) && take_in(w);
}

char *wire_line(struct wire *w) {
    size_t seen = 0;
    for (;;) {
        char *start = w->in + w->in_at;
        char *stop = w->in_end - w->in_at > seen ? memchr(start + seen, '\n', w->in_end - w->in_at - seen) : NULL;
        if (stop != NULL) {
            w->in_at += (size_t)(stop - start) + 1;
            *(stop > start && stop[-1] == '\r' ? stop - 1 : stop) = '\0';
            return start;
        }
        seen = w->in_end - w->in_at;
        if (seen > LINE_BYTES_MAX || !wait_in(w)) {
            return NULL;
        }
    }
}

char *wire_block(struct wire *w, size_t n) {
    while (w->in_end - w->in_at < n + 2) {
        if (!wait_in(w)) {
            return NULL;
        }
    }
    char *start = w->in + w->in_at;
    w->in_at += n + 2;
    return memcmp(start + n, "\r\n", 2) == 0 ? start : NULL;
}

void wire_half_close(struct wire *w) { shutdown(w->fd, SHUT_WR); }

bool wire_ended(struct wire *w) {
    short ready;
    while (w->fd >= 0 && comes_to(w, POLLIN, &ready)) {
        w->in_at = w->in_end = 0;
        if (!take_in(w)) {
            return true;
        }
    }
    return false;
}
