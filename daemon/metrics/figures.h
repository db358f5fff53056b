/* What the server's own statistics say, asked by a session that has no socket and may only read.
 *
 * Threading: one thread, which is the only one to use its struct. Cost: as much as a client that
 * asks for the same. */
#ifndef SLATE_METRICS_FIGURES_H
#define SLATE_METRICS_FIGURES_H
#include <stdbool.h>

#include "serve/server.h"
#include "serve/text_out.h"

struct figures;

/* Borrows the server. NULL: out of memory. */
struct figures *figures_create(struct server *);
void            figures_destroy(struct figures **);

/* Appends what the server answers to `stats GROUP`, at most FIGURES_BYTES_MOST of it. False: it did
 * not answer in FIGURES_TIMEOUT_US, or there is no memory; then the struct is of no more use. */
enum { FIGURES_BYTES_MOST = 4 << 20, FIGURES_TIMEOUT_US = 5 * 1000 * 1000 };
bool figures_ask(struct figures *, const char *group, struct text_out *);
#endif
