/* Long answers that go out in pieces (struct command_more), with END behind the last.
 *
 * The command gives a function that writes from row *next on, at least one row, until
 * command_piece_full; a row is whatever the command counts by: a class, a page, a place in a table.
 * What it needs beside is `state`, copied when the answer takes more than a piece. Rows are as they
 * are when their piece is made, unless the state holds a copy of all. Threading: the session's
 * worker. */
#ifndef SLATE_SERVE_PIECES_H
#define SLATE_SERVE_PIECES_H
#include "serve/command.h"

/* false: there are no more rows */
typedef bool (*pieces_write)(struct command_context *, uint32_t *next, void *state);

/* Writes the first piece, from row `first` on, and leaves the others to the session. Without memory
 * for that, the answer is an error. */
void pieces_answer(struct command_context *, pieces_write, uint32_t first, void *state,
                   size_t state_bytes);
#endif
