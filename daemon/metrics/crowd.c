#include "metrics/crowd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "metrics/http.h"

enum { DRAIN_US = 50 * 1000, DRAIN_READS = 16 };

static void leave(struct crowd *c, unsigned at) {
    c->count--;
    memmove(&c->each[at], &c->each[at + 1], (c->count - at) * sizeof *c->each);
}

void crowd_add(struct crowd *c, int taken_fd, uint64_t until_us) {
    if (c->count == CROWD_MOST) {
        close(c->each[0].fd);
        leave(c, 0);
    }
    c->each[c->count].fd = taken_fd;
    c->each[c->count].is_answered = false;
    c->each[c->count++].until_us = until_us;
}

void crowd_drain(struct crowd *c, int taken_fd) {
    shutdown(taken_fd, SHUT_WR);
    crowd_add(c, taken_fd, clock_mono_us() + DRAIN_US);
    c->each[c->count - 1].is_answered = true;
}

unsigned crowd_poll(const struct crowd *c, struct pollfd to[CROWD_MOST]) {
    for (unsigned i = 0; i < c->count; i++) {
        to[i] = (struct pollfd){.fd = c->each[i].fd, .events = POLLIN};
    }
    return c->count;
}

int crowd_wait_ms(const struct crowd *c) {
    uint64_t now_us = clock_mono_us(), until_us = UINT64_MAX;
    for (unsigned i = 0; i < c->count; i++) {
        until_us = c->each[i].until_us < until_us ? c->each[i].until_us : until_us;
    }
    if (c->count == 0) {
        return -1;
    }
    return until_us > now_us ? (int)((until_us - now_us) / 1000) + 1 : 0;
}

/* The next event, of poll or of the time, comes when there are so many bytes. */
static void wake_at(int fd, int bytes) {
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

/* Whether there is something to answer; else poll waits until more has come than there is. */
static bool has_asked(int fd, char *bytes, size_t room) {
    ssize_t got = recv(fd, bytes, room - 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0) {
        return errno != EAGAIN && errno != EINTR;
    }
    bytes[got] = '\0';
    if (got == 0 || (size_t)got == room - 1 || strlen(bytes) < (size_t)got ||
        http_is_whole(bytes)) {
        wake_at(fd, 1);
        return true;
    }
    wake_at(fd, (int)got + 1);
    return false;
}

/* Drops what has come; whether the peer has hung up. */
static bool has_left(int fd, char *bin, size_t room) {
    ssize_t got = 1;
    for (int i = 0; i < DRAIN_READS && got > 0; i++) {
        got = recv(fd, bin, room, MSG_DONTWAIT);
    }
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static void drop_answered(struct crowd *c, char *bin, size_t room) {
    uint64_t now_us = clock_mono_us();
    for (unsigned i = c->count; i-- > 0;) {
        if (c->each[i].is_answered &&
            (now_us >= c->each[i].until_us || has_left(c->each[i].fd, bin, room))) {
            close(c->each[i].fd);
            leave(c, i);
        }
    }
}

int crowd_take(struct crowd *c, size_t most_bytes, uint64_t *until_us) {
    uint64_t now_us = clock_mono_us();
    char    *bytes = malloc(most_bytes + 1);
    int      fd = -1;
    if (bytes != NULL) {
        drop_answered(c, bytes, most_bytes);
    }
    for (unsigned i = 0; bytes != NULL && i < c->count && fd < 0; i++) {
        if (c->each[i].is_answered) {
            continue;
        }
        if (has_asked(c->each[i].fd, bytes, most_bytes + 1) || now_us >= c->each[i].until_us) {
            fd = c->each[i].fd;
            *until_us = c->each[i].until_us;
            leave(c, i);
        }
    }
    free(bytes);
    return fd;
}

void crowd_end(struct crowd *c) {
    while (c->count > 0) {
        close(c->each[--c->count].fd);
    }
}
