/* The rebalancing experiment of 2012: fill the cache with small values, then with ever larger
 * ones, and see whether the memory follows. After each phase the pages of the slab classes that
 * the phases used are read from `stats slabs`. A healthy server gives the class of the moment
 * nearly all pages and refuses no set; a calcified one leaves it a page or two. */
#ifndef LOAD_CALCIFY_H
#define LOAD_CALCIFY_H
#include <stdio.h>

#include "driver.h"

#define CALCIFY_PHASES 4

/* Runs the experiment and prints the table (or JSON, with --json). Returns an exit code; on failure one sentence is in *failure. */
int calcify_run(const struct options *o, const struct address *address, const char *version,
                FILE *out, FILE *progress, struct failure *failure);

/* ---- for tests: the reply to `stats slabs` */
#define CALCIFY_CLASSES 256

struct class_stats {
    uint64_t chunk_bytes, pages, sets;
};

struct slab_stats {
    struct class_stats classes[CALCIFY_CLASSES];
};

/* Lines of other kinds are passed over. */
void calcify_parse_slabs(const char *reply, struct slab_stats *out);
#endif
