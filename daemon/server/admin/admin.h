/* The commands that change or stop the server. Each writes its whole answer to ctx->out; words[0]
 * is the command's name. A trailing `noreply` is removed before, where the command supports it.
 * Threading: the control thread (command_order), except for `config get`, dumps and `watch`. */
#ifndef SLATE_SERVER_ADMIN_ADMIN_H
#define SLATE_SERVER_ADMIN_ADMIN_H
#include "server/commands/command.h"
#include "server/commands/command_words.h"

#define REPLY_ERROR "ERROR\r\n"
#define REPLY_OK "OK\r\n"
#define ANSWER_BAD_FORMAT "CLIENT_ERROR bad command line format\r\n"

/* Checks the settings, puts them in force and records the client. False: nothing changed, and `why`
 * (SETTING_WHY_BYTES) holds a sentence. */
bool admin_change(struct command_context *, const struct settings *to, char *why);
/* Records a command that changes no setting. */
void admin_audit(struct command_context *, const char *what, const char *is);
void admin_audit_change(struct command_context *, const char *what, const char *was,
                        const char *is);

void admin_verbosity(struct command_context *, const struct words *);
void admin_flush_all(struct command_context *, const struct words *);
void admin_shutdown(struct command_context *, const struct words *);
void admin_cache_memlimit(struct command_context *, const struct words *);
void admin_watch(struct command_context *, const struct words *);
void admin_extstore(struct command_context *, const struct words *);
void admin_refresh_auth(struct command_context *, const struct words *);
void admin_refresh_certs(struct command_context *, const struct words *);
void admin_slabs(struct command_context *, const struct words *);       /* admin_slabs.c */
void admin_slabs_automove(struct command_context *, const struct words *); /* admin_automove.c */
/* Whether these settings have a new mode of automove that needs a trial first (admin_trial.c). */
bool admin_needs_trial(const struct command_context *, const struct settings *to);
/* Tries a mode of automove, and sets the mode if it starts. Otherwise the error holds `subject`, a
 * constant, and the reason. */
void admin_try_automove(struct command_context *, const char *mode, const char *subject);
/* The same, but `then` answers if the mode starts. */
typedef void (*admin_trial_then)(struct command_context *, const char *mode, const char *subject);
void admin_try_then(struct command_context *, const char *mode, const char *subject,
                    admin_trial_then);
void admin_slabs_geometry(struct command_context *, const struct words *); /* admin_geometry.c */
void admin_lru(struct command_context *, const struct words *);         /* admin_lru.c */
void admin_evict(struct command_context *, const struct words *);       /* admin_evict.c */
void admin_lru_crawler(struct command_context *, const struct words *); /* admin_crawler.c */
void admin_config(struct command_context *, const struct words *);      /* admin_config.c */
#ifdef SLATE_DEBUG
void admin_debugtime(struct command_context *, const struct words *); /* admin_debug.c */
void admin_debugitem(struct command_context *, const struct words *);
#endif
#endif
