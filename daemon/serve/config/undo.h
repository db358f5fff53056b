/* What `config undo` takes back: the last changes of settings and of eviction policies, each with
 * all values it changed. A change is kept by whoever makes it: undo_begin before, undo_keep after.
 * What has no way back (flush_all, moved pages) or a way of its own (slabs geometry revert) is not
 * here.
 *
 * Threading: any; the list has a lock of its own, no other project lock held. Memory: about 8 KiB a
 * kept change. */
#ifndef SLATE_SERVE_CONFIG_UNDO_H
#define SLATE_SERVE_CONFIG_UNDO_H
#include <stdbool.h>

#include "base/lock.h"
#include "cache/cache.h"
#include "serve/config/settings.h"

enum { UNDO_KEPT = 32, UNDO_SAID_BYTES = 256 };

struct undo_step {
    struct settings was, is; /* RUNTIME values that differ are the change */
    /* of each class */
    const struct evict_policy *policy_was[SLAB_CLASSES_MAX], *policy_is[SLAB_CLASSES_MAX];
};

struct undo {
    struct lock       lock;
    unsigned          count;
    struct undo_step *steps[UNDO_KEPT]; /* oldest first, owned */
};

void undo_init(struct undo *);
void undo_fini(struct undo *);

/* A step that knows the classes' policies as they are now; NULL: out of memory, and the change will
 * not be kept. */
struct undo_step *undo_begin(const struct cache *);
/* Keeps a step whose settings are filled in; frees one that changed nothing. NULL does nothing. The
 * oldest goes for want of room. */
void undo_keep(struct undo *, const struct cache *, struct undo_step *taken);
/* Takes the last step off the list; the caller owns it. NULL: there is none. */
struct undo_step *undo_take(struct undo *);
void undo_give(struct undo *, struct undo_step *taken); /* puts it back */

/* Puts the values of before the step into `to`, which holds today's; values that the step did not
 * change stay. */
void undo_settings(const struct undo_step *, struct settings *to);
/* Gives each class whose policy the step changed the one of before. Returns how many. */
unsigned undo_policies(const struct undo_step *, struct cache *);
/* "slab_automove is 1 again, ...": cut at UNDO_SAID_BYTES. */
void undo_say(const struct undo_step *, char said[UNDO_SAID_BYTES]);
#endif
