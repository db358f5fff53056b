/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What parsing, the cache and formatting cost without sockets: sessions fed from memory, as a worker feeds them.
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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/cache.h"
#include "mem/memory_file.h"
#include "protocol/parse.h"
#include "server/config/settings.h"
#include "server/server.h"
#include "server/session/session.h"

enum { SESSIONS = 40, VALUE_BYTES = 32, VARIANTS = 64, BUFFER_BYTES = 64 * 1024 };

struct message {
    char  *bytes;
    size_t n;
};

struct bench {
    struct settings       settings;
    struct server         server;
    struct cache_thread  *ct;
    struct serve_counters counters;
    struct batch         *batch;
    struct session       *sessions[SESSIONS];
    char                 *buffers[SESSIONS];
    struct message        messages[SESSIONS][VARIANTS];
    uint32_t              keys;
    uint64_t              random;
    uint64_t              reply_bytes;
};

static uint32_t next_key(struct bench *b) {
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((b->random >> 32) * b->keys >> 32);
}

static char value[VALUE_BYTES + 1] = "0123456789abcdef0123456789abcdef";

/* One request, or one key of a multi-get, at p. */
static char *write_get(char *p, uint32_t k) { return p + sprintf(p, "get memtier-%010u-abcdefghijk\r\n", k); }
static char *write_mg(char *p, uint32_t k) { return p + sprintf(p, "mg memtier-%010u-abcdefghijk v\r\n", k); }
static char *write_set(char *p, uint32_t k) {
    return p + sprintf(p, "set memtier-%010u-abcdefghijk 0 0 %d\r\n%s\r\n", k, VALUE_BYTES, value);
}
static char *write_quiet_set(char *p, uint32_t k) {
    return p + sprintf(p, "set memtier-%010u-abcdefghijk 0 0 %d noreply\r\n%s\r\n", k, VALUE_BYTES, value);
}
static char *write_ms(char *p, uint32_t k) {
    return p + sprintf(p, "ms memtier-%010u-abcdefghijk %d\r\n%s\r\n", k, VALUE_BYTES, value);
}
static char *write_key(char *p, uint32_t k) { return p + sprintf(p, " memtier-%010u-abcdefghijk", k); }

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
                p = c->write(p, next_key(b));
            }
            if (c->multi) {
                p += sprintf(p, "\r\n");
            }
            m->n = (size_t)(p - m->bytes);
        }
    }
}

__attribute__((noinline)) static void turn(struct bench *b, int variant) {
    cache_turn_begin(b->ct);
    batch_begin(b->batch);
    for (int s = 0; s < SESSIONS; s++) {
        const struct message *m = &b->messages[s][variant];
        memcpy(b->buffers[s], m->bytes, m->n);
        if (batch_add(b->batch, b->sessions[s], b->buffers[s], m->n) != m->n) {
            fprintf(stderr, "a session did not take its requests\n");
            exit(1);
        }
    }
    batch_run(b->batch);
    for (int s = 0; s < SESSIONS; s++) {
        struct output *out = batch_output(b->batch, b->sessions[s]);
        if (out) {
            b->reply_bytes += output_bytes(out);
            output_sent(out, output_bytes(out));
        }
    }
    cache_turn_end(b->ct);
}

static void copy_only(struct bench *b, int variant) {
    for (int s = 0; s < SESSIONS; s++) {
        const struct message *m = &b->messages[s][variant];
        memcpy(b->buffers[s], m->bytes, m->n);
        __asm__ volatile("" : : "r"(b->buffers[s]) : "memory");
    }
}

/* Of this thread, so that what else the machine does counts little. */
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

static bool open_bench(struct bench *b, const struct index_kind *index) {
    static char why[CACHE_WHY_BYTES];
    clock_start();
    settings_init(&b->settings);
    if (!server_init(&b->server, &b->settings)) {
        return false;
    }
    struct cache_config config = {
        .limit_bytes = (size_t)1 << 30,
        .slab = {.chunk_bytes_min = 48 + SLAB_HEADER_ROOM, .growth_factor = 1.25, .chunk_bytes_max = 512 << 10},
        .index = index,
        .item_bytes_max = 1 << 20,
        .cas = true,
        .evict = true,
        .huge_pages = true,
        .alloc_wait_us = CACHE_ALLOC_WAIT_US,
        .policy = &evict_slru,
        .settings = {20, 40, 20, 200, .s3fifo = {.small_pct = 10, .ghost_pct = 90, .promote_hits = 1}, .temporary_ttl_s = -1},
        .why = why,
    };
    const char *path = getenv("MEMORY_FILE");
    if (path != NULL && (config.memory_file = memory_file_open(path, why)) == NULL) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    b->server.cache = cache_create(&config);
    b->ct = b->server.cache ? cache_thread_create(b->server.cache) : NULL;
    b->batch = b->ct ? batch_create(&b->server, b->ct, &b->counters) : NULL;
    for (int s = 0; b->batch && s < SESSIONS; s++) {
        b->sessions[s] = session_create();
        b->buffers[s] = malloc(BUFFER_BYTES + PARSE_SLACK);
    }
    return b->batch != NULL;
}

static void fill(struct bench *b) {
    cache_turn_begin(b->ct);
    for (uint32_t k = 0; k < b->keys; k++) {
        char line[128];
        int n = sprintf(line, "memtier-%010u-abcdefghijk", k);
        struct key key = key_make(line, (size_t)n);
        struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = VALUE_BYTES};
        cache_store(b->ct, &key, &s, NULL);
    }
    cache_turn_end(b->ct);
}

int main(int argc, char **argv) {
    static struct bench b;
    b.keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    b.random = 88172645463325252u;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 2;
    if (b.keys == 0 || !open_bench(&b, argc > 4 ? index_kind_find(argv[4]) : NULL)) {
        fprintf(stderr, "usage: session_bench [KEYS [SECONDS [CASE [INDEX]]]]\n");
        return 1;
    }
    fill(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc < 4 || strstr(cases[i].name, argv[3])) {
            run_case(&b, &cases[i], seconds);
        }
    }
    return 0;
}
