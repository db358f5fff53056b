/* Reads the options of the command line and of the file of --config. settings_rows.h lists the
 * options. */
#ifndef SLATE_SERVER_CONFIG_OPTIONS_H
#define SLATE_SERVER_CONFIG_OPTIONS_H
#include "server/config/settings.h"

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_LICENSE, OPTIONS_VERSION, OPTIONS_DESCRIBE,
                      OPTIONS_DESCRIBE_COUNTERS, OPTIONS_CHECK, OPTIONS_BAD };

/* room for a sentence after the name of the variable, or the name of the file and the line
 * number */
enum { OPTIONS_WHY_BYTES = SETTING_WHY_BYTES + 512 };

/* Sets `settings` to the defaults, then reads the options of the file and those of argv. The first
 * `from_environment` words of argv behind the program's name come from SLATED_OPTIONS; errors in
 * them name the variable. OPTIONS_BAD: `why` (OPTIONS_WHY_BYTES) holds a sentence. OPTIONS_CHECK:
 * --check-config was given, and the options are good. Settings borrow texts of argv, whose
 * sub-options are cut in place, and of settings->config_text: both must live as long. Uses getopt:
 * call before other threads start. */
enum options_action options_parse(int argc, char **argv, int from_environment,
                                  struct settings *settings, char *why);

/* Options from the environment, for containers: this variable holds words as on a command line. The
 * words of the command line come after these, and so win. */
#define OPTIONS_ENVIRONMENT "SLATED_OPTIONS"
/* Inserts the words of `text` between the program's name and the other words of argv; *argc becomes
 * the number of all words. Blanks separate words, except between quotes of either kind, which are
 * removed. No other character has a meaning. The last pointer is NULL. The result is one allocation
 * with copies of the words: reading options cuts the copies, and ps still shows the originals.
 * Settings may borrow from the result, which must live as long. NULL: a quote has no end, or out of
 * memory; `why` (SETTING_WHY_BYTES) holds a sentence. */
char **options_words(const char *text, int *argc, char **argv, char *why);
#endif
