/* What a start does with the settings: whether what they name is there, as far as no other room
 * finds it before a port is opened, which --check-config asks, too; what cache and tuner are told
 * of them; what it prints. */
#ifndef SLATE_SERVER_START_H
#define SLATE_SERVER_START_H
#include <stdbool.h>

#include "cache/cache.h"
#include "control/tune.h"
#include "server/config/settings.h"
#include "server/server.h"

/* The policy of slab_automove, the folders of files that are to be made. Makes none. Returns 0, or
 * a status of sysexits.h after a log line. */
int start_check_named(const struct settings *);

/* Takes up users, and threads that log clients in, which --check-config only tries. Likewise. */
int start_access(struct server *, bool only_check);

void start_log_classes(struct cache *); /* with -vv, in memcached's lines */
/* The first line of -h and -V. Under memcached's name, one of memcached's stands before it: suites
 * of clients look for that. */
void start_version(const char *program, const char *more);
void start_help(const char *program);
/* Prints the memory that the process needs. */
void start_print_need(const struct settings *);
/* Tells what is taken without effect, each with the reason; and a limit that nobody asked for. */
void start_report_ineffective(const struct settings *);

/* Borrows texts of the settings, and `sizes`, which it fills. A file of items, and what comes of
 * another process, is left out. */
void start_cache_config(const struct settings *, struct cache_config *, struct slab_sizes *sizes);

/* Likewise; the folder of policies, and who hears of a policy's failure, are left out. */
void start_control_config(const struct settings *, struct tune_config *);
#endif
