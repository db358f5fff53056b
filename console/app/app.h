/* The console's loop: one thread, one poll() over the terminal, the signals and the server's
 * socket. Only the app sends commands that change a server, and only through the review. */
#ifndef CONSOLE_APP_APP_H
#define CONSOLE_APP_APP_H
#include "app/options.h"

/* Monotonic milliseconds, and those of the time of day. */
uint64_t clock_ms(void);
int64_t wall_now_ms(void);

/* Runs the console until the operator leaves; returns the exit code. Errors before the first screen
 * go to stderr. */
int app_run(const struct options *options);

/* Prints snapshots without a terminal; returns the exit code. */
int batch_run(const struct options *options);
#endif
