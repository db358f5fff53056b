/* Settings that were changed while the server ran, kept in the memory file, a line `name value`
 * each. The next start takes them from there, except those that its own options give.
 *
 * Threading: that of the settings, which are copies or guarded by their owner. */
#ifndef SLATE_SERVER_CONFIG_SAVED_SETTINGS_H
#define SLATE_SERVER_CONFIG_SAVED_SETTINGS_H
#include "cache/cache.h"
#include "server/config/settings.h"

/* Writes those of `now` that differ from `start` into the cache's memory file. One caller at a
 * time. */
void saved_settings_write(struct cache *, const struct settings *start, const struct settings *now);
/* Sets in `to` each value of the text that may be changed at run time and was not given at the
 * start. A value that cannot be set is logged and left out. Changes the text. */
void saved_settings_read(char *text, struct settings *to);
#endif
