/* The commands outside the hot path: one table from a line's first word to the function that answers it.
 *
 * The session calls command_run in the order of the requests, between the replies before and after. A command writes its
 * whole answer, line ends included, to `out`; with noreply it writes errors only where memcached does. */
#ifndef SLATE_SERVE_COMMANDS_H
#define SLATE_SERVE_COMMANDS_H
#include <stdbool.h>
#include <stddef.h>

#include "cache/cache.h"
#include "serve/server.h"
#include "serve/text_out.h"

struct session;

struct command_context {
    struct server       *server;
    struct session      *session;
    struct cache_thread *ct;
    const char          *line; /* without its line end; not terminated; valid during the call */
    size_t               line_bytes;
    bool                 noreply; /* the line's last word is `noreply` */
    struct text_out     *out;
    bool                 close; /* set by the command: hang up after the answer */
};

/* Runs the line's command. False: no command has that name, and nothing was written (the session answers ERROR).
 * Threading: the session's worker. */
bool command_run(struct command_context *);
#endif
