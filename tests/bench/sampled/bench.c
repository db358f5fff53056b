/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A worker's requests and the tuner's work beside them at the default rate of sampling, for callgrind (run): a server
 * without sockets on one thread, whose clock follows the requests, so that the same is counted each time.
 *
 *     bench get|set|fill [KOPS [KEYS]]      250 thousand operations a second, 100000 keys
 *
 * Sessions send 32 requests at a time for keys by Zipf's law, with values of 32 bytes. In `fill` a get that misses is followed by a set,
 * and there are 64 MB, for some 500000 keys. WARM_S seconds of that clock pass first, in which the rates settle. phase_requests is the
 * worker's part, phase_tend the tuner's. Prints the amounts of work. */
#include <math.h>

#include "control/sampling/whatif.h"
#include "fed.h"

enum { DEPTH = 32, WARM_S = 6, MEASURED_S = 2, TEND_US = 20000, LINE_ROOM = 128 };

struct bench {
    struct fed fed;
    size_t     bytes[SESSIONS];
    uint32_t   keys[SESSIONS][DEPTH];
    char       verb;
    bool       measured; /* the time to warm up is over */
    double    *zipf; /* the share of keys up to each */
    uint64_t   now_us, operations, tends;
};

static uint32_t next_key(struct bench *b) {
    double at = (double)(fed_random(&b->fed) >> 11) / 9007199254740992.0;
    uint32_t low = 0, high = b->fed.keys - 1;
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
    return (size_t)(verb == 's' ? sprintf(to, "set " FED_KEY " 0 0 %d\r\n" FED_VALUE "\r\n", key, VALUE_BYTES)
                                : sprintf(to, "get " FED_KEY "\r\n", key));
}

/* The worker's part, without the kernel's. */
static inline void serve(struct bench *b) {
    cache_turn_begin(b->fed.rig.ct);
    batch_begin(b->fed.rig.batch);
    for (int s = 0; s < SESSIONS; s++) {
        if (b->bytes[s] > 0 && batch_add(b->fed.rig.batch, b->fed.sessions[s], b->fed.buffers[s], b->bytes[s]) != b->bytes[s]) {
            exit(1);
        }
    }
    batch_run(b->fed.rig.batch);
    cache_turn_end(b->fed.rig.ct);
}

#define PHASE __attribute__((noinline)) static void
PHASE phase_requests(struct bench *b) { serve(b); }
PHASE phase_tend(struct bench *b) { tuner_tend_at(b->fed.rig.server.tuner, b->now_us); }

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
        tuner_tend_at(b->fed.rig.server.tuner, b->now_us);
    }
    b->tends++;
}

/* Takes the replies; in `fill`, a get that missed becomes a set of the next turn. */
static void take_replies(struct bench *b) {
    cache_turn_begin(b->fed.rig.ct);
    for (int s = 0; s < SESSIONS; s++) {
        struct output *out = b->bytes[s] > 0 ? batch_output(b->fed.rig.batch, b->fed.sessions[s]) : NULL;
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
                b->bytes[s] += write_request(b->fed.buffers[s] + b->bytes[s], 's', b->keys[s][i]);
                b->operations++;
            }
        }
    }
    cache_turn_end(b->fed.rig.ct);
}

static void turn(struct bench *b) {
    for (int s = 0; s < SESSIONS; s++) {
        b->bytes[s] = 0;
        for (int i = 0; i < DEPTH; i++) {
            b->keys[s][i] = next_key(b);
            b->bytes[s] += write_request(b->fed.buffers[s] + b->bytes[s], b->verb == 's' ? 's' : 'g', b->keys[s][i]);
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

/* Plays so many seconds of the clock that follows the requests. */
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

static void adjust(struct cache_config *cache, struct tuner_config *tune) {
    static struct settings defaults; /* static, because the tuner stores a pointer to a name */
    settings_init(&defaults);
    cache->huge_pages = true;
    tune->by_hand = true;
    tune->automove = defaults.slab_automove;
    tune->settings.sample_rate = defaults.sample_rate;
    tune->worker_count = 1;
}

static void make_zipf(struct bench *b) {
    b->zipf = malloc(b->fed.keys * sizeof *b->zipf);
    double sum = 0;
    for (uint32_t k = 0; k < b->fed.keys; k++) {
        b->zipf[k] = sum += pow(k + 1.0, -0.99);
    }
    for (uint32_t k = 0; k < b->fed.keys; k++) {
        b->zipf[k] /= sum;
    }
}

int main(int argc, char **argv) {
    static struct bench b;
    char options[] = "-m 1024", small[] = "-m 64";
    b.verb = argc > 1 ? argv[1][0] : 0;
    double operations_a_s = argc > 2 ? strtod(argv[2], NULL) * 1000 : 250e3;
    b.fed.keys = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 100000;
    b.now_us = 1000000;
    rig_adjust = adjust;
    if (strchr("gsf", b.verb) == NULL || b.verb == 0 || !fed_open(&b.fed, b.verb == 'f' ? small : options, DEPTH * LINE_ROOM)) {
        fprintf(stderr, "usage: bench get|set|fill [KOPS [KEYS]]\n");
        return 1;
    }
    make_zipf(&b);
    run(&b, WARM_S, operations_a_s);
    struct whatif_facts before, after;
    uint64_t operations = b.operations, tends = b.tends;
    whatif_facts(tuner_whatif(b.fed.rig.server.tuner), &before);
    b.measured = true;
    run(&b, MEASURED_S, operations_a_s);
    whatif_facts(tuner_whatif(b.fed.rig.server.tuner), &after);
    printf("%" PRIu64 " operations, %" PRIu64 " tends, %" PRIu64 " records, %" PRIu64 " dropped, %" PRIu64 " keys, in %d seconds\n",
           b.operations - operations, b.tends - tends, after.records - before.records, after.dropped - before.dropped, after.keys,
           MEASURED_S);
    return 0;
}
