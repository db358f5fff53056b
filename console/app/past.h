/* Pause, the cursor in the past, marks, and recording. */
#ifndef CONSOLE_APP_PAST_H
#define CONSOLE_APP_PAST_H
#include "app/app_state.h"

/* Obeys a command about time, marks or recording; false for any other command. */
bool past_command(struct app *app, enum command command, uint64_t now_ms);
/* Goes to --at once the recording is loaded; before, its samples are not all known. */
void past_seek_once_loaded(struct app *app);
#endif
