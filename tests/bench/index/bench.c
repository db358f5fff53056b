/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of an operation of each kind of index, at several sizes: one loop over all of them, without a cache around it.
 *
 *     bench [ITEMS [KIND ...]]          1048576 items at the most, all kinds
 *
 * `grow` is an insert during a fill, `insert` one that needs no growth. `worst` is the longest insert of a fill, `look` the longest look-up
 * of a second thread meanwhile, with its retries, both in microseconds. Three fills are made in memory that was touched before, and the
 * shortest time counts of an insert, and of the longest look at a size, so that other work of the machine hardly counts. Sizes are a half,
 * five eighths, … and all of ITEMS, since linear hashing has rounds of doubling, and 1/64 of it, which fits the processor's cache. Times
 * are this thread's, in nanoseconds; of five runs the shortest. Items are 64 bytes with keys of 16 in random order. `x32` is the server's
 * look-up: places prefetched for 32 keys, then items, then compared. Every measured loop is a function of its own, phase_*, so that
 * callgrind can count its instructions (run). */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "index/index.h"
#include "mem/arena.h"
#include "mem/item.h"

enum { CHUNK = 64, KEY_BYTES = 16, GROUP = 32, OPERATIONS_MAX = 1 << 16, RUNS = 5, PARTS = 64 };

struct operation {
    struct key key;
    uint32_t   ref;
    char       bytes[KEY_BYTES];
};

static struct arena *arena;
static struct operation operations[OPERATIONS_MAX];
static uint32_t operation_count; /* operations a loop: a sixteenth of the items at most, so that they hardly change the load */
static uint64_t random_state = 88172645463325252u;
static struct index ix;
static uint32_t found;

static uint64_t next_random(void) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return random_state;
}

static uint32_t place_ref(uint32_t n) { return node_ref(&arena->space, arena->pages + (size_t)n * CHUNK); }

static void name(uint32_t n, char *to) {
    char text[32];
    snprintf(text, sizeof text, "memtier-%08u", n);
    memcpy(to, text, KEY_BYTES);
}

static void make_items(uint32_t count) {
    for (uint32_t n = 0; n < count; n++) {
        char bytes[KEY_BYTES];
        name(n, bytes);
        struct item *it = node_at(&arena->space, place_ref(n));
        item_set_flags(it, CHUNK_LINKED);
        atomic_store(&it->node.key_len, (uint8_t)KEY_BYTES);
        bytes_store((char *)it + item_key_offset(CHUNK_LINKED, 0), bytes, KEY_BYTES);
    }
}

/* Operations on the numbers from `first` on, in order, or on random ones of the `count` from there. */
static void prepare(uint32_t first, uint32_t count, bool in_order) {
    for (uint32_t i = 0; i < operation_count; i++) {
        struct operation *o = &operations[i];
        uint32_t n = first + (in_order ? i % count : (uint32_t)(next_random() % count));
        name(n, o->bytes);
        o->key = key_make(o->bytes, KEY_BYTES);
        o->ref = place_ref(n);
    }
}

/* --- the measured operations --- */

#define PHASE __attribute__((noinline)) static void

static inline void find_each(void) {
    for (uint32_t i = 0; i < operation_count; i++) {
        struct index_lookup look;
        do {
            found += index_find_from(&ix, &operations[i].key, (struct index_hint){0}, &look) != 0;
        } while (!index_unchanged(&look));
    }
}

static inline void find_grouped(void) {
    for (uint32_t i = 0; i < operation_count; i += GROUP) {
        struct index_hint spots[GROUP];
        uint32_t behind[GROUP], behind_count = 0;
        for (uint32_t j = 0; j < GROUP; j++) {
            spots[j] = index_prefetch(&ix, operations[i + j].key.hash);
        }
        for (uint32_t j = 0; j < GROUP; j++) {
            uint32_t ref = index_guess(&ix, spots[j]);
            if (ref == 0) {
                behind[behind_count++] = j;
            }
            prefetch(node_at(&arena->space, ref));
        }
        for (uint32_t j = 0; j < behind_count; j++) {
            uint64_t hash = operations[i + behind[j]].key.hash;
            prefetch(node_at(&arena->space, index_guess_behind(&ix, hash, spots[behind[j]])));
        }
        for (uint32_t j = 0; j < GROUP; j++) {
            struct index_lookup look;
            do {
                found += index_find_from(&ix, &operations[i + j].key, spots[j], &look) != 0;
            } while (!index_unchanged(&look));
        }
    }
}

