/* The sweep: passes over the items that free what has expired or was flushed
 * (cache/expire/expire_sweep.h), so that it gives its memory back and no longer counts within a
 * second or some.
 *
 * A pass begins every second, and is left out when nothing was stored or touched since the last one
 * began and nothing that it saw has expired. It goes on by a millisecond, in turns of a fifth, with
 * rests that leave it a hundredth of a processor, and up to half of one where what it looks at is
 * dead. So a million small items take it a second, ten times as many ten.
 * Threading: the owner's thread, through its cache_thread. */
#ifndef SLATE_CONTROL_SWEEP_SWEEPER_H
#define SLATE_CONTROL_SWEEP_SWEEPER_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/expire/expire_sweep.h"

struct sweeper {
    struct cache        *cache;
    struct cache_thread *ct;
    bool                 on, under_way;
    struct cache_sweep   pass;     /* the pass that is under way, or the last one */
    uint64_t             began_us; /* when the pass began */
    uint64_t             due_us;   /* when the next spell is due */
    uint64_t             changes;  /* cache_sweep_changes when the pass began … */
    uint32_t             flushed_s;  /* … and cache_flushed_s */
};

void sweeper_init(struct sweeper *, struct cache *, struct cache_thread *, bool on);
/* Goes on if a spell is due. Returns when the next one will be; UINT64_MAX: never. */
uint64_t sweeper_tend(struct sweeper *, uint64_t now_us);
#endif
