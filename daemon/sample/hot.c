#include "sample/hot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t hot_tag(uint64_t hash) { return (uint8_t)(hash >> 56); }

/* The counter of a hash; HOT_KEYS: none. */
static unsigned hot_counter(const struct hot *h, uint64_t hash) {
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        const uint8_t *at = memchr(h->tags + i, hot_tag(hash), HOT_KEYS - i);
        if (at == NULL) {
            break;
        }
        i = (unsigned)(at - h->tags);
        if (h->hashes[i] == hash && h->counts[i] != 0) {
            return i;
        }
    }
    return HOT_KEYS;
}

/* The first of the counters with the lowest count. */
static unsigned hot_least(const struct hot *h) {
    unsigned group = 0;
    for (unsigned g = 1; g < HOT_GROUPS; g++) {
        group = h->least[g] < h->least[group] ? g : group;
    }
    unsigned i = group * HOT_GROUP;
    while (h->counts[i] != h->least[group]) {
        i++;
    }
    return i;
}

static void hot_note_least(struct hot *h, unsigned group) {
    const uint64_t *counts = h->counts + (size_t)group * HOT_GROUP;
    uint64_t least = counts[0];
    for (unsigned i = 1; i < HOT_GROUP; i++) {
        least = counts[i] < least ? counts[i] : least;
    }
    h->least[group] = least;
}

void hot_add(struct hot *h, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests) {
    unsigned i = hot_counter(h, hash);
    h->requests += requests;
    h->noted++;
    if (i == HOT_KEYS) {
        i = hot_least(h);
        h->hashes[i] = hash;
        h->tags[i] = hot_tag(hash);
        h->texts[i].error = h->counts[i];
        h->texts[i].squares = 0;
        h->part.counts[i] = 0;
        h->part.squares[i] = 0;
        h->texts[i].key_bytes = key_bytes;
        memcpy(h->texts[i].key, key, key_bytes);
        h->texts[i].key[key_bytes] = '\0';
    }
    h->counts[i] += requests;
    h->texts[i].squares += (double)requests * requests;
    h->part.requests += requests;
    h->part.counts[i] += requests;
    h->part.squares[i] += (double)requests * requests;
    hot_note_least(h, i / HOT_GROUP);
}

static void hot_scale_part(struct hot *h, double factor) {
    h->requests += (uint64_t)llround((double)h->part.requests * (factor - 1));
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        h->counts[i] += (uint64_t)llround((double)h->part.counts[i] * (factor - 1));
        h->texts[i].squares += h->part.squares[i] * (factor * factor - 1);
    }
    for (unsigned g = 0; g < HOT_GROUPS; g++) {
        hot_note_least(h, g);
    }
}

void hot_end_part(struct hot *h, uint64_t requested, uint64_t more, bool missed) {
    uint64_t noted = h->part.requests,
             due = requested > h->counted_ahead ? requested - h->counted_ahead : 0;
    if (missed && noted > 0 && due > noted) {
        hot_scale_part(h, (double)due / (double)noted);
        noted = due;
    }
    uint64_t counted = h->counted_ahead + noted,
             counted_ahead = counted > requested ? counted - requested : 0;
    h->counted_ahead = counted_ahead < more ? counted_ahead : more;
    if (noted > 0) {
        memset(&h->part, 0, sizeof h->part);
    }
}

void hot_fade(struct hot *h) {
    h->requests /= 2;
    h->noted = (h->noted + 1) / 2;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        uint64_t count = h->counts[i] /= 2, error = (h->texts[i].error + 1) / 2;
        h->texts[i].error = error < count ? error : count;
        h->texts[i].squares /= 4;
    }
    for (unsigned g = 0; g < HOT_GROUPS; g++) {
        hot_note_least(h, g);
    }
}

static int hot_compare(const void *a, const void *b) {
    const struct hot_key *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : (x->hash > y->hash) - (x->hash < y->hash);
}

/* Of a key's share of the noted requests: none where every one of them is for this key. */
static double hot_doubt(const struct hot *h, unsigned i) {
    double others = 1 - (double)(h->counts[i] - h->texts[i].error) / (double)h->requests;
    return 2 * sqrt(h->texts[i].squares * fmax(others, 0));
}

unsigned hot_sorted(const struct hot *h, uint64_t requested, struct hot_key *to, unsigned max) {
    struct hot_key all[HOT_KEYS];
    unsigned n = 0;
    double scale = h->requests > 0 ? (double)requested / (double)h->requests : 0;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        uint64_t count = (uint64_t)llround((double)h->counts[i] * scale);
        if (count != 0) {
            all[n] = (struct hot_key){.hash = h->hashes[i],
                                      .count = count,
                                      .error = (uint64_t)((double)h->texts[i].error * scale),
                                      .doubt = (uint64_t)ceil(hot_doubt(h, i) * scale),
                                      .key_bytes = h->texts[i].key_bytes};
            memcpy(all[n++].key, h->texts[i].key, sizeof all[n].key);
        }
    }
    qsort(all, n, sizeof *all, hot_compare);
    n = n < max ? n : max;
    memcpy(to, all, n * sizeof *to);
    return n;
}
