#include "serve/check.h"

#include <pwd.h>
#include <stdio.h>

#include "serve/access/users.h"
#include "serve/process.h"
#include "tune/policies/automove.h"

static bool mode_is_there(const struct settings *s, char *why) {
    char reason[REASON_BYTES], dir[1100];
    const struct automove_config modes = {.policy_dir = process_policy_dir(s, dir, sizeof dir)};
    if (automove_check(&modes, s->slab_automove, reason)) {
        return true;
    }
    snprintf(why, OPTIONS_WHY_BYTES, "-o slab_automove=%s: %s", s->slab_automove, reason);
    return false;
}

static bool users_are_good(const struct settings *s, char *why) {
    char         said[USERS_WHY_BYTES];
    struct users users;
    users_init(&users, settings_auth_file(s));
    bool good = !users.path || users_load(&users, said);
    users_fini(&users);
    if (!good) {
        snprintf(why, OPTIONS_WHY_BYTES, "%s", said);
    }
    return good;
}

/* Whoever checks may be another than who starts the server, so being root is no fault here. */
static bool user_exists(const struct settings *s, char *why) {
    if (s->user && !getpwnam(s->user)) {
        snprintf(why, OPTIONS_WHY_BYTES, "can't find the user %.200s to switch to", s->user);
        return false;
    }
    return true;
}

bool check_settings(const struct settings *s, char *why) {
    return mode_is_there(s, why) && users_are_good(s, why) && user_exists(s, why);
}