PHASE phase_hit(void) { find_each(); }
PHASE phase_hit_x32(void) { find_grouped(); }
PHASE phase_miss(void) { find_each(); }
PHASE phase_miss_x32(void) { find_grouped(); }

PHASE phase_insert(void) {
    for (uint32_t i = 0; i < operation_count; i++) {
        found += index_insert(&ix, operations[i].key.hash, operations[i].ref);
    }
}

PHASE phase_replace(void) { /* by the bench itself: the same bytes are written again */
    for (uint32_t i = 0; i < operation_count; i++) {
        index_replace(&ix, operations[i].key.hash, operations[i].ref, operations[i].ref);
    }
}

PHASE phase_remove(void) {
    for (uint32_t i = 0; i < operation_count; i++) {
        index_remove(&ix, operations[i].key.hash, operations[i].ref);
    }
}

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_ns(void (*phase)(void), uint32_t found_wanted) {
    found = 0;
    double begun_ns = cpu_ns();
    phase();
    double ns = (cpu_ns() - begun_ns) / operation_count;
    if (found != found_wanted) {
        fprintf(stderr, "%s: %u of %u operations came out right\n", ix.kind->name, found, found_wanted);
        exit(1);
    }
    return ns;
}

static void keep_least(double *least, double ns) { *least = *least == 0 || ns < *least ? ns : *least; }

/* --- a row --- */

struct costs {
    double hit, hit_grouped, miss, miss_grouped, insert, replace, remove;
};

/* `count` items are in the index; some more are inserted and removed again and again. */
static void measure(struct costs *c, uint32_t count) {
    for (int run = 0; run < RUNS; run++) {
        prepare(0, count, false);
        keep_least(&c->hit, time_ns(phase_hit, operation_count));
        keep_least(&c->hit_grouped, time_ns(phase_hit_x32, operation_count));
        keep_least(&c->replace, time_ns(phase_replace, 0));
        prepare(count, operation_count, true);
        keep_least(&c->miss, time_ns(phase_miss, 0));
        keep_least(&c->miss_grouped, time_ns(phase_miss_x32, 0));
        keep_least(&c->insert, time_ns(phase_insert, operation_count)); /* the first run may grow, later ones do not */
        keep_least(&c->remove, time_ns(phase_remove, 0));
    }
}

static void open_index(const struct index_kind *kind, struct index_pool *pool, uint32_t items) {
    if (!index_pool_init(pool, (size_t)(items + operation_count) * kind->item_bytes_most + (1 << 20), 0) ||
        !index_init(&ix, kind, pool, &arena->space)) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
}

/* Fills up to `count`; returns the time of an insert, in nanoseconds. */
static double fill(uint32_t from, uint32_t count) {
    double ns = 0;
    uint32_t operations_a_loop = operation_count;
    for (uint32_t n = from; n < count; n += operation_count) {
        operation_count = count - n < operation_count ? count - n : operation_count;
        prepare(n, operation_count, true);
        ns += time_ns(phase_insert, operation_count) * operation_count;
    }
    operation_count = operations_a_loop;
    return ns / (count - from);
}

/* --- the longest insert and the longest look-up of a fill --- */

struct watcher {
    uint32_t         items;
    _Atomic uint32_t there; /* so many of the first are in the index */
    _Atomic bool     done;
    float            longest_us[PARTS]; /* the longest look-up, by the part of the items in the index */
    uint32_t         misses;
};

static uint32_t part_of(uint32_t n, uint32_t items) { return (uint32_t)((uint64_t)n * PARTS / items); }

/* Looks up every key in the index, one after the other, each again until the look-up is valid. */
static void *watch(void *arg) {
    struct watcher *w = arg;
    uint64_t x = 88172645463325252u;
    while (!atomic_load(&w->done)) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint32_t there = atomic_load(&w->there), ref;
        if (there == 0) {
            continue;
        }
        char bytes[KEY_BYTES];
        name((uint32_t)(x % there), bytes);
        struct key key = key_make(bytes, KEY_BYTES);
        struct index_lookup look;
        double begun_ns = cpu_ns();
        do {
            ref = index_find_from(&ix, &key, (struct index_hint){0}, &look);
        } while (!index_unchanged(&look));
        float us = (float)((cpu_ns() - begun_ns) / 1e3), *longest = &w->longest_us[part_of(there - 1, w->items)];
        *longest = us > *longest ? us : *longest;
        w->misses += ref == 0;
    }
    return NULL;
}

