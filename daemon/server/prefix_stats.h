/* Operations counted by key prefix, for `stats detail`: what stands before the first delimiter of a
 * key. Keys without one are not counted. Off unless asked for, since every operation then takes a
 * lock.
 *
 * At most PREFIX_MAX prefixes are kept; later ones are not counted. Threading: any thread, no
 * project lock held. */
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
    struct lock          lock; /* over what follows */
    unsigned             count;
    struct prefix_count *buckets[PREFIX_BUCKETS];
};

struct prefix_stats *prefix_stats_create(char delimiter, bool on); /* NULL: out of memory */
void prefix_stats_destroy(struct prefix_stats **);
void prefix_stats_enable(struct prefix_stats *, bool on); /* counts so far stay */
void prefix_stats_clear(struct prefix_stats *);

/* One relaxed load: ask before noting anything. */
static inline bool prefix_stats_on(const struct prefix_stats *p) {
    return atomic_load_explicit(&p->on, memory_order_relaxed);
}

enum prefix_event { PREFIX_GET, PREFIX_HIT, PREFIX_SET, PREFIX_DELETE, PREFIX_EVENTS };
/* PREFIX_HIT is a get that found its key: it counts as both. */
void prefix_stats_count(struct prefix_stats *, const struct key *, enum prefix_event);

/* `PREFIX name get n hit n set n del n` lines of the first bucket from `bucket` on that has any,
 * without END. Returns the bucket behind; PREFIX_BUCKETS: those were the last lines. */
uint32_t prefix_stats_dump(struct prefix_stats *, uint32_t bucket, struct text_out *);
#endif
