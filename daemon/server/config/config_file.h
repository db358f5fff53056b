/* Cuts a file of options into lines. options.c has the options and their meaning.
 *
 *     # a comment
 *     memory-limit = 1024        a name, with or without =, and a value, or a name alone
 *     listen 127.0.0.1 # why     outside quotes a # behind a blank begins a comment
 *     -m 1024 -c 4096 # why      or words of the command line, as in memcached's memcached.conf */
#ifndef SLATE_SERVER_CONFIG_CONFIG_FILE_H
#define SLATE_SERVER_CONFIG_CONFIG_FILE_H
#include <stdbool.h>

enum { CONFIG_FILE_BYTES_MOST = 64 * 1024 };

struct config_line {
    unsigned number; /* from 1 */
    bool     letters; /* one dash before the name, which holds letters: "vv" of -vv */
    bool     dashed;  /* one or two dashes before the name */
    char    *name;
    char *
        value; /* with quotes until config_line_remainder; may be empty; NULL: none */
};

/* Reads a file. The caller owns the text. NULL: the file cannot be read, is too long, or holds a
 * zero byte; `why` (SETTING_WHY_BYTES) holds a clause. */
char *config_file_read(const char *path, char *why);

/* Cuts the next line that holds an option. False: the text has ended. At the first call *at is the
 * text and line.number is 0. Changes the text; the line points into the text. */
bool config_file_next(char **at, struct config_line *line);

/* Removes the quotes of the line's value. In a line that begins with a dash another option may
 * follow the value, or replace the value if `takes_value` is false. Returns the start of that
 * option, for config_line_cut, and cuts the value there. NULL: no other option. */
char *config_line_remainder(struct config_line *line, bool takes_value);
/* Cuts the next option of the same line. */
void config_line_cut(char *remainder, struct config_line *line);
#endif
