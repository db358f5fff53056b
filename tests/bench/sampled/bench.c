/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A worker's requests and what the tuner does beside them at the default rate of sampling, for callgrind (run): a server
 * without sockets on one thread, whose clock follows the requests, so that the same is counted each time.
 *
 *     bench get|set|fill [KOPS [KEYS]]      250 thousand operations a second, 100000 keys
 *
 * Sessions send 32 requests at a time for keys by Zipf's law, with values of 32 bytes. In `fill` a get that misses is followed
 * by a set, and there are 64 MB, for some 500000 keys. WARM_S seconds of that clock pass first, in which the rates find their
 * level. phase_requests is the worker's part, phase_tend the tuner's. Prints what there was to do. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/sampling/whatif.h"
#include "session_fixture.h"

enum { SESSIONS = 40, DEPTH = 32, VALUE_BYTES = 32, WARM_S = 6, MEASURED_S = 2, TEND_US = 20000, LINE_ROOM = 128 };

struct bench {
    struct rig      rig;
    struct session *sessions[SESSIONS];
    char           *buffers[SESSIONS];
    size_t          bytes[SESSIONS];
    uint32_t        keys[SESSIONS][DEPTH];
    char            verb;
    bool            measured; /* the time to warm up is over */
    uint32_t        key_count;
    double         *zipf; /* the share of keys up to each */
    uint64_t        random, now_us, operations, tends;
};

