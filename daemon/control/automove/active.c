#include "control/automove/active.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void active_end(struct active_mode *a) {
    if (a->mode != NULL && a->mode->fini != NULL) {
        a->mode->fini(a->state);
    }
    free(a->state);
    *a = (struct active_mode){.mode = &automove_off};
}

bool active_switch(struct active_mode *a, const struct automove_mode *mode, const char *argument,
                   const struct automove_config *cfg, char *why) {
    active_end(a);
    void *state = mode->state_bytes > 0 ? calloc(1, mode->state_bytes) : NULL;
    if (mode->state_bytes > 0 && state == NULL) {
        snprintf(why, REASON_BYTES, "out of memory");
        return false;
    }
    if (mode->init != NULL && !mode->init(state, cfg, argument, why)) {
        free(state);
        return false;
    }
    a->mode = mode;
    a->state = state;
    snprintf(a->argument, sizeof a->argument, "%s", argument);
    return true;
}

bool active_configure(struct active_mode *a, const struct automove_config *cfg, char *why) {
    return a->mode->configure == NULL || a->mode->configure(a->state, cfg, why);
}

bool active_runs(const struct active_mode *a, const struct automove_mode *mode,
                 const char *argument) {
    return a->mode == mode && strcmp(a->argument, argument) == 0;
}

void active_describe(const struct active_mode *a, char *to, size_t room) {
    to[0] = '\0';
    if (a->mode->describe != NULL) {
        a->mode->describe(a->state, to, room);
    }
}
