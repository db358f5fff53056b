/* What `config undo` takes back: the last changes of settings and of eviction policies, each with
 * all values that it changed. Code that makes a change calls undo_begin before it and undo_commit
 * after it. Changes that cannot be undone (flush_all, moved pages), or are undone in another way
 * (slabs geometry revert), are not here.
 *
 * Threading: the control thread's. Memory: about 8 KiB a change. */
#ifndef SLATE_SERVER_CONFIG_UNDO_H
#define SLATE_SERVER_CONFIG_UNDO_H
#include <stdbool.h>

#include "cache/cache.h"
#include "server/config/settings.h"

enum { UNDO_STEPS_MAX = 32, UNDO_TEXT_BYTES = 256 };

struct undo_step {
    struct settings was, is; /* the change is the RUNTIME values in which these two differ */
    /* of each class that has a policy of its own; NULL: the class has the whole's */
    const struct evict_policy *policy_was[SLAB_CLASSES_MAX], *policy_is[SLAB_CLASSES_MAX];
};

struct undo {
    unsigned          count;
    struct undo_step *steps[UNDO_STEPS_MAX]; /* oldest first, owned */
};

void undo_fini(struct undo *); /* also of a zeroed struct, which is an empty list */

/* Makes a step, and notes the settings and the policies of the classes as they are now. NULL: out
 * of memory; then the change cannot be undone. */
struct undo_step *undo_begin(const struct cache *, const struct settings *was);
/* Keeps a step, with the settings after the change. A step that changed nothing is freed, and NULL
 * does nothing. If there is no room, the oldest step goes. */
void undo_commit(struct undo *, const struct cache *, const struct settings *is,
                 struct undo_step *taken);
const struct undo_step *undo_last(const struct undo *); /* NULL: the list is empty */
void undo_drop_last(struct undo *);

/* Puts the values of before the step into `to`, which holds today's values. Values that the step
 * did not change stay. */
void undo_settings(const struct undo_step *, struct settings *to);
/* Gives each class whose policy the step changed its earlier policy. Returns the number of these
 * classes. */
unsigned undo_policies(const struct undo_step *, struct cache *);
/* Writes what was undone: "slab_automove is 1 again, ...", cut at UNDO_TEXT_BYTES. */
void undo_describe(const struct undo_step *, char text[UNDO_TEXT_BYTES]);
#endif
