/* An owner's knowledge of one of its keys: the exact value, if the key is still there. No other client writes the key, so only eviction,
 * the end of its time, a flush or a refused change may remove it. For the owner's thread. */
#ifndef MODEL_ENTRY_H
#define MODEL_ENTRY_H
#include "value.h"
#include "world.h"

struct lifetime {
    bool   never;
    double least_s, most_s; /* the key may be gone from the first moment on, and must be gone from the second */
};

struct entry {
    uint32_t key_id;
    char     key[KEY_BYTES + 1];
    unsigned key_bytes;

    bool     held;    /* false: the key is surely missing */
    bool     excused; /* the key may be gone without an eviction: a change was refused or given up */
    bool     broken;  /* the key was found wrong: left alone from then on */
    struct segment segments[SEGMENTS_MAX];
    unsigned segment_count;
    size_t   value_bytes;
    uint32_t client_flags;
    struct lifetime life;
    bool     stale, won;
    bool     cas_known;
    uint64_t cas;       /* the last known one */
    uint64_t cas_most;  /* the highest one that the server chose */
    uint64_t flush_from;  /* flushes with a higher number may have removed it */
    uint64_t flush_until; /* flushes up to this number must have */

    uint32_t version;   /* version of the last request */
    uint32_t changed;   /* version of the last request that stored */
    unsigned pending;   /* requests on their way */
    unsigned planned_segments; /* the most segments once all requests on their way are done */
    size_t   planned_bytes;
};

enum { EXPTIME_LONG_S = 100 * 1000, EXPTIME_SHORT_S = 2 };
struct lifetime lifetime_of(int32_t exptime, double sent_s, double heard_s);

/* Whether incr may work on a value at all: an empty or chained value is no number, whatever its CAS. */
bool entry_may_count(const struct entry *);
/* The number in a value, as incr reads it; false: none. */
bool entry_number(const struct entry *, uint64_t *number);
bool entry_value_is(const struct entry *, const char *bytes, size_t n);
void entry_put(struct entry *, const struct segment *only);           /* the value is this segment alone; NULL: empty */
void entry_join(struct entry *, const struct segment *, bool in_front);
void entry_broken(struct entry *);
#endif
