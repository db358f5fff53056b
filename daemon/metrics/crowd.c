#include "metrics/crowd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "metrics/http.h"

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
    c->each[c->count++].until_us = until_us;
}

unsigned crowd_poll(const struct crowd *c, struct pollfd to[CROWD_MOST]) {
    for (unsigned i = 0; i < c->count; i++) {
        to[i] = (struct pollfd){.fd = c->each[i].fd, .events = POLLIN};
    }
    return c->count;
}

int crowd_wait_ms(const struct crowd *c) {
    uint64_t now_us = clock_mono_us();
    if (c->count == 0) {
        return -1;
    }
    return c->each[0].until_us > now_us ? (int)((c->each[0].until_us - now_us) / 1000) + 1 : 0;
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

int crowd_take(struct crowd *c, size_t most_bytes, uint64_t *until_us) {
    uint64_t now_us = clock_mono_us();
    char    *bytes = malloc(most_bytes + 1);
    int      fd = -1;
    for (unsigned i = 0; bytes != NULL && i < c->count && fd < 0; i++) {
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
