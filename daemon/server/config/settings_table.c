/* The rows of settings_rows.h as a table, and finding one of them. */
#include <string.h>

#include "server/config/settings.h"

const struct setting_type_facts setting_types[] = {
    [SETTING_FLAG] = {SETTING_KEPT_BOOL, sizeof(bool), "flag"},
    [SETTING_NEGATED] = {SETTING_KEPT_BOOL, sizeof(bool), "flag"},
    [SETTING_NEGSWITCH] = {SETTING_KEPT_BOOL, sizeof(bool), "flag"},
    [SETTING_COUNT] = {SETTING_KEPT_INT, sizeof(int), "count"},
    [SETTING_INT] = {SETTING_KEPT_INT, sizeof(int), "whole"},
    [SETTING_OCTAL] = {SETTING_KEPT_INT, sizeof(int), "octal"},
    [SETTING_BYTES] = {SETTING_KEPT_UINT64, sizeof(uint64_t), "bytes"},
    [SETTING_KILOBYTES] = {SETTING_KEPT_UINT64, sizeof(uint64_t), "kilobytes"},
    [SETTING_MEGABYTES] = {SETTING_KEPT_UINT64, sizeof(uint64_t), "megabytes"},
    [SETTING_RATIO] = {SETTING_KEPT_DOUBLE, sizeof(double), "number"},
    [SETTING_RATIO3] = {SETTING_KEPT_DOUBLE, sizeof(double), "number"},
    [SETTING_TEXT] = {SETTING_KEPT_TEXT, sizeof(const char *), "text"},
    [SETTING_CHOICE] = {SETTING_KEPT_CHARS, SETTING_CHOICE_BYTES, "choice"},
    [SETTING_MODE] = {SETTING_KEPT_CHARS, AUTOMOVE_NAME_BYTES, "mode"},
    [SETTING_LIST] = {SETTING_KEPT_CHARS, SETTING_LIST_BYTES, "list"},
    [SETTING_ACCEPTED] = {SETTING_KEPT_NOT, 0, "accepted"},
    [SETTING_ABSENT] = {SETTING_KEPT_NOT, 0, "absent"},
    [SETTING_ACTION] = {SETTING_KEPT_NOT, 0, "action"},
};

/* By type: the default, and the place in struct settings. */
#define KEPT_NUMBER(field_, d) \
    .default_number = (double)(d), .offset = offsetof(struct settings, field_),
#define KEPT_WORDS(field_, d) .default_text = (d), .offset = offsetof(struct settings, field_),
#define KEPT_FLAG KEPT_NUMBER
#define KEPT_NEGATED KEPT_NUMBER
#define KEPT_NEGSWITCH KEPT_NUMBER
#define KEPT_COUNT KEPT_NUMBER
#define KEPT_INT KEPT_NUMBER
#define KEPT_OCTAL KEPT_NUMBER
#define KEPT_BYTES KEPT_NUMBER
#define KEPT_KILOBYTES KEPT_NUMBER
#define KEPT_MEGABYTES KEPT_NUMBER
#define KEPT_RATIO KEPT_NUMBER
#define KEPT_RATIO3 KEPT_NUMBER
#define KEPT_TEXT KEPT_WORDS
#define KEPT_CHOICE KEPT_WORDS
#define KEPT_MODE KEPT_WORDS
#define KEPT_LIST KEPT_WORDS
#define KEPT_ACCEPTED(field_, d) .default_text = (d),
#define KEPT_ABSENT(field_, d) .default_text = (d),
#define KEPT_ACTION(field_, d)

#define SETTING_ROW(type_, field_, stat_, flag_, name_, default_, min_, max_, unit_, when_, \
                    group_, help_)                                                          \
    {.field = #field_,                                                                      \
     .stat = stat_,                                                                         \
     .name = name_,                                                                         \
     .unit = unit_,                                                                         \
     .help = help_,                                                                         \
     KEPT_##type_(field_, default_)                                                         \
     .min = (double)(min_),                                                                 \
     .max = (double)(max_),                                                                 \
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
    enum setting_kept kept = setting_types[row->type].kept;
    return kept == SETTING_KEPT_NOT
               ? row->type != SETTING_ACTION && strcmp(row->unit, "flag") != 0
               : kept != SETTING_KEPT_BOOL && row->type != SETTING_COUNT;
}
