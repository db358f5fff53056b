/* Records of any size from one thread to one other, in order, without a lock.
 *
 * A record lies in one piece, aligned to eight bytes. The writer never waits: without room it drops
 * the record and counts it. Threading: one writer and one reader at a time; the counters may be
 * read by anyone. Cost: a copy of the record. */
#ifndef SLATE_WATCH_RING_H
#define SLATE_WATCH_RING_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counter.h"

struct ring {
    struct counter   written, dropped; /* records; the writer's */
    /* bytes ever written, the gaps at the end of the memory among them */
    _Atomic uint64_t head;
    uint64_t         head_next;        /* what ring_publish makes it */
    uint64_t         bytes;
    _Atomic uint64_t tail __attribute__((aligned(64))); /* bytes ever taken; the reader's */
    char             memory[] __attribute__((aligned(64)));
};

enum { RING_BYTES_MIN = 1024 };

/* at least RING_BYTES_MIN, rounded down to eight; NULL: out of memory */
struct ring *ring_create(size_t bytes);
void         ring_destroy(struct ring **);
size_t       ring_memory(size_t bytes); /* all that one takes which is made so */

/* The writer: room for a record of n bytes, at most half of RING_BYTES_MIN; NULL: none, the record
 * is counted as dropped. What is not published was never there. */
void *ring_reserve(struct ring *, size_t n);
void  ring_publish(struct ring *);

/* The reader: the oldest record, NULL when there is none. It stays until ring_pop. */
const void *ring_peek(struct ring *);
void        ring_pop(struct ring *);
#endif
