/* A child process that reports when it serves, as to a service manager (sd_notify(3)). */
#ifndef NOTIFIED_H
#define NOTIFIED_H
#include <stddef.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tap.h"

/* Opens the socket for messages of children, which NOTIFY_SOCKET names from now on. */
static inline int notified_open(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char name[40];
    size_t n = (size_t)snprintf(name, sizeof name, "@slate-test-%ld", (long)getpid());
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(at.sun_path + 1, name + 1, n - 1); /* an abstract name, outside of the file system */
    if (bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) != 0 || setenv("NOTIFY_SOCKET", name, 1) != 0) {
        abort();
    }
    return fd;
}

/* Reads all messages. Returns whether one was that the child serves. */
static inline bool notified_ready(int fd) {
    char words[64];
    bool ready = false;
    for (ssize_t n; (n = recv(fd, words, sizeof words - 1, 0)) > 0;) {
        words[n] = '\0';
        ready = ready || strcmp(words, "READY=1") == 0;
    }
    return ready;
}

/* Waits until the child serves. False: the child has ended, or hangs. */
static inline bool notified_await(int fd, int process_fd) {
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = process_fd, .events = POLLIN}};
    bool ready = false;
    while (!ready && poll(fds, 2, TAP_HANG_MS) > 0) {
        ready = notified_ready(fd);
        if (fds[1].revents != 0) {
            break;
        }
    }
    return ready;
}
#endif
