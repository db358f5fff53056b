/* The threads of a run. Each is given an actor and works until world->done is set; owners then read all their keys once more. */
#ifndef MODEL_ACTORS_H
#define MODEL_ACTORS_H
#include "world.h"

struct actor {
    struct world *world;
    unsigned      number; /* its number among those of its kind */
    uint64_t      random;
};

void *owner_main(void *actor);       /* owner.c: writes and models keys of its own */
void *reader_main(void *actor);      /* reader.c: reads everybody's */
void *slow_reader_main(void *actor); /* reader.c: large values, a little at a time */
void *hammer_main(void *actor);      /* hammer.c: hot keys, one writer, many at a time */
void *sharer_main(void *actor);      /* sharer.c: counts and appends on keys that all sharers change */
void *dumper_main(void *actor);      /* dumper.c: dumps and statistics of every kind */
void *watcher_main(void *actor);     /* dumper.c: events, for a while */
void *guest_main(void *actor);       /* guest.c: half-sent values, broken connections, nonsense */
void *operator_main(void *actor);    /* operator.c: policies, modes, pages, chunk sizes, the limit */
void *flusher_main(void *actor);     /* operator.c: flush_all, several in a second, and some a second later */

/* After the storm: the sharers check their shared keys. */
void sharers_check(struct world *);
/* Ends changes that the operator began, so that the server comes to rest. */
void operator_calm(struct world *);
#endif
