/* Latency histogram: log-linear buckets, 128 to each power of two, so that a percentile is at most 0.8 % above the truth. Fixed memory
 * (about 34 KB), exact count, sum, minimum and maximum. Values are nanoseconds; those over HISTOGRAM_MAX_NS (18 minutes) land in the last
 * bucket. Record is O(1); a histogram belongs to one thread, merge after the thread has ended. While the thread runs others may read the
 * buckets. */
#ifndef LOAD_HISTOGRAM_H
#define LOAD_HISTOGRAM_H
#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_MAX_BITS 40
#define HISTOGRAM_MAX_NS ((UINT64_C(1) << HISTOGRAM_MAX_BITS) - 1)
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t min_ns; /* meaningless while count is 0 */
    uint64_t max_ns;
    _Atomic uint64_t buckets[HISTOGRAM_BUCKETS]; /* written by the owner alone */
};

void histogram_record(struct histogram *h, uint64_t value_ns, uint64_t times);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Adds the present buckets of another thread's histogram; then the minimum is 0, and the maximum the edge of a bucket. */
void histogram_merge_running(struct histogram *into, const struct histogram *from);
/* The values that `now` has beyond an earlier copy of itself, `before`; minimum and maximum as above. */
void histogram_since(struct histogram *since, const struct histogram *now, const struct histogram *before);

/* Smallest recorded value that `percent` of all values do not exceed, rounded up to its bucket's
 * upper edge and never above the exact maximum; 0 when empty. */
uint64_t histogram_percentile_ns(const struct histogram *h, double percent);
double histogram_mean_ns(const struct histogram *h);
#endif
