#include "link/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_port(const char *text) {
    char *end;
    long port = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && port >= 1 && port <= 65535 &&
           strlen(text) <= 5;
}

static bool parse_path(const char *path, struct address *address, char *why, size_t why_bytes) {
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path) {
        snprintf(why, why_bytes, "socket path is longer than %zu bytes",
                 sizeof((struct sockaddr_un *)0)->sun_path - 1);
        return false;
    }
    address->is_path = true;
    snprintf(address->host, sizeof address->host, "%s", path);
    snprintf(address->text, sizeof address->text, "%s", path);
    return true;
}

const char *address_list_word(const struct address *address) {
    return address->text + (address->is_tls ? strlen("tls://") : 0);
}

/* "srv:name" and "file:path", whose rest stands behind the colon. */
static bool parse_list(const char *text, const char *rest, enum address_list list,
                       struct address *address, char *why, size_t why_bytes) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool is_right = list == LIST_OF_FILE || rest[strspn(rest, letters)] == '\0';
    if (rest[0] == '\0' || !is_right) {
        snprintf(why, why_bytes, "'%.80s' is not %s", text,
                 list == LIST_OF_FILE ? "file:PATH" : "srv:NAME");
        return false;
    }
    if (strlen(rest) >= sizeof address->host) {
        snprintf(why, why_bytes, "'%.40s...' is longer than %zu bytes", text,
                 sizeof address->host - 1);
        return false;
    }
    address->list = list;
    snprintf(address->host, sizeof address->host, "%s", rest);
    snprintf(address->text, sizeof address->text, "%s", text);
    return true;
}

bool address_make_tls(struct address *address, char *why, size_t why_bytes) {
    char text[sizeof address->text];
    if (address->is_path) {
        snprintf(why, why_bytes, "TLS needs a host, and '%.80s' is the path of a socket",
                 address->host);
        return false;
    }
    if (!address->is_tls) {
        snprintf(text, sizeof text, "tls://%.*s", (int)sizeof text - 7, address->text);
        memcpy(address->text, text, sizeof text);
        snprintf(address->tls_name, sizeof address->tls_name, "%s", address->host);
        address->is_tls = true;
    }
    return true;
}

bool address_parse(const char *text, struct address *address, char *why, size_t why_bytes) {
    *address = (struct address){0};
    if (strncmp(text, "tls://", 6) == 0) {
        return address_parse(text + 6, address, why, why_bytes) &&
               address_make_tls(address, why, why_bytes);
    }
    if (strncmp(text, "unix:", 5) == 0) {
        return parse_path(text + 5, address, why, why_bytes);
    }
    if (text[0] == '/' || text[0] == '.') {
        return parse_path(text, address, why, why_bytes);
    }
    if (strncmp(text, "srv:", 4) == 0) {
        return parse_list(text, text + 4, LIST_OF_RECORDS, address, why, why_bytes);
    }
    if (strncmp(text, "file:", 5) == 0) {
        return parse_list(text, text + 5, LIST_OF_FILE, address, why, why_bytes);
    }
    const char *whole = text;
    bool is_list = strncmp(text, "dns:", 4) == 0;
    address->list = is_list ? LIST_OF_NAME : NO_LIST;
    text += is_list ? 4 : 0;
    const char *host = text, *host_end, *port = NULL;
    const char *colon = strchr(text, ':');
    if (text[0] == '[') {
        host++;
        host_end = strchr(text, ']');
        if (host_end == NULL || (host_end[1] != '\0' && host_end[1] != ':')) {
            snprintf(why, why_bytes, "address '%.80s' has no matching ]", text);
            return false;
        }
        port = host_end[1] == ':' ? host_end + 2 : NULL;
    } else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        host_end = colon;
        port = colon + 1;
    } else { /* no colon, or several: a bare IPv6 address */
        host_end = text + strlen(text);
    }
    if (port != NULL && !is_port(port)) {
        snprintf(why, why_bytes, "port '%.20s' is not a number from 1 to 65535", port);
        return false;
    }
    size_t host_bytes = (size_t)(host_end - host);
    if (host_bytes >= sizeof address->host) {
        snprintf(why, why_bytes, "host name is longer than %zu bytes", sizeof address->host - 1);
        return false;
    }
    if (host_bytes == 0 && is_list) {
        snprintf(why, why_bytes, "'%.80s' names no host", whole);
        return false;
    }
    if (host_bytes == 0) {
        host = "127.0.0.1";
        host_bytes = strlen(host);
    }
    memcpy(address->host, host, host_bytes);
    snprintf(address->port, sizeof address->port, "%.5s", port != NULL ? port : DEFAULT_PORT);
    bool needs_brackets = strchr(address->host, ':') != NULL;
    snprintf(address->text, sizeof address->text, needs_brackets ? "%s[%s]:%s" : "%s%s:%s",
             is_list ? "dns:" : "", address->host, address->port);
    return true;
}

