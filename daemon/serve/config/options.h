/* The command line, read by settings_rows.h. */
#ifndef SLATE_SERVE_CONFIG_OPTIONS_H
#define SLATE_SERVE_CONFIG_OPTIONS_H
#include "serve/config/settings.h"

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_LICENSE, OPTIONS_VERSION, OPTIONS_DESCRIBE,
                      OPTIONS_DESCRIBE_COUNTERS, OPTIONS_BAD };

/* Reads argv into `settings`, which starts with the defaults. OPTIONS_BAD: `why`
 * (SETTING_WHY_BYTES) holds one sentence. Texts of argv are borrowed and sub-options are cut apart
 * in place. Uses getopt: one thread, before any other starts. */
enum options_action options_parse(int argc, char **argv, struct settings *settings, char *why);
#endif
