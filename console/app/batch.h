/* Batch mode: the overview and the class table as plain text or JSON, without a terminal. */
#ifndef CONSOLE_APP_BATCH_H
#define CONSOLE_APP_BATCH_H
#include "app/options.h"

/* Writes out what was printed. False when standard output takes no more, with the exit code: a
 * reader that has seen enough and gone is no error, anything else is said on stderr. Needs SIGPIPE
 * to be ignored. */
bool output_flush(int *exit_code);

/* Prints snapshots; returns the exit code. */
int batch_run(const struct options *options);
#endif
