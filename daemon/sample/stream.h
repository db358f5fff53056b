/* What the cache tells of sampled keys: one record an event, in the order of the thread that made
 * it.
 *
 * A key is sampled by its hash, so that all of its events are seen or none (fixed-rate spatial
 * sampling); `below` is the share of keys in units of 2^-32, 0: none. Hot keys cannot be found so,
 * for most would not be in the sample: for them one request of some is taken whatever its key, with
 * the key's text (SAMPLE_KEY). Source: Waldspurger and others, "Efficient MRC Construction with
 * SHARDS", FAST 2015. */
#ifndef SLATE_SAMPLE_STREAM_H
#define SLATE_SAMPLE_STREAM_H
#include <stdbool.h>
#include <stdint.h>

enum sample_verb {
    SAMPLE_HIT,   /* a read found the key */
    SAMPLE_MISS,  /* a read did not: class and bytes are not known */
    SAMPLE_STORE, /* a value was stored */
    SAMPLE_TOUCH, /* the key's item was given another time to live: class and bytes are not told */
    SAMPLE_GONE,  /* deleted, or found dead */
    SAMPLE_KEY,   /* one request of `bytes`, with its key */
};

struct sample_record {
    uint64_t hash;
    /* of memory, with what is left at the chunk's and the page's end; of SAMPLE_KEY: requests it
     * stands for */
    uint32_t bytes;
    /* when the item expires, in seconds as clock_now_s has them; 0: never, and of SAMPLE_MISS. Of
     * SAMPLE_GONE: when it expired; 0: it was deleted or flushed */
    uint32_t expires_s;
    uint8_t  class_id, verb, key_bytes;
    char     key[];
};
_Static_assert(sizeof(struct sample_record) == 24, "small: it is copied on the hot path");

static inline bool sample_takes(uint64_t hash, uint32_t below) { return (uint32_t)hash < below; }
/* Which of so many slots a sampled key has in a table: by the half of its hash that did not bring
 * it into the sample. */
static inline uint32_t sample_slot(uint64_t hash, uint32_t slots) {
    return (uint32_t)((hash >> 32) * slots >> 32);
}
static inline uint32_t sample_below(double rate) {
    return rate >= 1 ? UINT32_MAX : (uint32_t)(rate * 4294967296.0);
}
static inline double sample_rate(uint32_t below) {
    return below == UINT32_MAX ? 1 : below / 4294967296.0;
}
#endif
