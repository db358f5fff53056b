/* Counts operations by key prefix, for `stats detail`. A prefix ends at the first delimiter of a
 * key; keys without a delimiter are not counted. Off by default, since every operation then
 * takes a lock.
 *
 * At most PREFIX_MAX prefixes are counted; later ones are not. Threading: any thread, no project
 * lock held. */
#ifndef SLATE_SERVER_PREFIX_STATS_H
#define SLATE_SERVER_PREFIX_STATS_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key.h"
#include "base/lock.h"
#include "server/text_out.h"

enum { PREFIX_MAX = 10000, PREFIX_BUCKETS = 1024 };

struct prefix_count;
struct prefix_stats {
    _Atomic bool         on;
    char                 delimiter;
    struct lock          lock; /* guards the fields below */
    unsigned             count;
    struct prefix_count *buckets[PREFIX_BUCKETS];
};

struct prefix_stats *prefix_stats_create(char delimiter, bool on); /* NULL: out of memory */
void prefix_stats_destroy(struct prefix_stats **);
void prefix_stats_enable(struct prefix_stats *, bool on); /* counts so far stay */
void prefix_stats_clear(struct prefix_stats *);

/* Call this before prefix_stats_count. Cost: one relaxed load. */
static inline bool prefix_stats_on(const struct prefix_stats *p) {
    return atomic_load_explicit(&p->on, memory_order_relaxed);
}

enum prefix_event { PREFIX_GET, PREFIX_HIT, PREFIX_SET, PREFIX_DELETE, PREFIX_EVENTS };
/* PREFIX_HIT is a get that found its key: it counts as a get and a hit. */
void prefix_stats_count(struct prefix_stats *, const struct key *, enum prefix_event);

/* Writes `PREFIX name get n hit n set n del n` lines of the first bucket with prefixes from
 * `bucket` on, without END. Returns the next bucket with prefixes; PREFIX_BUCKETS: no more. */
uint32_t prefix_stats_dump(struct prefix_stats *, uint32_t bucket, struct text_out *);
#endif
