#include "act/setting_wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const lru_names[] = {"hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor"};
enum { LRU_NAMES = 4 };

static bool is_one_of(const char *name, const char *other) {
    return strcmp(name, other) == 0;
}

/* A value as the server writes it. */
static void server_text(const char *name, const char *value, const char *text, char out[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    if (is_one_of(name, "maxbytes") || is_one_of(name, "lru_segmented")) {
        snprintf(out, SETTING_VALUE_BYTES, "%.150s", stat_value(text, name, &line));
        return;
    }
    setting_read(name, value, text, out);
    if (is_one_of(name, "temporary_ttl") && strncmp(out, "off", 3) == 0) {
        snprintf(out, SETTING_VALUE_BYTES, "-1"); /* what sets it so */
    }
}

bool setting_recorded(const char *name, const char *value, const char *probe_text, unsigned index,
                      char out_name[SETTING_NAME_BYTES], char out_text[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    bool is_lru_tune = is_one_of(name, "lru_tune");
    if (index >= (is_lru_tune ? LRU_NAMES : 1u)) {
        return false;
    }
    snprintf(out_name, SETTING_NAME_BYTES, "%s", is_lru_tune ? lru_names[index] : name);
    if (is_lru_tune) {
        snprintf(out_text, SETTING_VALUE_BYTES, "%.150s", stat_value(probe_text, lru_names[index], &line));
    } else if (is_one_of(name, "geometry")) {
        setting_inverse(name, value, "", out_text);
    } else {
        server_text(name, value, probe_text, out_text);
    }
    return out_text[0] != '\0';
}

void setting_of_record(const char *recorded, const char *text, const char *settings_text,
                       char out_name[SETTING_NAME_BYTES], char out_value[SETTING_VALUE_BYTES]) {
    size_t used = 0;
    bool is_lru = false;
    out_value[0] = '\0';
    for (int i = 0; i < LRU_NAMES; i++) {
        struct stat_line line;
        const char *value = is_one_of(recorded, lru_names[i]) ? text : stat_value(settings_text, lru_names[i], &line);
        is_lru = is_lru || value == text;
        used += (size_t)snprintf(out_value + used, SETTING_VALUE_BYTES - used, "%s%.30s", i > 0 ? " " : "", value);
    }
    snprintf(out_name, SETTING_NAME_BYTES, "%.39s", is_lru ? "lru_tune" : recorded);
    if (is_lru) {
        return;
    }
    snprintf(out_value, SETTING_VALUE_BYTES, "%.150s", text);
    if (is_one_of(recorded, "maxbytes")) {
        snprintf(out_value, SETTING_VALUE_BYTES, "%.0f", floor(strtod(text, NULL) / 1048576));
    } else if (is_one_of(recorded, "lru_segmented")) {
        snprintf(out_value, SETTING_VALUE_BYTES, "%s", text[0] == 'y' ? "segmented" : "flat");
    } else if (is_one_of(recorded, "temporary_ttl") && is_one_of(text, "-1")) {
        snprintf(out_value, SETTING_VALUE_BYTES, "off");
    }
}

bool setting_same_text(const char *name, const char *text, const char *other) {
    static const char *const modes[] = {"off", "ratio", "eviction"};
    char *end, *other_end;
    double x = strtod(text, &end), y = strtod(other, &other_end);
    if (is_one_of(name, "geometry")) {
        return true; /* it has no value that could be compared */
    }
    for (int i = 0; i < 3 && is_one_of(name, "slab_automove"); i++) { /* slated shows these by number */
        text = is_one_of(text, modes[i]) ? (const char *[]){"0", "1", "2"}[i] : text;
        other = is_one_of(other, modes[i]) ? (const char *[]){"0", "1", "2"}[i] : other;
    }
    bool are_numbers = end != text && *end == '\0' && other_end != other && *other_end == '\0';
    return are_numbers ? fabs(x - y) <= 0.005 * fmax(fabs(x), 1e-9) : strcmp(text, other) == 0;
}
