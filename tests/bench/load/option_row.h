/* Private to the option table: one row, and the parsers that rows name. */
#ifndef LOAD_OPTION_ROW_H
#define LOAD_OPTION_ROW_H
#include <stdbool.h>
#include <stddef.h>

struct row;

/* Writes the value of `text` to `field`; false, with nothing written, when the text is not of the option's form or out of its range. */
typedef bool option_parser(const struct row *row, const char *text, void *field);

/* `initial` is parsed like the user's text; NULL leaves the field zero. A row without a name is a
 * heading; one without help is not listed. */
struct row {
    const char *name;
    const char *argument; /* NULL: a switch */
    const char *initial;
    double min, max;     /* bounds of a number */
    const char *expects; /* completes "--name takes …"; NULL: numbers say their range */
    size_t offset;       /* the field's offset in struct options */
    option_parser *parse;
    const char *help;
};

/* Field types: bool, const char * (borrowed), uint64_t, double; the others as their names say. A count or real whose initial text is "auto"
 * accepts that word, too, and becomes OPTION_AUTO or -1. A time is a double in seconds, a whole time a number of seconds. */
option_parser option_parse_switch, option_parse_text, option_parse_count, option_parse_real,
    option_parse_time, option_parse_whole_time, option_parse_dist, option_parse_popularity,
    option_parse_method, option_parse_protocol, option_parse_size_by, option_parse_shift,
    option_parse_every, option_parse_verify, option_parse_format;
#endif
