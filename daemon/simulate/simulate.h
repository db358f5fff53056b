/* The simulator: plays a trace to a grid of caches, each of one policy and size, and prints the
 * result of each.
 *
 * Cells of objects all play in one pass over the trace. Cells of memory play one after another, so
 * that only one cache takes memory at a time; if the trace can be read only once, all of them play
 * together. A simulation that needs more than the machine's memory is refused. Pages move only when
 * a class needs memory, unless --automove names a mode. */
#ifndef SLATE_SIMULATE_SIMULATE_H
#define SLATE_SIMULATE_SIMULATE_H
#include <stdio.h>

#include "simulate/simulate_options.h"

struct cache;

/* Reads the command line and runs the simulation; reports errors on stderr. `make_cache` creates a
 * cache as the server does (NULL and errno). Returns the exit status: 0, EX_USAGE, EX_NOINPUT,
 * EX_DATAERR, EX_IOERR or EX_OSERR. One thread, before any other. */
int simulate_run(int argc, char **argv, struct cache *(*make_cache)(const struct settings *),
                 FILE *to);
#endif
