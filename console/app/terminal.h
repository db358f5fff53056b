/* What of the terminal can be changed while it runs: who has the mouse, and colours. */
#ifndef CONSOLE_APP_TERMINAL_H
#define CONSOLE_APP_TERMINAL_H
#include "app/state.h"

void toggle_mouse(struct app *app, uint64_t now_ms);
void set_theme(struct app *app, unsigned theme, uint64_t now_ms);
void next_theme(struct app *app, uint64_t now_ms);
#endif
