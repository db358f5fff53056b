/* The times of round trips: the last LATENCY_SAMPLES, their shares by time, and quantiles. One
 * thread. */
#ifndef CONSOLE_FACTS_LATENCY_H
#define CONSOLE_FACTS_LATENCY_H
#include <stdint.h>

enum { LATENCY_SAMPLES = 600, LATENCY_BUCKETS = 17 };

struct latency_log {
    float us[LATENCY_SAMPLES];
    unsigned count; /* all round trips ever noted */
};

void latency_add(struct latency_log *log, double us);

struct latency_summary {
    unsigned count;
    double p50_us, p90_us, p99_us, most_us; /* NAN when count is 0 */
    /* how many took at most latency_limits_us of the bucket; the last: longer */
    unsigned buckets[LATENCY_BUCKETS];
};
/* Upper limits: 1, 2 and 5 times powers of ten, from 10 us to 1 s; the last bucket has none. */
extern const double latency_limits_us[LATENCY_BUCKETS - 1];

/* Summarizes a list of times; NAN are left out. The function sorts the list. */
struct latency_summary latency_of(float *us, unsigned count);
struct latency_summary latency_of_log(const struct latency_log *log);
#endif
