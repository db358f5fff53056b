/* Runs one phase of load: starts the workers, prints progress, minds signals, adds up. */
#ifndef LOAD_DRIVER_H
#define LOAD_DRIVER_H
#include <stdbool.h>
#include <stdio.h>

#include "worker.h"

/* The workers' counts between two samples. */
struct interval {
    double end_s; /* since the start of the phase */
    uint64_t requests, hits, misses, errors, wrong;
    uint64_t reads, read_p50_ns, read_p99_ns, read_max_ns; /* answered reads; latencies to their bucket's edge */
};

struct phase_result {
    const char *name;
    double seconds;     /* wall time */
    double cpu_seconds; /* CPU time of this process, user and system */
    bool interrupted;   /* SIGINT or SIGTERM came */
    struct failure failure;
    struct tally tally;
    struct interval *intervals; /* one every --interval, and a last shorter one; NULL without that option */
    size_t interval_count;
};

/* While this runs, SIGINT and SIGTERM are handled: the workers finish their requests in flight and the result says `interrupted`.
 * `progress` gets the --interval lines. `result` is always filled; phase_result_fini ends it. To be called from one thread at a time. */
void driver_run(const char *name, enum source_kind source, const struct options *o,
                const struct address *address, FILE *progress, struct phase_result *result);
void phase_result_fini(struct phase_result *result);
#endif
