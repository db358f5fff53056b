/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error of predicted hit ratios: a cache with its samples, and beside that real caches of 1/2, 2 and 4 times the
 * memory, all played the same trace.
 *
 *     build/bench/foresight TRACE MEBIBYTES VALUES SCALE POLICY SAMPLES RATE [TTLS]
 *
 * VALUES is as for `slated --simulate --value-bytes`, and so is TTLS, in seconds of which each has 10,000 requests: a key is always stored
 * with the same time to live. Without it nothing expires. SAMPLES caches of today's size sample other keys of the same trace. Whenever a
 * window of the samples ends, once the cache has evicted, its prediction is compared with the real caches' ratios, whose windows are
 * weighted like the samples'. Prints, as JSON, the mean over windows of both ratios, of the absolute error and of the band at each size,
 * and the number of windows with the real ratio within the prediction's band. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "side.h"
#include "simulate/simulate_sizes.h"
#include "simulate/trace.h"

enum { SIZES = 3 };
static const unsigned size_point[SIZES] = {PREDICTION_HALF, PREDICTION_NOW + 1, PREDICTION_NOW + 2};
enum { SAMPLES_MAX = 16, TURN_REQUESTS = 32, REQUESTS_A_S = 10000, SALT_BYTES = 2 };

/* A ratio over the last windows, weighted like the samples. */
struct faded {
    double   reads, hits;
    uint64_t reads_before, hits_before;
};

struct sample {
    struct side    side;
    uint64_t       windows;
    struct faded   real[SIZES];
};

struct error {
    double real, predicted, off, points;
    double made, band, within;
};

struct bench {
    struct side   sizes[SIZES];
    struct sample samples[SAMPLES_MAX];
    unsigned      sample_count;
    struct error  errors[SIZES];
    const struct simulate_sizes *ttls; /* NULL: nothing expires */
    char         *zeroes;
    int64_t       shown_s;
};

static bool foresight_evicts(struct side *s) {
    struct cache_class_values classes;
    cache_classes_counters(s->cache, &classes);
    return classes.evicted > 0;
}

static void foresight_end_window(struct faded *f, const struct side *of) {
    f->reads = f->reads * SHADOW_SIZES_FADE + (double)(of->reads - f->reads_before);
    f->hits = f->hits * SHADOW_SIZES_FADE + (double)(of->hits - f->hits_before);
    f->reads_before = of->reads;
    f->hits_before = of->hits;
}

/* The band of a prediction, if there is one. */
static void foresight_judge_band(struct error *e, const struct prediction *t, unsigned size, double real) {
    unsigned point = size_point[size];
    if (t->enough) {
        e->made += 1;
        e->band += t->band[point];
        e->within += fabs(t->hit_ratio[point] - real) <= t->band[point];
    }
}

static void foresight_compare(struct bench *b, struct sample *s) {
    struct whatif_facts facts;
    struct prediction_log log;
    whatif_facts(tuner_whatif(s->side.tuner), &facts);
    whatif_predictions(tuner_whatif(s->side.tuner), &log);
    if (facts.windows == s->windows) {
        return;
    }
    s->windows = facts.windows;
    for (unsigned i = 0; i < SIZES; i++) {
        foresight_end_window(&s->real[i], &b->sizes[i]);
        if (foresight_evicts(&s->side)) {
            struct error *e = &b->errors[i];
            double real = s->real[i].hits / s->real[i].reads;
            e->real += real;
            e->predicted += log.made.hit_ratio[size_point[i]];
            e->off += fabs(log.made.hit_ratio[size_point[i]] - real);
            e->points += 1;
            foresight_judge_band(e, &log.made, i, real);
        }
    }
}

static void foresight_tick(struct bench *b, uint64_t requests) {
    int64_t at_s = (int64_t)(requests / REQUESTS_A_S);
    if (at_s != b->shown_s) {
        clock_shift(at_s - b->shown_s);
        b->shown_s = at_s;
    }
    for (unsigned i = 0; i < SIZES; i++) {
        side_tend(&b->sizes[i], requests * 1000000 / REQUESTS_A_S);
    }
    for (unsigned i = 0; i < b->sample_count; i++) {
        side_tend(&b->samples[i].side, requests * 1000000 / REQUESTS_A_S);
        foresight_compare(b, &b->samples[i]);
    }
}

static uint32_t foresight_expires_s(const struct bench *b, uint64_t hash) {
    enum { OTHER_THAN_SIZES = 0x5bd1e995 };
    if (b->ttls == NULL) {
        return 0;
    }
    uint32_t ttl_s = simulate_sizes_of(b->ttls, hash ^ OTHER_THAN_SIZES, -1);
    return clock_now_s() + (ttl_s > 0 ? ttl_s : 1);
}

