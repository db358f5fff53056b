/* What a click or the wheel does: the same as a key, by what was drawn there. */
#ifndef CONSOLE_APP_POINTER_H
#define CONSOLE_APP_POINTER_H
#include "app/state.h"

/* Does what the mouse just did. */
void handle_pointer(struct app *app, uint64_t now_ms);
#endif
