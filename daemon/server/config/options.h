/* Reads the command line, and the file that its --config names, by the rows of settings_rows.h. */
#ifndef SLATE_SERVER_CONFIG_OPTIONS_H
#define SLATE_SERVER_CONFIG_OPTIONS_H
#include "server/config/settings.h"

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_LICENSE, OPTIONS_VERSION, OPTIONS_DESCRIBE,
                      OPTIONS_DESCRIBE_COUNTERS, OPTIONS_CHECK, OPTIONS_BAD };

/* a sentence, with the variable's or the file's name and the line's number before it */
enum { OPTIONS_WHY_BYTES = SETTING_WHY_BYTES + 512 };

/* Reads the file's options and then those of argv into `settings`, which holds the defaults at
 * first. The first `from_environment` words behind the program's name are of SLATED_OPTIONS, and an
 * error in one of them says so. OPTIONS_BAD: `why` (OPTIONS_WHY_BYTES) holds a sentence.
 * OPTIONS_CHECK: --check-config was given, and the options are good. Settings borrow texts of argv,
 * whose sub-options are cut apart in place; they borrow the file's text from settings->config_text,
 * which has to live as long. Uses getopt: call it on one thread, before any other starts. */
enum options_action options_parse(int argc, char **argv, int from_environment,
                                  struct settings *settings, char *why);

/* Options from the environment, for containers: this variable holds words as a command line does.
 * They come before the words of the command line, which therefore win. */
#define OPTIONS_ENVIRONMENT "SLATED_OPTIONS"
/* Puts the words of `text` between the program's name and the other words of argv; *argc becomes
 * their number. Blanks separate words, except between quotes of either kind, which are removed. No
 * other character has a meaning. The last pointer is NULL. All of it is one allocation, the words
 * of argv are copies: reading options cuts them up, and ps shows them as they were given. Settings
 * may borrow from it, so it must live as long as they do. NULL: a quote has no end, or memory is
 * out; `why` (SETTING_WHY_BYTES) holds a sentence that says so. */
char **options_words(const char *text, int *argc, char **argv, char *why);
#endif
