/* The commands outside the hot path: one table from a line's first word to the function that
 * answers it.
 *
 * The session calls command_run in the order of the requests, between the replies before and after.
 * A command writes its whole answer, line ends included, to `out`; with noreply it writes errors
 * only where memcached does. */
#ifndef SLATE_SERVER_COMMAND_TABLE_H
#define SLATE_SERVER_COMMAND_TABLE_H
#include "server/commands/command.h"

/* Runs the line's command. False: no command has that name, and nothing was written (the session
 * answers ERROR). Threading: the session's worker. */
bool command_run(struct command_context *);
#endif
