/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How soon the policy `auto` follows a workload that flips: recency, a loop of 1.3 times the cache, Zipf with half one-hit keys.
 *
 *     build/bench/flip [MEBIBYTES [VALUE_BYTES [SEED]]]        64, 500 and 1
 *
 * Time is in turnovers of the cache: insertions into the cache of auto, by the items that fit. Every other policy plays the same requests
 * to a cache of its own. For each phase the program prints: the policy with the fewest misses in the last half; since when that policy had
 * a hundredth fewer misses in a quarter of a turnover than auto's policy at the start; when auto changed, and to which policy; and auto's
 * misses from the second turnover on and in the last half, divided by the fewest of a policy that stays.
 *
 * Policies cannot be told apart before one is ahead. In the loop no key comes back for 1.3 turnovers, and then keys come back that no queue
 * or ghost still has; only tinylfu has a few of the first keys, and is ahead by a hundredth after 1.25 to 2 turnovers, by a tenth not
 * before the third round, after 2.6. With 16 MiB the miniatures have some 220 keys, and a quarter of a turnover is 54 reads of them: one or
 * two hits more may be chance. With 256 MiB they have 1500 (daemon/control/README.md has figures). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "side.h"

enum { POLICIES_MAX = 16, TURN_REQUESTS = 32, REQUESTS_A_S = 10000, PHASES = 3, TURNOVERS_ALLOWED = 2, QUARTERS_MAX = 256 };
#define SAMPLE_RATE 0.25
#define AHEAD 0.99 /* share of another policy's misses */

struct phase {
    const char *name;
    uint64_t  (*next)(uint64_t items, uint64_t *random, uint64_t i);
    unsigned    turnovers; /* requests, by the items that fit */
};

static double flip_uniform(uint64_t *x) { return (double)(random_next(x) >> 11) * 0x1p-53; }

static uint64_t flip_recent(uint64_t items, uint64_t *x, uint64_t i) { return i / 4 + random_next(x) % (items * 9 / 10); }
static uint64_t flip_loop(uint64_t items, uint64_t *x, uint64_t i) { return (void)x, (UINT64_C(1) << 40) + i % (items * 13 / 10); }
static uint64_t flip_zipf_or_once(uint64_t items, uint64_t *x, uint64_t i) {
    double rank = pow((double)items * 4, flip_uniform(x)); /* Zipf's law with exponent 1 */
    return random_next(x) % 2 ? (UINT64_C(2) << 40) + i : (UINT64_C(3) << 40) + (uint64_t)rank;
}
static const struct phase phases[PHASES] = {
    {"recency stream", flip_recent, 24}, {"loop of 1.3 times the cache", flip_loop, 12}, {"Zipf, half one-hit keys", flip_zipf_or_once, 24}};

struct bench {
    const struct evict_policy *policies[POLICIES_MAX];
    struct side sides[POLICIES_MAX]; /* the last one is auto's */
    unsigned    fixed;
    uint64_t    items, requests, random;
    uint32_t    value_bytes;
    char       *value;
    uint64_t    quarters[QUARTERS_MAX][POLICIES_MAX]; /* misses when each quarter of a turnover ended, of this phase */
    unsigned    quarter_count;
};

static void flip_play_request(struct bench *b, uint64_t n) {
    char text[32];
    struct key key = key_make(text, (size_t)snprintf(text, sizeof text, "key:%016" PRIx64, n));
    for (unsigned i = 0; i <= b->fixed; i++) {
        side_play(&b->sides[i], &key, b->value, b->value_bytes, 0);
    }
    if (b->requests++ % TURN_REQUESTS == 0) {
        for (unsigned i = 0; i <= b->fixed; i++) {
            side_tend(&b->sides[i], b->requests * 1000000 / REQUESTS_A_S);
        }
    }
}

static void flip_misses(const struct bench *b, uint64_t to[POLICIES_MAX]) {
    for (unsigned i = 0; i <= b->fixed; i++) {
        to[i] = b->sides[i].reads - b->sides[i].hits;
    }
}

static unsigned flip_least(const struct bench *b, const uint64_t from[POLICIES_MAX], const uint64_t to[POLICIES_MAX]) {
    unsigned best = 0;
    for (unsigned i = 1; i < b->fixed; i++) {
        best = to[i] - from[i] < to[best] - from[best] ? i : best;
    }
    return best;
}

