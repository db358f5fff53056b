#include "link/exchange.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool wait_for(int fd, short events, int64_t until_ms) {
    struct pollfd polled = {.fd = fd, .events = events};
    for (int64_t left_ms; (left_ms = until_ms - now_ms()) > 0;) {
        int ready = poll(&polled, 1, (int)left_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return ready > 0;
        }
    }
    return false;
}

static int connect_one(const struct addrinfo *info, int64_t until_ms) {
    int error = 0;
    socklen_t bytes = sizeof error;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, info->ai_addr, info->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && wait_for(fd, POLLOUT, until_ms) &&
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0)) {
        return fd;
    }
    close(fd);
    return -1;
}

static int connect_to(const char *host, unsigned port, int type, int64_t until_ms) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = type}, *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port % 65536);
    int fd = -1;
    if (getaddrinfo(host, service, &hints, &found) == 0) {
        for (const struct addrinfo *info = found; info != NULL && fd < 0; info = info->ai_next) {
            fd = connect_one(info, until_ms);
        }
        freeaddrinfo(found);
    }
    return fd;
}

ssize_t exchange_udp(const char *host, unsigned port, const void *message, size_t bytes,
                     void *answer, size_t room) {
    int64_t until_ms = now_ms() + EXCHANGE_MS;
    ssize_t got = -1;
    int fd = connect_to(host, port, SOCK_DGRAM, until_ms);
    if (fd < 0) {
        return -1;
    }
    bool is_sent = bytes >= 2 && send(fd, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
    while (is_sent && got < 0 && wait_for(fd, POLLIN, until_ms)) {
        got = recv(fd, answer, room, 0);
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            break; /* nobody listens there */
        }
        if (got < 2 || memcmp(answer, message, 2) != 0) {
            got = -1; /* another's: the right one may follow */
        }
    }
    close(fd);
    return got;
}

static bool send_all(int fd, const uint8_t *from, size_t bytes, int64_t until_ms) {
    while (bytes > 0 && wait_for(fd, POLLOUT, until_ms)) {
        ssize_t sent = send(fd, from, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        from += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return bytes == 0;
}

static bool receive_all(int fd, uint8_t *to, size_t bytes, int64_t until_ms) {
    while (bytes > 0 && wait_for(fd, POLLIN, until_ms)) {
        ssize_t got = recv(fd, to, bytes, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            return false;
        }
        to += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return bytes == 0;
}

ssize_t exchange_tcp(const char *host, unsigned port, const void *message, size_t bytes,
                     void *answer, size_t room) {
    int64_t until_ms = now_ms() + EXCHANGE_MS;
    uint8_t length[2] = {(uint8_t)(bytes >> 8), (uint8_t)bytes};
    int fd = bytes <= EXCHANGE_MOST ? connect_to(host, port, SOCK_STREAM, until_ms) : -1;
    if (fd < 0) {
        return -1;
    }
    bool is_sent = send_all(fd, length, sizeof length, until_ms) &&
                   send_all(fd, message, bytes, until_ms) &&
                   receive_all(fd, length, sizeof length, until_ms);
    size_t coming = (size_t)length[0] << 8 | length[1];
    bool is_whole = is_sent && coming <= room && receive_all(fd, answer, coming, until_ms);
    close(fd);
    return is_whole ? (ssize_t)coming : -1;
}
