/* Prints a simulation: a table, or JSON with an object a line. A line is written as soon as its
 * cell is done. */
#ifndef SLATE_SIMULATE_SIMULATE_REPORT_H
#define SLATE_SIMULATE_SIMULATE_REPORT_H
#include <stdio.h>

#include "simulate/cell.h"
#include "simulate/simulate_options.h"

struct simulate_report {
    FILE *to;
    const struct simulate_options *options;
    uint64_t keys, requests, bad_lines; /* of the trace; 0 keys: not counted */
    uint64_t warmup_requests; /* the first ones, which fill the caches and do not count */
    enum trace_format format;
    bool     has_times; /* the trace's own times are used */
    double   sample;    /* share of the keys in the trace; the figures are for all keys */
    bool     begun;
};

void simulate_report_row(struct simulate_report *, const struct simulate_result *);
#endif