static void find_worst(const struct index_kind *kind, uint32_t items, float *least_us, float *look_us) {
    for (int run = 0; run < 3; run++) {
        struct index_pool pool;
        open_index(kind, &pool, items);
        size_t used = atomic_load(&pool.used);
        memset(pool.base + used, 0, pool.bytes - used); /* the system's time to give memory is not the index's */
        static struct watcher watcher;
        memset(&watcher, 0, sizeof watcher);
        watcher.items = items;
        pthread_t thread;
        if (pthread_create(&thread, NULL, watch, &watcher) != 0) {
            exit(1);
        }
        for (uint32_t n = 0; n < items; n++) {
            char bytes[KEY_BYTES];
            name(n, bytes);
            struct key key = key_make(bytes, KEY_BYTES);
            double begun_ns = cpu_ns();
            index_insert(&ix, key.hash, place_ref(n));
            float us = (float)((cpu_ns() - begun_ns) / 1e3);
            least_us[n] = run == 0 || us < least_us[n] ? us : least_us[n];
            atomic_store(&watcher.there, n + 1);
        }
        atomic_store(&watcher.done, true);
        pthread_join(thread, NULL);
        for (unsigned i = 0; i < PARTS; i++) {
            look_us[i] = run == 0 || watcher.longest_us[i] < look_us[i] ? watcher.longest_us[i] : look_us[i];
        }
        if (watcher.misses > 0) {
            fprintf(stderr, "%s: %u looks missed what was there\n", kind->name, watcher.misses);
            exit(1);
        }
        index_fini(&ix);
        index_pool_fini(&pool);
    }
}

static void run_kind(const struct index_kind *kind, uint32_t items) {
    static const unsigned parts[] = {1, 32, 40, 48, 56, PARTS}; /* numerators over PARTS */
    float *insert_us = calloc(items, sizeof *insert_us), look_us[PARTS];
    if (insert_us == NULL) {
        exit(1);
    }
    find_worst(kind, items, insert_us, look_us);
    struct index_pool pool;
    open_index(kind, &pool, items);
    uint32_t filled = 0;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint32_t count = (uint32_t)((uint64_t)items * parts[i] / PARTS);
        double grow_ns = fill(filled, count), bytes = (double)index_bytes(&ix) / count;
        float worst_us = 0, longest_us = 0;
        for (; filled < count; filled++) {
            float part_us = look_us[part_of(filled, items)];
            worst_us = insert_us[filled] > worst_us ? insert_us[filled] : worst_us;
            longest_us = part_us > longest_us ? part_us : longest_us;
        }
        struct costs c = {0};
        measure(&c, count);
        printf("%-10s %9u %7.2f %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f\n", kind->name, count, bytes, c.hit,
               c.hit_grouped, c.miss, c.miss_grouped, c.insert, grow_ns, c.replace, c.remove, (double)worst_us, (double)longest_us);
        fflush(stdout);
    }
    index_fini(&ix);
    index_pool_fini(&pool);
    free(insert_us);
}

static bool wanted(const char *kind, int argc, char **argv) {
    bool any = argc <= 2;
    for (int i = 2; i < argc; i++) {
        any = any || strcmp(argv[i], kind) == 0;
    }
    return any;
}

int main(int argc, char **argv) {
    uint32_t items = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1 << 20;
    operation_count = items / 16 / GROUP * GROUP;
    operation_count = operation_count < OPERATIONS_MAX ? operation_count : OPERATIONS_MAX;
    size_t bytes = (((size_t)items + operation_count) * CHUNK + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    arena = operation_count > 0 && items <= 50000000 ? arena_create(bytes, bytes, true) : NULL;
    if (arena == NULL) {
        fprintf(stderr, "usage: bench [ITEMS [KIND ...]], of 512 to 50000000 items that fit the memory\n");
        return 1;
    }
    clock_start();
    make_items(items + operation_count);
    printf("%-10s %9s %7s %7s %7s %7s %7s %7s %7s %7s %7s %7s %7s\n", "kind", "items", "B/item", "hit", "x32", "miss", "x32",
           "insert", "grow", "replace", "remove", "worst", "look");
    for (int i = 0; index_kinds[i] != NULL; i++) {
        if (wanted(index_kinds[i]->name, argc, argv)) {
            run_kind(index_kinds[i], items);
        }
    }
    arena_destroy(&arena);
    return 0;
}
