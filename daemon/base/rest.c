#include "base/rest.h"

#include <errno.h>
#include <time.h>

enum { SECOND_NS = 1000 * 1000 * 1000 };

void rest_init(struct rest *r) {
    pthread_condattr_t attr;
    atomic_init(&r->asked, false);
    r->rests = false;
    pthread_mutex_init(&r->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->changed, &attr);
    pthread_condattr_destroy(&attr);
}

void rest_fini(struct rest *r) {
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->mutex);
}

void rest_ask(struct rest *r) { atomic_store_explicit(&r->asked, true, memory_order_relaxed); }

bool rest_await(struct rest *r, uint64_t most_us) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + most_us % 1000000 * 1000;
    until.tv_sec += (time_t)(most_us / 1000000 + ns / SECOND_NS);
    until.tv_nsec = (long)(ns % SECOND_NS);
    int waited = 0;
    pthread_mutex_lock(&r->mutex);
    while (!r->rests && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&r->changed, &r->mutex, &until);
    }
    bool rests = r->rests;
    pthread_mutex_unlock(&r->mutex);
    return rests;
}

void rest_end(struct rest *r) {
    pthread_mutex_lock(&r->mutex);
    atomic_store_explicit(&r->asked, false, memory_order_relaxed);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
}

void rest_until_end(struct rest *r) {
    pthread_mutex_lock(&r->mutex);
    while (atomic_load_explicit(&r->asked, memory_order_relaxed)) {
        r->rests = true;
        pthread_cond_broadcast(&r->changed);
        pthread_cond_wait(&r->changed, &r->mutex);
    }
    r->rests = false;
    pthread_mutex_unlock(&r->mutex);
}
