/* The sweep: passes over the items that free expired and flushed ones
 * (cache/expire/expire_sweep.h). So dead items no longer count, and their memory is free, within a
 * few seconds.
 *
 * A pass begins every second, unless nothing was stored or touched since the last one began and no
 * item that it saw has expired. A pass runs in spells of a millisecond, in turns of a fifth of
 * that, with pauses that leave it a hundredth of a processor, and up to half of one where the items
 * are dead. So a pass over a million small items takes a second, over ten million ten. Threading:
 * the owner's thread, through its cache_thread. */
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
    uint64_t             changes;  /* cache_sweep_changes when the pass began */
    uint32_t             flushed_s;  /* cache_flushed_s then */
};

void sweeper_init(struct sweeper *, struct cache *, struct cache_thread *, bool on);
/* Runs a spell if one is due. Returns when the next one is due; UINT64_MAX: never. */
uint64_t sweeper_tend(struct sweeper *, uint64_t now_us);
#endif
