/* Hot keys: those with the most requests and the most bytes read of the last ten seconds, from a
 * sample of the requests: Filtered Space-Saving over slots of a second.
 *
 * There are HOT_KEYS counters, each of one key. Keys without a counter share HOT_BUCKETS sums by
 * their hash. A key gets the lightest counter once its sum is heavier; it may have had that sum
 * before (`error`), and the key that leaves adds its own weight to its sum. So no count is too low,
 * and after ten seconds with a counter it has no error. The weight of a request is 1, that of a
 * byte the mean number of requests a byte. Source: Homem and Carvalho, "Finding top-k elements in
 * data streams", Information Sciences 180, 2010; each slot has counts and sums of its own, as a sum
 * of bounds is a bound of the sum. These bounds hold within the sample. A noted request stands for
 * others, so chance may make the count of a key wrong either way (`doubt`). The texts of the keys
 * have HOT_TEXT_BYTES: all of keys of 64 bytes, and those of the 32 heaviest of the longest keys;
 * a key without its text is no row. Memory: 47 KiB. Cost of a note: 128 tags are compared, and now
 * and then 128 weights. Threading: one owner. */
#ifndef SLATE_SAMPLE_HOT_H
#define SLATE_SAMPLE_HOT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum { HOT_KEYS = 128, HOT_BUCKETS = 256, HOT_KEY_BYTES_MAX = 250 };
enum { HOT_TEXT_BYTES = HOT_KEYS * 64 };
enum { HOT_SLOTS = 11 }; /* ten whole seconds, and the one under way */
#define HOT_SLOT_US CLOCK_SECOND_US

/* In the sample the key had from count - error to count, among all requests within `doubt` of that,
 * which is two standard errors: 95 %. */
struct hot_figure {
    uint64_t count, error, doubt;
};
struct hot_key {
    uint64_t hash;
    struct hot_figure requests, bytes;
    uint8_t key_bytes;
    char key[HOT_KEY_BYTES_MAX + 1]; /* any bytes, ended by a zero */
};
struct hot_totals {
    uint64_t requests, bytes; /* of all keys */
    uint64_t noted;           /* requests whose keys were noted */
    uint64_t window_us;       /* the time in which they came */
};
struct hot_count {
    float requests, bytes;
    float squares; /* of the number that each noted request stands for */
    float error;   /* weight that the key may have had before it got the counter */
};
struct hot_slot {
    uint64_t end_us;           /* 0: unused */
    uint64_t requested, noted; /* all requests; those that were noted */
    double requests, bytes;    /* that the noted ones stand for */
    double byte_weight;        /* 0: no bytes yet */
    struct hot_count counts[HOT_KEYS];
    float sums[HOT_BUCKETS]; /* weight of keys without a counter */
};
struct hot {                /* begins as zeros */
    uint64_t counted_ahead; /* requests that the next part's number will contain once more */
    unsigned now;           /* the slot under way */
    struct hot_slot slots[HOT_SLOTS], part; /* part: what was added since hot_end_part */
    uint8_t tags[HOT_KEYS];                 /* top bytes of the hashes */
    uint64_t hashes[HOT_KEYS];
    float weights[HOT_KEYS], least_weight;
    unsigned lightest; /* the counter that had the least weight */
    struct hot_text {
        uint16_t at;
        uint8_t bytes; /* 0: not retained */
    } texts[HOT_KEYS];
    uint16_t text_bytes_used;
    char text_bytes[HOT_TEXT_BYTES];
};

/* Begins the next slot when the last is over. Call it between parts. */
void hot_turn(struct hot *, uint64_t now_us);
/* Counts requests of a key, each of which reads so many bytes; `requests` is at least one. */
void hot_add(struct hot *, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests,
             uint32_t value_bytes);
/* Ends a part of the time in which there were `requested` requests. `missed`: some due notes are
 * missing, so the notes stand for all these requests. Up to `more` requests came while the notes
 * were taken: the next part counts these, and some may have been noted with this one. */
void hot_end_part(struct hot *, uint64_t requested, uint64_t more, bool missed);
/* Copies at most `max` keys, the largest share of the requests or of the bytes first; none that may
 * be there by chance. Counts are for all requests. Returns the number of keys. */
unsigned hot_sorted(const struct hot *, uint64_t now_us, struct hot_totals *, struct hot_key *to,
                    unsigned max);
#endif
