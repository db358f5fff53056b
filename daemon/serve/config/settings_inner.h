/* What settings*.c share. */
#ifndef SLATE_SERVE_CONFIG_SETTINGS_INNER_H
#define SLATE_SERVE_CONFIG_SETTINGS_INNER_H
#include "serve/config/settings.h"

/* Writes a sentence, or a clause of one, into `why` (SETTING_WHY_BYTES). Returns false. */
__attribute__((format(printf, 2, 3))) bool setting_refuse(char *why, const char *format, ...);
/* Copies a choice into SETTING_CHOICE_BYTES of room. */
void setting_put_choice(char *at, const char *text);
#endif
