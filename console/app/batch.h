/* Batch mode: the overview and the class table as plain text or JSON, without a terminal. */
#ifndef CONSOLE_APP_BATCH_H
#define CONSOLE_APP_BATCH_H
#include "app/options.h"

/* Prints snapshots; returns the exit code. */
int batch_run(const struct options *options);
#endif
