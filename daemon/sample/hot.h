/* The keys asked for most, from a sample of the requests: Space-Saving.
 *
 * HOT_KEYS counters; a key that has none takes over the least counter, and its count then may be
 * too high by what it found there (`error`), never too low. So every key with more than 1/HOT_KEYS
 * of all requests has a counter. Source: Metwally and others, "Efficient Computation of Frequent
 * and Top-k Elements in Data Streams", ICDT 2005. That much is sure of the sample. A request that
 * is noted stands for those around it, so chance may make the count of a key wrong either way
 * (`doubt`). Memory: 39 KiB. Cost: a look through 128
 * tags, and at a few dozen counts for the least; and a key's text when a counter changes hands.
 * Threading: one owner. */
#ifndef SLATE_SAMPLE_HOT_H
#define SLATE_SAMPLE_HOT_H
#include <stdint.h>

enum { HOT_KEYS = 128, HOT_KEY_BYTES_MAX = 250 };
enum { HOT_GROUP = 16, HOT_GROUPS = HOT_KEYS / HOT_GROUP };

struct hot_key {
    /* requests, of the sample those from count - error to count, of all those within `doubt` of
     * that: two standard errors */
    uint64_t hash, count, error, doubt;
    uint8_t  key_bytes;
    char     key[HOT_KEY_BYTES_MAX + 1]; /* any bytes, and a zero behind them */
};
/* what was added since hot_end_part */
struct hot_part {
    uint64_t requests, counts[HOT_KEYS];
    double   squares[HOT_KEYS];
};
struct hot {
    uint64_t requests; /* for which those that were noted stand, whatever their keys */
    uint64_t noted;    /* of these, how many were */
    uint8_t  tags[HOT_KEYS]; /* of the hashes: their top bytes */
    uint64_t hashes[HOT_KEYS], counts[HOT_KEYS]; /* no count: free */
    uint64_t least[HOT_GROUPS]; /* count of each group of counters */
    struct hot_part part;
    struct {
        uint64_t error;
        double   squares; /* of what each noted request of the key stands for */
        uint8_t  key_bytes;
        char     key[HOT_KEY_BYTES_MAX + 1];
    } texts[HOT_KEYS];
};

void hot_clear(struct hot *);
/* one request at least */
void hot_add(struct hot *, uint64_t hash, const char *key, uint8_t key_bytes, uint32_t requests);
/* Ends a part of the time in which there were `asked` requests: where more than were noted stand
 * for, what was noted stands for all of them. 0: nothing was missed. */
void hot_end_part(struct hot *, uint64_t asked);
void hot_fade(struct hot *); /* halves all counts */
/* Copies at most `max` keys, the greatest count first, as of `asked` requests in all: more than
 * `requests` where some were not noted. Returns how many. */
unsigned hot_sorted(const struct hot *, uint64_t asked, struct hot_key *to, unsigned max);
#endif
