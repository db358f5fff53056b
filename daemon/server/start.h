/* Steps of a start, for main and --check-config: checks of files and modes that the settings name,
 * the configuration of cache and control room, and what a start prints. */
#ifndef SLATE_SERVER_START_H
#define SLATE_SERVER_START_H
#include <stdbool.h>

#include "cache/cache.h"
#include "control/tuner.h"
#include "server/config/settings.h"
#include "server/server.h"

/* Checks the mode of slab_automove, and that files can be opened or created. Creates none. Returns
 * 0, or a status of sysexits.h after a log line. */
int start_check_named(const struct settings *);

/* Loads the users and starts the threads of logins. --check-config only tries to. Returns as
 * above. */
int start_access(struct server *, bool only_check);

void start_log_classes(struct cache *); /* with -vv, as memcached logs them */
/* Prints the first line of -h and -V. A program named memcached prints a line of memcached's
 * before, which test suites of clients expect. */
void start_version(const char *program, const char *more);
void start_help(const char *program);
/* Prints how much memory the process needs. */
void start_print_need(const struct settings *);
/* Logs each option without effect, with the reason, and a limit that the control group sets. */
void start_report_ineffective(const struct settings *);

/* Fills `config`, which borrows texts of the settings and `sizes`. The caller adds the memory file
 * and what another process handed over. */
void start_cache_config(const struct settings *, struct cache_config *, struct slab_sizes *sizes);

/* Fills `config`. The caller adds the folder of policies and the callbacks. */
void start_control_config(const struct settings *, struct tuner_config *);
#endif
