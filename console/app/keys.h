/* What a key means where the operator is: in a view, in one of the overlays, or in a line that is
 * typed. */
#ifndef CONSOLE_APP_KEYS_H
#define CONSOLE_APP_KEYS_H
#include "app/state.h"

void handle_key(struct app *app, uint32_t key, uint64_t now_ms);
#endif
