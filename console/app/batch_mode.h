/* Batch mode: the overview and the class table as plain text or JSON, without a terminal. */
#ifndef CONSOLE_APP_BATCH_MODE_H
#define CONSOLE_APP_BATCH_MODE_H
#include "app/options/startup_options.h"

/* Flushes standard output. False when it takes no more, with the exit code: a reader that closed
 * the pipe is no error, any other reason is printed on stderr. SIGPIPE must be ignored. */
bool batch_flush_output(int *exit_code);

/* Prints snapshots; returns the exit code. */
int batch_run(const struct options *options);
#endif
