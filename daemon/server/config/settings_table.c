/* The rows of settings_rows.h as a table, and the search in it. */
#include <string.h>

#include "server/config/settings.h"

const struct setting_type_facts setting_types[] = {
    [SETTING_FLAG] = {SETTING_STORED_BOOL, sizeof(bool), "flag"},
    [SETTING_NEGATED] = {SETTING_STORED_BOOL, sizeof(bool), "flag"},
    [SETTING_NEGSWITCH] = {SETTING_STORED_BOOL, sizeof(bool), "flag"},
    [SETTING_COUNT] = {SETTING_STORED_INT, sizeof(int), "count"},
    [SETTING_INT] = {SETTING_STORED_INT, sizeof(int), "whole"},
    [SETTING_OCTAL] = {SETTING_STORED_INT, sizeof(int), "octal"},
    [SETTING_BYTES] = {SETTING_STORED_UINT64, sizeof(uint64_t), "bytes"},
    [SETTING_KILOBYTES] = {SETTING_STORED_UINT64, sizeof(uint64_t), "kilobytes"},
    [SETTING_MEGABYTES] = {SETTING_STORED_UINT64, sizeof(uint64_t), "megabytes"},
    [SETTING_RATIO] = {SETTING_STORED_DOUBLE, sizeof(double), "number"},
    [SETTING_RATIO3] = {SETTING_STORED_DOUBLE, sizeof(double), "number"},
    [SETTING_TEXT] = {SETTING_STORED_TEXT, sizeof(const char *), "text"},
    [SETTING_CHOICE] = {SETTING_STORED_CHARS, SETTING_CHOICE_BYTES, "choice"},
    [SETTING_MODE] = {SETTING_STORED_CHARS, AUTOMOVE_NAME_BYTES, "mode"},
    [SETTING_LIST] = {SETTING_STORED_CHARS, SETTING_LIST_BYTES, "list"},
    [SETTING_ACCEPTED] = {SETTING_STORED_NOT, 0, "accepted"},
    [SETTING_ABSENT] = {SETTING_STORED_NOT, 0, "absent"},
    [SETTING_ACTION] = {SETTING_STORED_NOT, 0, "action"},
};

/* By type: the default, and the offset in struct settings. */
#define ROW_NUMBER(field_, d)                                                                      \
    .default_number = (double)(d), .offset = offsetof(struct settings, field_),
#define ROW_WORDS(field_, d) .default_text = (d), .offset = offsetof(struct settings, field_),
#define ROW_FLAG ROW_NUMBER
#define ROW_NEGATED ROW_NUMBER
#define ROW_NEGSWITCH ROW_NUMBER
#define ROW_COUNT ROW_NUMBER
#define ROW_INT ROW_NUMBER
#define ROW_OCTAL ROW_NUMBER
#define ROW_BYTES ROW_NUMBER
#define ROW_KILOBYTES ROW_NUMBER
#define ROW_MEGABYTES ROW_NUMBER
#define ROW_RATIO ROW_NUMBER
#define ROW_RATIO3 ROW_NUMBER
#define ROW_TEXT ROW_WORDS
#define ROW_CHOICE ROW_WORDS
#define ROW_MODE ROW_WORDS
#define ROW_LIST ROW_WORDS
#define ROW_ACCEPTED(field_, d) .default_text = (d),
#define ROW_ABSENT(field_, d) .default_text = (d),
#define ROW_ACTION(field_, d)

#define SETTING_ROW(type_, field_, stat_, flag_, name_, default_, min_, max_, unit_, when_,        \
                    group_, help_)                                                                 \
    {.field = #field_,                                                                             \
     .stat = stat_,                                                                                \
     .name = name_,                                                                                \
     .unit = unit_,                                                                                \
     .help = help_,                                                                                \
     ROW_##type_(field_, default_).min = (double)(min_),                                           \
     .max = (double)(max_),                                                                        \
     .type = SETTING_##type_,                                                                      \
     .when = SETTING_##when_,                                                                      \
     .group = GROUP_##group_,                                                                      \
     .flag = flag_},

const struct setting setting_table[SETTING_ROWS] = {SETTINGS(SETTING_ROW)};

static bool setting_is_named(const char *is, const char *name, size_t name_bytes) {
    return is && name_bytes > 0 && is[0] == name[0] && strlen(is) == name_bytes &&
           memcmp(is, name, name_bytes) == 0;
}

const struct setting *setting_find(const char *name, size_t name_bytes) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (setting_is_named(row->name, name, name_bytes) ||
            setting_is_named(row->stat, name, name_bytes) ||
            setting_is_named(row->field, name, name_bytes)) {
            return row;
        }
    }
    return NULL;
}

bool setting_has_effect(const struct setting *row) {
    return strncmp(row->help, SETTING_IN_VAIN, sizeof SETTING_IN_VAIN - 1) != 0;
}

bool setting_takes_value(const struct setting *row) {
    enum setting_storage stored = setting_types[row->type].stored;
    return stored == SETTING_STORED_NOT
               ? row->type != SETTING_ACTION && strcmp(row->unit, "flag") != 0
               : stored != SETTING_STORED_BOOL && row->type != SETTING_COUNT;
}
