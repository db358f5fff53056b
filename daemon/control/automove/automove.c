#include "control/automove/automove.h"

#include <stdio.h>
#include <string.h>

const struct automove_mode automove_off = {
    .name = "off", .number = 0, .help = "pages stay where they are"};

const struct automove_mode *const automove_modes[] = {
    &automove_off,
    &automove_ratio,
    &automove_eviction,
    &automove_random,
    &automove_lra,
    &automove_lrc,
    &automove_utility,
    &automove_lua,
    NULL,
};

static bool automove_takes_argument(const struct automove_mode *mode) {
    return mode->name[strlen(mode->name) - 1] == ':';
}

const struct automove_mode *automove_find(const char *name, const char **argument) {
    *argument = "";
    if (strlen(name) >= AUTOMOVE_NAME_BYTES) {
        return NULL;
    }
    for (const struct automove_mode *const *at = automove_modes; *at != NULL; at++) {
        size_t n = strlen((*at)->name);
        if (automove_takes_argument(*at) && strncmp(name, (*at)->name, n) == 0 && name[n] != '\0') {
            *argument = name + n;
            return *at;
        }
        bool is_number =
            (*at)->number >= 0 && name[0] == '0' + (*at)->number && name[1] == '\0';
        if (strcmp(name, (*at)->name) == 0 || is_number) {
            return automove_takes_argument(*at) ? NULL : *at;
        }
    }
    return NULL;
}

bool automove_check(const struct automove_config *cfg, const char *name, char *why) {
    const char *argument;
    const struct automove_mode *mode = automove_find(name, &argument);
    char list[REASON_BYTES];
    if (mode == NULL) {
        automove_list(list, sizeof list);
        snprintf(why, REASON_BYTES, "no such mode, there are %.120s", list);
        return false;
    }
    return mode->check == NULL || mode->check(cfg, argument, why);
}

bool automove_wants_check(const char *name) {
    const char *argument;
    const struct automove_mode *mode = automove_find(name, &argument);
    return mode != NULL && mode->check != NULL;
}

void automove_spell(const struct automove_mode *mode, const char *argument,
                    char to[AUTOMOVE_NAME_BYTES]) {
    if (mode->number >= 0) {
        snprintf(to, AUTOMOVE_NAME_BYTES, "%d", mode->number);
    } else {
        snprintf(to, AUTOMOVE_NAME_BYTES, "%s%s", mode->name, argument);
    }
}

void automove_list(char *to, size_t room) {
    size_t used = 0;
    for (const struct automove_mode *const *at = automove_modes; *at != NULL && used < room; at++) {
        int n = snprintf(to + used, room - used, "%s%s%s", used > 0 ? "|" : "", (*at)->name,
                         automove_takes_argument(*at) ? "NAME" : "");
        used += n > 0 ? (size_t)n : 0;
    }
}
