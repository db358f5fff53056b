/* The settings that a server can change while it runs: what each is now and what it may be.
 *
 * One table for memcached and slated: which rows a server can change, and since when, is in it; the
 * others are shown with the reason. slated's `stats config` adds its limits, choices and sources. Pure functions of
 * the answers given. One thread. */
#ifndef CONSOLE_ACT_SETTING_H
#define CONSOLE_ACT_SETTING_H
#include "act/setting_wire.h"
#include "facts/stats.h"

/* clang-format off */
enum {
    SETTINGS_MOST = 24,
    AUTOMOVE_WINDOW_LEAST_S = 3, AUTOMOVE_WINDOW_MOST_S = 1800, /* beyond these, 1.6.34 to 1.6.44 crash */
    MEMORY_LEAST_MIB = 8, HOT_AND_WARM_MOST_PCT = 80
};
/* clang-format on */

enum setting_form { FORM_NUMBER, FORM_CHOICE, FORM_TEXT };

struct tunable {
    char name[SETTING_NAME_BYTES]; /* as in `stats settings`, or our own: policy, class_policy, geometry;
                                      also its term in man/explain.txt */
    char label[32];
    enum setting_form form;
    char now[SETTING_VALUE_BYTES]; /* "" when unknown */
    char source[12];               /* default, start, runtime; "" when the server does not tell */
    char choices[SETTING_VALUE_BYTES]; /* FORM_CHOICE: with '|' between them */
    double least, most, step;          /* FORM_NUMBER */
    char refusal[100];                 /* why it can't change on this server; "" when it can */
};

/* The rows for this server, in the order of the screen; class_id is the class whose policy is meant
 * by class_policy. Returns how many. now is never NULL. */
unsigned settings_list(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                       struct tunable out[SETTINGS_MOST]);

/* The name of the row at a place of that list. */
const char *setting_name_at(unsigned row);

/* One row by name; false when the server has none of that name. */
bool settings_find(const struct snapshot *now, const struct answers *answers, const char *name,
                   unsigned class_id, struct tunable *out);

/* The value one step up or down, or the next or previous choice, within its limits. */
void setting_step(const struct tunable *row, const char *value, int step,
                  char out[SETTING_VALUE_BYTES]);

/* Whether a value may be sent: form, limits, the rules between values, and what this version is
 * known to crash on. False: why is a sentence. */
bool setting_check(const struct tunable *row, const char *value, char *why, size_t why_bytes);

/* "automove mode", "chunk sizes": the label of a row; the name itself when there is none. */
const char *setting_label(const char *name);

/* Its term in man/explain.txt. */
const char *setting_term(const char *name);

/* True when the server's version is at least this; false when it is not known. For slated false. */
bool version_is_from(const struct snapshot *now, unsigned major, unsigned minor, unsigned patch);
#endif
