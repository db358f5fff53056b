/* Pause, the cursor in the past, marks, and recording. */
#ifndef CONSOLE_APP_PAST_H
#define CONSOLE_APP_PAST_H
#include "app/state.h"

/* True when the command was about time, and was obeyed. */
bool time_command(struct app *app, enum command command, uint64_t now_ms);
/* Goes to --at when all of the recording is there: before, the place in it can't be found. */
void seek_once_loaded(struct app *app);
#endif
