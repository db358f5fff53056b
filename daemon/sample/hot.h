/* The most requested keys, from a sample of the requests: Space-Saving.
 *
 * There are HOT_KEYS counters. A key that has none takes over the counter with the lowest count;
 * its own count may then be too high by the count that it took over (`error`), but never too low.
 * So every key with more than 1/HOT_KEYS of all requests has a counter. Source: Metwally and
 * others, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005. These
 * bounds hold within the sample. A noted request stands for others, so chance may make the count of
 * a key wrong either way (`doubt`). Memory: 39 KiB. Cost: 128 tags are compared; when a counter
 * changes hands, also a few dozen counts, and the key's text is copied. Threading: one owner. */
#ifndef SLATE_SAMPLE_HOT_H
#define SLATE_SAMPLE_HOT_H
#include <stdbool.h>
#include <stdint.h>

enum { HOT_KEYS = 128, HOT_KEY_BYTES_MAX = 250 };
enum { HOT_GROUP = 16, HOT_GROUPS = HOT_KEYS / HOT_GROUP };

struct hot_key {
    /* requests: in the sample the key had from count - error to count, among all requests within
     * `doubt` of that, which is two standard errors */
    uint64_t hash, count, error, doubt;
    uint8_t  key_bytes;
    char     key[HOT_KEY_BYTES_MAX + 1]; /* any bytes, ended by a zero */
};
/* what was added since hot_end_part */
struct hot_part {
    uint64_t requests, counts[HOT_KEYS];
    double   squares[HOT_KEYS];
};
struct hot { /* begins as zeros */
    uint64_t requests; /* requests that the noted ones stand for, whatever their keys */
    uint64_t noted;    /* noted requests */
    uint64_t counted_ahead;  /* requests that the next part's number will contain once more */
    uint8_t  tags[HOT_KEYS]; /* top bytes of the hashes */
    uint64_t hashes[HOT_KEYS], counts[HOT_KEYS]; /* count 0: the counter is free */
    uint64_t least[HOT_GROUPS]; /* the lowest count of each group of counters */
    struct hot_part part;
    struct {
        uint64_t error;
        double   squares; /* of the number that each noted request of the key stands for */
        uint8_t  key_bytes;
        char     key[HOT_KEY_BYTES_MAX + 1];
    } texts[HOT_KEYS];
};

/* Counts requests of a key; `requests` is at least one. */
void hot_add(struct hot *, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests);
/* Ends a part of the time in which there were `requested` requests. `missed`: some due notes are
 * missing, so the notes stand for all these requests. Up to `more` requests came while the notes
 * were taken: the next part counts these, and some may have been noted with this one. */
void hot_end_part(struct hot *, uint64_t requested, uint64_t more, bool missed);
void hot_fade(struct hot *); /* halves all counts */
/* Copies at most `max` keys, the highest count first. `requested` is the number of all requests,
 * for which the noted ones stand. Returns the number of keys. */
unsigned hot_sorted(const struct hot *, uint64_t requested, struct hot_key *to, unsigned max);
#endif