static uint32_t next_key(struct bench *b) {
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    double at = (double)(b->random >> 11) / 9007199254740992.0;
    uint32_t low = 0, high = b->key_count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (b->zipf[middle] < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t write_request(char *to, char verb, uint32_t key) {
    int n = verb == 's' ? sprintf(to, "set memtier-%010u-abcdefghijk 0 0 %d\r\n%.*s\r\n", key, VALUE_BYTES, VALUE_BYTES,
                                  "0123456789abcdef0123456789abcdef")
                        : sprintf(to, "get memtier-%010u-abcdefghijk\r\n", key);
    return (size_t)n;
}

/* The worker's part, but for the kernel's. */
static inline void serve(struct bench *b) {
    cache_turn_begin(b->rig.ct);
    batch_begin(b->rig.batch);
    for (int s = 0; s < SESSIONS; s++) {
        if (b->bytes[s] > 0 && batch_add(b->rig.batch, b->sessions[s], b->buffers[s], b->bytes[s]) != b->bytes[s]) {
            exit(1);
        }
    }
    batch_run(b->rig.batch);
    cache_turn_end(b->rig.ct);
}

#define PHASE __attribute__((noinline)) static void
PHASE phase_requests(struct bench *b) { serve(b); }
PHASE phase_tend(struct bench *b) { tuner_tend_at(b->rig.server.tuner, b->now_us); }

static void requests(struct bench *b) {
    if (b->measured) {
        phase_requests(b);
    } else {
        serve(b);
    }
}

static void tend(struct bench *b) {
    if (b->measured) {
        phase_tend(b);
    } else {
        tuner_tend_at(b->rig.server.tuner, b->now_us);
    }
    b->tends++;
}

/* Takes the replies; a get that missed is asked for as a set next, in `fill`. */
static void take_replies(struct bench *b) {
    cache_turn_begin(b->rig.ct);
    for (int s = 0; s < SESSIONS; s++) {
        struct output *out = b->bytes[s] > 0 ? batch_output(b->rig.batch, b->sessions[s]) : NULL;
        static char text[1 << 16];
        size_t n = 0;
        struct iovec iov[64];
        int pieces = out != NULL ? output_iov(out, iov, 64) : 0;
        for (int i = 0; i < pieces; i++) {
            memcpy(text + n, iov[i].iov_base, iov[i].iov_len);
            n += iov[i].iov_len;
        }
        if (out != NULL) {
            output_sent(out, n);
        }
        b->bytes[s] = 0;
        text[n] = '\0';
        const char *p = text;
        for (int i = 0; i < DEPTH && b->verb == 'f' && n > 0; i++) {
            bool hit = *p == 'V';
            p = strstr(p, "END\r\n") + 5;
            if (!hit) {
                b->bytes[s] += write_request(b->buffers[s] + b->bytes[s], 's', b->keys[s][i]);
                b->operations++;
            }
        }
    }
    cache_turn_end(b->rig.ct);
}

static void turn(struct bench *b) {
    for (int s = 0; s < SESSIONS; s++) {
        b->bytes[s] = 0;
        for (int i = 0; i < DEPTH; i++) {
            b->keys[s][i] = next_key(b);
            b->bytes[s] += write_request(b->buffers[s] + b->bytes[s], b->verb == 's' ? 's' : 'g', b->keys[s][i]);
        }
    }
    b->operations += SESSIONS * DEPTH;
    requests(b);
    take_replies(b);
    if (b->verb == 'f') {
        char verb = b->verb;
        requests(b);
        b->verb = 's';
        take_replies(b);
        b->verb = verb;
    }
}

/* So many seconds of the clock that follows the requests. */
static void run(struct bench *b, double seconds, double operations_a_s) {
    uint64_t begun = b->operations, begun_us = b->now_us, tend_us = b->now_us;
    while (b->now_us < begun_us + (uint64_t)(seconds * 1e6)) {
        turn(b);
        b->now_us = begun_us + (uint64_t)((double)(b->operations - begun) / operations_a_s * 1e6);
        if (b->now_us >= tend_us) {
            tend(b);
            tend_us = b->now_us + TEND_US;
        }
    }
}

static void adjust(struct cache_config *cache, struct tune_config *tune) {
    static struct settings defaults; /* the tuner keeps a name */
    settings_init(&defaults);
    cache->huge_pages = true;
    tune->by_hand = true;
    tune->automove = defaults.slab_automove;
    tune->settings.sample_rate = defaults.sample_rate;
    tune->worker_count = 1;
}

static bool open_bench(struct bench *b) {
    char options[] = "-m 1024", small[] = "-m 64";
    rig_adjust = adjust;
    if (!rig_open(&b->rig, b->verb == 'f' ? small : options)) {
        return false;
    }
    for (int s = 0; s < SESSIONS; s++) {
        b->sessions[s] = session_create();
        b->buffers[s] = malloc(DEPTH * LINE_ROOM + PARSE_SLACK);
    }
    b->zipf = malloc(b->key_count * sizeof *b->zipf);
    double sum = 0;
    for (uint32_t k = 0; k < b->key_count; k++) {
        b->zipf[k] = sum += pow(k + 1.0, -0.99);
    }
    for (uint32_t k = 0; k < b->key_count; k++) {
        b->zipf[k] /= sum;
    }
    return true;
}

static void fill(struct bench *b) {
    cache_turn_begin(b->rig.ct);
    for (uint32_t k = 0; k < b->key_count; k++) {
        char line[LINE_ROOM], value[] = "0123456789abcdef0123456789abcdef";
        struct key key = key_make(line, (size_t)sprintf(line, "memtier-%010u-abcdefghijk", k));
        struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = VALUE_BYTES};
        cache_store(b->rig.ct, &key, &s, NULL);
    }
    cache_turn_end(b->rig.ct);
}

int main(int argc, char **argv) {
    static struct bench b;
    b.verb = argc > 1 ? argv[1][0] : 0;
    double operations_a_s = argc > 2 ? strtod(argv[2], NULL) * 1000 : 250e3;
    b.key_count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 100000;
    b.random = 88172645463325252u;
    b.now_us = 1000000;
    if (strchr("gsf", b.verb) == NULL || b.verb == 0 || b.key_count == 0 || !open_bench(&b)) {
        fprintf(stderr, "usage: bench get|set|fill [KOPS [KEYS]]\n");
        return 1;
    }
    fill(&b);
    run(&b, WARM_S, operations_a_s);
    struct whatif_facts before, after;
    uint64_t operations = b.operations, tends = b.tends;
    whatif_facts(tuner_whatif(b.rig.server.tuner), &before);
    b.measured = true;
    run(&b, MEASURED_S, operations_a_s);
    whatif_facts(tuner_whatif(b.rig.server.tuner), &after);
    printf("%" PRIu64 " operations, %" PRIu64 " tends, %" PRIu64 " records, %" PRIu64 " dropped, %" PRIu64 " keys, in %d seconds\n",
           b.operations - operations, b.tends - tends, after.records - before.records, after.dropped - before.dropped, after.keys,
           MEASURED_S);
    return 0;
}
