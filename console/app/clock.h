/* Times as the loops hand them to everything else. */
#ifndef CONSOLE_APP_CLOCK_H
#define CONSOLE_APP_CLOCK_H
#include <stdint.h>

/* Monotonic milliseconds, and those of the time of day. */
uint64_t clock_ms(void);
int64_t wall_now_ms(void);
#endif
