/* The simulator: plays a trace to a grid of caches, each of one policy and size, and prints what
 * each of them had.
 *
 * Cells of objects all play in one pass over the trace. Cells of memory play one after another, so
 * that no more than one cache takes memory at a time; only a trace that can be read but once is
 * played to all of them together. A simulation that would take more than the machine's memory is
 * refused. Pages move at need only, unless --automove names a mode. */
#ifndef SLATE_SIMULATE_SIMULATE_H
#define SLATE_SIMULATE_SIMULATE_H
#include <stdio.h>

#include "simulate/simulate_options.h"

struct cache;

/* Reads the words and runs; what goes wrong is said on stderr. `make_cache`: as the server makes
 * its own (NULL and errno). Returns the exit status: 0, EX_USAGE, EX_NOINPUT, EX_DATAERR, EX_IOERR
 * or EX_OSERR. One thread, before any other. */
int simulate_run(int argc, char **argv, struct cache *(*make_cache)(const struct settings *),
                 FILE *to);
#endif
