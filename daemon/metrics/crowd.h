/* Those who have connected and not asked yet, and those who have their answer and may still be
 * sending. They are looked at together, for one that is silent, or sends its request byte by byte,
 * would otherwise keep all others waiting.
 *
 * At most CROWD_MOST at once: for one more the one gives way that has been there longest.
 * Threading: one thread's. */
#ifndef SLATE_METRICS_CROWD_H
#define SLATE_METRICS_CROWD_H
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CROWD_MOST = 64 };

struct crowd {
    unsigned count;
    struct {
        int      fd;
        bool     is_answered;
        uint64_t until_us; /* when its time to ask, or to read its answer, is over */
    } each[CROWD_MOST];    /* by the order in which they came */
};

void crowd_add(struct crowd *, int taken_fd, uint64_t until_us);
/* One that was answered: bytes that nobody has read would end its connection before it has read
 * the answer, so what still comes is dropped until it hangs up, for 50 ms at most. */
void crowd_drain(struct crowd *, int taken_fd);
/* Puts what to poll for, one entry each; how many. */
unsigned crowd_poll(const struct crowd *, struct pollfd to[CROWD_MOST]);
/* Until the first one's time is over, for poll; -1: nobody is there. */
int crowd_wait_ms(const struct crowd *);
/* Takes the next out that has sent a whole request, or as much as `most_bytes`, or hung up, or
 * whose time is over. Returns its descriptor, which is the caller's then; -1: none. */
int crowd_take(struct crowd *, size_t most_bytes, uint64_t *until_us);
void crowd_end(struct crowd *); /* hangs up on all */
#endif
