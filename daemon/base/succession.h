/* Decides which of two processes goes on with what both could own. It is a word in memory that both
 * have mapped; the process that reaches for it first gets it. So no message that is lost, late or
 * never sent leaves both of them, or none, as the owner.
 *
 * Ownership: a succession owns its mapping and its descriptor. Threading: any; one word. */
#ifndef SLATE_BASE_SUCCESSION_H
#define SLATE_BASE_SUCCESSION_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum succession_side {
    SUCCESSION_OPEN,
    SUCCESSION_FIRST,       /* the old process goes on, for good */
    SUCCESSION_NEXT,        /* the new process has it, and can still undo what it changes */
    SUCCESSION_NEXT_SERVES, /* the new process has it for good */
};

struct succession {
    int               fd; /* for the other process; -1: none */
    _Atomic uint32_t *word;
};

/* Makes a succession that neither process has taken. False: errno. */
bool succession_make(struct succession *);
/* Joins the succession that another process has made, and owns the descriptor from now on. False:
 * errno. */
bool succession_join(struct succession *, int taken_fd);
void succession_close(struct succession *);

/* Takes it for SUCCESSION_FIRST or SUCCESSION_NEXT. False: the other process has it; this one then
 * sees what the other did before it took it. */
bool succession_take(struct succession *, enum succession_side);
/* For the new process, which has taken it: keeps it for good. False: the old one has taken it
 * back. */
bool succession_serve(struct succession *);
/* For the old process, which has waited in vain: takes it back from the new one. False: the new one
 * has it for good. The new process may go on working until its next call here, so the caller must
 * end it. */
bool succession_take_back(struct succession *);
enum succession_side succession_look(const struct succession *);
#endif
