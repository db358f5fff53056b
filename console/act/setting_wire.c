#include "act/setting_wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const lru_names[] = {"hot_lru_pct", "warm_lru_pct", "hot_max_factor",
                                        "warm_max_factor"};
enum { LRU_NAMES = 4 };

static bool is_one_of(const char *name, const char *other) {
    return strcmp(name, other) == 0;
}

/* ---- reading ---- */

bool setting_is_of_config(const char *name) {
    return is_one_of(name, "policy") || is_one_of(name, "sample_rate") ||
           is_one_of(name, "slab_geometry_rate");
}

const char *setting_probe(bool is_slated, const char *name) {
    if (is_slated && is_one_of(name, "geometry")) {
        return "stats geometry";
    }
    if (is_slated && is_one_of(name, "class_policy")) {
        return "stats policies";
    }
    return is_slated && setting_is_of_config(name) ? "stats config" : "stats settings";
}

enum inquiry setting_inquiry(bool is_slated, const char *name) {
    const char *probe = setting_probe(is_slated, name);
    return strcmp(probe, "stats geometry") == 0   ? INQUIRY_GEOMETRY
           : strcmp(probe, "stats policies") == 0 ? INQUIRY_POLICIES
           : strcmp(probe, "stats config") == 0   ? INQUIRY_CONFIG
                                                  : INQUIRY_SETTINGS;
}