static void take_endpoints(struct endpoints *found, const struct addrinfo *info) {
    for (; info != NULL && found->count < ENDPOINT_LIMIT; info = info->ai_next) {
        struct endpoint *endpoint = &found->list[found->count++];
        memcpy(&endpoint->socket_address, info->ai_addr, info->ai_addrlen);
        endpoint->bytes = info->ai_addrlen;
    }
}

static int resolve(const struct address *address, int flags, struct endpoints *found) {
    *found = (struct endpoints){0};
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *info = NULL;
    int error = getaddrinfo(address->host, address->port, &hints, &info);
    if (error != 0) {
        snprintf(found->why, sizeof found->why, "%s", gai_strerror(error));
        return error;
    }
    take_endpoints(found, info);
    freeaddrinfo(info);
    return 0;
}

bool address_is_numeric(const struct address *address, struct endpoints *found) {
    if (address->is_path) {
        *found = (struct endpoints){.count = 1};
        struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
        memcpy(unix_address.sun_path, address->host, strlen(address->host) + 1);
        memcpy(&found->list[0].socket_address, &unix_address, sizeof unix_address);
        found->list[0].bytes = sizeof unix_address;
        return true;
    }
    return resolve(address, AI_NUMERICHOST | AI_NUMERICSERV, found) == 0;
}

/* In the child: no terminal handlers, no shared state, one write that fits the pipe, and out. */
static void answer_and_exit(const struct address *address, int pipe_fd) {
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    struct endpoints found;
    resolve(address, AI_NUMERICSERV, &found);
    size_t bytes =
        offsetof(struct endpoints, list) + (size_t)found.count * sizeof *found.list;
    ssize_t written = write(pipe_fd, &found, bytes);
    _exit(written == (ssize_t)bytes ? 0 : 1);
}

bool lookup_begin(struct lookup *lookup, const struct address *address) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        answer_and_exit(address, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    *lookup = (struct lookup){.child = child, .pipe_fd = ends[0]};
    return true;
}

void lookup_end(struct lookup *lookup, struct endpoints *found) {
    ssize_t got = read(lookup->pipe_fd, found, sizeof *found);
    size_t least = offsetof(struct endpoints, list);
    if (got < (ssize_t)least || found->count > ENDPOINT_LIMIT ||
        (size_t)got != least + (size_t)found->count * sizeof *found->list) {
        *found = (struct endpoints){0};
        snprintf(found->why, sizeof found->why, "the name lookup failed");
    }
    lookup_cancel(lookup);
}

void lookup_cancel(struct lookup *lookup) {
    if (lookup->pipe_fd < 0) {
        return;
    }
    close(lookup->pipe_fd);
    kill(lookup->child, SIGKILL);
    waitpid(lookup->child, NULL, 0); /* a killed child is gone at once */
    *lookup = (struct lookup){.child = -1, .pipe_fd = -1};
}
