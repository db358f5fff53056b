/* A cell of the grid: one cache of one policy and size that a trace is played to. A read is a get
 * and, on a miss, a set, where the value's size is known; of a trace that tells of them, sets and
 * deletes are played too.
 *
 * Two kinds: keys of equal weight without values (sample/mini.h), and the server's own cache with
 * slabs, partitions and values, whose tuner moves pages as a server's does; the one lets values
 * live for ever, the other as long as the trace says. Time is the trace's. The cache's clock is the
 * process's, so it is stopped and set to the time of the cell that plays. Threading: one thread for
 * all cells. */
#ifndef SLATE_SIMULATE_CELL_H
#define SLATE_SIMULATE_CELL_H
#include <stddef.h>

#include "cache/cache.h"
#include "control/tune.h"

struct simulate_request {
    struct key key;
    uint64_t   at_us;       /* since the trace began; never before the one before it */
    uint32_t   value_bytes; /* of no meaning to cells of objects */
    uint32_t   ttl_s;       /* 0: for ever; likewise */
    uint8_t    verb;        /* enum trace_verb */
    bool       fills;       /* of a get: what a miss is followed by is known */
};

struct simulate_result {
    const char *policy;
    uint64_t    objects;      /* 0: a cell of memory */
    uint64_t    memory_bytes; /* 0: a cell of objects */
    /* of it, at the end; more, where a page of each class with items takes more */
    uint64_t    held_bytes;
    uint64_t    requests, hits; /* reads */
    uint64_t    stores, deletes; /* of the trace itself */
    uint64_t    items, evictions;
    uint64_t    refused;      /* values too large, or for which nothing might go */
    uint64_t    changes;      /* of the policy, by auto or s3auto, */
    const char *policy_now;   /* which is this one now; NULL: the cell has a fixed one */
    char        automove[AUTOMOVE_NAME_BYTES]; /* by which pages moved; empty: a cell of objects */
    /* by automove; the live items that this cost are among the evictions */
    uint64_t    pages_moved, lost;
    uint64_t    pages_stolen; /* by classes with nothing left, which no automove was asked about */
    /* the mode of automove, and why; empty: all went well */
    char        failed[2 * AUTOMOVE_NAME_BYTES + REASON_BYTES];
    uint64_t    play_us;      /* spent in the cell */
};

enum { SIMULATE_OBJECT_BYTES = 64 }; /* what a cell of objects takes for each, at most */

struct simulate_cell;
/* NULL: out of memory. The tuning outlives the cell. */
struct simulate_cell *simulate_cell_objects(const struct evict_policy *,
                                            const struct evict_tuning *, uint32_t objects);
/* The cache is the cell's from now on, also when this fails (NULL: out of memory); NULL: none. Its
 * tuner goes by the trace's clock: `tune` says how pages move, and whether the policy follows
 * miniature caches as the server's policy auto does. */
struct simulate_cell *simulate_cell_memory(struct cache *taken, const struct tune_config *tune);
void                  simulate_cell_destroy(struct simulate_cell **);

/* From now on every request stands for so many, each of a key of its own: what a trace of a sample
 * of the keys is played with to a cache of pages, of which there are no parts. */
void simulate_cell_set_twins(struct simulate_cell *, unsigned twins);

void simulate_cell_play(struct simulate_cell *, const struct simulate_request *, size_t count);
void simulate_cell_result(struct simulate_cell *, struct simulate_result *);

/* Stops the clock at the trace's beginning: before the first cell of memory is made. */
void simulate_cell_stop_clock(void);
#endif
