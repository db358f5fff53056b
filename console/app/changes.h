/* Changes: from the review to the server, and back. */
#ifndef CONSOLE_APP_CHANGES_H
#define CONSOLE_APP_CHANGES_H
#include "app/app_state.h"

/* Sends the reviewed plan, or shows why not. */
void change_send_reviewed(struct app *app, uint64_t now_ms);
/* Opens the review of the plan that takes the last change back, or makes it again. */
void change_propose_undo(struct app *app, uint64_t now_ms);
void change_propose_redo(struct app *app, uint64_t now_ms);
void change_accept_trial(struct app *app, uint64_t now_ms);
/* Shows the outcomes of changes. */
void change_show_outcomes(struct app *app, uint64_t now_ms);
/* Undoes trials before the console ends, which may take ACTING_LEAVE_MS; prints on stderr what it
 * can't undo. Call it with the terminal closed. */
void change_leave_servers(struct app *app);
#endif
