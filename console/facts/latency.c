#include "facts/latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double latency_limits_us[LATENCY_BUCKETS - 1] = {10,     20,     50,     100,    200,   500,
                                                       1000,   2000,   5000,   10000,  20000, 50000,
                                                       100000, 200000, 500000, 1000000};

void latency_add(struct latency_log *log, double us) {
    log->us[log->count++ % LATENCY_SAMPLES] = (float)us;
}

static int latency_compare_times(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The value that `share` of the sorted values does not exceed. */
static double latency_quantile(const float *sorted, unsigned count, double share) {
    unsigned rank = (unsigned)ceil(share * count);
    return count == 0 ? NAN : (double)sorted[rank > 0 ? rank - 1 : 0];
}

struct latency_summary latency_of(float *us, unsigned count) {
    struct latency_summary summary = {.count = 0};
    for (unsigned i = 0; i < count; i++) {
        if (!isnan(us[i])) {
            us[summary.count++] = us[i];
        }
    }
    qsort(us, summary.count, sizeof *us, latency_compare_times);
    summary.p50_us = latency_quantile(us, summary.count, 0.5);
    summary.p90_us = latency_quantile(us, summary.count, 0.9);
    summary.p99_us = latency_quantile(us, summary.count, 0.99);
    summary.most_us = latency_quantile(us, summary.count, 1);
    for (unsigned i = 0, bucket = 0; i < summary.count; i++) {
        while (bucket < LATENCY_BUCKETS - 1 && (double)us[i] > latency_limits_us[bucket]) {
            bucket++;
        }
        summary.buckets[bucket]++;
    }
    return summary;
}

struct latency_summary latency_of_log(const struct latency_log *log) {
    float us[LATENCY_SAMPLES];
    unsigned count = log->count < LATENCY_SAMPLES ? log->count : LATENCY_SAMPLES;
    memcpy(us, log->us, count * sizeof *us);
    return latency_of(us, count);
}
