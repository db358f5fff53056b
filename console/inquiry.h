/* What is asked of a server only while someone looks at it: answers beyond a refresh, most of them
 * slated's alone. A view names what it wants (struct view); the poller asks for that along with the
 * refreshes, at most every INQUIRY_EVERY of them; the model keeps the last answer of each as text,
 * and whoever draws it parses it with the functions below. To add one: a row in the table.
 *
 * Functions do no I/O. One thread. */
#ifndef CONSOLE_INQUIRY_H
#define CONSOLE_INQUIRY_H
#include "stat_line.h"

#include <stdint.h>

/* clang-format off */
/* X(name, command, only slated knows it) */
#define INQUIRIES(X)                         \
    X(SETTINGS, "stats settings", false)     \
    X(CONFIG, "stats config", true)          \
    X(POLICIES, "stats policies", true)      \
    X(MOVES, "stats moves", true)            \
    X(AUTOMOVE, "stats automove", true)      \
    X(WHATIF, "stats whatif", true)          \
    X(GEOMETRY, "stats geometry", true)      \
    X(CURVE, "stats curve", true)
/* clang-format on */

#define INQUIRY_ENUM(name, command, slated) INQUIRY_##name,
enum inquiry { INQUIRIES(INQUIRY_ENUM) INQUIRY_COUNT };
#define INQUIRY_BIT(name) (1u << INQUIRY_##name)

struct inquiry_row {
    const char *command;
    bool slated_only;
};
extern const struct inquiry_row inquiry_rows[INQUIRY_COUNT];

enum { INQUIRY_EVERY = 2 /* refreshes */ };

/* The last answers of one server. All zero: none. */
struct answers {
    struct answer {
        char *text; /* STAT lines with a NUL behind; owned. NULL: none yet, or the server refused */
        uint64_t at_ms;
    } of[INQUIRY_COUNT];
};
void answers_fini(struct answers *answers);

/* Takes a copy of a reply; is_stats is false for a refusal, which forgets the answer of before. */
void answers_take(struct answers *answers, enum inquiry inquiry, const char *text, size_t bytes,
                  bool is_stats, uint64_t now_ms);

/* NULL when there is none; valid until the next answer. */
const char *answer_text(const struct answers *answers, enum inquiry inquiry);

/* Goes through the STAT lines of a text, NULL included: false at the end. Start with *at = the text. */
bool stat_next(const char **at, struct stat_line *line);

/* The value of one name, "" when it is not there. Cost: O(text). */
const char *stat_value(const char *text, const char *name, struct stat_line *line);

/* The same as a number; NAN when it is absent or none. */
double stat_value_number(const char *text, const char *name);
#endif
