/* A small cache for tests, with memcached's defaults unless a test changes them. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H
#include "base/clock.h"
#include "cache/alloc/heap_shrink.h"
#include "cache/cache.h"
#include "cache/pages/page_moves.h"

/* The configuration of the caches made next. Where every store must find room whatever the threads' timing, its alloc wait is long. */
enum { FIXTURE_NEVER_REFUSE_US = 100 * 1000 * 1000 };
static enum cache_store_kind fixture_store;
static uint32_t fixture_patience_us = CACHE_ALLOC_WAIT_US;
static const struct index_kind *fixture_index; /* NULL: the default */

static inline struct cache_config fixture_config(size_t limit_bytes) {
    return (struct cache_config){
        .limit_bytes = limit_bytes,
        .store = fixture_store,
        .index = fixture_index,
        .block_bytes = CACHE_BLOCK_DEFAULT,
        .slab = {.chunk_bytes_min = 96, .growth_factor = 1.25, .chunk_bytes_max = 512 << 10},
        .item_bytes_max = 1 << 20,
        .cas = true,
        .evict = true,
        .steal_pages = true,
        .alloc_wait_us = fixture_patience_us,
        .policy = &evict_slru,
        .settings = {20, 40, 20, 200, .s3fifo = {.small_pct = 10, .ghost_pct = 90, .promote_hits = 2}, .temporary_ttl_s = -1},
    };
}

/* A cache of fixture_config and one thread of that cache. */
static inline struct cache *fixture_cache(size_t limit_bytes, struct cache_thread **ct) {
    struct cache_config cfg = fixture_config(limit_bytes);
    struct cache *c = cache_create(&cfg);
    *ct = cache_thread_create(c);
    return c;
}

static inline void fixture_end(struct cache **c, struct cache_thread **ct) {
    cache_thread_destroy(ct);
    cache_destroy(c);
}

/* A value that differs by key and version at any length. */
static inline void fixture_value(char *to, size_t bytes, uint64_t key, uint64_t version) {
    uint64_t x = key * 0x9e3779b97f4a7c15u + version * 0xd1b54a32d192ed03u + bytes;
    for (size_t i = 0; i < bytes; i += sizeof x) { /* whole words: the thread sanitizer checks each store */
        x ^= x >> 33, x *= 0xff51afd7ed558ccdu, x ^= x >> 29;
        if (bytes - i >= sizeof x) {
            memcpy(to + i, &x, sizeof x);
        } else {
            memcpy(to + i, &x, bytes - i);
        }
    }
}

/* The text "key:", the number, ":" and up to 22 letters; the number decides how many. Without snprintf, which took up to a third of the
 * time of suites that store much. */
static inline struct key fixture_key(char *to, uint64_t n) {
    char digits[20];
    size_t digit_count = 0, len = 4, letters = n % 23;
    memcpy(to, "key:", len);
    do {
        digits[digit_count++] = (char)('0' + n % 10);
    } while ((n /= 10) > 0);
    while (digit_count > 0) {
        to[len++] = digits[--digit_count];
    }
    to[len++] = ':';
    memcpy(to + len, "abcdefghijklmnopqrstuv", letters);
    len += letters;
    to[len] = '\0';
    return key_make(to, len);
}

/* The key of a number; its bytes live as long as the enclosing block. */
#define FIXTURE_KEY(n) fixture_key((char[64]){0}, (n))

/* A plain set; `v`: the item as stored, or NULL. */
static inline enum cache_status fixture_store_key(struct cache_thread *ct, const struct key *key, const char *value, size_t bytes,
                                                  struct cache_view *v) {
    struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = (uint32_t)bytes};
    return cache_store(ct, key, &s, v);
}

static inline enum cache_status fixture_set(struct cache_thread *ct, uint64_t n, const char *value, size_t bytes) {
    struct key key = FIXTURE_KEY(n);
    return fixture_store_key(ct, &key, value, bytes, NULL);
}

static inline enum cache_status fixture_delete(struct cache_thread *ct, uint64_t n) {
    struct key key = FIXTURE_KEY(n);
    return cache_delete(ct, &key, &(struct cache_delete){0});
}

/* A plain get; `to` holds ITEM_COPY_MAX + 8 bytes. A large value is borrowed. */
static inline enum cache_status fixture_fetch(struct cache_thread *ct, const struct key *key, char *to, struct cache_view *v) {
    return cache_fetch(ct, key, &(struct cache_fetch){.want_value = true}, to, v);
}

/* Ends a turn and begins the next so many seconds later. */
static inline void fixture_next_turn(struct cache_thread *ct, int64_t by_s) {
    cache_turn_end(ct);
    clock_shift(by_s);
    cache_turn_begin(ct);
}

static inline void fixture_read_borrowed(struct cache_thread *ct, const struct item *borrowed, char *to) {
    size_t done = 0;
    struct cache_place place = {0};
    struct iovec iov[4];
    int pieces;
    while ((pieces = cache_value_iov(ct, borrowed, done, &place, iov, 4)) > 0) {
        for (int i = 0; i < pieces; i++) {
            memcpy(to + done, iov[i].iov_base, iov[i].iov_len);
            done += iov[i].iov_len;
        }
    }
}

/* Reads with a lock or without, as the cache is configured. Returns the value's length, -1 on a miss. `to` holds the largest value + 8. */
static inline long fixture_read(struct cache_thread *ct, const struct key *key, char *to) {
    struct cache_reader r;
    enum cache_read how;
    do {
        how = cache_read_begin(ct, key, (struct index_hint){0}, &r);
        if (how == CACHE_READ_COPY) {
            cache_read_copy(&r, to);
        }
        if (how == CACHE_READ_SLOW) {
            break;
        }
    } while (!cache_read_end(ct, &r, true));
    if (how != CACHE_READ_SLOW) {
        return how == CACHE_READ_COPY ? (long)r.value_bytes : -1;
    }
    struct cache_view v;
    if (fixture_fetch(ct, key, to, &v) != CACHE_OK) {
        return -1;
    }
    if (v.borrowed != NULL) {
        fixture_read_borrowed(ct, v.borrowed, to);
        cache_return(ct, v.borrowed);
    }
    return (long)v.value_bytes;
}

static inline long fixture_get(struct cache_thread *ct, uint64_t n, char *to) {
    struct key key = FIXTURE_KEY(n);
    return fixture_read(ct, &key, to);
}

/* Frees the memory of a heap store above its limit, as much as one walk frees. Returns whether more remains. */
static inline bool fixture_shrink(struct cache_thread *ct) {
    enum cache_shrink_state state;
    struct cache_shrink *s = cache_shrink_begin(ct, &state);
    if (s == NULL) {
        return state != CACHE_SHRINK_DONE;
    }
    while (cache_shrink_evict(s)) {
        cache_turn_end(ct);
        cache_turn_begin(ct);
    }
    if (cache_quiesce(ct, FIXTURE_NEVER_REFUSE_US)) {
        while (cache_shrink_release(s)) {
        }
    }
    return cache_shrink_end(&s) != CACHE_SHRINK_DONE;
}
#endif
