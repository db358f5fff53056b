/* Changes: from the review to the server, and back. */
#ifndef CONSOLE_APP_CHANGES_H
#define CONSOLE_APP_CHANGES_H
#include "app/state.h"

/* Sends what is reviewed, or says why not. */
void send_reviewed(struct app *app, uint64_t now_ms);
/* Opens the review of what takes the last change back, or makes it again. */
void propose_undo(struct app *app, uint64_t now_ms);
void propose_redo(struct app *app, uint64_t now_ms);
void keep_trial(struct app *app, uint64_t now_ms);
/* Shows what came of changes. */
void show_outcomes(struct app *app, uint64_t now_ms);
/* The console is left: trials go back first, which may take ACTING_LEAVE_MS; what can't is said on
 * stderr. Call it with the terminal closed. */
void leave_servers(struct app *app);
#endif
