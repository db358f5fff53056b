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
 * could not start, `why` (REASON_BYTES) has the reason, and off runs. */
bool active_switch(struct active_mode *, const struct automove_mode *, const char *argument,
                   const struct automove_config *, char *why);
/* False: the mode cannot run any more. */
bool active_configure(struct active_mode *, const struct automove_config *, char *why);
void active_end(struct active_mode *);
bool active_runs(const struct active_mode *, const struct automove_mode *, const char *argument);
/* Writes the mode's description of itself, which may be empty. */
void active_describe(const struct active_mode *, char *to, size_t room);
#endif
