/* Reads STAT lines one by one, as text, for stats that are not in the tables of stats_snapshot.h.
 *
 * Names and values are copied: printable ASCII only, cut at the buffers' ends. Pure functions. */
#ifndef CONSOLE_FACTS_STAT_LINE_H
#define CONSOLE_FACTS_STAT_LINE_H
#include <stdbool.h>
#include <stddef.h>

struct stat_line {
    char name[64];
    char value[256]; /* all text after the name */
};

/* Reads the next STAT line from *at on, and moves *at after it; other lines are skipped. False at
 * the end. */
bool stat_line_next(const char **at, const char *end, struct stat_line *line);

/* The number of a text that is a decimal number, with a sign or not; NAN for any other text. */
double stat_line_number(const char *text);

/* "12:chunk_size" is 12 and "chunk_size"; false when the name does not begin with a number below
 * limit and a colon. */
bool stat_line_numbered(const char *name, unsigned limit, unsigned *number, const char **after);

/* The place for the number of a name, or for its text with a NUL. */
struct stat_slot {
    const char *name;
    double *to; /* NULL: a text */
    char *text;
    size_t text_bytes;
};
#define STAT_NUMBER(name, number) {name, &(number), NULL, 0}
#define STAT_TEXT(name, array) {name, NULL, array, sizeof(array)}

/* Puts the value into each slot of that name. slots: an array. */
void stat_line_take(const struct stat_slot *slots, size_t count, const char *name,
                    const char *value);
#define STAT_LINE_TAKE(slots, name, value)                                                         \
    stat_line_take(slots, sizeof(slots) / sizeof *(slots), name, value)

/* True if the words are the same. */
bool stat_line_is(const char *a, const char *b);

/* Copies up to n bytes of a server's line, to the line's end: unprintable bytes become '?'. */
void stat_line_printable(char *out, size_t out_bytes, const char *text, size_t n);

/* Copies a text, or the beginning that fits. */
void stat_line_copy(char *out, size_t out_bytes, const char *text);
#endif
