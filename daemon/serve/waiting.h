/* A command whose answer another thread makes (base/asked.h): its session sleeps until that thread
 * wakes it.
 *
 * The struct is the first member of the command's own. Threading: the session's worker. */
#ifndef SLATE_SERVE_WAITING_H
#define SLATE_SERVE_WAITING_H
#include "base/asked.h"
#include "serve/command.h"

struct waiting {
    struct command_more more; /* first: the session knows only this */
    struct asked       *asked;
    void (*tell)(struct waiting *, struct command_context *); /* writes the answer */
    /* gives up the question and frees the struct */
    void (*destroy)(struct waiting *);
};

/* Before the question is handed over: from then on the answer wakes the session. */
void waiting_begin(struct waiting *, struct command_context *, struct asked *,
                   void (*tell)(struct waiting *, struct command_context *),
                   void (*destroy)(struct waiting *));
/* It was not handed over: as if it had not begun. */
void waiting_end(struct waiting *);
#endif
