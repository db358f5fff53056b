/* Modes of automove that are tried before they are set. */
#include <stdio.h>
#include <stdlib.h>

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

enum asked_how tuner_try_automove(struct tuner *t, struct automove_trial *trial) {
    lock_take(&t->lock);
    enum asked_how how = t->rests           ? ASKED_RESTS
                         : t->trial != NULL ? ASKED_BUSY
                                            : ASKED_TAKEN;
    if (how == ASKED_TAKEN) {
        asked_hold(&trial->asked);
        t->trial = trial;
    }
    lock_release(&t->lock);
    tuner_wake(t);
    return how;
}

static struct automove_trial *take(struct tuner *t) {
    lock_take(&t->lock);
    struct automove_trial *trial = t->trial;
    t->trial = NULL;
    lock_release(&t->lock);
    return trial;
}

static void answer(struct automove_trial *trial, bool starts) {
    trial->starts = starts;
    asked_answer(&trial->asked);
    automove_trial_release(&trial);
}

void tuner_serve_trial(struct tuner *t) {
    struct automove_trial *trial = take(t);
    if (trial != NULL) {
        const struct automove_config cfg = {.cache = t->cache, .policy_dir = t->policy_dir};
        answer(trial, automove_check(&cfg, trial->name, trial->why));
    }
}

void tuner_refuse_trial(struct tuner *t) {
    struct automove_trial *trial = take(t);
    if (trial != NULL) {
        snprintf(trial->why, sizeof trial->why, "the server stops");
        answer(trial, false);
    }
}
