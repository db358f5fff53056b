#include "net/takeover/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listen/address.h"

union descriptors {
    char           bytes[CMSG_SPACE(HANDOVER_FDS_MOST * sizeof(int))];
    struct cmsghdr align;
};

bool handover_send(int fd, struct handover_message *m, enum handover_kind kind, const int *fds,
                   unsigned fd_count) {
    union descriptors control = {.bytes = {0}};
    struct iovec iov = {.iov_base = m, .iov_len = sizeof *m};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    m->magic = HANDOVER_MAGIC;
    m->version = HANDOVER_VERSION;
    m->kind = kind;
    m->fd_count = fd_count;
    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *m;
}

bool handover_refuse(int fd, const char *why) {
    struct handover_message m = {.kind = HANDOVER_REFUSED};
    snprintf(m.text, sizeof m.text, "%s", why);
    return handover_send(fd, &m, HANDOVER_REFUSED, NULL, 0);
}

/* Takes as many descriptors as there is room for, and closes the others. Returns how many. */
static unsigned handover_take_fds(struct msghdr *message, int *fds) {
    unsigned n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        unsigned count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (unsigned i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (n < HANDOVER_FDS_MOST) {
                fds[n++] = fd;
            } else {
                close(fd);
            }
        }
    }
    return n;
}

int handover_receive(int fd, struct handover_message *m, int fds[HANDOVER_FDS_MOST]) {
    union descriptors control;
    struct iovec iov = {.iov_base = m, .iov_len = sizeof *m};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    unsigned resets = 0;
    do {
        /* a server that ends with unread bytes resets the connection; its earlier messages can
         * still be read */
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
    if (got <= 0) {
        return got < 0 && errno != ECONNRESET ? -1 : 0;
    }
    unsigned count = handover_take_fds(&message, fds);
    if (got == (ssize_t)sizeof *m && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
        m->magic == HANDOVER_MAGIC && m->version == HANDOVER_VERSION && m->fd_count == count) {
        m->text[sizeof m->text - 1] = '\0';
        return 1;
    }
    while (count > 0) {
        close(fds[--count]);
    }
    bool speaks = (size_t)got >= offsetof(struct handover_message, socket_count) &&
                  m->magic == HANDOVER_MAGIC;
    errno = speaks && m->version != HANDOVER_VERSION ? EPROTO : EBADMSG;
    return -1;
}

bool handover_is_ours(int fd, int *pid) {
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
    *pid = known ? peer.pid : 0;
    return known && (peer.uid == geteuid() || peer.uid == 0);
}

enum { CONNECT_S = 5 };

static int handover_socket_at(const char *path, struct sockaddr_un *at, int flags) {
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(at->sun_path, path);
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

static int handover_fail_closed(int fd) {
    int saved = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = saved;
    return -1;
}

int handover_connect(const char *path) {
    struct sockaddr_un at;
    /* a server that hangs accepts no connection, and its queue may be full */
    const struct timeval most = {.tv_sec = CONNECT_S};
    int fd = handover_socket_at(path, &at, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    }
    return fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0
               ? fd
               : handover_fail_closed(fd);
}

/* Removes a dead socket at the path. False: another server's socket, or no socket, is there. */
static bool handover_may_replace(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT;
    }
    int fd = S_ISSOCK(st.st_mode) ? handover_connect(path) : -1;
    bool dead = S_ISSOCK(st.st_mode) && fd < 0 && errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    errno = EADDRINUSE;
    return dead && unlink(path) == 0;
}

int handover_listen(const char *path) {
    struct sockaddr_un at;
    if (!handover_may_replace(path)) {
        return -1;
    }
    int fd = handover_socket_at(path, &at, SOCK_NONBLOCK);
    mode_t mask = umask(0177);
    int bound = fd >= 0 ? bind(fd, (struct sockaddr *)&at, sizeof at) : -1;
    umask(mask);
    return bound == 0 && listen(fd, HANDOVER_WAITING_MOST) == 0 ? fd : handover_fail_closed(fd);
}

/* --- sockets that were handed over --- */

bool handover_fds_add(struct handover_fds *h, const int *taken_fds, unsigned count) {
    if (h->count + count > h->room) {
        unsigned room = h->count + count;
        int *longer = realloc(h->fds, room * sizeof *longer);
        if (longer == NULL) {
            for (unsigned i = 0; i < count; i++) {
                close(taken_fds[i]);
            }
            return false;
        }
        h->room = room;
        h->fds = longer;
    }
    memcpy(h->fds + h->count, taken_fds, count * sizeof *taken_fds);
    h->count += count;
    return true;
}

bool handover_fds_add_dup(struct handover_fds *h, int fd) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && handover_fds_add(h, &copy, 1);
}

static bool handover_fd_is_at(int fd, int type, const struct sockaddr *wanted) {
    struct sockaddr_storage has = {0}, wants = {0};
    socklen_t bytes = sizeof has, type_bytes = sizeof(int);
    int its_type = 0;
    char texts[2][160];
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &its_type, &type_bytes) != 0 || its_type != type ||
        getsockname(fd, (struct sockaddr *)&has, &bytes) != 0 ||
        has.ss_family != wanted->sa_family) {
        return false;
    }
    if (has.ss_family == AF_UNIX) {
        return strcmp(((struct sockaddr_un *)&has)->sun_path,
                      ((const struct sockaddr_un *)(const void *)wanted)->sun_path) == 0;
    }
    memcpy(&wants, wanted, has.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                     : sizeof(struct sockaddr_in));
    if (address_port(wanted) == 0) {
        address_set_port((struct sockaddr *)&has, 0);
    }
    address_show((struct sockaddr *)&has, "", texts[0], sizeof texts[0]);
    address_show((struct sockaddr *)&wants, "", texts[1], sizeof texts[1]);
    return strcmp(texts[0], texts[1]) == 0;
}

int handover_fds_take(struct handover_fds *h, int type, const struct sockaddr *wanted) {
    for (unsigned i = 0; h != NULL && i < h->count; i++) {
        if (handover_fd_is_at(h->fds[i], type, wanted)) {
            int fd = h->fds[i];
            h->fds[i] = h->fds[--h->count];
            return fd;
        }
    }
    return -1;
}

void handover_fds_close(struct handover_fds *h) {
    while (h->count > 0) {
        close(h->fds[--h->count]);
    }
    free(h->fds);
    *h = (struct handover_fds){0};
}
