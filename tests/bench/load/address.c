#include "address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tls.h"

#define ASK_REPLY_MAX (4u * 1024 * 1024)

static bool unix_address(const char *path, struct address *out, char *why, size_t why_bytes) {
    struct sockaddr_un *un = (struct sockaddr_un *)&out->socket;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof(un->sun_path)) {
        snprintf(why, why_bytes, "a socket path has 1 to %zu bytes, not %zu",
                 sizeof(un->sun_path) - 1, n);
        return false;
    }
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, n + 1);
    out->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
    return true;
}

/* Splits host and port; `host` has room for the whole text. False when the form is wrong. */
static bool split_host(const char *text, char *host, const char **port) {
    const char *colon = strrchr(text, ':');
    size_t n = strlen(text);
    *port = "11211";
    if (*text == '[') {
        const char *close_bracket = strchr(text, ']');
        if (close_bracket == NULL || (close_bracket[1] != '\0' && close_bracket[1] != ':')) {
            return false;
        }
        if (close_bracket[1] == ':') {
            *port = close_bracket + 2;
        }
        text++;
        n = (size_t)(close_bracket - text);
    } else if (colon != NULL && strchr(text, ':') == colon) {
        *port = colon + 1;
        n = (size_t)(colon - text);
    }
    memcpy(host, text, n);
    host[n] = '\0';
    char *end;
    long number = strtol(*port, &end, 10);
    return n > 0 && **port >= '0' && **port <= '9' && *end == '\0' && number >= 1 &&
           number <= 65535;
}

bool address_parse(const char *text, struct address *out, char *why, size_t why_bytes) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char host[sizeof(out->text)];
    const char *port;

    memset(out, 0, sizeof(*out));
    if (strlen(text) >= sizeof(out->text)) {
        snprintf(why, why_bytes, "the server address is longer than %zu bytes",
                 sizeof(out->text) - 1);
        return false;
    }
    memcpy(out->text, text, strlen(text) + 1);
    if (strncmp(text, "unix:", 5) == 0 || *text == '/') {
        return unix_address(*text == '/' ? text : text + 5, out, why, why_bytes);
    }
    if (!split_host(text, host, &port)) {
        snprintf(why, why_bytes, "'%s' is not host:port, unix:/path or /path", text);
        return false;
    }
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) {
        snprintf(why, why_bytes, "cannot find host %s: %s", host, gai_strerror(code));
        return false;
    }
    memcpy(out->host, host, sizeof(host));
    memcpy(&out->socket, found->ai_addr, found->ai_addrlen);
    out->bytes = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

int address_connect(const struct address *a, bool blocking, int linger_s) {
    bool tcp = a->socket.ss_family != AF_UNIX;
    /* A UNIX socket connects at once or blocks until the listener has room; never EINPROGRESS. */
    int type = SOCK_STREAM | SOCK_CLOEXEC | (blocking || !tcp ? 0 : SOCK_NONBLOCK);
    int fd = socket(a->socket.ss_family, type, 0);
    int one = 1;
    if (fd < 0) {
        return -1;
    }
    if (tcp) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    if (linger_s >= 0) {
        struct linger linger = {.l_onoff = 1, .l_linger = linger_s};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    }
    int code;
    do {
        code = connect(fd, (const struct sockaddr *)&a->socket, a->bytes);
    } while (code < 0 && errno == EINTR && (type & SOCK_NONBLOCK) == 0);
    if (code < 0 && errno != EINPROGRESS) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    if (!blocking && !tcp) {
        fcntl(fd, F_SETFL, O_NONBLOCK); /* OpenSSL has no MSG_DONTWAIT */
    }
    return fd;
}

static bool reply_is_whole(const char *reply, size_t n, bool until_end) {
    if (n < 2 || reply[n - 1] != '\n') {
        return false;
    }
    if (!until_end) {
        return true;
    }
    bool ended = n >= 5 && memcmp(reply + n - 5, "END\r\n", 5) == 0;
    bool refused = strncmp(reply, "ERROR", 5) == 0 || strncmp(reply, "CLIENT_ERROR", 12) == 0 ||
                   strncmp(reply, "SERVER_ERROR", 12) == 0;
    return ended || refused;
}

/* Reads until the reply is complete; false with errno set (0: the server closed). `ssl` is NULL without TLS. */
static bool read_reply(int fd, struct ssl_st *ssl, bool until_end, char **reply) {
    size_t n = 0, room = 0;
    for (;;) {
        if (room - n < 4096) {
            room = room == 0 ? 16384 : 2 * room;
            char *grown = room > ASK_REPLY_MAX ? NULL : realloc(*reply, room);
            if (grown == NULL) {
                errno = ENOMEM;
                return false;
            }
            *reply = grown;
        }
        size_t most = room - n - 1;
        ssize_t got = ssl ? tls_recv(ssl, *reply + n, most) : recv(fd, *reply + n, most, 0);
        if (got <= 0) {
            if (got < 0 && errno == EINTR) {
                continue;
            }
            errno = got == 0 ? 0 : errno;
            return false;
        }
        n += (size_t)got;
        (*reply)[n] = '\0';
        if (reply_is_whole(*reply, n, until_end)) {
            return true;
        }
    }
}

/* False with errno set; the socket blocks, so a missing reply means a time-out. */
static bool agree(struct ssl_st *ssl) {
    enum tls_shaken how = tls_shake(ssl);
    if (how == TLS_WANTS_READ || how == TLS_WANTS_WRITE) {
        errno = EAGAIN;
    }
    return how == TLS_DONE;
}

static const char *why_not(int error) {
    return error == EAGAIN ? "nothing came in time" : tls_why(error);
}

/* The session of a blocking socket, or NULL with one sentence in `why`. */
static struct ssl_st *ask_tls(const struct address *a, int fd, char *why, size_t why_bytes) {
    struct ssl_st *ssl = tls_open(a->tls, fd, a->host, NULL);
    if (ssl == NULL) {
        snprintf(why, why_bytes, "out of memory");
    } else if (!agree(ssl)) {
        snprintf(why, why_bytes, "cannot agree on TLS with %s: %s", a->text, why_not(errno));
        tls_close(&ssl, NULL);
    }
    return ssl;
}

static bool send_line(int fd, struct ssl_st *ssl, const char *line, int n) {
    ssize_t sent = ssl ? tls_send(ssl, line, (size_t)n) : send(fd, line, (size_t)n, MSG_NOSIGNAL);
    return sent == n;
}

char *address_ask(const struct address *a, const char *command, bool until_end, double timeout_s,
                  char *why, size_t why_bytes) {
    char line[128], *reply = NULL;
    int n = snprintf(line, sizeof(line), "%s\r\n", command);
    struct timeval limit = {.tv_sec = (time_t)timeout_s, .tv_usec = 0};
    int fd = address_connect(a, true, -1);

    if (fd < 0) {
        snprintf(why, why_bytes, "cannot connect to %s: %s", a->text, strerror(errno));
        return NULL;
    }
    limit.tv_usec = (suseconds_t)((timeout_s - (double)limit.tv_sec) * 1e6);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    struct ssl_st *ssl = a->tls != NULL ? ask_tls(a, fd, why, why_bytes) : NULL;
    if (a->tls != NULL && ssl == NULL) {
        close(fd);
        return NULL;
    }
    if (!send_line(fd, ssl, line, n) || !read_reply(fd, ssl, until_end, &reply)) {
        snprintf(why, why_bytes, "no reply to '%s' from %s: %s", command, a->text, why_not(errno));
        free(reply);
        reply = NULL;
    }
    tls_close(&ssl, NULL);
    close(fd);
    return reply;
}
