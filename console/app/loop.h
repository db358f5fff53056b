/* The console's loop: one thread, one poll() over the terminal, the signals and the servers'
 * sockets. Only the app sends commands that change a server, and only through the review. */
#ifndef CONSOLE_APP_LOOP_H
#define CONSOLE_APP_LOOP_H
#include "app/options/startup_options.h"

/* Runs the console until the operator leaves; returns the exit code. Errors before the first screen
 * go to stderr. */
int loop_run(const struct options *options);
#endif
