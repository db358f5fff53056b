#include "sample/hot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t hot_tag(uint64_t hash) {
    return (uint8_t)(hash >> 56);
}
static unsigned hot_bucket(uint64_t hash) {
    return (unsigned)(hash >> 40) % HOT_BUCKETS;
}

/* The counter of a hash; HOT_KEYS: none. */
static unsigned hot_counter(const struct hot *h, uint64_t hash) {
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        const uint8_t *at = memchr(h->tags + i, hot_tag(hash), HOT_KEYS - i);
        if (at == NULL) {
            break;
        }
        i = (unsigned)(at - h->tags);
        if (h->hashes[i] == hash) {
            return i;
        }
    }
    return HOT_KEYS;
}

static void hot_drop_text(struct hot *h, unsigned i) {
    struct hot_text old = h->texts[i];
    h->text_bytes_used -= old.bytes;
    memmove(h->text_bytes + old.at, h->text_bytes + old.at + old.bytes,
            h->text_bytes_used - old.at);
    for (unsigned j = 0; j < HOT_KEYS; j++) {
        h->texts[j].at -= h->texts[j].at > old.at ? old.bytes : 0;
    }
    h->texts[i] = (struct hot_text){0};
}

/* Retains the text of a counter's key. Where it does not fit, lighter counters lose theirs. */
static void hot_keep_text(struct hot *h, unsigned i, const char *key, uint8_t key_bytes) {
    while (h->texts[i].bytes == 0) {
        if (h->text_bytes_used + key_bytes <= HOT_TEXT_BYTES) {
            h->texts[i] = (struct hot_text){.at = h->text_bytes_used, .bytes = key_bytes};
            memcpy(h->text_bytes + h->text_bytes_used, key, key_bytes);
            h->text_bytes_used += key_bytes;
            return;
        }
        unsigned lightest = i;
        for (unsigned j = 0; j < HOT_KEYS; j++) {
            if (h->texts[j].bytes > 0 && h->weights[j] < h->weights[lightest]) {
                lightest = j;
            }
        }
        if (lightest == i) {
            return;
        }
        hot_drop_text(h, lightest);
    }
}

static bool hot_slot_counts(const struct hot_slot *s, uint64_t now_us) {
    return s->end_us != 0 && now_us < s->end_us + (HOT_SLOTS - 1) * HOT_SLOT_US;
}

/* The n-th of the slots and the part, or NULL if it is too old. */
static const struct hot_slot *hot_slot_at(const struct hot *h, unsigned n, uint64_t now_us) {
    const struct hot_slot *s = n < HOT_SLOTS ? &h->slots[n] : &h->part;
    return n == HOT_SLOTS || hot_slot_counts(s, now_us) ? s : NULL;
}

static float hot_weight(const struct hot_slot *s, const struct hot_count *c) {
    return c->requests + (float)s->byte_weight * c->bytes + c->error;
}

/* Weighs all counters anew. Slots that are too old are empty (hot_turn). */
static void hot_weigh(struct hot *h) {
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        h->weights[i] = hot_weight(&h->part, &h->part.counts[i]);
        for (unsigned n = 0; n < HOT_SLOTS; n++) {
            h->weights[i] += hot_weight(&h->slots[n], &h->slots[n].counts[i]);
        }
    }
    h->least_weight = -1; /* unknown */
}

void hot_turn(struct hot *h, uint64_t now_us) {
    double requests = 0, bytes = 0;
    if (now_us < h->slots[h->now].end_us) {
        return;
    }
    h->now = (h->now + 1) % HOT_SLOTS;
    for (unsigned n = 0; n < HOT_SLOTS; n++) {
        if (n == h->now || !hot_slot_counts(&h->slots[n], now_us)) {
            h->slots[n] = (struct hot_slot){0};
        }
        requests += h->slots[n].requests;
        bytes += h->slots[n].bytes;
    }
    h->slots[h->now].end_us = now_us + HOT_SLOT_US;
    h->slots[h->now].byte_weight = h->part.byte_weight = bytes > 0 ? requests / bytes : 0;
    hot_weigh(h);
}

/* Until hot_weigh no weight falls, so the lightest counter remains so while it is as light. */
static unsigned hot_lightest(struct hot *h) {
    if (h->weights[h->lightest] > h->least_weight) {
        h->least_weight = INFINITY;
        for (unsigned i = 0; i < HOT_KEYS; i++) {
            if (h->weights[i] < h->least_weight) {
                h->least_weight = h->weights[h->lightest = i];
            }
        }
    }
    return h->lightest;
}

