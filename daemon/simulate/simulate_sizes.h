/* Sizes of values without a size in the trace: all the same, or log-normal and fixed for each key.
 * Pure; any thread. */
#ifndef SLATE_SIMULATE_SIMULATE_SIZES_H
#define SLATE_SIMULATE_SIMULATE_SIZES_H
#include <stdbool.h>
#include <stdint.h>

enum { SIMULATE_SIZES_BYTES = 48 };

struct simulate_sizes {
    bool     drawn;         /* false: `median_bytes` is every value's size */
    double   median_bytes;
    double   sigma;         /* standard deviation of the logarithm */
    double   scale;         /* factor of every size, also the trace's own */
};

/* "100": a hundred bytes each. "l300,1": log-normal with median and sigma, as slate-load writes it.
 * False: neither. */
bool simulate_sizes_parse(const char *text, struct simulate_sizes *);
void simulate_sizes_format(const struct simulate_sizes *, char to[SIMULATE_SIZES_BYTES]);
/* `given_bytes` < 0: the trace has no size. Returns 0 to 1 GiB. */
uint32_t simulate_sizes_of(const struct simulate_sizes *, uint64_t key_hash, int64_t given_bytes);
#endif
