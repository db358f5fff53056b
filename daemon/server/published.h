/* A value that one thread replaces as a whole and any thread reads: a reader never sees a version
 * while the owner writes it. There are two versions, so a replacement needs no memory and cannot
 * fail.
 *
 * Threading: one thread replaces, any reads. Cost: two atomic additions a read, none of them waits;
 * a replacement waits until no reader copies. */
#ifndef SLATE_SERVER_PUBLISHED_H
#define SLATE_SERVER_PUBLISHED_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct published {
    char *_Atomic now;
    char         *other; /* the version before; the next one is written there */
    size_t        bytes;
    _Atomic unsigned readers;
};

/* A zeroed struct gets a copy of the value. False: out of memory. */
bool published_init(struct published *, const void *value, size_t bytes);
void published_fini(struct published *); /* nobody reads; also of a zeroed struct */
/* Replaces the value by a copy of this one. */
void published_set(struct published *, const void *value);
/* The version of now; for the thread that replaces it, until it does. */
const void *published_now(const struct published *);
/* Copies the version of now. */
void published_copy(struct published *, void *to);
#endif
