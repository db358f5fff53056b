/* Modes of automove that are tried before they are set. */
#include <stdio.h>

#include "control/automove/lua_mode.h"
#include "control/tuner_state.h"

static void trial_answer(struct tuner *t, bool starts) {
    struct automove_trial *trial = t->trial;
    t->trial = NULL;
    lua_call_leave(&t->trying);
    trial->starts = starts;
    trial->done(trial);
}

/* Only a policy's code takes long: it runs in a thread of its own. */
bool tuner_try_automove(struct tuner *t, struct automove_trial *trial) {
    const struct automove_config cfg = {.cache = t->cache,
                                        .policy_dir = t->policy_dir,
                                        .wake = t->by_hand ? NULL : tuner_wake,
                                        .wake_arg = t};
    const char *argument;
    if (t->trial != NULL) {
        return false;
    }
    t->trial = trial;
    if (automove_find(trial->name, &argument) != &automove_lua) {
        trial_answer(t, automove_check(&cfg, trial->name, trial->why));
    } else if ((t->trying = lua_call_open(&cfg, argument, trial->why)) == NULL) {
        trial_answer(t, false);
    }
    return true;
}

void trial_serve(struct tuner *t) {
    if (t->trial != NULL && lua_call_is_answered(t->trying)) {
        trial_answer(t, lua_call_opened(t->trying, t->trial->why));
    }
}

void trial_refuse(struct tuner *t, const char *why) {
    trial_serve(t);
    if (t->trial != NULL) {
        snprintf(t->trial->why, sizeof t->trial->why, "%s", why);
        trial_answer(t, false);
    }
}
