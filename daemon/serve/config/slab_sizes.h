/* A list of chunk sizes, as `-o slab_sizes=96-200-1000` gives it. */
#ifndef SLATE_SERVE_CONFIG_SLAB_SIZES_H
#define SLATE_SERVE_CONFIG_SLAB_SIZES_H
#include <stdbool.h>
#include <stdint.h>

#include "mem/slab.h"

enum { SLAB_SIZES_LEAST_BYTES = 48, SLAB_SIZES_STEP_BYTES = 8 };

struct slab_sizes {
    uint32_t bytes[SLAB_CLASSES_MAX];
    unsigned count;
};

/* Reads the list. Sizes ascend by at least SLAB_SIZES_STEP_BYTES, from SLAB_SIZES_LEAST_BYTES to
 * less than chunk_bytes_max, which is added as the last; there are at most class_most - 1. False:
 * the list is refused, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool slab_sizes_parse(const char *text, uint32_t chunk_bytes_max, unsigned class_most,
                      struct slab_sizes *, char *why);
#endif
