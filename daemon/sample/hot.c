#include "sample/hot.h"

#include <stdlib.h>
#include <string.h>

void hot_clear(struct hot *h) { memset(h, 0, sizeof *h); }

static unsigned counter_of(const struct hot *h, uint64_t hash) {
    unsigned least = 0;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        if (h->counters[i].hash == hash && h->counters[i].count != 0) {
            return i;
        }
        least = h->counters[i].count < h->counters[least].count ? i : least;
    }
    return least;
}

void hot_add(struct hot *h, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests) {
    unsigned i = counter_of(h, hash);
    h->requests += requests;
    if (h->counters[i].count == 0 || h->counters[i].hash != hash) {
        h->counters[i].hash = hash;
        h->texts[i].error = h->counters[i].count;
        h->texts[i].key_bytes = key_bytes;
        memcpy(h->texts[i].key, key, key_bytes);
        h->texts[i].key[key_bytes] = '\0';
    }
    h->counters[i].count += requests;
}

void hot_fade(struct hot *h) {
    h->requests /= 2;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        uint64_t count = h->counters[i].count /= 2, error = (h->texts[i].error + 1) / 2;
        h->texts[i].error = error < count ? error : count;
    }
}

static int by_count(const void *a, const void *b) {
    const struct hot_key *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : (x->hash > y->hash) - (x->hash < y->hash);
}

unsigned hot_sorted(const struct hot *h, struct hot_key *to, unsigned max) {
    struct hot_key all[HOT_KEYS];
    unsigned n = 0;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        if (h->counters[i].count != 0) {
            all[n] = (struct hot_key){.hash = h->counters[i].hash,
                                      .count = h->counters[i].count,
                                      .error = h->texts[i].error,
                                      .key_bytes = h->texts[i].key_bytes};
            memcpy(all[n++].key, h->texts[i].key, sizeof all[n].key);
        }
    }
    qsort(all, n, sizeof *all, by_count);
    n = n < max ? n : max;
    memcpy(to, all, n * sizeof *to);
    return n;
}
