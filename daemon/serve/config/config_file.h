/* Cuts a file of options into lines. Which options there are, and what they mean, is in options.c.
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
    bool     letters; /* it began with one dash, and `name` holds letters, as "vv" of -vv */
    char    *name;
    char    *value; /* NULL: there is none; it may be empty */
};

/* Reads the text of a file, which the caller then owns. NULL: the file cannot be read, is too long,
 * or holds bytes that are no text; `why` (SETTING_WHY_BYTES) holds a clause that says so. */
char *config_file_read(const char *path, char *why);

/* Cuts the next line that holds an option. False: the text has ended. At the first call *at is the
 * text and line.number is 0. It changes the text, and the line points into it. */
bool config_file_next(char **at, struct config_line *line);
#endif
