/* Settings on the wire: the lines that set one, the answer that shows it, the value in that answer,
 * and what would set it back. Values are text as an operator writes it: "0.80", "segmented", "64"
 * (MiB), "off". Pure functions. One thread. */
#ifndef CONSOLE_ACT_SETTING_WIRE_H
#define CONSOLE_ACT_SETTING_WIRE_H
#include "facts/inquiry.h"

enum { SETTING_NAME_BYTES = 40, SETTING_VALUE_BYTES = 160, SETTING_LINE_BYTES = 200 };

/* Which setting a change is about: of lru_tune's four the first that differs between two values, else
 * the name itself. */
const char *setting_part(const char *name, const char *before, const char *after);

/* The command whose answer shows the setting. */
const char *setting_probe(bool is_slated, const char *name);

/* The value in such an answer, as setting_line would take it to set it back to the letter: so the
 * temporary queue that is off is "off 61". Empty when it is not there. value is the one that will be
 * set: of class_policy and geometry it says what has to be read. */
void setting_read(const char *name, const char *value, const char *probe_text,
                  char out[SETTING_VALUE_BYTES]);

/* Whether an answer shows the wanted value, to the digits it shows. before is what setting_read said
 * before the change: for geometry, which has no value, something has to be different. */
bool setting_shows(const char *name, const char *wanted, const char *before, const char *probe_text);

/* What the record of changes has of a setting, one by one, with the name there and the text as the
 * server writes it; false past the last, or when the answer does not show it. Four of lru_tune; what has
 * no value of its own, such as geometry, has the value that sets it back. value: as for setting_read. */
enum { RECORDED_MOST = 4 };
bool setting_recorded(const char *name, const char *value, const char *probe_text, unsigned index,
                      char out_name[SETTING_NAME_BYTES], char out_text[SETTING_VALUE_BYTES]);

/* The setting and value here that set a recorded one to a recorded text; settings_text gives the others
 * that go along. */
void setting_of_record(const char *recorded, const char *text, const char *settings_text,
                       char out_name[SETTING_NAME_BYTES], char out_value[SETTING_VALUE_BYTES]);

/* Whether two texts of the server mean the same value. */
bool setting_same_text(const char *name, const char *text, const char *other);

/* The inquiry with the same answer as setting_probe. */
enum inquiry setting_inquiry(bool is_slated, const char *name);

/* Whether slated shows it in `stats config` alone. */
bool setting_is_of_config(const char *name);

/* The policies that single classes have, by `stats policies`: "5=sieve,7=lru", as setting_line takes
 * them behind the policy of the whole. False: too many, out holds the first. */
bool setting_class_policies(const char *policies_text, char out[SETTING_VALUE_BYTES]);

/* What sets it back, given what setting_read said before: mostly that itself. */
void setting_inverse(const char *name, const char *value, const char *before,
                     char out[SETTING_VALUE_BYTES]);

#endif
