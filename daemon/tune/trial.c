/* Modes of automove that are tried before they are set. */
#include <stdio.h>
#include <stdlib.h>

#include "tune/policies/lua_mode.h"
#include "tune/state.h"

struct automove_trial *automove_trial_create(const char *name) {
    struct automove_trial *trial = calloc(1, sizeof *trial);
    if (trial != NULL) {
        snprintf(trial->name, sizeof trial->name, "%s", name);
        asked_init(&trial->asked);
    }
    return trial;
}

void automove_trial_release(struct automove_trial **taken) {
    struct automove_trial *trial = *taken;
    *taken = NULL;
    if (trial != NULL && asked_release(&trial->asked)) {
        free(trial);
    }
}

bool tuner_try_automove(struct tuner *t, struct automove_trial *trial) {
    lock_take(&t->lock);
    bool taken = t->trial == NULL;
    if (taken) {
        asked_hold(&trial->asked);
        t->trial = trial;
    }
    lock_release(&t->lock);
    tuner_wake(t);
    return taken;
}

static void answer(struct tuner *t, bool starts) {
    lock_take(&t->lock);
    struct automove_trial *trial = t->trial;
    t->trial = NULL;
    lock_release(&t->lock);
    lua_call_leave(&t->trying);
    trial->starts = starts;
    asked_answer(&trial->asked);
    automove_trial_release(&trial);
}

/* Only a policy's code takes long: it has a thread of its own. */
static void begin(struct tuner *t, struct automove_trial *trial) {
    const struct automove_config cfg = {.cache = t->cache,
                                        .policy_dir = t->policy_dir,
                                        .wake = tuner_wake,
                                        .wake_arg = t};
    const char *argument;
    if (automove_find(trial->name, &argument) != &automove_lua) {
        answer(t, automove_check(&cfg, trial->name, trial->why));
    } else if ((t->trying = lua_call_open(&cfg, argument, trial->why)) == NULL) {
        answer(t, false);
    }
}

/* The one that waits stays until this thread answers it. */
static struct automove_trial *waiting(struct tuner *t) {
    lock_take(&t->lock);
    struct automove_trial *trial = t->trial;
    lock_release(&t->lock);
    return trial;
}

void tuner_serve_trial(struct tuner *t) {
    struct automove_trial *trial = waiting(t);
    if (trial != NULL && t->trying == NULL) {
        begin(t, trial);
    } else if (trial != NULL && lua_call_is_answered(t->trying)) {
        answer(t, lua_call_opened(t->trying, trial->why));
    }
}

void tuner_refuse_trial(struct tuner *t, const char *why) {
    tuner_serve_trial(t);
    struct automove_trial *trial = waiting(t);
    if (trial != NULL) {
        snprintf(trial->why, sizeof trial->why, "%s", why);
        answer(t, false);
    }
}
