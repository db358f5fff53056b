/* A trace of any form written out as text of the form `slate`, which all that play traces read. */
#ifndef SLATE_SIMULATE_PRINT_H
#define SLATE_SIMULATE_PRINT_H
#include <stdio.h>

#include "simulate/options.h"
#include "simulate/trace.h"

/* Returns an exit status. `why`: one sentence, also of lines that were skipped, or empty. */
int simulate_print(const struct simulate_options *, FILE *to, char why[TRACE_WHY_BYTES]);
#endif
