/* Memory that a server holds in pages, against its limit: a class with items keeps a page, whatever the
 * limit is; and a limit that was lowered is met in time, or never.
 *
 * slatectl has the same rule in Lua (lua/slate/held.lua). Pure functions. */
#ifndef CONSOLE_HELD_H
#define CONSOLE_HELD_H
#include "stats.h"

/* From where on it is worth a word: a page or two over the limit is what a class costs that has just
 * come into use. Both must be exceeded. */
enum { HELD_OVER_PCT = 10, HELD_OVER_BYTES = 4 << 20 };

struct held {
    double bytes, limit_bytes; /* NAN: the server does not tell */
    double over_bytes;         /* the less of two samples, so that a moment does not count */
    unsigned classes;          /* that have pages */
    bool is_by_classes;        /* a page for each of these is more than the limit */
    bool is_falling, is_much;
};

/* before may be NULL. */
struct held held_measure(const struct snapshot *now, const struct snapshot *before);
#endif
