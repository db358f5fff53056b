/* Copies and compares keys and values in chunks that other threads may write at the same time.
 *
 * A reader without a lock may get bytes that are torn at any place, or that belong to another item.
 * The index's version rejects them afterwards, so copies of any width serve. Each byte is loaded
 * and stored once, in the widest units of the machine's baseline: 16 bytes, at any address. The
 * accesses are volatile, so that the compiler neither repeats nor invents one; the fences of the
 * version order them (index/index.h). C has no atomic type of that width. The thread sanitizer's
 * build therefore uses relaxed atomic words, which the sanitizer can follow. Threading: any number
 * of readers, one writer. Cost: n / 16 loads and stores, and one more. */
#ifndef SLATE_MEM_BYTES_H
#define SLATE_MEM_BYTES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bytes_word(const char *aligned) {
    return atomic_load_explicit((const _Atomic uint64_t *)(const void *)aligned,
                                memory_order_relaxed);
}

#ifdef __SANITIZE_THREAD__
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bytes_load shifts words as a little-endian machine lays them out"
#endif

/* Copies n bytes out of a chunk. `to` needs room for n rounded up to eight bytes. */
static inline void bytes_load(char *to, const char *from, size_t n) {
    unsigned skew = (unsigned)((uintptr_t)from & 7u);
    const char *at = from - skew;
    if (skew == 0) {
        for (size_t i = 0; i < n; i += 8) {
            uint64_t w = bytes_word(at + i);
            memcpy(to + i, &w, 8);
        }
        return;
    }
    if (n == 0) {
        return;
    }
    unsigned down = skew * 8, up = 64 - down;
    uint64_t low = bytes_word(at);
    size_t i = 0;
    for (; i + (8 - skew) < n; i += 8) {
        uint64_t high = bytes_word(at + i + 8);
        uint64_t w = low >> down | high << up;
        memcpy(to + i, &w, 8);
        low = high;
    }
    if (i < n) {
        uint64_t w = low >> down;
        memcpy(to + i, &w, 8);
    }
}

/* Writes n < 8 bytes within one aligned word of a chunk; the word's other bytes stay. */
static inline void bytes_store_part(char *aligned, unsigned skew, const char *from, size_t n) {
    _Atomic uint64_t *at = (void *)aligned;
    uint64_t w = atomic_load_explicit(at, memory_order_relaxed);
    memcpy((char *)&w + skew, from, n);
    atomic_store_explicit(at, w, memory_order_relaxed);
}

/* Copies n bytes into a chunk that only the caller writes. */
static inline void bytes_store(char *to, const char *from, size_t n) {
    unsigned skew = (unsigned)((uintptr_t)to & 7u);
    if (skew != 0) {
        size_t step = 8 - skew < n ? 8 - skew : n;
        bytes_store_part(to - skew, skew, from, step);
        to += step;
        from += step;
        n -= step;
    }
    for (; n >= 8; n -= 8, to += 8, from += 8) {
        uint64_t w;
        memcpy(&w, from, 8);
        atomic_store_explicit((_Atomic uint64_t *)(void *)to, w, memory_order_relaxed);
    }
    if (n != 0) {
        bytes_store_part(to, 0, from, n);
    }
}

/* Whether n bytes of a chunk, at most 255, equal those at `to`, which do not change meanwhile. */
static inline bool bytes_equal(const char *at, const char *to, size_t n) {
    char was[256];
    bytes_load(was, at, n);
    return memcmp(was, to, n) == 0;
}
#else
typedef uint64_t bytes_16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t bytes_8 __attribute__((aligned(1), may_alias));
typedef uint32_t bytes_4 __attribute__((aligned(1), may_alias));

static inline bytes_16 bytes_at_16(const char *at) {
    return *(const volatile bytes_16 *)(const volatile void *)at;
}
static inline bytes_8 bytes_at_8(const char *at) {
    return *(const volatile bytes_8 *)(const volatile void *)at;
}
static inline bytes_4 bytes_at_4(const char *at) {
    return *(const volatile bytes_4 *)(const volatile void *)at;
}
static inline char     bytes_at_1(const char *at) { return *(const volatile char *)at; }
static inline void bytes_put_16(char *at, bytes_16 v) {
    *(volatile bytes_16 *)(volatile void *)at = v;
}
static inline void bytes_put_8(char *at, bytes_8 v) {
    *(volatile bytes_8 *)(volatile void *)at = v;
}
static inline void bytes_put_4(char *at, bytes_4 v) {
    *(volatile bytes_4 *)(volatile void *)at = v;
}

/* The last access of each width overlaps the previous, so no width needs a loop for the remaining
 * bytes. */
static inline void bytes_copy(char *to, const char *from, size_t n) {
    if (n >= 16) {
        bytes_put_16(to, bytes_at_16(from));
        for (size_t i = 16; i + 16 < n; i += 16) {
            bytes_put_16(to + i, bytes_at_16(from + i));
        }
        bytes_put_16(to + n - 16, bytes_at_16(from + n - 16));
    } else if (n >= 8) {
        bytes_8 first = bytes_at_8(from), last = bytes_at_8(from + n - 8);
        bytes_put_8(to, first);
        bytes_put_8(to + n - 8, last);
    } else if (n >= 4) {
        bytes_4 first = bytes_at_4(from), last = bytes_at_4(from + n - 4);
        bytes_put_4(to, first);
        bytes_put_4(to + n - 4, last);
    } else {
        for (size_t i = 0; i < n; i++) {
            *(volatile char *)(to + i) = bytes_at_1(from + i);
        }
    }
}

/* Copies n bytes out of a chunk. `to` needs room for n rounded up to eight bytes. */
static inline void bytes_load(char *to, const char *from, size_t n) { bytes_copy(to, from, n); }

/* Copies n bytes into a chunk that only the caller writes. */
static inline void bytes_store(char *to, const char *from, size_t n) { bytes_copy(to, from, n); }

/* Whether n bytes of a chunk equal those at `to`, which do not change meanwhile. */
static inline bool bytes_equal(const char *at, const char *to, size_t n) {
    if (n >= 16) {
        bytes_16 differ = (bytes_at_16(at) ^ bytes_at_16(to)) |
                          (bytes_at_16(at + n - 16) ^ bytes_at_16(to + n - 16));
        for (size_t i = 16; i + 16 < n; i += 16) {
            differ |= bytes_at_16(at + i) ^ bytes_at_16(to + i);
        }
        return (differ[0] | differ[1]) == 0;
    }
    if (n >= 8) {
        return ((bytes_at_8(at) ^ bytes_at_8(to)) |
                (bytes_at_8(at + n - 8) ^ bytes_at_8(to + n - 8))) == 0;
    }
    if (n >= 4) {
        return ((bytes_at_4(at) ^ bytes_at_4(to)) |
                (bytes_at_4(at + n - 4) ^ bytes_at_4(to + n - 4))) == 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (bytes_at_1(at + i) != to[i]) {
            return false;
        }
    }
    return true;
}
#endif
#endif