/* The policy that is active in the whole; empty when the answer does not say. */
static void read_active(const char *text, char out[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    out[0] = '\0';
    for (const char *at = text; stat_next(&at, &line);) {
        char *colon = strchr(line.name, ':');
        if (colon != NULL && strcmp(colon, ":active") == 0 && strcmp(line.value, "yes") == 0) {
            snprintf(out, SETTING_VALUE_BYTES, "%.*s", (int)(colon - line.name), line.name);
        }
    }
}

bool setting_class_policies(const char *text, char out[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = text; stat_next(&at, &line);) {
        unsigned id;
        if (sscanf(line.name, "class:%u:policy", &id) == 1) {
            if (used + strlen(line.value) + 8 > SETTING_VALUE_BYTES / 2) {
                return false;
            }
            used += (size_t)snprintf(out + used, SETTING_VALUE_BYTES - used, "%s%u=%s",
                                     used > 0 ? "," : "", id, line.value);
        }
    }
    return true;
}

/* value is "sieve 5": what class 5 has now, as "s3fifo 5". */
static void read_class_policy(const char *text, const char *value, char out[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    char whole[SETTING_VALUE_BYTES], name[40];
    unsigned id = 0;
    const char *blank = strrchr(value, ' ');
    out[0] = '\0';
    if (blank == NULL || sscanf(blank, "%u", &id) != 1) {
        return;
    }
    snprintf(name, sizeof name, "class:%u:policy", id);
    read_active(text, whole);
    const char *own = stat_value(text, name, &line);
    if (own[0] != '\0' || whole[0] != '\0') {
        snprintf(out, SETTING_VALUE_BYTES, "%.40s %u", own[0] != '\0' ? own : whole, id);
    }
}

static void read_lru_tune(const char *text, char out[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    size_t used = 0;
    for (int i = 0; i < LRU_NAMES; i++) {
        const char *value = stat_value(text, lru_names[i], &line);
        if (value[0] == '\0') {
            out[0] = '\0';
            return;
        }
        used += (size_t)snprintf(out + used, SETTING_VALUE_BYTES - used, "%s%.30s",
                                 used > 0 ? " " : "", value);
    }
}

const char *setting_part(const char *name, const char *before, const char *after) {
    if (!is_one_of(name, "lru_tune")) {
        return name;
    }
    for (int i = 0; i < LRU_NAMES; i++) {
        size_t was_bytes = strcspn(before, " "), bytes = strcspn(after, " ");
        if (was_bytes != bytes || memcmp(before, after, bytes) != 0) {
            return lru_names[i];
        }
        before += bytes + (before[bytes] == ' ');
        after += bytes + (after[bytes] == ' ');
    }
    return lru_names[0];
}

void setting_read(const char *name, const char *value, const char *text,
                  char out[SETTING_VALUE_BYTES]) {
    struct stat_line line;
    char config[SETTING_NAME_BYTES + 8];
    out[0] = '\0';
    if (is_one_of(name, "lru_tune")) {
        read_lru_tune(text, out);
    } else if (is_one_of(name, "class_policy")) {
        read_class_policy(text, value, out);
    } else if (is_one_of(name, "geometry")) {
        const char *state = stat_value(text, "state", &line);
        snprintf(out, SETTING_VALUE_BYTES, "%.30s %.0f", state, stat_value_number(text, "generation"));
    } else if (setting_is_of_config(name)) {
        snprintf(config, sizeof config, "%s:value", name);
        snprintf(out, SETTING_VALUE_BYTES, "%s", stat_value(text, config, &line));
    } else if (is_one_of(name, "maxbytes")) {
        double bytes = stat_value_number(text, name);
        if (!isnan(bytes)) {
            snprintf(out, SETTING_VALUE_BYTES, "%.0f", floor(bytes / 1048576));
        }
    } else if (is_one_of(name, "lru_segmented")) {
        const char *is = stat_value(text, name, &line);
        snprintf(out, SETTING_VALUE_BYTES, "%s", is[0] == '\0' ? "" : is[0] == 'y' ? "segmented" : "flat");
    } else if (is_one_of(name, "temporary_ttl")) {
        double ttl_s = stat_value_number(text, name);
        bool is_off = strcmp(stat_value(text, "temp_lru", &line), "no") == 0;
        if (!isnan(ttl_s)) {
            snprintf(out, SETTING_VALUE_BYTES, is_off ? "off %.0f" : "%.0f", ttl_s);
        }
    } else {
        snprintf(out, SETTING_VALUE_BYTES, "%.150s", stat_value(text, name, &line));
    }
}

/* Whether a shown word means the wanted one: numbers to the digits that are shown. */
static bool same_word(const char *wanted, size_t wanted_bytes, const char *shown, size_t shown_bytes) {
    char a[64], b[64], *a_end, *b_end;
    snprintf(a, sizeof a, "%.*s", (int)wanted_bytes, wanted);
    snprintf(b, sizeof b, "%.*s", (int)shown_bytes, shown);
    double x = strtod(a, &a_end), y = strtod(b, &b_end);
    if (a_end == a || b_end == b || *a_end != '\0' || *b_end != '\0') {
        return strcmp(a, b) == 0;
    }
    const char *point = strchr(b, '.');
    double tolerance = 0.5 * pow(10, point != NULL ? -(double)strlen(point + 1) : 0);
    return fabs(x - y) <= (point != NULL ? tolerance * 1.001 : 0);
}

static bool same_words(const char *wanted, const char *shown) {
    for (;;) {
        size_t w = strcspn(wanted, " "), s = strcspn(shown, " ");
        if (!same_word(wanted, w, shown, s)) {
            return false;
        }
        if (wanted[w] == '\0' || shown[s] == '\0') {
            return wanted[w] == shown[s];
        }
        wanted += w + 1;
        shown += s + 1;
    }
}

/* By number or name: slated shows memcached's modes by number. */
static const char *automove_plain(const char *mode) {
    static const char *const names[] = {"off", "ratio", "eviction"}, *const numbers[] = {"0", "1", "2"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(mode, names[i]) == 0) {
            return numbers[i];
        }
    }
    return mode;
}

bool setting_shows(const char *name, const char *wanted, const char *before, const char *text) {
    char shown[SETTING_VALUE_BYTES];
    setting_read(name, wanted, text, shown);
    if (shown[0] == '\0') {
        return false;
    }
    if (is_one_of(name, "geometry")) {
        bool is_paused = strncmp(shown, "paused", 6) == 0;
        return strcmp(wanted, "pause") == 0    ? is_paused
               : strcmp(wanted, "resume") == 0 ? !is_paused
                                               : strcmp(strrchr(shown, ' '), strrchr(before, ' ')) != 0;
    }
    if (is_one_of(name, "slab_automove")) {
        return strcmp(automove_plain(wanted), automove_plain(shown)) == 0;
    }
    if (is_one_of(name, "temporary_ttl") && (strcmp(wanted, "off") == 0 || strcmp(wanted, "-1") == 0)) {
        return strncmp(shown, "off", 3) == 0;
    }
    if (is_one_of(name, "policy")) { /* behind a blank: those of classes, which another answer shows */
        return same_word(wanted, strcspn(wanted, " "), shown, strlen(shown));
    }
    return same_words(wanted, shown);
}

void setting_inverse(const char *name, const char *value, const char *before,
                     char out[SETTING_VALUE_BYTES]) {
    bool is_geometry = is_one_of(name, "geometry");
    snprintf(out, SETTING_VALUE_BYTES, "%.150s",
             !is_geometry                    ? before
             : strcmp(value, "pause") == 0  ? "resume"
             : strcmp(value, "resume") == 0 ? "pause"
                                            : "revert");
}
