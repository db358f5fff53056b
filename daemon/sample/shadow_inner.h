/* The inside of a shadow, for shadow.c and shadow_record.c only. */
#ifndef SLATE_SAMPLE_SHADOW_INNER_H
#define SLATE_SAMPLE_SHADOW_INNER_H
#include "sample/shadow.h"

enum {
    SHADOW_RECENT_FACTOR = 2, /* keys of which something is known, for each node */
};
/* Facts about a recent key, since a record of a miss has no size. */
enum recent_state {
    RECENT_HELD,
    RECENT_FILLING, /* missed; its set has happened in the miniatures already */
    RECENT_WAITING, /* missed, and its size is not known */
};
struct recent {
    uint32_t tag, bytes, ttl_s; /* ttl_s: from the store; 0: never expires */
    uint8_t  class_id, state;
};

/* A miniature: of a policy at today's size, or of today's policy at another size. */
struct mirror {
    struct mini *mini;
    struct mini_counts now, past;
    /* of a policy: as `past`, but 0 again once the sum shows no fewer misses than today's policy */
    struct mini_counts rising;
    unsigned ahead; /* of a policy: windows in a row with fewer misses than today's */
};

struct shadow {
    struct mirror mirror[SHADOW_POLICIES_MAX + 1]; /* policies, then half the memory */
    unsigned       policies, own;
    const struct evict_policy *running;
    const struct evict_tuning *tuning; /* the caller's */
    struct evict_tuning counted;       /* a copy of *tuning from the start of counting */
    uint32_t       below, nodes_max;
    uint64_t       windows, reads, fills; /* reads and fills of this window */
    struct recent *recent;
    struct curve  *curve;
    struct mini_class_counts *classes; /* indexed by curve_place */
    unsigned       classes_max;
    /* by share_apart: the miniatures have neither the keys of these classes nor their memory */
    bool           apart[CURVE_CLASSES];
    double chunk_bytes[CURVE_CLASSES];        /* of the classes that the curves have */
    struct mini_counts   real_now, real_past; /* the cache itself, compared with own */
};

static inline unsigned shadow_mirrors(const struct shadow *s) {
    return s->policies + 1;
}
#endif
