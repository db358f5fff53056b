#include "server/published.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

bool published_init(struct published *p, const void *value, size_t bytes) {
    char *now = malloc(bytes), *other = malloc(bytes);
    if (now == NULL || other == NULL) {
        free(now);
        free(other);
        return false;
    }
    memcpy(now, value, bytes);
    atomic_init(&p->now, now);
    p->other = other;
    p->bytes = bytes;
    return true;
}

/* A reader counts itself before it loads the pointer. Once the owner sees no reader, none reads the
 * old version, and each later reader loads the current one. */
void published_set(struct published *p, const void *value) {
    while (atomic_load(&p->readers) != 0) {
        sched_yield(); /* a reader copies some kilobytes and holds no lock */
    }
    memcpy(p->other, value, p->bytes);
    p->other = atomic_exchange(&p->now, p->other);
}

void published_fini(struct published *p) {
    free(atomic_load_explicit(&p->now, memory_order_relaxed));
    free(p->other);
    *p = (struct published){.other = NULL};
}

const void *published_now(const struct published *p) {
    return atomic_load_explicit(&p->now, memory_order_relaxed);
}

void published_copy(struct published *p, void *to) {
    atomic_fetch_add(&p->readers, 1);
    memcpy(to, atomic_load(&p->now), p->bytes);
    atomic_fetch_sub(&p->readers, 1);
}
