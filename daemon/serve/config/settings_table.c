/* The rows of settings_rows.h as a table, and finding one of them. */
#include <string.h>

#include "serve/config/settings.h"

/* By type: the default as a number, the default as a text, and the place in struct settings. */
#define NUMBER_FLAG(d) (d)
#define NUMBER_NEGATED(d) (d)
#define NUMBER_NEGSWITCH(d) (d)
#define NUMBER_COUNT(d) (d)
#define NUMBER_INT(d) (d)
#define NUMBER_OCTAL(d) (d)
#define NUMBER_BYTES(d) (double)(d)
#define NUMBER_KILOBYTES(d) (double)(d)
#define NUMBER_MEGABYTES(d) (double)(d)
#define NUMBER_RATIO(d) (d)
#define NUMBER_RATIO3(d) (d)
#define NUMBER_TEXT(d) 0
#define NUMBER_CHOICE(d) 0
#define NUMBER_MODE(d) 0
#define NUMBER_LIST(d) 0
#define NUMBER_ACCEPTED(d) 0
#define NUMBER_ABSENT(d) 0
#define NUMBER_ACTION(d) 0

#define WORDS_FLAG(d) NULL
#define WORDS_NEGATED(d) NULL
#define WORDS_NEGSWITCH(d) NULL
#define WORDS_COUNT(d) NULL
#define WORDS_INT(d) NULL
#define WORDS_OCTAL(d) NULL
#define WORDS_BYTES(d) NULL
#define WORDS_KILOBYTES(d) NULL
#define WORDS_MEGABYTES(d) NULL
#define WORDS_RATIO(d) NULL
#define WORDS_RATIO3(d) NULL
#define WORDS_TEXT(d) (d)
#define WORDS_CHOICE(d) (d)
#define WORDS_MODE(d) (d)
#define WORDS_LIST(d) (d)
#define WORDS_ACCEPTED(d) (d)
#define WORDS_ABSENT(d) (d)
#define WORDS_ACTION(d) NULL

#define PLACE_FLAG(field) offsetof(struct settings, field)
#define PLACE_NEGATED(field) offsetof(struct settings, field)
#define PLACE_NEGSWITCH(field) offsetof(struct settings, field)
#define PLACE_COUNT(field) offsetof(struct settings, field)
#define PLACE_INT(field) offsetof(struct settings, field)
#define PLACE_OCTAL(field) offsetof(struct settings, field)
#define PLACE_BYTES(field) offsetof(struct settings, field)
#define PLACE_KILOBYTES(field) offsetof(struct settings, field)
#define PLACE_MEGABYTES(field) offsetof(struct settings, field)
#define PLACE_RATIO(field) offsetof(struct settings, field)
#define PLACE_RATIO3(field) offsetof(struct settings, field)
#define PLACE_TEXT(field) offsetof(struct settings, field)
#define PLACE_CHOICE(field) offsetof(struct settings, field)
#define PLACE_MODE(field) offsetof(struct settings, field)
#define PLACE_LIST(field) offsetof(struct settings, field)
#define PLACE_ACCEPTED(field) 0
#define PLACE_ABSENT(field) 0
#define PLACE_ACTION(field) 0

#define SETTING_ROW(type_, field_, stat_, flag_, name_, default_, min_, max_, unit_, when_, \
                    group_, help_)                                                          \
    {.field = #field_,                                                                      \
     .stat = stat_,                                                                         \
     .name = name_,                                                                         \
     .unit = unit_,                                                                         \
     .help = help_,                                                                         \
     .default_text = WORDS_##type_(default_),                                               \
     .default_number = NUMBER_##type_(default_),                                            \
     .min = (double)(min_),                                                                 \
     .max = (double)(max_),                                                                 \
     .offset = PLACE_##type_(field_),                                                       \
     .type = SETTING_##type_,                                                               \
     .when = SETTING_##when_,                                                               \
     .group = GROUP_##group_,                                                               \
     .flag = flag_},

const struct setting setting_table[SETTING_ROWS] = {SETTINGS(SETTING_ROW)};

static bool named(const char *is, const char *name, size_t name_bytes) {
    return is && name_bytes > 0 && is[0] == name[0] && strlen(is) == name_bytes &&
           memcmp(is, name, name_bytes) == 0;
}

const struct setting *setting_find(const char *name, size_t name_bytes) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (named(row->name, name, name_bytes) || named(row->stat, name, name_bytes) ||
            named(row->field, name, name_bytes)) {
            return row;
        }
    }
    return NULL;
}

bool setting_has_effect(const struct setting *row) {
    return strncmp(row->help, SETTING_IN_VAIN, sizeof SETTING_IN_VAIN - 1) != 0;
}

bool setting_takes_value(const struct setting *row) {
    switch ((enum setting_type)row->type) {
    case SETTING_FLAG:
    case SETTING_NEGATED:
    case SETTING_NEGSWITCH:
    case SETTING_COUNT:
    case SETTING_ACTION:
        return false;
    case SETTING_ACCEPTED:
    case SETTING_ABSENT:
        return strcmp(row->unit, "flag") != 0;
    case SETTING_INT:
    case SETTING_OCTAL:
    case SETTING_BYTES:
    case SETTING_KILOBYTES:
    case SETTING_MEGABYTES:
    case SETTING_RATIO:
    case SETTING_RATIO3:
    case SETTING_TEXT:
    case SETTING_CHOICE:
    case SETTING_MODE:
    case SETTING_LIST:
        return true;
    }
    return false;
}
