#include "sample/hot.h"

#include <stdlib.h>
#include <string.h>

void hot_clear(struct hot *h) { memset(h, 0, sizeof *h); }

static struct hot_key *counter_of(struct hot *h, uint64_t hash) {
    struct hot_key *least = &h->keys[0];
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        struct hot_key *k = &h->keys[i];
        if (k->key_bytes != 0 && k->hash == hash) {
            return k;
        }
        least = k->count < least->count ? k : least; /* free ones count nothing */
    }
    return least;
}

void hot_add(struct hot *h, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests) {
    struct hot_key *k = counter_of(h, hash);
    h->requests += requests;
    if (k->key_bytes == 0 || k->hash != hash) {
        k->hash = hash;
        k->error = k->count;
        k->key_bytes = key_bytes;
        memcpy(k->key, key, key_bytes);
        k->key[key_bytes] = '\0';
    }
    k->count += requests;
}

void hot_fade(struct hot *h) {
    h->requests /= 2;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        struct hot_key *k = &h->keys[i];
        k->count /= 2;
        k->error = (k->error + 1) / 2 < k->count ? (k->error + 1) / 2 : k->count;
        if (k->count == 0) {
            *k = (struct hot_key){0};
        }
    }
}

static int by_count(const void *a, const void *b) {
    const struct hot_key *x = *(const struct hot_key *const *)a, *y = *(const struct hot_key *const *)b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : (x->hash > y->hash) - (x->hash < y->hash);
}

unsigned hot_sorted(const struct hot *h, const struct hot_key *to[HOT_KEYS]) {
    unsigned n = 0;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        if (h->keys[i].key_bytes != 0) {
            to[n++] = &h->keys[i];
        }
    }
    qsort(to, n, sizeof *to, by_count);
    return n;
}
