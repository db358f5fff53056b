#include "histogram.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Values below 2^(SUB_BITS+1) have a bucket each. Above, the leading SUB_BITS+1 bits name it:
 *   value  1 mmmmmmm xxxx…   bucket = (octave << SUB_BITS) + mmmmmmm */
static size_t bucket_of(uint64_t value_ns) {
    if (value_ns < (UINT64_C(2) << HISTOGRAM_SUB_BITS)) {
        return (size_t)value_ns;
    }
    unsigned shift = 63u - (unsigned)__builtin_clzll(value_ns) - HISTOGRAM_SUB_BITS;
    return ((size_t)shift << HISTOGRAM_SUB_BITS) + (size_t)(value_ns >> shift);
}

static uint64_t upper_edge_ns(size_t bucket) {
    if (bucket < (2u << HISTOGRAM_SUB_BITS)) {
        return bucket;
    }
    unsigned shift = (unsigned)(bucket >> HISTOGRAM_SUB_BITS) - 1;
    uint64_t lead = (bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)) + (1u << HISTOGRAM_SUB_BITS);
    return ((lead + 1) << shift) - 1;
}

static uint64_t in_bucket(const struct histogram *h, size_t bucket) {
    return atomic_load_explicit(&h->buckets[bucket], memory_order_relaxed);
}

static void add_to_bucket(struct histogram *h, size_t bucket, uint64_t times) {
    atomic_store_explicit(&h->buckets[bucket], in_bucket(h, bucket) + times, memory_order_relaxed);
}

void histogram_record(struct histogram *h, uint64_t value_ns, uint64_t times) {
    if (h->count == 0 || value_ns < h->min_ns) {
        h->min_ns = value_ns;
    }
    if (value_ns > h->max_ns) {
        h->max_ns = value_ns;
    }
    h->count += times;
    h->sum_ns += value_ns * times;
    add_to_bucket(h, bucket_of(value_ns > HISTOGRAM_MAX_NS ? HISTOGRAM_MAX_NS : value_ns), times);
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    if (from->count == 0) {
        return;
    }
    if (into->count == 0 || from->min_ns < into->min_ns) {
        into->min_ns = from->min_ns;
    }
    if (from->max_ns > into->max_ns) {
        into->max_ns = from->max_ns;
    }
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        add_to_bucket(into, i, in_bucket(from, i));
    }
}

static void count_bucket(struct histogram *h, size_t bucket, uint64_t times) {
    if (times > 0) {
        add_to_bucket(h, bucket, times);
        h->count += times;
        h->sum_ns += upper_edge_ns(bucket) * times;
        h->max_ns = h->max_ns > upper_edge_ns(bucket) ? h->max_ns : upper_edge_ns(bucket);
    }
}

void histogram_merge_running(struct histogram *into, const struct histogram *from) {
    into->min_ns = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count_bucket(into, i, in_bucket(from, i));
    }
}

void histogram_since(struct histogram *since, const struct histogram *now, const struct histogram *before) {
    memset(since, 0, sizeof(*since));
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count_bucket(since, i, in_bucket(now, i) - in_bucket(before, i));
    }
}

uint64_t histogram_percentile_ns(const struct histogram *h, double percent) {
    if (h->count == 0) {
        return 0;
    }
    double exact = ceil((double)h->count * percent / 100.0);
    uint64_t rank = exact < 1.0 ? 1 : (uint64_t)exact;
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += in_bucket(h, i);
        if (seen >= rank) {
            uint64_t edge = upper_edge_ns(i);
            return edge < h->max_ns ? edge : h->max_ns;
        }
    }
    return h->max_ns;
}

double histogram_mean_ns(const struct histogram *h) {
    return h->count == 0 ? 0.0 : (double)h->sum_ns / (double)h->count;
}
