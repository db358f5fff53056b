/* A cell of the grid: one cache of one policy and size to which a trace is played. A read is a get
 * and, on a miss, a set, if the value's size is known. Sets and deletes of the trace are played
 * too.
 *
 * A cell of objects has keys of equal weight without values (sample/mini.h), which never expire. A
 * cell of memory is the server's own cache with slabs, partitions and values, which expire as in
 * the trace; its tuner moves pages as a server's does. Time is the trace's. The cache's clock is
 * the process's, so that clock is stopped and set to the time of the cell that plays. Threading:
 * one thread for all cells. */
#ifndef SLATE_SIMULATE_CELL_H
#define SLATE_SIMULATE_CELL_H
#include <stddef.h>

#include "cache/cache.h"
#include "control/tuner.h"

struct simulate_request {
    struct key key;
    uint64_t   at_us;       /* since the trace began; never decreases */
    uint32_t   value_bytes; /* not for cells of objects */
    uint32_t   ttl_s;       /* 0: for ever; not for cells of objects */
    uint8_t    verb;        /* enum trace_verb */
    bool       fills;       /* of a get: the size of the value that fills a miss is known */
};

struct simulate_result {
    const char *policy;
    uint64_t    objects;      /* 0: a cell of memory */
    uint64_t    memory_bytes; /* 0: a cell of objects */
    /* memory held at the end; may exceed memory_bytes, since every class with items holds a page */
    uint64_t    held_bytes;
    uint64_t    requests, hits; /* reads */
    uint64_t    stores, deletes; /* of the trace itself */
    uint64_t    items, evictions;
    /* values too large, or without memory because nothing may be evicted */
    uint64_t    refused;
    uint64_t changes;         /* changes of the policy by s3auto */
    const char *policy_now;   /* the current policy; NULL: the cell has a fixed policy */
    char        automove[AUTOMOVE_NAME_BYTES]; /* automove mode; empty: a cell of objects */
    /* pages that automove moved, and the live items that it evicted (part of `evictions`) */
    uint64_t    pages_moved, lost;
    uint64_t    pages_stolen; /* taken by classes without free memory, without automove */
    /* the mode of automove, and why; empty: all went well */
    char        failed[2 * AUTOMOVE_NAME_BYTES + REASON_BYTES];
    uint64_t    play_us;      /* spent in the cell */
};

enum { SIMULATE_OBJECT_BYTES = 64 }; /* bound on a cell's memory for each object */

struct simulate_cell;
/* NULL: out of memory. The tuning outlives the cell. */
struct simulate_cell *simulate_cell_objects(const struct evict_policy *,
                                            const struct evict_tuning *, uint32_t objects);
/* Takes the cache, even on failure (NULL: out of memory); cache NULL: returns NULL. The tuner goes
 * by the trace's clock. `tune` has the automove mode, and whether the policy follows miniature
 * caches as the server's policy s3auto does. */
struct simulate_cell *simulate_cell_memory(struct cache *taken, const struct tuner_config *tune);
void                  simulate_cell_destroy(struct simulate_cell **);

/* From now on each request is played `twins` times, each with its own key. For a trace of a sample
 * of the keys, because a cache of pages cannot be scaled down far enough. */
void simulate_cell_set_twins(struct simulate_cell *, unsigned twins);

void simulate_cell_play(struct simulate_cell *, const struct simulate_request *, size_t count);
/* The requests so far have filled the cache: results count from here. */
void simulate_cell_count_from_here(struct simulate_cell *);
void simulate_cell_result(struct simulate_cell *, struct simulate_result *);

/* Stops the clock at the trace's time 0. Call it before you make the first cell of memory. */
void simulate_cell_stop_clock(void);
#endif
