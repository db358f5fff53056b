/* The time, and waiting: no other file asks the system for either. A loop takes the time once a
 * turn and hands it to everything that it calls. */
#ifndef CONSOLE_FACTS_CLOCK_H
#define CONSOLE_FACTS_CLOCK_H
#include <poll.h>
#include <stdint.h>

/* Monotonic microseconds; the loops' milliseconds; those of the time of day. */
uint64_t clock_us(void);
uint64_t clock_ms(void);
int64_t clock_wall_ms(void);

/* Waits until a descriptor is ready, a signal comes, or due_ms has come; returns the time then. */
uint64_t clock_wait(struct pollfd *polled, unsigned count, uint64_t due_ms);
#endif
