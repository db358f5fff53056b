/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the cache scales with threads, without a network: YCSB-shaped loads on the cache's contract, for each kind of index, policy
 * and number of partitions.
 *
 *     bench KEYS MS INDEXES POLICIES PARTITIONS THREADS LOADS      lists with commas; INDEXES: or all
 *
 * Loads: `a` half updates, `b` one in twenty, `c` none (YCSB's names and shares, Zipf 0.99, values of 100 bytes, all keys present);
 * `insert` stores keys that never came before into a full cache. A turn is 32 operations, as of a pipelined client. Keys are drawn before
 * the time begins. A row: operations a second by the wall, processor time an operation, and a thread's waits for a lock or for its core, by
 * the kernel's voluntary switches in a thousand operations. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cache_fixture.h"
#include "popularity.h"

enum { THREADS_MOST = 64, DRAWS = 1 << 16, TURN = 32, KEY_BYTES = 16, VALUE_BYTES = 100, KEY_ROOM_BYTES = 256, LIST_MAX = 16 };

struct load {
    const char *name;
    unsigned    updates_pct;
    bool        inserts;
};
static const struct load loads[] = {{"a", 50, false}, {"b", 5, false}, {"c", 0, false}, {"insert", 100, true}};

struct thread {
    pthread_t            id;
    struct cache_thread *ct;
    const struct load   *load;
    uint32_t            *draws; /* ranks, shared by all threads; each begins at a place of its own */
    uint64_t             number, inserted, operations, missed;
    double               cpu_s;
    long                 waits;
};

struct bench {
    struct cache *cache;
    uint64_t      keys;
    unsigned      ms;
    uint32_t      draws[DRAWS];
};

static _Atomic unsigned ready;
static _Atomic bool go, stop;
static struct thread threads[THREADS_MOST];

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct key key_of(uint64_t n, char *to) {
    uint64_t words[2] = {mix64(n), mix64(n + UINT64_C(0x9e3779b97f4a7c15))};
    memcpy(to, words, KEY_BYTES);
    return key_make(to, KEY_BYTES);
}

static bool set_key(struct cache_thread *ct, uint64_t n) {
    static const char value[VALUE_BYTES];
    char name[KEY_BYTES];
    struct key key = key_of(n, name);
    struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = VALUE_BYTES};
    return cache_store(ct, &key, &s, NULL) == CACHE_OK;
}

static bool get_key(struct cache_thread *ct, uint64_t n) {
    char name[KEY_BYTES], value[VALUE_BYTES + 8];
    struct key key = key_of(n, name);
    return fixture_read(ct, &key, value) == VALUE_BYTES;
}

static void operate(struct thread *t, uint64_t i) {
    static const unsigned spread = 100;
    if (t->load->inserts) {
        t->missed += !set_key(t->ct, (t->number + 1) << 40 | t->inserted++);
    } else {
        uint64_t rank = t->draws[(i + t->number * (DRAWS / THREADS_MOST)) % DRAWS];
        bool update = mix64(i ^ t->number << 50) % spread < t->load->updates_pct;
        t->missed += !(update ? set_key(t->ct, rank) : get_key(t->ct, rank));
    }
}

static void *work(void *arg) {
    struct thread *t = arg;
    struct rusage before, after;
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&go)) {
        sched_yield();
    }
    getrusage(RUSAGE_THREAD, &before);
    double begun_s = seconds(CLOCK_THREAD_CPUTIME_ID);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        cache_turn_begin(t->ct);
        for (unsigned i = 0; i < TURN; i++) {
            operate(t, t->operations++);
        }
        cache_turn_end(t->ct);
    }
    t->cpu_s = seconds(CLOCK_THREAD_CPUTIME_ID) - begun_s;
    getrusage(RUSAGE_THREAD, &after);
    t->waits = after.ru_nvcsw - before.ru_nvcsw;
    return NULL;
}

struct figures {
    double operations, a_s, cpu_ns, waits;
};

static struct figures measure(struct bench *b, const struct load *load, unsigned count) {
    struct figures f = {0};
    double cpu_s = 0;
    atomic_store(&ready, 0);
    atomic_store(&go, false);
    atomic_store(&stop, false);
    for (unsigned i = 0; i < count; i++) {
        struct thread *t = &threads[i];
        *t = (struct thread){.ct = cache_thread_create(b->cache), .load = load, .draws = b->draws, .number = i, .inserted = t->inserted};
        if (t->ct == NULL || pthread_create(&t->id, NULL, work, t) != 0) {
            exit(1);
        }
    }
    while (atomic_load(&ready) < count) {
        sched_yield();
    }
    double begun_s = seconds(CLOCK_MONOTONIC);
    atomic_store(&go, true);
    usleep(b->ms * 1000);
    atomic_store(&stop, true);
    uint64_t missed = 0;
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
        cache_thread_destroy(&threads[i].ct);
        f.operations += (double)threads[i].operations;
        f.waits += (double)threads[i].waits;
        cpu_s += threads[i].cpu_s;
        missed += threads[i].missed;
    }
    f.a_s = f.operations / (seconds(CLOCK_MONOTONIC) - begun_s);
    f.cpu_ns = cpu_s * 1e9 / f.operations;
    f.waits = f.waits * 1000 / f.operations;
    if (missed > 0) {
        fprintf(stderr, "%" PRIu64 " operations of %s missed or were refused\n", missed, load->name);
        exit(1);
    }
    return f;
}

