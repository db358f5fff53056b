#include "base/clock.h"
#include "base/log.h"
#include "cache/adopt/adoption.h"

enum { PROGRESS_US = 1000 * 1000 };

void adoption_say_progress(struct adopter *t, const char *what, uint32_t done, uint32_t all) {
    struct adoption *a = t->a;
    uint64_t now_us = clock_mono_us();
    if (t->number == 0 && now_us - a->said_us >= PROGRESS_US) {
        a->said_us = now_us;
        log_info("%s: %s %u of %u, %llu items so far", a->c->arena->file->path, what, done, all,
                 (unsigned long long)atomic_load_explicit(&a->linked, memory_order_relaxed));
    }
}
