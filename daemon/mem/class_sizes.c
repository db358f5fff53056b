#include "mem/class_sizes.h"

#include <string.h>

static uint32_t size_list_round_up(uint32_t n, uint32_t unit) {
    return (n + unit - 1) / unit * unit;
}

void size_list_by_factor(struct size_list *l, uint32_t first_bytes, double factor,
                         const struct size_rules *rules) {
    double size = first_bytes;
    l->count = 0;
    while (l->count < rules->count_most - 1 && size <= rules->most_bytes / factor) {
        uint32_t bytes = size_list_round_up((uint32_t)size, rules->unit_bytes);
        l->bytes[l->count++] = bytes;
        size = bytes * factor;
        if (size < bytes + rules->unit_bytes) {
            /* The factor is too small to change a size so small: the next size is still one unit
             * larger. */
            size = bytes + rules->unit_bytes;
        }
    }
    l->bytes[l->count++] = rules->most_bytes;
}

bool size_list_of(struct size_list *l, const uint32_t *bytes, unsigned count,
                  const struct size_rules *rules) {
    l->count = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t size = size_list_round_up(bytes[i], rules->unit_bytes);
        if (size == rules->most_bytes && i + 1 == count) {
            break;
        }
        if (size < rules->least_bytes || size >= rules->most_bytes ||
            l->count == rules->count_most - 1 || (l->count > 0 && size <= l->bytes[l->count - 1])) {
            return false;
        }
        l->bytes[l->count++] = size;
    }
    l->bytes[l->count++] = rules->most_bytes;
    return true;
}

/* The place of the first size that is at least `bytes`; if there is none, of the last. */
static unsigned size_list_place(const struct size_list *l, uint32_t bytes) {
    unsigned low = 0, high = l->count - 1;
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (l->bytes[mid] < bytes) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

bool size_list_has(const struct size_list *l, uint32_t bytes) {
    return l->bytes[size_list_place(l, bytes)] == bytes;
}

bool size_list_same(const struct size_list *a, const struct size_list *b) {
    return a->count == b->count && memcmp(a->bytes, b->bytes, a->count * sizeof *a->bytes) == 0;
}

uint32_t size_list_hash(const struct size_list *l) { /* FNV-1a of the sizes */
    uint32_t hash = 2166136261u;
    for (unsigned i = 0; i < l->count; i++) {
        hash = (hash ^ l->bytes[i]) * 16777619u;
    }
    return hash;
}

uint32_t size_list_fit(const struct size_list *l, uint32_t bytes) {
    return l->bytes[size_list_place(l, bytes)];
}

unsigned class_sizes_search(const struct class_sizes *g, uint32_t bytes) {
    return size_list_place(&g->sizes, bytes);
}

void class_sizes_index(struct class_sizes *g) {
    for (unsigned i = 0; i <= CLASS_SIZES_SMALL_BYTES / 8; i++) {
        g->of_small[i] = g->ids[size_list_place(&g->sizes, i * 8)];
    }
}
