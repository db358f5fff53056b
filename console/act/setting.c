#include "act/setting.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *name, *label;
    enum setting_form form;
    double least, most, step;
    const char *choices;
    unsigned stock_patch; /* memcached 1.6.this and later; 0: all that show the setting */
    const char *stock_refusal, *slated_refusal; /* NULL: it can change */
};

#define NEEDS_SLATED "needs slated"
/* clang-format off */
static const struct row rows[] = {
    {"slab_automove", "automove mode", FORM_CHOICE, 0, 0, 0, "0|1|2", 0, NULL, NULL},
    {"slab_automove_ratio", "automove ratio", FORM_NUMBER, 0.01, 1, 0.05, "", 0, NULL, NULL},
    {"slab_automove_window", "automove window s", FORM_NUMBER, AUTOMOVE_WINDOW_LEAST_S, AUTOMOVE_WINDOW_MOST_S, 5, "", 34, NULL, NULL},
    {"slab_automove_freeratio", "automove freeratio", FORM_NUMBER, 0, 1, 0.005, "", 34, NULL, NULL},
    {"policy", "eviction policy", FORM_CHOICE, 0, 0, 0, "", 0, NEEDS_SLATED "; lru mode is the choice here", NULL},
    {"class_policy", "policy of one class", FORM_CHOICE, 0, 0, 0, "", 0, NEEDS_SLATED, NULL},
    {"geometry", "chunk sizes", FORM_TEXT, 0, 0, 0, "", 0, NEEDS_SLATED "; or a restart with -f, -n, -o slab_sizes", NULL},
    {"slab_geometry_rate", "geometry rate %/s", FORM_NUMBER, 2, 100, 2, "", 0, NEEDS_SLATED, NULL},
    {"hot_lru_pct", "lru hot %", FORM_NUMBER, 1, 80, 5, "", 0, NULL, NULL},
    {"warm_lru_pct", "lru warm %", FORM_NUMBER, 1, 80, 5, "", 0, NULL, NULL},
    {"hot_max_factor", "lru hot age factor", FORM_NUMBER, 0.01, 1000, 0.1, "", 0, NULL, NULL},
    {"warm_max_factor", "lru warm age factor", FORM_NUMBER, 0.01, 1000, 0.5, "", 0, NULL, NULL},
    {"lru_segmented", "lru mode", FORM_CHOICE, 0, 0, 0, "flat|segmented", 0, NULL, "follows the policy"},
    {"temporary_ttl", "lru temp_ttl s", FORM_NUMBER, -1, 2147483647, 10, "", 0, NULL, NULL},
    {"maxbytes", "memory limit MiB", FORM_NUMBER, MEMORY_LEAST_MIB, 1000000000, 16, "", 0, NULL, NULL},
    {"lru_crawler", "crawler", FORM_CHOICE, 0, 0, 0, "no|yes", 0, NULL, NULL},
    {"lru_crawler_sleep", "crawler sleep us", FORM_NUMBER, 0, 1000000, 100, "", 0, NULL, NULL},
    {"lru_crawler_tocrawl", "crawler tocrawl", FORM_NUMBER, 0, 2147483647, 1000, "", 0, NULL, NULL},
    {"sample_rate", "sample rate", FORM_NUMBER, 0, 1, 0.01, "", 0, NEEDS_SLATED, NULL},
    {"verbosity", "verbosity", FORM_NUMBER, 0, 2, 1, "", 0, NULL, NULL},
    {"detail_enabled", "stats by prefix", FORM_CHOICE, 0, 0, 0, "no|yes", 0, NULL, NULL},
};
/* clang-format on */
#define ROWS ((int)(sizeof rows / sizeof *rows))
_Static_assert(sizeof rows / sizeof *rows <= SETTINGS_MOST, "every row fits the list");

__attribute__((format(printf, 3, 4))) static bool refuse(char *why, size_t why_bytes,
                                                         const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, why_bytes, format, ap);
    va_end(ap);
    return false;
}

static bool is_one_of(const char *name, const char *other) {
    return strcmp(name, other) == 0;
}

