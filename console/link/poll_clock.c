#include "link/poll_clock.h"

#include <time.h>

uint64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_ms(void) {
    return clock_us() / 1000;
}

int64_t clock_wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t clock_wait(struct pollfd *polled, unsigned count, uint64_t due_ms) {
    uint64_t now_ms = clock_ms();
    poll(polled, count, due_ms > now_ms ? (int)(due_ms - now_ms) : 0);
    return clock_ms();
}
