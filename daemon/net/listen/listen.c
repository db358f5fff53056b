#include "net/listen/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "net/listen/address.h"
#include "net/takeover/handover.h"

enum { SOCKET_FLAGS = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC };

/* Owns the socket, and closes the socket on failure. */
static int listen_add(int fd, const char *path, const struct listen_entry *as,
                      struct listener **list) {
    struct sockaddr_storage bound;
    socklen_t bound_bytes = sizeof bound;
    struct listener *l = calloc(1, sizeof *l);
    if (l == NULL || getsockname(fd, (struct sockaddr *)&bound, &bound_bytes) != 0) {
        int saved = errno;
        free(l);
        close(fd);
        errno = saved;
        return -1;
    }
    l->record.fd = fd;
    address_show((struct sockaddr *)&bound, path, l->record.addr, sizeof l->record.addr);
    l->port = address_port((struct sockaddr *)&bound);
    l->tls = as->tls;
    l->protocol = as->protocol;
    l->role = as->role;
    l->is_local = address_is_local((struct sockaddr *)&bound);
    l->is_v6 = bound.ss_family == AF_INET6;
    atomic_store_explicit(&l->record.state, "conn_listening", memory_order_relaxed);
    while (*list != NULL) { /* the log has the addresses in the order of the option */
        list = &(*list)->next;
    }
    *list = l;
    return 0;
}

static int listen_fail_closed(int fd) {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static bool listen_is_bound(const struct listener *list, const struct sockaddr *sa) {
    char text[128];
    address_show(sa, "", text, sizeof text);
    for (; list != NULL; list = list->next) {
        if (strcmp(list->record.addr, text) == 0) {
            return true;
        }
    }
    return false;
}

static int listen_open_tcp(const struct addrinfo *ai, int backlog, struct handover_fds *inherited,
                           const struct listen_entry *as, struct listener **list) {
    int on = 1;
    if (listen_is_bound(*list, ai->ai_addr)) {
        return 0;
    }
    int inherited_fd = handover_fds_take(inherited, SOCK_STREAM, ai->ai_addr);
    if (inherited_fd >= 0) {
        return listen_add(inherited_fd, "", as, list);
    }
    int fd = socket(ai->ai_family, SOCKET_FLAGS, ai->ai_protocol);
    if (fd < 0) {
        return -1;
    }
    /* Accepted sockets inherit keep-alive and no-delay: that saves two calls a connection. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (ai->ai_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, backlog) != 0) {
        return listen_fail_closed(fd);
    }
    return listen_add(fd, "", as, list);
}

/* False, after a log line: other machines can reach one of the addresses. */
static bool listen_all_local(const struct addrinfo *ai) {
    for (; ai != NULL; ai = ai->ai_next) {
        if (!address_is_local(ai->ai_addr)) {
            char text[128];
            address_show(ai->ai_addr, "", text, sizeof text);
            log_error("cannot listen on %s: other machines can reach it, and clients there need no "
                      "password (-Y) and no certificate; if that is meant, give --public, or a "
                      "role behind the address",
                      text);
            return false;
        }
    }
    return true;
}

struct addrinfo *listen_resolve(const struct listen_place *at) {
    struct addrinfo hints = {
        .ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = at->socket_type};
    struct addrinfo *found = NULL;
    char service[12];
    snprintf(service, sizeof service, "%d", at->port < 0 ? 0 : at->port);
    int error = getaddrinfo(at->host[0] != '\0' ? at->host : NULL, service, &hints, &found);
    if (error != 0) {
        log_error("cannot listen on %s: %s", at->host, gai_strerror(error));
        errno = EADDRNOTAVAIL;
        return NULL;
    }
    if (at->local_only && !listen_all_local(found)) {
        freeaddrinfo(found);
        errno = EACCES;
        return NULL;
    }
    return found;
}

bool listen_may_bind(int type, const struct sockaddr *at, socklen_t at_bytes) {
    int fd = socket(at->sa_family, type | SOCK_CLOEXEC, 0), on = 1;
    if (fd >= 0 && at->sa_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    bool may = fd >= 0 && bind(fd, at, at_bytes) == 0;
    if (fd >= 0) {
        listen_fail_closed(fd);
    }
    return may;
}

void listen_log_error(const struct listen_place *at, int error) {
    log_error("cannot listen on %s port %d%s: %s",
              at->host[0] != '\0' ? at->host : "any address", at->port < 0 ? 0 : at->port,
              at->socket_type == SOCK_DGRAM ? " by UDP" : "", strerror(error));
}

int listen_result(const struct listen_place *at, unsigned opened, int why) {
    if (opened > 0 && !listen_error_is_fatal(why)) {
        return 0;
    }
    listen_log_error(at, why);
    errno = why;
    return -1;
}

int listen_tcp(const struct listen_place *at, const struct addrinfo *found, int backlog,
               const struct listen_entry *as, struct listener **list) {
    unsigned opened = 0;
    int why = EADDRNOTAVAIL;
    for (const struct addrinfo *ai = found; ai != NULL && !listen_error_is_fatal(why);
         ai = ai->ai_next) {
        if (listen_open_tcp(ai, backlog, at->inherited, as, list) == 0) {
            opened++;
        } else {
            why = errno;
        }
    }
    return listen_result(at, opened, why);
}

/* True: a server answers on this socket. Then its file may not be replaced. */
static bool listen_socket_is_alive(const struct sockaddr_un *at) {
    int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
    if (fd < 0) {
        return true;
    }
    bool alive = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno != ECONNREFUSED;
    close(fd);
    return alive;
}

static int listen_open_unix(const struct sockaddr_un *at, unsigned mode, int backlog,
                            struct handover_fds *inherited, struct listener **list) {
    static const struct listen_entry plain = {.tls = LISTEN_TLS_NONE};
    struct stat existing;
    int inherited_fd = handover_fds_take(inherited, SOCK_STREAM, (const struct sockaddr *)at);
    if (inherited_fd >= 0) {
        return listen_add(inherited_fd, at->sun_path, &plain, list);
    }
    if (lstat(at->sun_path, &existing) == 0) {
        if (!S_ISSOCK(existing.st_mode) || listen_socket_is_alive(at)) {
            errno = EADDRINUSE;
            return -1;
        }
        unlink(at->sun_path);
    }
    int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
    if (fd < 0) {
        return -1;
    }
    mode_t mask = umask(~mode & 0777);
    int bound = bind(fd, (const struct sockaddr *)at, sizeof *at);
    umask(mask);
    if (bound != 0 || listen(fd, backlog) != 0) {
        return listen_fail_closed(fd);
    }
    return listen_add(fd, at->sun_path, &plain, list);
}

int listen_unix(const char *path, unsigned mode, int backlog, struct handover_fds *inherited,
                struct listener **list) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    if (listen_open_unix(&at, mode, backlog, inherited, list) != 0) {
        log_error("cannot listen on %s: %s", path, strerror(errno));
        return -1;
    }
    return 0;
}
