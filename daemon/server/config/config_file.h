/* Cuts a file of options into lines. Which options there are, and what they mean, is in options.c.
 *
 *     # a comment
 *     memory-limit = 1024        a name, with or without =, and a value, or a name alone
 *     listen 127.0.0.1 # why     a # behind a blank begins a comment, but in quotes
 *     -m 1024 -c 4096 # why      or words of the command line, as in memcached's memcached.conf
 */
#ifndef SLATE_SERVER_CONFIG_CONFIG_FILE_H
#define SLATE_SERVER_CONFIG_CONFIG_FILE_H
#include <stdbool.h>

enum { CONFIG_FILE_BYTES_MOST = 64 * 1024 };

struct config_line {
    unsigned number; /* from 1 */
    bool     letters; /* it began with one dash, and `name` holds letters, as "vv" of -vv */
    bool     dashed;  /* it began with one or two */
    char    *name;
    char *
        value; /* not unquoted before config_line_remainder; NULL: there is none; it may be empty */
};

/* Reads the text of a file, which the caller then owns. NULL: the file cannot be read, is too long,
 * or holds bytes that are no text; `why` (SETTING_WHY_BYTES) holds a clause that says so. */
char *config_file_read(const char *path, char *why);

/* Cuts the next line that holds an option. False: the text has ended. At the first call *at is the
 * text and line.number is 0. It changes the text, and the line points into it. */
bool config_file_next(char **at, struct config_line *line);

/* Takes the quotes off the line's value. If the line began with a dash, another option may stand
 * behind the value, or in the value's place if `takes_value` is false. Returns where that option
 * begins, for config_line_cut, and cuts the value there. NULL: there is none. */
char *config_line_remainder(struct config_line *line, bool takes_value);
/* The next option of the same line. */
void config_line_cut(char *remainder, struct config_line *line);
#endif
