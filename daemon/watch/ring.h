/* Records of any size from one thread to one other, in order, without a lock.
 *
 * A record lies in one piece, aligned to eight bytes. The writer never waits: without room the
 * record is dropped and counted. A record that finds the ring empty lies at the begin of the
 * memory: so a ring whose reader is in time touches little of it. Threading: one writer and one
 * reader at a time; any thread may read the counters. Cost: a copy of the record. */
#ifndef SLATE_WATCH_RING_H
#define SLATE_WATCH_RING_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counter.h"

struct ring {
    struct counter   written, dropped; /* records; the writer's */
    /* bytes written since the start, with the gaps at the end of the memory */
    _Atomic uint64_t head;
    uint64_t         head_next;        /* head after ring_publish */
    uint64_t base;                     /* what is written here lies at the begin of the memory */
    uint64_t         bytes;
    _Atomic uint64_t tail __attribute__((aligned(64))); /* bytes ever taken; the reader's */
    char             memory[] __attribute__((aligned(64)));
};

enum { RING_BYTES_MIN = 1024 };

/* At least RING_BYTES_MIN, rounded down to eight. NULL: out of memory. */
struct ring *ring_create(size_t bytes);
void         ring_destroy(struct ring **);
size_t       ring_memory(size_t bytes); /* memory of such a ring */

/* For the writer: room for a record of n bytes, at most half of RING_BYTES_MIN. NULL: no room, and
 * the record counts as dropped. A record without ring_publish does not exist. */
void *ring_reserve(struct ring *, size_t n);
void  ring_publish(struct ring *);
uint64_t ring_free(const struct ring *); /* bytes; for the writer */

/* For the reader: the oldest record, or NULL. The record stays until ring_pop. */
const void *ring_peek(struct ring *);
void        ring_pop(struct ring *);
#endif
