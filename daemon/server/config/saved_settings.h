/* Saves settings that were changed at run time in the memory file, as lines `name value`. The
 * next start reads them, except those that its own options give.
 *
 * Threading: the caller owns or guards the settings. */
#ifndef SLATE_SERVER_CONFIG_SAVED_SETTINGS_H
#define SLATE_SERVER_CONFIG_SAVED_SETTINGS_H
#include "cache/cache.h"
#include "server/config/settings.h"

/* Writes the settings of `now` that differ from `start` into the cache's memory file. One caller at
 * a time. */
void saved_settings_write(struct cache *, const struct settings *start, const struct settings *now);
/* Sets in `to` each RUNTIME value of the text that no option gave. A refused value is logged and
 * skipped. Changes the text. */
void saved_settings_read(char *text, struct settings *to);
#endif
