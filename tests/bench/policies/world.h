/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A server's cache with its tuner, in reckoned time: a request takes the load's time, a page move the measured time of a
 * real move, and the tuner decides again when the mover would be done. So a run is the same on every machine, busy or not.
 * One world at a time, on one thread: the cache's clock is the process's. */
#ifndef POLICIES_WORLD_H
#define POLICIES_WORLD_H
#include "loads.h"
#include "side.h"

enum { SECONDS_MAX = 256 };

struct second {
    uint64_t gets, hits;
};

struct outcome {
    double   figure;
    uint64_t changes;    /* changes of the chunk sizes */
    unsigned seconds;    /* complete seconds */
    struct second by_second[SECONDS_MAX];
    uint64_t moves;      /* pages */
    uint64_t to_and_fro; /* moves in counting phases that no change of pages explains */
    uint64_t lost;       /* live items that moves cost */
    uint64_t stolen;     /* pages that a class with nothing took at once */
    uint64_t refused;    /* sets */
};

struct play {
    const struct load *load;
    const char        *mode;      /* mode of automove */
    bool               fits_sizes; /* the cache's chunk sizes adapt by themselves */
    uint64_t           seed;
};

/* Plays the load to a cache; `mode` moves its pages. The seed decides the keys, their order and which of them are sampled.
 * False: a trace cannot be read, and the error was printed. Ends the program when there is no memory. */
bool world_play(const struct play *, struct outcome *);

/* Whether all traces of the load are there. */
bool world_has_traces(const struct load *);
#endif
