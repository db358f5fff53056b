/* The list behind `config undo`: the last changes of settings and of eviction policies, each
 * with all values that changed. Code that changes settings calls undo_begin before and
 * undo_commit after the change. Changes that cannot be undone (flush_all, moved pages), or have
 * another undo (slabs geometry revert), are not listed.
 *
 * Threading: the control thread. Memory: about 9 KiB a change. */
#ifndef SLATE_SERVER_CONFIG_UNDO_H
#define SLATE_SERVER_CONFIG_UNDO_H
#include <stdbool.h>

#include "cache/cache.h"
#include "server/config/settings.h"

enum { UNDO_STEPS_MAX = 32, UNDO_TEXT_BYTES = 256 };

struct undo_step {
    struct settings was, is; /* the change: the RUNTIME values in which these two differ */
    uint32_t        chunk_bytes[SLAB_CLASSES_MAX]; /* by class, at the change */
    /* by class; NULL: the class follows the cache's policy */
    const struct evict_policy *policy_was[SLAB_CLASSES_MAX], *policy_is[SLAB_CLASSES_MAX];
};

struct undo {
    unsigned          count;
    struct undo_step *steps[UNDO_STEPS_MAX]; /* oldest first, owned */
};

void undo_fini(struct undo *); /* a zeroed struct is an empty list */

/* Creates a step with the settings and policies before the change. NULL: out of memory; the change
 * cannot be undone then. */
struct undo_step *undo_begin(struct cache *, const struct settings *was);
/* Adds the settings and policies after the change, and puts the step on the list. Takes over the
 * step: one without a change is freed, NULL is ignored. A full list drops its oldest step. */
void undo_commit(struct undo *, const struct cache *, const struct settings *is,
                 struct undo_step *taken);
const struct undo_step *undo_last(const struct undo *); /* NULL: the list is empty */
void undo_drop_last(struct undo *);

/* Restores in `to`, the settings in force, the values that the step changed. */
void undo_settings(const struct undo_step *, struct settings *to);
/* Restores the policy of each class that the step changed. Returns the number of these classes. */
unsigned undo_policies(const struct undo_step *, struct cache *);
/* Describes the undone step: "slab_automove is 1 again, ...", cut at UNDO_TEXT_BYTES. */
void undo_describe(const struct undo_step *, struct cache *, char text[UNDO_TEXT_BYTES]);
#endif
