/* A client kills its server and compares the items that come back with the acknowledged ones: see tests/stress/README.md.
 *
 * An owner has its own keys, and a model of each: the last acknowledged state, and the state that a request without a reply would have
 * made. After each kill and restart a key must have one of these states, and no CAS may be given twice in all lives; a key that was being
 * overwritten may be missing. A flush that was answered before a kill holds after it. */
#ifndef CRASH_H
#define CRASH_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "wire.h"

enum { OWNERS = 4, KEYS = 2000, VALUE_MOST = 120 * 1000 };

/* --- the server --- */

struct place { /* the server's place and its options */
    const char *program;
    char        file[256], socket[100], log[256];
    bool        roomy; /* nothing need be evicted, so nothing may be missing */
    const char *crash_at; /* failpoint at which a debug build ends by itself; NULL: none */
    pid_t       pid;
    int         process_fd; /* readable after its end */
};
void place_make(struct place *, const char *program, bool roomy);
void place_clear(struct place *);
bool place_start(struct place *); /* false: the server did not start */
void place_kill(struct place *, int signal);
/* Whether the server has ended as a killed process does, within so long. */
bool place_has_crashed(struct place *, int wait_ms);
/* Waits until so many batches more were answered, or the server has ended. */
enum waits { MAIN_WAITS, OPERATOR_WAITS, WAITS };
void place_work(const struct place *, enum waits, uint64_t batches);
void place_answered(uint64_t batches);

/* --- counts --- */
#define TALLIES(X) \
    X(kills) X(answered) X(read) X(stored) X(lost) X(lost_in_flight) X(corrupt) X(resurrected) X(old_value) X(cas_repeated) \
    X(cas_changed) X(wrong_time) X(unknown_items) X(moves) X(geometries) X(policies) X(flushes) X(torn)
struct tally {
#define TALLY(name) _Atomic uint64_t name;
    TALLIES(TALLY)
#undef TALLY
};
extern struct tally tally;
#define COUNT(name) atomic_fetch_add(&tally.name, 1)

/* Whether this CAS was never given before. */
bool cas_is_new(uint64_t cas);

/* --- owners --- */
struct owner;
struct owner *owner_create(unsigned number, uint64_t seed);
/* Sends requests until the connection ends or *stop. */
void owner_work(struct owner *, const struct place *, _Atomic bool *stop);
/* Reads every key; the values found become the known state. */
void owner_verify(struct owner *, const struct place *);
void owner_forget(struct owner *); /* the server has no items any more, or starts without any */
uint64_t owner_present(const struct owner *); /* keys that are known to be there */

/* Moves pages, changes chunk sizes, policies and modes. */
void operator_work(const struct place *, uint64_t seed, _Atomic bool *stop);

static inline uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}
#endif
