/* Options from the environment, for containers: SLATED_OPTIONS holds words as a command line does.
 * They come before the words of the command line, which therefore win. */
#ifndef SLATE_SERVE_CONFIG_ENVIRONMENT_H
#define SLATE_SERVE_CONFIG_ENVIRONMENT_H

#define ENVIRONMENT_OPTIONS "SLATED_OPTIONS"

/* Puts the words of `text` between the program's name and the other words of argv; *argc becomes
 * their number. Blanks separate words, except between quotes of either kind, which are removed. No
 * other character has a meaning. The last pointer is NULL. All of it is one allocation. Settings
 * may borrow from it, so it must live as long as they do. NULL: a quote has no end, or memory is
 * out; `why` (SETTING_WHY_BYTES) holds a sentence that says so. */
char **environment_arguments(const char *text, int *argc, char **argv, char *why);
#endif
