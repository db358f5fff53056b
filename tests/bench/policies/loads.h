/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loads that modes of automove are measured by. A load is a row of phases, a phase a mix of
 * streams of requests, or a trace. */
#ifndef POLICIES_LOADS_H
#define POLICIES_LOADS_H
#include <stdbool.h>
#include <stdint.h>

enum { STREAMS_MAX = 8, PHASES_MAX = 4, LOAD_MEBIBYTES = 64 };

enum figure {
    FIGURE_HITS,   /* hits of a hundred gets, over the phases that count */
    FIGURE_PAGES,  /* the fewest pages of the class in demand after a counting phase */
    FIGURE_IN_USE, /* chunks in use of a hundred, at the end */
};

struct stream {
    const char *name; /* the first letters of its keys; NULL: no stream */
    const char *sizes, *popularity; /* slate-load's distributions; NULL: every key is new */
    uint64_t    keys;
    double      share; /* share of the phase's requests */
    bool        stores; /* sets; false: gets, and a set after a miss */
};

struct phase {
    uint64_t      requests; /* 0: no phase; for a trace: the most */
    double        rate;     /* a second; 0: as fast as a worker serves them */
    bool          counts;
    const char   *trace;    /* a file of the traces' folder; */
    const char   *values;   /* sizes for lines without one, as of simulate/simulate_sizes.h, */
    double        scale;    /* factor for all sizes */
    struct stream streams[STREAMS_MAX];
};

/* A load for a cache of LOAD_MEBIBYTES. */
struct load {
    const char  *name, *what; /* a name of NULL ends the table */
    enum figure  figure;
    unsigned     rounds; /* so often the phases are played, in turn; 0: once */
    struct phase phases[PHASES_MAX];
};

extern const struct load loads[];
#endif