static const struct row *row_of(const char *name) {
    for (int i = 0; i < ROWS; i++) {
        if (is_one_of(rows[i].name, name)) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *setting_label(const char *name) {
    const struct row *row = row_of(name);
    return row != NULL ? row->label : is_one_of(name, "lru_tune") ? "lru tune" : name;
}

const char *setting_term(const char *name) {
    static const struct {
        const char *name, *term;
    } others[] = {{"geometry", "growth_factor"}, {"class_policy", "policy"}, {"temporary_ttl", "temp_lru"},
                  {"maxbytes", "memory.limit"}, {"lru_tune", "hot_lru_pct"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (is_one_of(others[i].name, name)) {
            return others[i].term;
        }
    }
    return name;
}

bool version_is_from(const struct snapshot *now, unsigned major, unsigned minor, unsigned patch) {
    unsigned is[3] = {0, 0, 0};
    unsigned wanted[3] = {major, minor, patch};
    if (now->is_slated || sscanf(now->version, "%u.%u.%u", &is[0], &is[1], &is[2]) < 2) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (is[i] != wanted[i]) {
            return is[i] > wanted[i];
        }
    }
    return true;
}

/* ---- the list ---- */

/* slated's own limits, choices and source, by `stats config`. */
static void take_config(const char *config, struct tunable *out) {
    struct stat_line line;
    char name[SETTING_NAME_BYTES + 10];
    snprintf(name, sizeof name, "%s:source", out->name);
    snprintf(out->source, sizeof out->source, "%.11s", stat_value(config, name, &line));
    snprintf(name, sizeof name, "%s:choices", out->name);
    const char *choices = stat_value(config, name, &line);
    if (choices[0] != '\0') {
        snprintf(out->choices, sizeof out->choices, "%.150s", choices);
    }
    if (out->form == FORM_NUMBER) {
        double unit = is_one_of(out->name, "maxbytes") ? 1048576 : 1; /* told in bytes */
        snprintf(name, sizeof name, "%s:min", out->name);
        double least = stat_value_number(config, name) / unit;
        snprintf(name, sizeof name, "%s:max", out->name);
        double most = stat_value_number(config, name) / unit;
        out->least = isnan(least) ? out->least : least;
        out->most = isnan(most) || is_one_of(out->name, "verbosity") ? out->most : most;
    }
}

static void take_now(const struct answers *answers, const struct snapshot *now, unsigned class_id,
                     struct tunable *out) {
    const char *settings = answer_text(answers, INQUIRY_SETTINGS);
    const char *config = answer_text(answers, INQUIRY_CONFIG);
    const char *policies = answer_text(answers, INQUIRY_POLICIES);
    char value[SETTING_VALUE_BYTES];
    struct stat_line line;
    if (is_one_of(out->name, "geometry")) {
        const char *geometry = answer_text(answers, INQUIRY_GEOMETRY);
        const char *state = stat_value(geometry, "state", &line);
        char words[40];
        snprintf(words, sizeof words, "%.30s", state);
        double classes = stat_value_number(geometry, "classes");
        if (!isnan(classes)) {
            snprintf(out->now, sizeof out->now, "%.0f sizes%s%s", classes,
                     strcmp(words, "steady") == 0 ? "" : ", ",
                     strcmp(words, "steady") == 0 ? "" : words);
        } else {
            snprintf(out->now, sizeof out->now, "%.40s", stat_value(settings, "growth_factor", &line));
        }
    } else if (is_one_of(out->name, "class_policy")) {
        snprintf(out->label, sizeof out->label, class_id > 0 ? "policy of class %u" : "policy of one class",
                 class_id);
        snprintf(value, sizeof value, "- %u", class_id);
        setting_read(out->name, value, policies, out->now);
        out->now[strcspn(out->now, " ")] = '\0';
    } else {
        setting_read(out->name, "", now->is_slated && setting_is_of_config(out->name) ? config : settings, out->now);
        if (is_one_of(out->name, "temporary_ttl") && strncmp(out->now, "off", 3) == 0) {
            out->now[3] = '\0';
        }
    }
}

/* A slated of another store has no classes of chunk sizes, and nothing that moves their pages. */
static bool needs_slabs(const struct snapshot *now, const struct row *row) {
    return !snapshot_has_slabs(now) && (strncmp(row->name, "slab_", 5) == 0 || is_one_of(row->name, "geometry"));
}

static void take_refusal(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                         const struct row *row, struct tunable *out) {
    struct stat_line line;
    const char *settings = answer_text(answers, INQUIRY_SETTINGS);
    bool is_lru = strncmp(row->label, "lru ", 4) == 0;
    if (now->is_slated ? row->slated_refusal != NULL : row->stock_refusal != NULL) {
        snprintf(out->refusal, sizeof out->refusal, "%s", now->is_slated ? row->slated_refusal : row->stock_refusal);
    } else if (!now->is_slated && row->stock_patch > 0 && !version_is_from(now, 1, 6, row->stock_patch)) {
        snprintf(out->refusal, sizeof out->refusal, "needs memcached 1.6.%u or later", row->stock_patch);
    } else if (needs_slabs(now, row)) {
        snprintf(out->refusal, sizeof out->refusal, "needs --store=slab; this server has %s", now->store);
    } else if (out->now[0] == '\0') {
        snprintf(out->refusal, sizeof out->refusal, "not reported here");
    } else if (is_lru && strcmp(stat_value(settings, "lru_maintainer_thread", &line), "no") == 0) {
        snprintf(out->refusal, sizeof out->refusal, "needs a start with -o lru_maintainer");
    } else if (is_one_of(row->name, "class_policy") && class_id == 0) {
        snprintf(out->refusal, sizeof out->refusal, "choose it in Classes");
    } else if (is_one_of(row->name, "slab_automove") && now->setting[SETTING_slab_reassign] == 0) {
        snprintf(out->refusal, sizeof out->refusal, "needs a start with -o slab_reassign");
    }
}

static void fill(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                 const struct row *row, struct tunable *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", row->name);
    snprintf(out->label, sizeof out->label, "%s", row->label);
    snprintf(out->choices, sizeof out->choices, "%s", row->choices);
    out->form = row->form;
    out->least = row->least;
    out->most = row->most;
    out->step = row->step;
    take_now(answers, now, class_id, out);
    if (now->is_slated) {
        take_config(answer_text(answers, INQUIRY_CONFIG), out);
    }
    if (is_one_of(row->name, "class_policy")) { /* as for the whole, but auto is the whole's */
        struct stat_line line;
        snprintf(out->choices, sizeof out->choices, "%.150s",
                 stat_value(answer_text(answers, INQUIRY_CONFIG), "policy:choices", &line));
        char *at = strstr(out->choices, "|auto");
        if (at != NULL) {
            *at = '\0';
        }
    }
    take_refusal(now, answers, class_id, row, out);
}

unsigned settings_list(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                       struct tunable out[SETTINGS_MOST]) {
    for (int i = 0; i < ROWS; i++) {
        fill(now, answers, class_id, &rows[i], &out[i]);
    }
    return (unsigned)ROWS;
}

const char *setting_name_at(unsigned row) {
    return rows[row < (unsigned)ROWS ? row : 0].name;
}

bool settings_find(const struct snapshot *now, const struct answers *answers, const char *name,
                   unsigned class_id, struct tunable *out) {
    const struct row *row = row_of(name);
    if (row != NULL) {
        fill(now, answers, class_id, row, out);
    }
    return row != NULL;
}

/* ---- changing a value ---- */

static int choice_at(const char *choices, const char *value, int *count) {
    int found = -1;
    *count = 0;
    for (const char *at = choices; *at != '\0'; (*count)++) {
        size_t bytes = strcspn(at, "|");
        if (bytes == strlen(value) && memcmp(at, value, bytes) == 0) {
            found = *count;
        }
        at += bytes + (at[bytes] == '|');
    }
    return found;
}

static void choice_copy(const char *choices, int index, char out[SETTING_VALUE_BYTES]) {
    for (; index > 0; index--) {
        choices += strcspn(choices, "|") + 1;
    }
    snprintf(out, SETTING_VALUE_BYTES, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void step_choice(const struct tunable *row, const char *value, int step,
                        char out[SETTING_VALUE_BYTES]) {
    int count, at = choice_at(row->choices, value, &count);
    if (at < 0 && is_one_of(row->name, "slab_automove") && strchr("012", value[0]) != NULL && value[0] != '\0') {
        at = value[0] - '0'; /* slated lists its modes by name and shows these by number */
    }
    for (int tries = 0; tries < count; tries++) {
        at = at < 0 ? (step > 0 ? 0 : count - 1) : (at + step + count) % count;
        choice_copy(row->choices, at, out);
        if (strstr(out, "NAME") == NULL) { /* lua:NAME is typed */
            return;
        }
    }
    snprintf(out, SETTING_VALUE_BYTES, "%s", value);
}

void setting_step(const struct tunable *row, const char *value, int step,
                  char out[SETTING_VALUE_BYTES]) {
    if (row->form == FORM_CHOICE) {
        char from[SETTING_VALUE_BYTES];
        snprintf(from, sizeof from, "%s", value);
        step_choice(row, from, step, out);
        return;
    }
    if (row->form == FORM_TEXT) {
        static const char verbs[] = "auto|factor 1.08|factor 1.15|factor 1.25|pause|resume|revert";
        struct tunable geometry = {.form = FORM_CHOICE};
        char from[SETTING_VALUE_BYTES];
        snprintf(geometry.choices, sizeof geometry.choices, "%s", verbs);
        snprintf(from, sizeof from, "%s", value);
        step_choice(&geometry, from, step, out);
        return;
    }
    char *end;
    double number = strtod(value, &end);
    number = end == value ? row->least : number;
    double next = fmin(fmax(number + step * row->step, row->least), row->most);
    int digits = row->step >= 1 ? 0 : row->step >= 0.01 ? 2 : 3;
    snprintf(out, SETTING_VALUE_BYTES, "%.*f", digits, next);
}

static bool check_number(const struct tunable *row, const char *value, char *why, size_t why_bytes) {
    char *end;
    double number = strtod(value, &end);
    bool is_off = is_one_of(row->name, "temporary_ttl") && strncmp(value, "off", 3) == 0;
    bool is_plain = value[0] != '\0' && strspn(value, "-0123456789.") == strlen(value);
    bool is_whole = row->step < 1 || strchr(value, '.') == NULL;
    if (is_off) {
        return true;
    }
    if (!is_plain || !is_whole || *end != '\0' || !isfinite(number) || number < row->least || number > row->most) {
        return refuse(why, why_bytes, "%s takes a %snumber from %.10g to %.10g, not '%.30s'", row->label,
                      row->step < 1 ? "" : "whole ", row->least, row->most, value);
    }
    return true;
}

static bool check_choice(const struct tunable *row, const char *value, char *why, size_t why_bytes) {
    int count;
    char word[SETTING_VALUE_BYTES];
    snprintf(word, sizeof word, "%s", value);
    word[strcspn(word, " ")] = '\0'; /* the class of class_policy, the classes of policy */
    bool is_lua = is_one_of(row->name, "slab_automove") && strncmp(value, "lua:", 4) == 0 &&
                  strstr(row->choices, "lua:") != NULL && strlen(value) > 4;
    bool is_number = is_one_of(row->name, "slab_automove") && strlen(value) == 1 && strchr("012", value[0]) != NULL;
    if (!is_lua && !is_number && choice_at(row->choices, word, &count) < 0) {
        return refuse(why, why_bytes, "%s is one of %.110s, not '%.30s'", row->label, row->choices, value);
    }
    return true;
}

static bool check_geometry(const char *value, char *why, size_t why_bytes) {
    static const char *const verbs[] = {"factor ", "sizes ", "auto", "pause", "resume", "revert"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strncmp(value, verbs[i], strlen(verbs[i])) == 0) {
            return true;
        }
    }
    return refuse(why, why_bytes, "chunk sizes take: factor N, sizes N,N,..., auto [CLASSES], pause, resume or revert");
}

static bool check_lru_tune(const char *value, char *why, size_t why_bytes) {
    double hot, warm, hot_factor, warm_factor;
    if (sscanf(value, "%lf %lf %lf %lf", &hot, &warm, &hot_factor, &warm_factor) != 4 || hot < 1 || warm < 1 ||
        hot + warm > HOT_AND_WARM_MOST_PCT) {
        return refuse(why, why_bytes, "lru hot and warm are at least 1 %% each and at most %d %% together",
                      HOT_AND_WARM_MOST_PCT);
    }
    if (!(hot_factor > 0) || !(warm_factor > 0)) {
        return refuse(why, why_bytes, "the age factors of lru hot and warm are above 0");
    }
    return true;
}

bool setting_check(const struct tunable *row, const char *value, char *why, size_t why_bytes) {
    if (strpbrk(value, "\r\n\t") != NULL) {
        return refuse(why, why_bytes, "a value is one line");
    }
    if (is_one_of(row->name, "lru_tune")) {
        return check_lru_tune(value, why, why_bytes);
    }
    if (row->refusal[0] != '\0') {
        return refuse(why, why_bytes, "%s: %s", row->label, row->refusal);
    }
    switch (row->form) {
    case FORM_NUMBER:
        return check_number(row, value, why, why_bytes);
    case FORM_CHOICE:
        return check_choice(row, value, why, why_bytes);
    case FORM_TEXT:
        return check_geometry(value, why, why_bytes);
    }
    return false;
}
