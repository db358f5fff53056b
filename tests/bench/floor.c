/* The least server: receives once, sends one fixed reply, looks nothing up. Its cost is the kernel's share of an unpipelined operation, and
 * the floor under every server that receives and sends with epoll.
 *
 *   floor -p PORT ...      options of the other servers are ignored
 *
 * Knows the part of the protocol that `make bench` sends: one request a segment, get and set of small keys and 32-byte
 * values, version, stats (its pid). Receives from all ready connections first and answers then, as slated does. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READY_MAX = 256, REQUEST_MAX = 1024, VALUE_BYTES = 32 };

struct ready {
    int  fd;
    int  bytes;
    char request[REQUEST_MAX + 1];
};

static int floor_watch(int poll, int fd) {
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
}

static int floor_listen(int port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1024) != 0) {
        fprintf(stderr, "floor: cannot listen on port %d: %s\n", port, strerror(errno));
        exit(1);
    }
    return fd;
}

/* The reply to one request, into `to`. Returns its length. */
static int floor_reply(const struct ready *r, char *to) {
    if (strncmp(r->request, "get ", 4) == 0) {
        int key_bytes = (int)strcspn(r->request + 4, "\r");
        return sprintf(to, "VALUE %.*s 0 %d\r\n%0*d\r\nEND\r\n", key_bytes, r->request + 4, VALUE_BYTES, VALUE_BYTES, 0);
    }
    if (strncmp(r->request, "stats", 5) == 0) {
        return sprintf(to, "STAT pid %d\r\nEND\r\n", (int)getpid());
    }
    return sprintf(to, "%s", strncmp(r->request, "version", 7) == 0 ? "VERSION floor\r\n" : "STORED\r\n");
}

static void floor_accept(int poll, int listener) {
    int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        floor_watch(poll, fd);
    }
}

static void floor_serve(int poll, int listener) {
    static struct ready ready[READY_MAX];
    struct epoll_event events[READY_MAX];
    char out[2 * REQUEST_MAX];
    for (;;) {
        int n = epoll_wait(poll, events, READY_MAX, -1), count = 0;
        for (int i = 0; i < n; i++) {
            struct ready *r = &ready[count];
            r->fd = events[i].data.fd;
            if (r->fd == listener) {
                floor_accept(poll, listener);
                continue;
            }
            r->bytes = (int)recv(r->fd, r->request, REQUEST_MAX, 0);
            if (r->bytes > 0) {
                r->request[r->bytes] = '\0';
                count++;
            } else if (r->bytes == 0 || errno != EAGAIN) {
                close(r->fd);
            }
        }
        for (int i = 0; i < count; i++) {
            if (send(ready[i].fd, out, (size_t)floor_reply(&ready[i], out), MSG_NOSIGNAL) < 0) {
                close(ready[i].fd);
            }
        }
    }
}

int main(int argc, char **argv) {
    int port = 0;
    for (int i = 1; i + 1 < argc; i++) {
        port = strcmp(argv[i], "-p") == 0 ? atoi(argv[i + 1]) : port;
    }
    int listener = floor_listen(port), poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0 || floor_watch(poll, listener) != 0) {
        perror("floor");
        return 1;
    }
    floor_serve(poll, listener);
}
