/* Commands that look at all items and whose answer is shared (serve/shared.h): made in pieces by one
 * session, told in pieces by all.
 *
 * Of SHARE_MANY_ITEMS and more an answer serves for SHARE_AGE_COSTS times the processor time that it
 * took, so that making it takes a part of one processor only, whatever the number of those who ask.
 * Of fewer each sees at once what it has just stored. */
#ifndef SLATE_SERVE_SHARE_H
#define SLATE_SERVE_SHARE_H
#include "serve/command.h"
#include "serve/shared.h"

enum { SHARE_MANY_ITEMS = 100 * 1000, SHARE_AGE_COSTS = 20 };

/* How an answer is made. Threading: the worker's of who makes it. */
struct share_maker {
    size_t state_bytes;
    /* The state is zero before. False: out of memory. */
    bool (*begin)(void *state, struct command_context *);
    /* Works until it is done or command_piece_full, then returns whether work is left. */
    bool (*go_on)(void *state, struct command_context *, struct text_out *answer);
    void (*end)(void *state); /* also of a state that did not begin */
};

/* Answers the command; `shared` outlives the session. */
void share_answer(struct command_context *, struct shared_answer *shared,
                  const struct share_maker *);
#endif
