/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of parsing, the cache and formatting, without sockets: sessions fed from memory, as a worker does.
 *
 *     make build/bench/session_bench
 *     build/bench/session_bench [KEYS [SECONDS [CASE [INDEX]]]]  1000000 keys, 2 seconds a case, all cases, bucket
 *
 * Prints the thread's CPU time an operation, in nanoseconds; the client's part, copying prepared requests into the buffer, is
 * measured apart and taken off. Keys are random, so that the index and the items miss the processor's caches as in life,
 * except in the cases of one request a turn, whose few keys stay in them.
 *
 * MEMORY_FILE=/dev/shm/file has the items in a memory file, as -e does. Instructions an operation, of either, by
 * 64 turns of 40 sessions: valgrind --tool=callgrind --toggle-collect=turn build/bench/session_bench 100000 0 'get x32' */
#include "fed.h"
#include "mem/memory_file.h"

enum { VARIANTS = 64, BUFFER_BYTES = 64 * 1024 };

struct message {
    char  *bytes;
    size_t n;
};

struct bench {
    struct fed     fed;
    struct message messages[SESSIONS][VARIANTS];
    uint64_t       reply_bytes;
};

/* One request, or one key of a multi-get, at p. */
static char *write_get(char *p, uint32_t k) { return p + sprintf(p, "get " FED_KEY "\r\n", k); }
static char *write_mg(char *p, uint32_t k) { return p + sprintf(p, "mg " FED_KEY " v\r\n", k); }
static char *write_set(char *p, uint32_t k) {
    return p + sprintf(p, "set " FED_KEY " 0 0 %d\r\n" FED_VALUE "\r\n", k, VALUE_BYTES);
}
static char *write_quiet_set(char *p, uint32_t k) {
    return p + sprintf(p, "set " FED_KEY " 0 0 %d noreply\r\n" FED_VALUE "\r\n", k, VALUE_BYTES);
}
static char *write_ms(char *p, uint32_t k) {
    return p + sprintf(p, "ms " FED_KEY " %d\r\n" FED_VALUE "\r\n", k, VALUE_BYTES);
}
static char *write_key(char *p, uint32_t k) { return p + sprintf(p, " " FED_KEY, k); }

static const struct bench_case {
    const char *name;
    char     *(*write)(char *p, uint32_t key);
    unsigned    count;
    bool        multi;
} cases[] = {
    {"get x1", write_get, 1, false},           {"get x32", write_get, 32, false},
    {"mget 50", write_key, 50, true},          {"mg x32", write_mg, 32, false},
    {"set x1", write_set, 1, false},           {"set x32", write_set, 32, false},
    {"set noreply x32", write_quiet_set, 32, false}, {"ms x32", write_ms, 32, false},
};

static void make_messages(struct bench *b, const struct bench_case *c) {
    for (int s = 0; s < SESSIONS; s++) {
        for (int v = 0; v < VARIANTS; v++) {
            struct message *m = &b->messages[s][v];
            char *p = m->bytes = realloc(m->bytes, 128 * (size_t)c->count + 16);
            if (c->multi) {
                p += sprintf(p, "get");
            }
            for (unsigned i = 0; i < c->count; i++) {
                p = c->write(p, (uint32_t)((fed_random(&b->fed) >> 32) * b->fed.keys >> 32));
            }
            if (c->multi) {
                p += sprintf(p, "\r\n");
            }
            m->n = (size_t)(p - m->bytes);
        }
    }
}

__attribute__((noinline)) static void turn(struct bench *b, int variant) {
    cache_turn_begin(b->fed.rig.ct);
    batch_begin(b->fed.rig.batch);
    for (int s = 0; s < SESSIONS; s++) {
        const struct message *m = &b->messages[s][variant];
        memcpy(b->fed.buffers[s], m->bytes, m->n);
        if (batch_add(b->fed.rig.batch, b->fed.sessions[s], b->fed.buffers[s], m->n) != m->n) {
            fprintf(stderr, "a session did not take its requests\n");
            exit(1);
        }
    }
    batch_run(b->fed.rig.batch);
    for (int s = 0; s < SESSIONS; s++) {
        struct output *out = batch_output(b->fed.rig.batch, b->fed.sessions[s]);
        if (out) {
            b->reply_bytes += output_bytes(out);
            output_sent(out, output_bytes(out));
        }
    }
    cache_turn_end(b->fed.rig.ct);
}

static void copy_only(struct bench *b, int variant) {
    for (int s = 0; s < SESSIONS; s++) {
        const struct message *m = &b->messages[s][variant];
        memcpy(b->fed.buffers[s], m->bytes, m->n);
        __asm__ volatile("" : : "r"(b->fed.buffers[s]) : "memory");
    }
}

/* This thread's CPU time, so that other work of the machine counts little. */
static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double time_us(struct bench *b, void (*step)(struct bench *, int), int rounds) {
    double start = cpu_us();
    for (int i = 0; i < rounds; i++) {
        step(b, i % VARIANTS);
    }
    return cpu_us() - start;
}

static void run_case(struct bench *b, const struct bench_case *c, double seconds) {
    make_messages(b, c);
    time_us(b, turn, VARIANTS);
    b->reply_bytes = 0;
    uint64_t rounds = 0;
    double us = 0, copy_us = 0;
    while (us < seconds * 1e6) {
        us += time_us(b, turn, VARIANTS * 4);
        copy_us += time_us(b, copy_only, VARIANTS * 4);
        rounds += VARIANTS * 4;
        make_messages(b, c);
    }
    double operations = (double)(rounds * SESSIONS * c->count);
    printf("%-16s %7.1f ns  (%.1f bytes of reply)\n", c->name, (us - copy_us) * 1e3 / operations,
           (double)b->reply_bytes / operations);
}

static struct memory_file *file;

static void adjust(struct cache_config *config, struct tuner_config *tune) {
    config->huge_pages = true;
    config->memory_file = file;
    tune->by_hand = true;
}

int main(int argc, char **argv) {
    static struct bench b;
    static char why[CACHE_WHY_BYTES];
    char options[100];
    const char *path = getenv("MEMORY_FILE");
    if (path != NULL && (file = memory_file_open(path, why)) == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    b.fed.keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 2;
    snprintf(options, sizeof options, "-m 1024 --policy=slru --index=%s", argc > 4 ? argv[4] : "bucket");
    rig_adjust = adjust;
    if (!fed_open(&b.fed, options, BUFFER_BYTES)) {
        fprintf(stderr, "usage: session_bench [KEYS [SECONDS [CASE [INDEX]]]]\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc < 4 || strstr(cases[i].name, argv[3])) {
            run_case(&b, &cases[i], seconds);
        }
    }
    return 0;
}
