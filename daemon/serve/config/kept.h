/* Settings that outlive the process in the memory file: those that were changed while it ran, a
 * line `name value` each. The next start takes them up again, but for what its own options say.
 *
 * Threading: that of the settings, which are copies or guarded by their owner. */
#ifndef SLATE_SERVE_CONFIG_KEPT_H
#define SLATE_SERVE_CONFIG_KEPT_H
#include "cache/cache.h"
#include "serve/config/settings.h"

/* Keeps in the cache's memory file what differs from the start's options. One caller at a time. */
void kept_settings_write(struct cache *, const struct settings *start, const struct settings *now);
/* Makes each value of the text that of `to` which may be changed at run time and was not given at
 * the start. What cannot be taken is left out, with a line in the log. The text is changed. */
void kept_settings_read(char *text, struct settings *to);
#endif
