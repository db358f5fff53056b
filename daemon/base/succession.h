/* Which of two processes goes on with what both could have: a word in memory that both have mapped,
 * and that the first who reaches for it gets. So no message that is lost, late or never sent leaves
 * both with it, or none.
 *
 * Ownership: a succession owns its mapping and its descriptor. Threading: any; one word. */
#ifndef SLATE_BASE_SUCCESSION_H
#define SLATE_BASE_SUCCESSION_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum succession_side {
    SUCCESSION_OPEN,
    SUCCESSION_FIRST,       /* the one that was there goes on; for good */
    SUCCESSION_NEXT,        /* the next one has it, and changes what it could still undo … */
    SUCCESSION_NEXT_SERVES, /* … and now no more */
};

struct succession {
    int               fd; /* for the other process; -1: none */
    _Atomic uint32_t *word;
};

/* An open one. False: errno. */
bool succession_make(struct succession *);
/* The one that another process has made; the descriptor is the succession's from now on. False:
 * errno. */
bool succession_join(struct succession *, int taken_fd);
void succession_close(struct succession *);

/* Takes it for SUCCESSION_FIRST or SUCCESSION_NEXT. False: the other has it. What the other did
 * before it took it is seen here. */
bool succession_take(struct succession *, enum succession_side);
/* Of the next one, which has taken it. False: the first has taken it back. */
bool succession_serve(struct succession *);
/* Of the first, which has waited in vain: takes back what the next one has taken. False: that one
 * serves. The other may still be at work, until it asks again: it has to be ended. */
bool succession_take_back(struct succession *);
enum succession_side succession_look(const struct succession *);
#endif
