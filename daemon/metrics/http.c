#include "metrics/http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"

/* Waits until the peer is ready; false: the time is over, or the server stops. */
static bool await(const struct http_peer *peer, short events, uint64_t until_us) {
    struct pollfd at[2] = {{.fd = peer->fd, .events = events},
                           {.fd = peer->stop_fd, .events = POLLIN}};
    for (;;) {
        uint64_t now_us = clock_mono_us();
        if (now_us >= until_us) {
            return false;
        }
        int ready = poll(at, 2, (int)((until_us - now_us) / 1000) + 1);
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready > 0) {
            return at[1].revents == 0;
        }
    }
}

/* Bytes received; 0: it ended, or there is no time. */
static size_t receive(const struct http_peer *peer, char *to, size_t room, uint64_t until_us) {
    while (await(peer, POLLIN, until_us)) {
        ssize_t got = recv(peer->fd, to, room, 0);
        if (got >= 0) {
            return (size_t)got;
        }
        if (errno != EAGAIN && errno != EINTR) {
            break;
        }
    }
    return 0;
}

bool http_is_whole(const char *text) { return strstr(text, "\r\n\r\n") || strstr(text, "\n\n"); }

/* "GET /metrics?x HTTP/1.1"; the text is cut. Returns the status. */
static int parse_first(char *line, struct http_request *request) {
    char *path = strchr(line, ' ');
    char *version = path ? strchr(path + 1, ' ') : NULL;
    if (version == NULL || strncmp(version + 1, "HTTP/1.", 7) != 0 || path[1] != '/') {
        return 400;
    }
    *path++ = *version = '\0';
    path[strcspn(path, "?")] = '\0';
    if (strlen(path) >= sizeof request->path) {
        return 414;
    }
    snprintf(request->method, sizeof request->method, "%s", line);
    snprintf(request->path, sizeof request->path, "%s", path);
    return 200;
}

static bool accepts_openmetrics(const char *line) {
    static const char name[] = "accept:";
    return strncasecmp(line, name, sizeof name - 1) == 0 &&
           strstr(line, "application/openmetrics-text") != NULL;
}

int http_read(const struct http_peer *peer, char *bytes, size_t room,
              struct http_request *request) {
    size_t used = 0;
    bytes[0] = '\0';
    while (!http_is_whole(bytes)) {
        if (used + 1 >= room) {
            return 431;
        }
        size_t got = receive(peer, bytes + used, room - 1 - used, peer->until_us);
        if (got == 0) {
            return clock_mono_us() >= peer->until_us ? 408 : 0;
        }
        used += got;
        bytes[used] = '\0';
        if (strlen(bytes) != used) {
            return 400; /* a zero byte is in no request */
        }
    }
    memset(request, 0, sizeof *request);
    char *rest = bytes, *line = strsep(&rest, "\n");
    int   status = parse_first(line, request);
    while ((line = strsep(&rest, "\n")) != NULL) {
        request->openmetrics |= accepts_openmetrics(line);
    }
    return status;
}

static const char *reason_of(int status) {
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    default: return "Internal Server Error";
    }
}

static bool send_all(const struct http_peer *peer, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = send(peer->fd, bytes, n, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        } else if (!await(peer, POLLOUT, peer->until_us)) {
            return false;
        }
    }
    return true;
}

void http_answer(const struct http_peer *peer, int status, const char *kind, const char *body,
                 size_t n, bool head) {
    char text[256];
    int  used = snprintf(text, sizeof text,
                         "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                         "Connection: close\r\n\r\n",
                         status, reason_of(status), kind, n);
    if (send_all(peer, text, (size_t)used) && !head) {
        send_all(peer, body, n);
    }
}