/* In this slot the counter's key becomes one without, and a key without becomes the counter's. */
static float hot_swap_slot(struct hot_slot *s, unsigned i, unsigned old_bucket, unsigned bucket) {
    float leaves = hot_weight(s, &s->counts[i]), error = s->sums[bucket];
    s->sums[old_bucket] = fmaxf(s->sums[old_bucket], leaves);
    s->counts[i] = (struct hot_count){.error = error};
    return error;
}

/* Gives a key the lightest counter, unless the key's sum is lighter still. Returns the counter, or
 * HOT_KEYS. */
static unsigned hot_take_over(struct hot *h, uint64_t hash, float weight) {
    unsigned i = hot_lightest(h), bucket = hot_bucket(hash), old_bucket = hot_bucket(h->hashes[i]);
    float sum = h->part.sums[bucket];
    for (unsigned n = 0; n < HOT_SLOTS; n++) {
        sum += h->slots[n].sums[bucket];
    }
    if (sum + weight < h->weights[i]) {
        h->part.sums[bucket] += weight;
        return HOT_KEYS;
    }
    h->weights[i] = hot_swap_slot(&h->part, i, old_bucket, bucket);
    for (unsigned n = 0; n < HOT_SLOTS; n++) {
        h->weights[i] += hot_swap_slot(&h->slots[n], i, old_bucket, bucket);
    }
    h->hashes[i] = hash;
    h->tags[i] = hot_tag(hash);
    hot_drop_text(h, i);
    return i;
}

void hot_add(struct hot *h, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests,
             uint32_t value_bytes) {
    struct hot_slot *part = &h->part;
    double bytes = (double)requests * value_bytes;
    if (!(part->byte_weight > 0) && value_bytes > 0) {
        part->byte_weight = h->slots[h->now].byte_weight = 1.0 / value_bytes;
    }
    float weight = (float)(requests + part->byte_weight * bytes);
    part->noted++;
    part->requests += requests;
    part->bytes += bytes;
    unsigned i = hot_counter(h, hash);
    i = i == HOT_KEYS ? hot_take_over(h, hash, weight) : i;
    if (i < HOT_KEYS) {
        h->weights[i] += weight;
        hot_keep_text(h, i, key, key_bytes);
        part->counts[i].requests += (float)requests;
        part->counts[i].bytes += (float)bytes;
        part->counts[i].squares += (float)requests * (float)requests;
    }
}

/* Adds the part to its slot; each of its notes stands for `factor` times its requests. */
static void hot_merge_part(struct hot *h, float factor) {
    struct hot_slot *part = &h->part, *to = &h->slots[h->now];
    to->noted += part->noted;
    to->requests += (double)((float)part->requests * factor); /* rounded as its keys' counts are */
    to->bytes += part->bytes * (double)factor;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        to->counts[i].requests += part->counts[i].requests * factor;
        to->counts[i].bytes += part->counts[i].bytes * factor;
        to->counts[i].squares += part->counts[i].squares * factor * factor;
        to->counts[i].error += part->counts[i].error * factor;
    }
    for (unsigned i = 0; i < HOT_BUCKETS; i++) {
        to->sums[i] += part->sums[i] * factor;
    }
    *part = (struct hot_slot){.byte_weight = part->byte_weight};
}

void hot_end_part(struct hot *h, uint64_t requested, uint64_t more, bool missed) {
    uint64_t noted = (uint64_t)h->part.requests,
             due = requested > h->counted_ahead ? requested - h->counted_ahead : 0;
    bool scaled = missed && noted > 0 && due > noted;
    h->slots[h->now].requested += requested;
    if (noted > 0) {
        hot_merge_part(h, scaled ? (float)((double)due / (double)noted) : 1);
    }
    if (scaled) {
        hot_weigh(h);
        noted = due;
    }
    uint64_t counted = h->counted_ahead + noted,
             counted_ahead = counted > requested ? counted - requested : 0;
    h->counted_ahead = counted_ahead < more ? counted_ahead : more;
}

/* --- results --- */

/* What the sample has of a key, or of all keys, in all slots. */
struct hot_sum {
    double requests, squares, error;
    double bytes, byte_squares, byte_error;
};

