/* Changes of the settings in force. Threading: the control thread's, within orders and tasks
 * (control/control.h), but for settings_restore and settings_save. */
#ifndef SLATE_SERVER_SETTINGS_CHANGE_H
#define SLATE_SERVER_SETTINGS_CHANGE_H
#include "server/server.h"

/* Puts the RUNTIME values of `to` in force, tells whoever owns them (cache, tuner, log) and puts
 * each change with its old value and with `who` wanted it into the audit log. False, and nothing
 * changed: the settings break a rule, the cache cannot have that memory limit, or the process that
 * many files; `why` (SETTING_WHY_BYTES) holds a sentence. */
bool settings_change(struct server *, const char *who, const struct settings *to, char *why);
/* Takes back the last change of settings or of policies that was not taken back yet. 1: done, and
 * `text` lists the restored values; 0: there is no such change; -1: refused, `text` holds the
 * reason, and the change stays the last. */
int settings_undo(struct server *, const char *who, char text[UNDO_TEXT_BYTES]);
/* Puts into a copy of the settings what the next undo would make of them. */
void settings_preview_undo(const struct server *, struct settings *to);

/* For tune_config.on_failure, with the server: the setting becomes `now`, too. Control thread. */
void settings_automove_failed(void *server, const char *mode, const char *now, const char *why);
/* For tune_config.on_came, with the server: an entry of the audit. */
void settings_prediction_came(void *server, const char *words);

/* The part of the settings that each of them goes by. */
struct cache_settings settings_of_cache(const struct settings *);
struct tune_settings  settings_of_tuner(const struct settings *);

/* --- for main --- */

/* Takes up the settings that a memory file's note tells (server/config/saved_settings.h), also into
 * `now`, before anything is built from the settings; `modes` says which modes of automove there
 * are. */
void settings_restore(struct server *, struct settings *now, const struct memory_file *,
                      const struct automove_config *modes);
/* Has the settings that differ from the start's noted in the memory file. */
void settings_save(struct server *);
#endif
