/* Options from the environment, for containers: SLATED_OPTIONS holds words as a command line does,
 * and they come before the command line's own. */
#ifndef SLATE_SERVE_CONFIG_ENVIRONMENT_H
#define SLATE_SERVE_CONFIG_ENVIRONMENT_H

#define ENVIRONMENT_OPTIONS "SLATED_OPTIONS"

/* The words of `text` between the program's name and the other words of argv; *argc becomes their
 * number. Blanks part words, except between quotes of either kind, which are taken away; no other
 * character means anything. The last pointer is NULL. One allocation, which settings may borrow
 * from: it is for as long as they live. NULL, with one sentence in `why` (SETTING_WHY_BYTES): a
 * quote without an end, or no memory. */
char **environment_arguments(const char *text, int *argc, char **argv, char *why);
#endif
