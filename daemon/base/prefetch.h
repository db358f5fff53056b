/* Prefetches a cache line. gcc drops calls of a function that only prefetches, as if the call had
 * no effect; the empty asm statement prevents that. */
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
