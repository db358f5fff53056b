/* What a key, a click or the wheel means where the operator is: in a view, in one of the overlays,
 * or in a line that is typed. */
#ifndef CONSOLE_APP_KEYS_H
#define CONSOLE_APP_KEYS_H
#include "app/state.h"

/* In Fleet the server under the cursor is the open one: keys act on the row that is seen. is_kept:
 * the cursor stays with it when rows change places. */
void follow_row(struct app *app, bool is_kept);

void handle_key(struct app *app, uint32_t key, uint64_t now_ms);
/* Does what the mouse just did: the same as a key, by what was drawn there. */
void handle_pointer(struct app *app, uint64_t now_ms);
#endif
