/* Records of sampled keys: one an event, in the order of the cache's thread that made it.
 *
 * A key is sampled by its hash, so that all of its events are seen or none (fixed-rate spatial
 * sampling). `below` is the share of keys that are sampled, in units of 2^-32; 0: none. Hot keys
 * cannot be found in this way, since most of them would not be in the sample. For them one request
 * of some number is taken whatever its key, with the key's text (SAMPLE_KEY). Source: Waldspurger
 * and others, "Efficient MRC Construction with SHARDS", FAST 2015. */
#ifndef SLATE_SAMPLE_STREAM_H
#define SLATE_SAMPLE_STREAM_H
#include <stdbool.h>
#include <stdint.h>

enum sample_verb {
    SAMPLE_HIT,   /* a read found the key */
    SAMPLE_MISS,  /* a read found no item: class and bytes are not known */
    SAMPLE_STORE, /* a value was stored */
    SAMPLE_TOUCH, /* the key's item got another time to live; class and bytes are not known */
    SAMPLE_GONE,  /* deleted, or found dead */
    SAMPLE_KEY,   /* stands for `bytes` requests, with the key's text */
};

struct sample_record {
    uint64_t hash;
    /* memory of the item, with the unused ends of its chunk and its page; in SAMPLE_KEY: the
     * requests that it stands for */
    uint32_t bytes;
    union {
        /* When the item expires, in seconds of clock_now_s; 0: never, and in SAMPLE_MISS. In
         * SAMPLE_GONE: when it expired; 0: it was deleted or flushed. */
        uint32_t expires_s;
        uint32_t read_bytes; /* in SAMPLE_KEY: of the value that the request reads */
    };
    uint8_t  class_id, verb, key_bytes;
    char     key[];
};
_Static_assert(sizeof(struct sample_record) == 24, "small: it is copied on the hot path");

static inline bool sample_takes(uint64_t hash, uint32_t below) { return (uint32_t)hash < below; }
/* The slot of a sampled key in a table of so many slots: by the half of its hash that does not
 * decide about sampling. */
static inline uint32_t sample_slot(uint64_t hash, uint32_t slots) {
    return (uint32_t)((hash >> 32) * slots >> 32);
}
static inline uint32_t sample_hash_below(double rate) {
    return rate >= 1 ? UINT32_MAX : (uint32_t)(rate * 4294967296.0);
}
static inline double sample_rate(uint32_t below) {
    return below == UINT32_MAX ? 1 : below / 4294967296.0;
}
#endif
