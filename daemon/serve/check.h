/* Whether what the options name is there, as far as no other room finds it before a port is opened.
 * Each start asks, and --check-config. */
#ifndef SLATE_SERVE_CHECK_H
#define SLATE_SERVE_CHECK_H
#include <stdbool.h>

#include "serve/config/settings.h"

/* The policy of slab_automove, the folders of files that are to be made. Makes none. Returns 0, or
 * a status of sysexits.h after a log line. */
int check_named(const struct settings *);

/* Prints the memory that the process needs. */
void check_print_need(const struct settings *);
/* Tells what is taken without effect, each with the reason; and a limit that nobody asked for. */
void check_tell_vain(const struct settings *);
#endif
