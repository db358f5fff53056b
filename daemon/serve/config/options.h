/* The command line and the file that its --config names, read by settings_rows.h. */
#ifndef SLATE_SERVE_CONFIG_OPTIONS_H
#define SLATE_SERVE_CONFIG_OPTIONS_H
#include "serve/config/settings.h"

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_LICENSE, OPTIONS_VERSION, OPTIONS_DESCRIBE,
                      OPTIONS_DESCRIBE_COUNTERS, OPTIONS_CHECK, OPTIONS_BAD };

enum { OPTIONS_WHY_BYTES = SETTING_WHY_BYTES + 512 }; /* a sentence, behind a file and a line */

/* Reads argv into `settings`, which starts with the defaults; those of the file come first.
 * OPTIONS_BAD: `why` (OPTIONS_WHY_BYTES) holds one sentence. OPTIONS_CHECK: --check-config was
 * given, and the options are good. Texts of argv are borrowed and sub-options are cut apart in
 * place; the file's text is kept in settings->config_text, for as long as the settings live. Uses
 * getopt: one thread, before any other starts. */
enum options_action options_parse(int argc, char **argv, struct settings *settings, char *why);
#endif