static struct hot_sum hot_sum_of(const struct hot *h, unsigned i, uint64_t now_us) {
    struct hot_sum sum = {0};
    for (unsigned n = 0; n <= HOT_SLOTS; n++) {
        const struct hot_slot *s = hot_slot_at(h, n, now_us);
        if (s != NULL) {
            const struct hot_count *c = &s->counts[i];
            double each = c->requests > 0 ? (double)(c->bytes / c->requests) : 0;
            sum.requests += (double)c->requests;
            sum.squares += (double)c->squares;
            sum.error += (double)c->error;
            sum.bytes += (double)c->bytes;
            sum.byte_squares += (double)c->squares * each * each;
            sum.byte_error += s->byte_weight > 0 ? (double)c->error / s->byte_weight : 0;
        }
    }
    return sum;
}

/* The figure of a key, whose counts in the sample are `sure`, times `scale`. No doubt remains where
 * all of the sample is the key's. */
static struct hot_figure hot_figure_of(double sure, double squares, double error, double all,
                                       double scale) {
    double doubt = 2 * sqrt(squares * fmax(1 - sure / all, 0));
    return (struct hot_figure){.count = (uint64_t)llround((sure + error) * scale),
                               .error = (uint64_t)(error * scale),
                               .doubt = all > 0 ? (uint64_t)ceil(doubt * scale) : 0};
}

static double hot_least_share(const struct hot_figure *f, uint64_t all) {
    uint64_t less = f->error + f->doubt;
    return all > 0 && f->count > less ? (double)(f->count - less) / (double)all : 0;
}

static struct hot_totals hot_totals_of(const struct hot *h, uint64_t now_us,
                                       struct hot_sum *sample) {
    struct hot_totals totals = {0};
    *sample = (struct hot_sum){0};
    for (unsigned n = 0; n <= HOT_SLOTS; n++) {
        const struct hot_slot *s = hot_slot_at(h, n, now_us);
        if (s != NULL) {
            uint64_t start_us = s->end_us - HOT_SLOT_US;
            bool earlier = n < HOT_SLOTS && now_us > start_us + totals.window_us;
            sample->requests += s->requests;
            sample->bytes += s->bytes;
            totals.requests += s->requested;
            totals.noted += s->noted;
            totals.window_us = earlier ? now_us - start_us : totals.window_us;
        }
    }
    totals.bytes =
        sample->requests > 0
            ? (uint64_t)llround(sample->bytes / sample->requests * (double)totals.requests)
            : 0;
    return totals;
}

/* A key with its share of the requests or of the bytes, by which it is sorted. */
struct hot_ranked {
    double share;
    struct hot_key key;
};

static int hot_compare(const void *a, const void *b) {
    const struct hot_ranked *x = a, *y = b;
    return x->share < y->share || x->share > y->share
               ? (x->share < y->share ? 1 : -1)
               : (x->key.hash > y->key.hash) - (x->key.hash < y->key.hash);
}

unsigned hot_sorted(const struct hot *h, uint64_t now_us, struct hot_totals *totals,
                    struct hot_key *to, unsigned max) {
    struct hot_ranked all[HOT_KEYS];
    struct hot_sum sample;
    unsigned n = 0;
    *totals = hot_totals_of(h, now_us, &sample);
    double scale = sample.requests > 0 ? (double)totals->requests / sample.requests : 0;
    for (unsigned i = 0; i < HOT_KEYS; i++) {
        struct hot_sum sum = hot_sum_of(h, i, now_us);
        struct hot_key *k = &all[n].key;
        *k = (struct hot_key){.hash = h->hashes[i], .key_bytes = h->texts[i].bytes};
        k->requests = hot_figure_of(sum.requests, sum.squares, sum.error, sample.requests, scale);
        k->bytes = hot_figure_of(sum.bytes, sum.byte_squares, sum.byte_error, sample.bytes, scale);
        all[n].share = fmax(hot_least_share(&k->requests, totals->requests),
                            hot_least_share(&k->bytes, totals->bytes));
        if (all[n].share > 0 && k->key_bytes > 0) {
            memcpy(all[n++].key.key, h->text_bytes + h->texts[i].at, k->key_bytes);
        }
    }
    qsort(all, n, sizeof *all, hot_compare);
    n = n < max ? n : max;
    for (unsigned i = 0; i < n; i++) {
        to[i] = all[i].key;
    }
    return n;
}
