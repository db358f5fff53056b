/* What a simulation prints: a table, or JSON with an object a line. A line is written as soon as
 * its cell is done. */
#ifndef SLATE_SIMULATE_SIMULATE_REPORT_H
#define SLATE_SIMULATE_SIMULATE_REPORT_H
#include <stdio.h>

#include "simulate/cell.h"
#include "simulate/simulate_options.h"

struct simulate_report {
    FILE *to;
    const struct simulate_options *options;
    uint64_t keys, requests, bad_lines; /* of the trace; 0 keys: nobody counted them */
    enum trace_format format;
    bool     has_times; /* the trace's own count */
    double   sample;    /* of which share of the keys the trace is; figures are of the whole */
    bool     begun;
};

void simulate_report_row(struct simulate_report *, const struct simulate_result *);
#endif
