#include "simulate/simulate_sizes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/random.h"

#define BYTES_MAX 1073741824.0 /* 1 GiB */
#define SIGMA_MAX 8.0

bool simulate_sizes_parse(const char *text, struct simulate_sizes *s) {
    double median_bytes = 0, sigma = 0;
    bool drawn = text[0] == 'l';
    text += drawn;
    size_t length = number_decimal(text, &median_bytes);
    bool is_read = drawn ? text[length] == ',' && number_real(text + length + 1, &sigma)
                         : length > 0 && text[length] == '\0';
    if (!is_read || median_bytes < drawn || median_bytes > BYTES_MAX || sigma < 0 ||
        sigma > SIGMA_MAX) {
        return false;
    }
    s->drawn = drawn;
    s->median_bytes = median_bytes;
    s->sigma = sigma;
    return true;
}

void simulate_sizes_format(const struct simulate_sizes *s, char to[SIMULATE_SIZES_BYTES]) {
    if (s->drawn) {
        snprintf(to, SIMULATE_SIZES_BYTES, "l%.10g,%.10g", s->median_bytes, s->sigma);
    } else {
        snprintf(to, SIMULATE_SIZES_BYTES, "%.10g", s->median_bytes);
    }
}

/* The Box-Muller transform of two numbers in (0, 1] derived from the key. */
static double sizes_normal(uint64_t key_hash) {
    uint64_t first = random_mix(key_hash ^ random_mix(1)), second = random_mix(first);
    double u = ((double)(first >> 11) + 1) * 0x1p-53, v = (double)(second >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

uint32_t simulate_sizes_of(const struct simulate_sizes *s, uint64_t key_hash, int64_t given_bytes) {
    double bytes = given_bytes >= 0 ? (double)given_bytes : s->median_bytes;
    if (given_bytes < 0 && s->drawn) {
        bytes *= exp(s->sigma * sizes_normal(key_hash));
    }
    bytes = bytes * s->scale + 0.5;
    return bytes >= BYTES_MAX ? (uint32_t)BYTES_MAX : (uint32_t)bytes;
}
