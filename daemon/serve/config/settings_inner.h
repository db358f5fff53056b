/* What the files of settings share. */
#ifndef SLATE_SERVE_CONFIG_SETTINGS_INNER_H
#define SLATE_SERVE_CONFIG_SETTINGS_INNER_H
#include "serve/config/settings.h"

/* Puts a sentence, or a clause of one, into `why` (SETTING_WHY_BYTES). Always false. */
__attribute__((format(printf, 2, 3))) bool setting_refuse(char *why, const char *format, ...);
/* Into the room of a choice, SETTING_CHOICE_BYTES. */
void setting_put_choice(char *at, const char *text);
#endif