static uint64_t foresight_replay(struct bench *b, const char *path, const struct simulate_sizes *sizes) {
    char why[TRACE_WHY_BYTES], text[SAMPLES_MAX][SALT_BYTES + KEY_BYTES_MAX];
    struct trace *t = trace_open(path, why);
    struct trace_request q;
    uint64_t requests = 0;
    if (t == NULL) {
        fprintf(stderr, "foresight: %s\n", why);
        exit(EXIT_FAILURE);
    }
    for (; trace_next(t, &q) == TRACE_REQUEST; requests++) {
        uint8_t bytes = q.key_bytes < KEY_BYTES_MAX - SALT_BYTES ? q.key_bytes : KEY_BYTES_MAX - SALT_BYTES;
        uint64_t hash = key_make(q.key, bytes).hash;
        uint32_t value_bytes = simulate_sizes_of(sizes, hash, q.has_size ? (int64_t)q.value_bytes : -1), dies_s = foresight_expires_s(b, hash);
        struct key key[SAMPLES_MAX];
        for (unsigned i = 0; i < b->sample_count; i++) {
            memcpy(text[i], (const char[SALT_BYTES]){(char)('a' + i), ':'}, SALT_BYTES);
            memcpy(text[i] + SALT_BYTES, q.key, bytes);
            key[i] = key_make(text[i], bytes + SALT_BYTES);
            side_play(&b->samples[i].side, &key[i], b->zeroes, value_bytes, dies_s);
        }
        for (unsigned i = 0; i < SIZES; i++) {
            side_play(&b->sizes[i], &key[0], b->zeroes, value_bytes, dies_s);
        }
        if (requests % TURN_REQUESTS == 0) {
            foresight_tick(b, requests);
        }
    }
    trace_close(&t);
    return requests;
}

static void foresight_report(const struct bench *b) {
    struct whatif_facts f;
    double off = 0;
    whatif_facts(tuner_whatif(b->samples[0].side.tuner), &f);
    printf("{\"keys\":%llu,\"rate\":%.6f,\"windows\":%llu,\"memory_bytes\":%llu,\"hit_ratio\":%.4f,\"sizes\":[", (unsigned long long)f.keys,
           f.rate, (unsigned long long)f.windows, (unsigned long long)f.memory_bytes,
           (double)b->samples[0].side.hits / (double)b->samples[0].side.reads);
    for (unsigned i = 0; i < SIZES; i++) {
        const struct error *e = &b->errors[i];
        double points = e->points > 0 ? e->points : 1;
        double made = e->made > 0 ? e->made : 1;
        printf("%s{\"factor\":%g,\"real\":%.4f,\"predicted\":%.4f,\"error\":%.4f,\"told\":%.0f,"
               "\"band\":%.4f,\"within\":%.4f}",
               i > 0 ? "," : "", prediction_factor[size_point[i]], e->real / points, e->predicted / points,
               e->off / points, e->made, e->band / made, e->within / made);
        off += e->off / points / (SIZES + 1); /* today's is known, without error */
    }
    printf("],\"error\":%.4f}\n", off);
}

int main(int argc, char **argv) {
    static struct bench b;
    struct simulate_sizes sizes, ttls;
    if ((argc != 8 && argc != 9) || !simulate_sizes_parse(argv[3], &sizes) || evict_find(argv[5]) == NULL ||
        (argc == 9 && !simulate_sizes_parse(argv[8], &ttls))) {
        fprintf(stderr, "usage: foresight TRACE MEBIBYTES VALUES SCALE POLICY SAMPLES RATE [TTLS]\n");
        return 64;
    }
    double mebibytes = atof(argv[2]);
    sizes.scale = atof(argv[4]);
    ttls.scale = 1;
    b.ttls = argc == 9 ? &ttls : NULL;
    b.sample_count = (unsigned)atoi(argv[6]) < SAMPLES_MAX ? (unsigned)atoi(argv[6]) : SAMPLES_MAX;
    clock_start();
    clock_pause();
    for (unsigned i = 0; i < SIZES; i++) {
        b.sizes[i] = side_make(mebibytes * prediction_factor[size_point[i]], evict_find(argv[5]), 0, true);
    }
    b.zeroes = calloc(1, cache_item_bytes_max(b.sizes[0].cache));
    for (unsigned i = 0; i < b.sample_count; i++) {
        struct sample *s = &b.samples[i];
        s->side = side_make(mebibytes, evict_find(argv[5]), atof(argv[7]), true);
    }
    foresight_replay(&b, argv[1], &sizes);
    foresight_report(&b);
    return EXIT_SUCCESS;
}
