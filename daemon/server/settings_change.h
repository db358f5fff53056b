/* Changes of the settings in force. Threading: the control thread's, within orders and tasks
 * (control/control.h), but for server_recall and server_note_settings. */
#ifndef SLATE_SERVER_SETTINGS_CHANGE_H
#define SLATE_SERVER_SETTINGS_CHANGE_H
#include "server/server.h"

/* Puts the RUNTIME values of `to` in force, tells whoever owns them (cache, tuner, log) and puts
 * each change with its old value and with `who` wanted it into the audit log. False, and nothing
 * changed: the settings break a rule, the cache cannot have that memory limit, or the process that
 * many files; `why` (SETTING_WHY_BYTES) holds a sentence. */
bool server_change(struct server *, const char *who, const struct settings *to, char *why);
/* Takes back the last change that server_change or a change of policies made and that was not taken
 * back yet. 1: `said` tells what is as before; 0: there is none; -1: it cannot be, `said` tells
 * why, and it stays the last. */
int server_undo(struct server *, const char *who, char said[UNDO_SAID_BYTES]);
/* Puts into a copy of the settings what the next undo would make of them. */
void server_undo_settings(const struct server *, struct settings *to);

/* For tune_config.on_failure, with the server: the setting becomes `now`, too. Control thread. */
void server_automove_failed(void *server, const char *mode, const char *now, const char *why);
/* For tune_config.on_came, with the server: an entry of the audit. */
void server_prediction_came(void *server, const char *words);

/* The part of the settings that each of them goes by. */
struct cache_settings settings_of_cache(const struct settings *);
struct tune_settings  settings_of_tuner(const struct settings *);

/* --- for main --- */

/* Takes up the settings that a memory file's note tells (server/config/kept_settings.h), also into
 * `now`, before anything is built from the settings; `modes` says which modes of automove there
 * are. */
void server_recall(struct server *, struct settings *now, const struct memory_file *,
                   const struct automove_config *modes);
/* Has the settings that differ from the start's noted in the memory file. */
void server_note_settings(struct server *);
#endif
