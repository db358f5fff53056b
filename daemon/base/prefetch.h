/* Asking for a cache line before it is needed. The empty statement is for gcc, which takes a
 * function that only prefetches for one without effect, and leaves calls of it out. */
#ifndef SLATE_BASE_PREFETCH_H
#define SLATE_BASE_PREFETCH_H

static inline void prefetch(const void *at) {
    __builtin_prefetch(at);
    __asm__ volatile("");
}
static inline void prefetch_to_write(const void *at) {
    __builtin_prefetch(at, 1);
    __asm__ volatile("");
}
#endif
