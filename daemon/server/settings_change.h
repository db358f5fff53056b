/* Changes of the settings in force. Threading: the control thread, within orders and tasks
 * (control/control.h), except for settings_restore and settings_save. */
#ifndef SLATE_SERVER_SETTINGS_CHANGE_H
#define SLATE_SERVER_SETTINGS_CHANGE_H
#include "server/server.h"

/* Puts the RUNTIME values of `to` in force, passes them to their owners (cache, control, log) and
 * records each change with its old value and `who` in the audit. False, and nothing changed: the
 * settings break a rule, the cache refuses the memory limit, or the system that many files; `why`
 * (SETTING_WHY_BYTES) holds a sentence. */
bool settings_change(struct server *, const char *who, const struct settings *to, char *why);
/* Takes back the last change of settings or of policies that was not taken back yet. 1: done, and
 * `text` lists the restored values; 0: there is no such change; -1: refused, `text` holds the
 * reason, and the change stays the last. */
int settings_undo(struct server *, const char *who, char text[UNDO_TEXT_BYTES]);
/* Applies the next undo to a copy of the settings. */
void settings_preview_undo(const struct server *, struct settings *to);

/* For tuner_config.on_failure; `server` is a struct server. Sets slab_automove to `now`. */
void settings_automove_failed(void *server, const char *mode, const char *now, const char *why);
/* For tuner_config.on_prediction; `server` is a struct server. Adds an entry to the audit. */
void settings_prediction_came(void *server, const char *words);
/* For tuner_config.on_own_sizes. The same. */
void settings_own_sizes(void *server, const char *was, const char *is);

/* The part of the settings that each of them goes by. */
struct cache_settings settings_of_cache(const struct settings *);
struct tuner_settings  settings_of_tuner(const struct settings *);

/* --- for main --- */

/* Restores the settings saved in a memory file (server/config/saved_settings.h), into `now` too.
 * Called before anything is built from the settings. `modes` lists the modes of automove. */
void settings_restore(struct server *, struct settings *now, const struct memory_file *,
                      const struct automove_config *modes);
/* Posts the saving of settings that differ from the start's into the memory file. Any thread. */
void settings_save(struct server *);
#endif
