/* A file of options, cut into lines: which options there are, and what they mean, options.c knows.
 *
 *     # a comment
 *     memory-limit = 1024        a name, with or without =, and a value, or a name alone
 *     listen 127.0.0.1
 *     -m 1024                    or words of the command line, as in memcached's memcached.conf
 */
#ifndef SLATE_SERVE_CONFIG_CONFIG_FILE_H
#define SLATE_SERVE_CONFIG_CONFIG_FILE_H
#include <stdbool.h>

enum { CONFIG_FILE_BYTES_MOST = 64 * 1024 };

struct config_line {
    unsigned number; /* from 1 */
    bool     letters; /* it began with one dash: `name` holds letters, as in -vv */
    char    *name;
    char    *value; /* NULL: none; may be empty */
};

/* The text of a file, which the caller owns. NULL, with a clause in `why` (SETTING_WHY_BYTES):
 * it cannot be read, is too long or holds what is no text. */
char *config_file_read(const char *path, char *why);

/* The next line that holds an option; false at the end. Starts with *at the text and line.number 0.
 * Cuts the text in place; the line points into it. */
bool config_file_next(char **at, struct config_line *line);
#endif