/* --- the cache --- */

static void open_cache(struct bench *b, const struct index_kind *index, const struct evict_policy *policy, unsigned partitions) {
    struct cache_config cfg = fixture_config(b->keys * KEY_ROOM_BYTES + (64u << 20));
    cfg.index = index;
    cfg.policy = policy;
    cfg.partitions = partitions;
    cfg.huge_pages = true;
    b->cache = cache_create(&cfg);
    struct cache_thread *ct = b->cache != NULL ? cache_thread_create(b->cache) : NULL;
    if (ct == NULL) {
        exit(1);
    }
    for (uint64_t n = 0; n < b->keys; n += TURN) {
        cache_turn_begin(ct);
        for (uint64_t i = n; i < n + TURN; i++) {
            set_key(ct, i);
        }
        cache_turn_end(ct);
    }
    cache_thread_destroy(&ct);
}

/* By inserts, until there are no more items than before. */
static void fill_up(struct bench *b) {
    struct cache_thread *ct = cache_thread_create(b->cache);
    struct cache_facts f = {0};
    uint64_t n = UINT64_C(1) << 60, before;
    do {
        before = f.items;
        cache_turn_begin(ct);
        for (unsigned i = 0; i < 10000; i++) {
            set_key(ct, n++);
        }
        cache_turn_end(ct);
        cache_facts(b->cache, &f);
    } while (f.items >= before + 5000);
    cache_thread_destroy(&ct);
}

static void draw(struct bench *b) {
    struct popularity zipf;
    struct chooser chooser;
    struct rng rng = rng_from(7);
    popularity_parse("zipf:0.99", &zipf);
    chooser_init(&chooser, &zipf, b->keys);
    for (unsigned i = 0; i < DRAWS; i++) {
        b->draws[i] = (uint32_t)chooser_draw(&chooser, &rng);
    }
}

/* --- rows --- */

static unsigned words_of(char *list, const char *words[LIST_MAX]) {
    unsigned n = 0;
    for (char *word; n < LIST_MAX && (word = strsep(&list, ",")) != NULL;) {
        words[n++] = word;
    }
    return n;
}

/* The kinds named in a list, or all. */
static unsigned kinds_of(char *list, const char *kinds[LIST_MAX]) {
    unsigned n = 0;
    if (strcmp(list, "all") != 0) {
        return words_of(list, kinds);
    }
    for (; index_kinds[n] != NULL && n < LIST_MAX; n++) {
        kinds[n] = index_kinds[n]->name;
    }
    return n;
}

static void run_loads(struct bench *b, const char *index, const char *policy, const char *partitions, char *thread_list, char *load_list) {
    const char *counts[LIST_MAX], *names[LIST_MAX];
    unsigned count_count = words_of(thread_list, counts), name_count = words_of(load_list, names);
    for (unsigned i = 0; i < name_count; i++) {
        for (unsigned l = 0; l < sizeof loads / sizeof *loads; l++) {
            if (strcmp(loads[l].name, names[i]) != 0) {
                continue;
            }
            if (loads[l].inserts) {
                fill_up(b);
            }
            for (unsigned c = 0; c < count_count; c++) {
                unsigned count = (unsigned)atoi(counts[c]);
                if (count == 0 || count > THREADS_MOST) {
                    exit(1);
                }
                struct figures f = measure(b, &loads[l], count);
                printf("%-10s %-7s %10s %-7s %7u %12.0f %9.1f %9.3f\n", index, policy, partitions, loads[l].name, count, f.a_s, f.cpu_ns,
                       f.waits);
                fflush(stdout);
            }
        }
    }
}

int main(int argc, char **argv) {
    static struct bench b;
    if (argc != 8 || (b.keys = strtoul(argv[1], NULL, 10)) < TURN || (b.ms = (unsigned)strtoul(argv[2], NULL, 10)) == 0) {
        fprintf(stderr, "usage: bench KEYS MS INDEXES POLICIES PARTITIONS THREADS LOADS\n");
        return 1;
    }
    b.keys -= b.keys % TURN;
    const char *indexes[LIST_MAX], *policies[LIST_MAX], *partitions[LIST_MAX];
    unsigned index_count = kinds_of(argv[3], indexes), policy_count = words_of(argv[4], policies),
             partitions_count = words_of(argv[5], partitions);
    clock_start();
    draw(&b);
    printf("%-10s %-7s %10s %-7s %7s %12s %9s %9s\n", "index", "policy", "partitions", "load", "threads", "ops a s", "cpu ns", "waits/1000");
    for (unsigned i = 0; i < index_count; i++) {
        for (unsigned j = 0; j < policy_count; j++) {
            for (unsigned k = 0; k < partitions_count; k++) {
                const struct index_kind *index = index_kind_find(indexes[i]);
                const struct evict_policy *policy = evict_find(policies[j]);
                if (index == NULL || policy == NULL) {
                    return 1;
                }
                char thread_list[100], load_list[100];
                snprintf(thread_list, sizeof thread_list, "%s", argv[6]);
                snprintf(load_list, sizeof load_list, "%s", argv[7]);
                open_cache(&b, index, policy, (unsigned)atoi(partitions[k]));
                run_loads(&b, indexes[i], policies[j], partitions[k], thread_list, load_list);
                cache_destroy(&b.cache);
            }
        }
    }
    return 0;
}
