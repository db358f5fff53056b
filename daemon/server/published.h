/* A value that one thread, the owner, replaces as a whole and any thread reads. There are two
 * versions: readers copy the current one, and the owner writes the other. So a reader never waits
 * and never sees a half-written version, and a replacement needs no memory and cannot fail. Readers
 * are counted, because one of them may still copy the old version, which the next replacement
 * overwrites.
 *
 * Threading: one thread replaces, any thread reads. Cost: a read is two atomic additions; a
 * replacement waits until no reader copies. */
#ifndef SLATE_SERVER_PUBLISHED_H
#define SLATE_SERVER_PUBLISHED_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct published {
    char *_Atomic now;
    char         *other; /* the old version, which the next one overwrites */
    size_t        bytes;
    _Atomic unsigned readers;
};

/* A zeroed struct gets a copy of the value. False: out of memory. */
bool published_init(struct published *, const void *value, size_t bytes);
void published_fini(struct published *); /* no reader is left; a zeroed struct may be passed too */
/* Replaces the value by a copy of this one. */
void published_set(struct published *, const void *value);
/* The current version, valid until the next replacement. For the replacing thread only. */
const void *published_now(const struct published *);
/* Copies the current version. */
void published_copy(struct published *, void *to);
#endif
