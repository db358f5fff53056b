/* How large values are that a trace gives no size for: all the same, or log-normal, drawn once for
 * a key and the same ever after. Pure; any thread. */
#ifndef SLATE_SIMULATE_SIMULATE_SIZES_H
#define SLATE_SIMULATE_SIMULATE_SIZES_H
#include <stdbool.h>
#include <stdint.h>

enum { SIMULATE_SIZES_BYTES = 48 };

struct simulate_sizes {
    bool     drawn;         /* false: `median_bytes` is every value's size */
    double   median_bytes;
    double   sigma;         /* of the logarithm */
    double   scale;         /* of every size, also the trace's own */
};

/* "100": a hundred bytes each; "l300,1": log-normal with median and sigma, as slate-load writes it.
 * False: neither. */
bool simulate_sizes_parse(const char *text, struct simulate_sizes *);
void simulate_sizes_format(const struct simulate_sizes *, char to[SIMULATE_SIZES_BYTES]);
/* `given_bytes` < 0: the trace says nothing. From 0 to 1 GiB. */
uint32_t simulate_sizes_of(const struct simulate_sizes *, uint64_t key_hash, int64_t given_bytes);
#endif
