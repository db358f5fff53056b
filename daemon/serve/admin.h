/* The commands that change or stop the server. Each writes its whole answer to ctx->out; words[0] is the command's name.
 * A trailing `noreply` is already taken off where the command honours it. */
#ifndef SLATE_SERVE_ADMIN_H
#define SLATE_SERVE_ADMIN_H
#include "serve/commands.h"
#include "serve/words.h"

#define ANSWER_ERROR "ERROR\r\n"
#define ANSWER_OK "OK\r\n"
#define ANSWER_BAD_FORMAT "CLIENT_ERROR bad command line format\r\n"

void admin_verbosity(struct command_context *, const struct words *);
void admin_flush_all(struct command_context *, const struct words *);
void admin_shutdown(struct command_context *, const struct words *);
void admin_cache_memlimit(struct command_context *, const struct words *);
void admin_watch(struct command_context *, const struct words *);
void admin_extstore(struct command_context *, const struct words *);
void admin_refresh_certs(struct command_context *, const struct words *);
void admin_slabs(struct command_context *, const struct words *);       /* admin_slabs.c */
void admin_lru(struct command_context *, const struct words *);         /* admin_lru.c */
void admin_lru_crawler(struct command_context *, const struct words *); /* admin_crawler.c */
void admin_config(struct command_context *, const struct words *);      /* admin_config.c */
#ifdef SLATE_DEBUG
void admin_debugtime(struct command_context *, const struct words *); /* admin_debug.c */
void admin_debugitem(struct command_context *, const struct words *);
#endif
#endif
