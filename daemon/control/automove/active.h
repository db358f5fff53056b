/* The mode of automove that is running, with its state. Threading: the tuner's thread. */
#ifndef SLATE_CONTROL_AUTOMOVE_ACTIVE_H
#define SLATE_CONTROL_AUTOMOVE_ACTIVE_H
#include "control/automove/automove.h"

struct active_mode {
    const struct automove_mode *mode; /* never NULL once switched */
    char  argument[AUTOMOVE_NAME_BYTES];
    void *state;
};

/* Ends the mode that runs and starts another. In a zeroed struct no mode runs yet. False: the mode
 * could not start, `why` (REASON_BYTES) says why, and off runs. */
bool active_switch(struct active_mode *, const struct automove_mode *, const char *argument,
                   const struct automove_config *, char *why);
/* false: the mode cannot go on */
bool active_configure(struct active_mode *, const struct automove_config *, char *why);
void active_end(struct active_mode *);
bool active_runs(const struct active_mode *, const struct automove_mode *, const char *argument);
/* Writes what the mode says of itself; "" when it says nothing. */
void active_describe(const struct active_mode *, char *to, size_t room);
#endif
