/* A value that one thread replaces as a whole and any thread reads: each version is immutable. A
 * version that was replaced is freed at a later replacement, once no reader was under way.
 *
 * Threading: one thread replaces, any reads. Cost: two atomic additions a read, none of them waits;
 * a replacement allocates. */
#ifndef SLATE_SERVE_PUBLISHED_H
#define SLATE_SERVE_PUBLISHED_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct published_version;
struct published {
    struct published_version *_Atomic now;
    struct published_version *replaced; /* may still be read */
    _Atomic unsigned readers;
};

/* Publishes a copy of the value. False: out of memory, and the version before stays. */
bool published_set(struct published *, const void *value, size_t bytes);
void published_fini(struct published *); /* nobody reads */
/* The version of now; for the thread that replaces it, until it does. */
const void *published_now(const struct published *);
/* Copies the version of now. */
void published_copy(struct published *, void *to, size_t bytes);
#endif
