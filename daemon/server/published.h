/* A value that one thread replaces as a whole and any thread reads: a reader never sees a
 * version that the owner still writes. There are two versions, so a replacement needs no memory
 * and cannot fail.
 *
 * Threading: one thread replaces, any thread reads. Cost: a read is two atomic additions and
 * never waits; a replacement waits until no reader copies. */
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
