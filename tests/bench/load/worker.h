/* One load thread: an epoll loop over its share of the connections. */
#ifndef LOAD_WORKER_H
#define LOAD_WORKER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "options.h"
#include "source.h"
#include "tally.h"

/* Exit codes of the program (sysexits where they exist). */
enum {
    LOAD_OK = 0,
    LOAD_WRONG = 1, /* wrong values; only errors; or errors, when told to fail on them */
    LOAD_USAGE = 64,
    LOAD_NO_CONNECTION = 69,
    LOAD_IO = 74,
    LOAD_INTERRUPTED = 130
};

struct failure {
    int exit_code; /* 0: none */
    char text[512];
};

/* Written by the worker, read by the driver while the worker runs; all relaxed, each right by itself. */
struct progress {
    _Atomic uint64_t requests, hits, misses, errors, wrong;
};

struct worker_config {
    const struct options *options;
    const struct address *address;
    enum source_kind source;
    unsigned thread;             /* 0 .. options->threads - 1 */
    const atomic_bool *stop;     /* set by another thread: finish the requests in flight and return */
    struct progress *progress;
    uint64_t start_ns; /* common to all workers */
};

uint64_t clock_ns(void); /* monotonic */

/* Runs until the source, the budget, the time or `stop` ends the load. Always fills *tally; *failure has the error, if any. */
void worker_run(const struct worker_config *config, struct tally *tally, struct failure *failure);
#endif
