/* Threads that store, read and delete the same keys at once, and check each value that they read. */
#ifndef WORKERS_H
#define WORKERS_H
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>

#include "cache_fixture.h"
#include "tap.h"

enum { WORKER_VALUE_MAX = 900 * 1000, WORKER_TURN = 16 };

struct worker {
    struct cache *cache;
    uint64_t      seed, keys, least; /* operations; afterwards the worker goes on until *ends */
    _Atomic bool *ends;
    sem_t        *may_begin; /* turns, one each; NULL: as many as there is time for */
    int           turns_fd; /* an eventfd that each turn writes to; 0: none */
    uint64_t      wrong, hits, refused;
    pthread_t     thread;
};

static inline size_t worker_bytes(uint64_t *x) {
    uint64_t dice = tap_random(x) % 500;
    return 1 + tap_random(x) % (dice == 0 ? WORKER_VALUE_MAX : dice < 10 ? 60000 : 1500);
}

/* A value follows from its key and length, so any reader can check it. */
static inline void *worker_main(void *arg) {
    struct worker *w = arg;
    struct cache_thread *ct = cache_thread_create(w->cache);
    uint64_t x = w->seed | 1;
    char *value = malloc(WORKER_VALUE_MAX + 16), *expected = malloc(WORKER_VALUE_MAX + 16);
    cache_turn_begin(ct);
    for (uint64_t i = 1; i < w->least || !atomic_load_explicit(w->ends, memory_order_relaxed); i++) {
        uint64_t n = tap_random(&x) % w->keys, dice = tap_random(&x) % 20;
        struct key key = FIXTURE_KEY(n);
        if (dice < 7) {
            struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = (uint32_t)worker_bytes(&x),
                                    .exptime_s = tap_random(&x) % 8 == 0 ? cache_now_s(ct) + 1 : 0};
            fixture_value(value, s.value_bytes, n, s.value_bytes);
            w->refused += cache_store(ct, &key, &s, NULL) != CACHE_OK;
        } else if (dice < 19) {
            long bytes = fixture_read(ct, &key, value);
            if (bytes >= 0) {
                fixture_value(expected, (size_t)bytes, n, (uint64_t)bytes);
                w->wrong += memcmp(value, expected, (size_t)bytes) != 0;
                w->hits++;
            }
        } else {
            cache_delete(ct, &key, &(struct cache_delete){0});
        }
        if (i % WORKER_TURN == 0) {
            cache_turn_end(ct);
            if (w->may_begin != NULL) {
                sem_wait(w->may_begin);
            }
            cache_turn_begin(ct);
            if (w->turns_fd != 0) {
                eventfd_write(w->turns_fd, 1);
            }
        }
    }
    cache_turn_end(ct);
    free(value);
    free(expected);
    cache_thread_destroy(&ct);
    return NULL;
}

static inline void workers_start(struct worker *w, unsigned count, struct worker like) {
    for (unsigned i = 0; i < count; i++) {
        w[i] = like;
        w[i].seed = like.seed * (i + 3);
        pthread_create(&w[i].thread, NULL, worker_main, &w[i]);
    }
}

/* The sums of all workers' counts. */
static inline struct worker workers_join(struct worker *w, unsigned count) {
    struct worker sum = {.wrong = 0};
    for (unsigned i = 0; i < count; i++) {
        pthread_join(w[i].thread, NULL);
        sum.wrong += w[i].wrong, sum.hits += w[i].hits, sum.refused += w[i].refused;
    }
    return sum;
}
#endif
