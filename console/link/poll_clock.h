/* The time, and waiting: no other file calls the system for either. A loop reads the time once a
 * turn and hands it to all functions that it calls. */
#ifndef CONSOLE_LINK_POLL_CLOCK_H
#define CONSOLE_LINK_POLL_CLOCK_H
#include <poll.h>
#include <stdint.h>

/* Monotonic microseconds; monotonic milliseconds, for loops; the time of day in milliseconds. */
uint64_t clock_us(void);
uint64_t clock_ms(void);
int64_t clock_wall_ms(void);

/* Waits until a descriptor is ready, a signal comes, or due_ms has come; returns the time then. */
uint64_t clock_wait(struct pollfd *polled, unsigned count, uint64_t due_ms);
#endif
