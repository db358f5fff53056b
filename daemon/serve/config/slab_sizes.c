#include "serve/config/slab_sizes.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "serve/config/settings.h"

bool slab_sizes_parse(const char *text, uint32_t chunk_bytes_max, unsigned class_most,
                      struct slab_sizes *sizes, char *why) {
    sizes->count = 0;
    for (const char *at = text;;) {
        uint64_t size;
        const char *end = at + number_digits(at, 10, &size);
        if (end == at || (*end != '-' && *end != '\0')) {
            snprintf(why, SETTING_WHY_BYTES,
                     "slab_sizes wants sizes in bytes with - between them, not \"%s\"", text);
            return false;
        }
        if (size < SLAB_SIZES_LEAST_BYTES || size >= chunk_bytes_max) {
            snprintf(why, SETTING_WHY_BYTES,
                     "slab_sizes: %" PRIu64 " is not from %d to under slab_chunk_max (%u bytes)",
                     size, SLAB_SIZES_LEAST_BYTES, chunk_bytes_max);
            return false;
        }
        if (sizes->count > 0 && size < sizes->bytes[sizes->count - 1] + SLAB_SIZES_STEP_BYTES) {
            snprintf(why, SETTING_WHY_BYTES,
                     "slab_sizes: %" PRIu64 " must be at least %d more than the size before it",
                     size, SLAB_SIZES_STEP_BYTES);
            return false;
        }
        if (sizes->count == class_most - 1) {
            snprintf(why, SETTING_WHY_BYTES, "slab_sizes holds at most %u sizes", class_most - 1);
            return false;
        }
        sizes->bytes[sizes->count++] = (uint32_t)size;
        if (*end == '\0') {
            return true;
        }
        at = end + 1;
    }
}
