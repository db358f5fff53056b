/* The actions of keys, clicks and the wheel in a view, in an overlay, or in a line that is
 * typed. */
#ifndef CONSOLE_APP_KEY_ACTIONS_H
#define CONSOLE_APP_KEY_ACTIONS_H
#include "app/app_state.h"

/* In Fleet, opens the server under the cursor: keys act on the row that the operator sees. is_held:
 * the cursor stays with its server when rows change places. */
void key_follow_row(struct app *app, bool is_held);

void key_handle(struct app *app, uint32_t key, uint64_t now_ms);
/* Handles the last mouse event as the key of the thing drawn under the pointer. */
void key_handle_pointer(struct app *app, uint64_t now_ms);
#endif
