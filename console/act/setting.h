/* The settings that a server can change while it runs: their values now and their possible values,
 * by the table of lua/slate/facts/settings.lua, which slatectl uses, too. Values are text as an
 * operator writes it: "0.80", "segmented", "64" (MiB), "off". The results depend only on the
 * arguments. Cost of a call: some 0.3 ms. One thread. */
#ifndef CONSOLE_ACT_SETTING_H
#define CONSOLE_ACT_SETTING_H
#include "facts/details/inquiry.h"
#include "facts/stats_snapshot.h"

enum {
    SETTINGS_MOST = 40,
    SETTING_LABEL_BYTES = 32,
    SETTING_NAME_BYTES = 40,
    SETTING_VALUE_BYTES = 160
};

enum setting_form { FORM_NUMBER, FORM_CHOICE, FORM_TEXT };

struct tunable {
    /* as in `stats settings`, or slatetop's own: policy, class_policy, geometry */
    char name[SETTING_NAME_BYTES];
    char label[SETTING_LABEL_BYTES];
    enum setting_form form;
    char now[SETTING_VALUE_BYTES]; /* "" when unknown */
    char source[12];               /* default, start, runtime; "" when not reported */
    char choices[SETTING_VALUE_BYTES]; /* FORM_CHOICE: the choices, with '|' between them */
    double least, most, step;          /* FORM_NUMBER */
    char refusal[100];                 /* why this server can't change it; "" when it can */
};

/* Writes the rows for this server, in the order of the screen. The row class_policy is for the
 * class class_id. Returns how many. now is never NULL. */
unsigned settings_list(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                       struct tunable out[SETTINGS_MOST]);

/* The name of the row at an index of that list; NULL past the last. */
const char *setting_name_at(unsigned row);

/* Writes the row of this name; false when the server has none. */
bool settings_find(const struct snapshot *now, const struct answers *answers, const char *name,
                   unsigned class_id, struct tunable *out);

/* Writes the value one step up or down within its limits, or the next or previous choice. */
void setting_step(const struct tunable *row, const char *value, int step,
                  char out[SETTING_VALUE_BYTES]);

/* Writes the effect of a value in words; "" if it needs none. */
enum { SETTING_WORDS_BYTES = 100 };
void setting_value_words(const char *name, const char *value, char out[SETTING_WORDS_BYTES]);

/* "automove mode", "chunk sizes": the label of a row; the name itself when there is none. */
const char *setting_label(const char *name);

/* The setting's term in man/explain.txt. */
const char *setting_term(const char *name);
#endif