static double flip_lead(const struct bench *b, const uint64_t from[POLICIES_MAX], const uint64_t to[POLICIES_MAX]) {
    unsigned best = flip_least(b, from, to);
    return ((double)(to[b->fixed] - from[b->fixed]) / (double)(to[best] - from[best]) - 1) * 100;
}

/* After how many turnovers one began to be ahead of the other; NAN: never. */
static double flip_ahead_since(const struct bench *b, unsigned one, unsigned other) {
    for (unsigned q = 1; q < b->quarter_count; q++) {
        const uint64_t *from = b->quarters[q - 1], *to = b->quarters[q];
        if ((double)(to[one] - from[one]) < AHEAD * (double)(to[other] - from[other])) {
            return (q - 1) / 4.0;
        }
    }
    return NAN;
}

static void flip_play_phase(struct bench *b, const struct phase *p) {
    uint64_t start[POLICIES_MAX], late[POLICIES_MAX] = {0}, half[POLICIES_MAX] = {0}, end[POLICIES_MAX], count = b->items * p->turnovers;
    const struct evict_policy *was = cache_policy(b->sides[b->fixed].cache);
    unsigned came_with = 0, lru = 0;
    while (b->policies[came_with] != was) {
        came_with++;
    }
    while (b->policies[lru] != &evict_lru) {
        lru++;
    }
    b->quarter_count = 0;
    char changes[512] = "";
    bool is_late = false;
    flip_misses(b, start);
    for (uint64_t i = 0; i < count; i++) {
        flip_play_request(b, p->next(b->items, &b->random, i));
        flip_misses(b, end);
        double turnovers = (double)(end[b->fixed] - start[b->fixed]) / (double)b->items;
        const struct evict_policy *now = cache_policy(b->sides[b->fixed].cache);
        if (b->quarter_count < QUARTERS_MAX && turnovers * 4 >= b->quarter_count) {
            memcpy(b->quarters[b->quarter_count++], end, sizeof end);
        }
        if (now != was) {
            snprintf(changes + strlen(changes), sizeof changes - strlen(changes), " %.2f:%s", turnovers, now->name);
            was = now;
        }
        if (!is_late && turnovers >= TURNOVERS_ALLOWED) {
            memcpy(late, end, sizeof late);
            is_late = true;
        }
        if (i == count / 2) {
            memcpy(half, end, sizeof half);
        }
    }
    unsigned best = flip_least(b, half, end);
    printf("%-28s best %-8s %.4f ahead since %.2f lru %.4f | auto %+6.1f %% after two turnovers, %+6.1f %% in the last half; changed at%s\n", p->name,
           b->policies[best]->name, (double)(end[best] - half[best]) / ((double)count / 2), flip_ahead_since(b, best, came_with),
           (double)(end[lru] - half[lru]) / ((double)count / 2), is_late ? flip_lead(b, late, end) : NAN, flip_lead(b, half, end),
           changes[0] != '\0' ? changes : " never");
}

int main(int argc, char **argv) {
    static struct bench b;
    double mebibytes = argc > 1 ? atof(argv[1]) : 64;
    b.value_bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 500;
    b.random = argc > 3 ? (uint64_t)atoll(argv[3]) * 2 + 1 : 3;
    clock_start();
    clock_pause();
    for (; evict_policies[b.fixed] != NULL && b.fixed < POLICIES_MAX - 1; b.fixed++) {
        b.policies[b.fixed] = evict_policies[b.fixed];
        b.sides[b.fixed] = side_make(mebibytes, b.policies[b.fixed], 0, false, true);
    }
    b.sides[b.fixed] = side_make(mebibytes, &evict_s3fifo, SAMPLE_RATE, true, true);
    b.value = calloc(1, b.value_bytes + 1);
    for (uint64_t n = 0; b.items == 0; n++) { /* until no more items fit */
        struct cache_class_values classes;
        flip_play_request(&b, (UINT64_C(9) << 40) + n);
        cache_classes_counters(b.sides[b.fixed].cache, &classes);
        b.items = classes.evicted > 0 ? n : 0;
    }
    printf("%.0f MiB, %" PRIu64 " items\n", mebibytes, b.items);
    for (unsigned i = 0; i < PHASES; i++) {
        flip_play_phase(&b, &phases[i]);
    }
    struct whatif_facts f;
    whatif_facts(tuner_whatif(b.sides[b.fixed].tuner), &f);
    printf("keys %" PRIu64 " rate %.4f windows %" PRIu64 "; %s\n", f.keys, f.rate, f.windows, f.why);
    return EXIT_SUCCESS;
}
