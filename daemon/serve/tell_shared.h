/* Commands that look at all items and whose answer is shared (serve/shared.h): one session makes it
 * in pieces, all tell it in pieces.
 *
 * An answer about SHARED_MANY_ITEMS and more serves for SHARED_AGE_COSTS times the processor time
 * that it took. So making it takes a part of one processor only, whatever the number of those who
 * ask. With fewer items each client sees at once what it has just stored. */
#ifndef SLATE_SERVE_TELL_SHARED_H
#define SLATE_SERVE_TELL_SHARED_H
#include "serve/command.h"
#include "serve/shared.h"

enum { SHARED_MANY_ITEMS = 100 * 1000, SHARED_AGE_COSTS = 20 };

/* How an answer is made. Threading: the worker's of who makes it. */
struct shared_maker {
    size_t state_bytes;
    /* The state is zero before. False: out of memory. */
    bool (*begin)(void *state, struct command_context *);
    /* Works until it is done or command_piece_full, then returns whether work is left. */
    bool (*go_on)(void *state, struct command_context *, struct text_out *answer);
    void (*end)(void *state); /* also of a state that did not begin */
};

/* Answers the command; `shared` outlives the session. */
void tell_shared(struct command_context *, struct shared_answer *shared,
                  const struct shared_maker *);
#endif
