/* The words of the palette: a table of commands by their names, beside the names of the views; and
 * a line that is typed, as a word and what stands behind it. Pure. */
#ifndef CONSOLE_VIEWS_PALETTE_WORDS_H
#define CONSOLE_VIEWS_PALETTE_WORDS_H
#include "views/view.h"

enum { PALETTE_LINE_BYTES = 120 };

/* What follows a word. */
enum palette_argument {
    NO_ARGUMENT,
    A_COLUMN,
    A_FILTER,
    A_THEME,
    A_WINDOW,
    A_SETTING,
    A_SERVER,
    A_CLASS
};

struct palette_word {
    const char *word;
    enum palette_argument argument;
    enum command command; /* that a key has, too; of a word with an argument: the one that does it a
                             step at a time */
    const char *help;     /* of a word with an argument; the others' help is that of the key */
};
extern const struct palette_word palette_words[];
extern const unsigned palette_word_count;

/* NULL when no row has it. */
const struct palette_word *palette_word_find(const char *word);

/* The view of that name, without regard to case; NULL for none. */
const struct view *palette_view_find(const char *name);

/* The row of a command's key in the view that is open; NULL when it has none there. */
const struct key_row *palette_key_row(const struct ui *ui, enum command command);

/* Whether the table or the name of a view has a word for a command; for tests. */
bool palette_knows(enum command command);

struct palette_line {
    char word[PALETTE_LINE_BYTES];
    const char *rest; /* behind the word and its blank; NULL while the word is still typed */
};
struct palette_line palette_split(const char *typed);
#endif
