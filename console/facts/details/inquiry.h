/* Requests to a server that slatetop sends only while a view shows their answers. Most are slated's
 * alone. A view names its inquiries (struct view); the poller sends them with every refresh, in the
 * same round trip and before it, and at once when an inquiry is new.
 *
 * The state of each inquiry is here: not requested, known, or refused with the server's words.
 * Answers with settings are stored as text, too; answers of another form are parsed (details.h). To
 * add one: a row in the table, and a case in details_take. Functions do no I/O. One thread. */
#ifndef CONSOLE_FACTS_DETAILS_INQUIRY_H
#define CONSOLE_FACTS_DETAILS_INQUIRY_H
#include "facts/stat_line.h"
#include "facts/stats_snapshot.h"

#include <stdint.h>

enum inquiry_server {
    OF_ALL,
    OF_SLATED,
    OF_TRACKED /* memcached with -o track_sizes */
};

/* clang-format off */
/* X(name, command, servers that know it, its text is stored). Command "": the answer comes with
 * replies of a refresh, or the poller makes the line. */
#define INQUIRIES(X)                                            \
    X(CLASS, "", OF_ALL, false)         /* every stat of one class */ \
    X(SETTINGS, "", OF_ALL, true)       /* with every refresh, not now and then */ \
    X(CONFIG, "stats config", OF_SLATED, true)                  \
    X(POLICIES, "stats policies", OF_SLATED, true)              \
    X(MOVES, "stats moves", OF_SLATED, true)                    \
    X(AUTOMOVE, "stats automove", OF_SLATED, true)              \
    X(EVICTIONS, "stats evictions", OF_SLATED, false)           \
    X(PAGES, "", OF_SLATED, false)      /* in parts */          \
    X(SIZEHIST, "stats sizehist", OF_SLATED, false)             \
    X(STOCK_SIZES, "stats sizes", OF_TRACKED, true)             \
    X(GEOMETRY, "stats geometry", OF_SLATED, true)              \
    X(CURVE, "stats curve", OF_SLATED, true)                    \
    X(CLASS_CURVES, "", OF_SLATED, false) /* some classes a refresh, in turn */ \
    X(WHATIF, "stats whatif", OF_SLATED, true)                  \
    X(MEMORY, "stats memory", OF_SLATED, true)                  \
    X(HOTKEYS, "stats hotkeys 64", OF_SLATED, false)            \
    X(PREDICTIONS, "", OF_SLATED, false)   /* for chunk sizes, "slabs geometry ... dry" */
/* clang-format on */

#define INQUIRY_ENUM(name, command, server, stores) INQUIRY_##name,
enum inquiry { INQUIRIES(INQUIRY_ENUM) INQUIRY_COUNT };
#define INQUIRY_BIT(name) (1u << INQUIRY_##name)

struct inquiry_row {
    const char *command;
    enum inquiry_server server;
    bool stores_text;
};
extern const struct inquiry_row inquiry_rows[INQUIRY_COUNT];

/* True if this server knows the inquiry; else *why_not has a few words. now may be NULL. */
bool inquiry_is_offered(enum inquiry inquiry, const struct snapshot *now, const char **why_not);

enum answer_state { ANSWER_NONE, ANSWER_KNOWN, ANSWER_REFUSED };

/* The states of the inquiries to one server. All zero: none was sent. */
struct answers {
    struct answer {
        enum answer_state state;
        uint64_t at_ms;
        char refusal[100]; /* the server's words */
        char *text;        /* STAT lines, ended by a NUL; owned. NULL: none, or not stored */
    } of[INQUIRY_COUNT];
};
void inquiry_fini(struct answers *answers); /* all zero, as before the first */

/* Notes a reply, and copies it if its text is stored. is_stats is false for a refusal, which drops
 * the previous answer. */
void inquiry_take(struct answers *answers, enum inquiry inquiry, const char *text, size_t bytes,
                  bool is_stats, uint64_t now_ms);

/* An answer's text; NULL: no answer, or no text stored. Valid until the next answer. */
const char *inquiry_text(const struct answers *answers, enum inquiry inquiry);
#endif
