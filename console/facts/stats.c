#include "facts/stats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAT_AS_NAME(name) #name,
const char *const general_stat_names[GENERAL_COUNT] = {GENERAL_STATS(STAT_AS_NAME)};
const char *const class_stat_names[CLASS_COUNT] = {CLASS_STATS(STAT_AS_NAME)};
static const char *const setting_names[SETTING_COUNT] = {SETTING_STATS(STAT_AS_NAME)};

#define STAT_AS_ABSENT(name) STAT_ABSENT,
static const struct class_stats absent_class = {false, {CLASS_STATS(STAT_AS_ABSENT)}};

struct span {
    const char *at;
    size_t bytes;
};

static bool span_is(struct span span, const char *name) {
    return strlen(name) == span.bytes && memcmp(span.at, name, span.bytes) == 0;
}

static int name_index(const char *const names[], int count, struct span name) {
    for (int i = 0; i < count; i++) {
        if (span_is(name, names[i])) {
            return i;
        }
    }
    return -1;
}

/* Digits only; anything else, a negative number, and 2^63 and more, is absent: a counter that went
 * below zero is nearly 2^64. Leaves *rest behind the digits, or at the first where they do not
 * fit. */
static uint64_t parse_digits(struct span text, struct span *rest) {
    uint64_t value = 0;
    size_t i = 0;
    *rest = text;
    for (; i < text.bytes && isdigit((unsigned char)text.at[i]); i++) {
        uint64_t digit = (uint64_t)(text.at[i] - '0');
        if (value > (INT64_MAX - digit) / 10) {
            return STAT_ABSENT;
        }
        value = value * 10 + digit;
    }
    *rest = (struct span){text.at + i, text.bytes - i};
    return i > 0 ? value : STAT_ABSENT;
}

static uint64_t parse_number(struct span text) {
    struct span rest;
    uint64_t value = parse_digits(text, &rest);
    return rest.bytes == 0 ? value : STAT_ABSENT;
}

/* "12.345678" in units of 10^-places; a plain integer is fine too. */
static uint64_t parse_fixed(struct span text, unsigned places) {
    struct span rest;
    uint64_t value = parse_digits(text, &rest);
    if (value == STAT_ABSENT || value > UINT64_MAX / 10000000) {
        return STAT_ABSENT;
    }
    size_t at = 1;
    for (unsigned i = 0; i < places; i++, at++) {
        bool has_digit =
            rest.bytes > at && rest.at[0] == '.' && isdigit((unsigned char)rest.at[at]);
        value = value * 10 + (has_digit ? (uint64_t)(rest.at[at] - '0') : 0);
    }
    return rest.bytes == 0 || rest.at[0] == '.' ? value : STAT_ABSENT;
}

static void copy_printable(char *out, size_t out_bytes, struct span text) {
    size_t n = text.bytes < out_bytes - 1 ? text.bytes : out_bytes - 1;
    for (size_t i = 0; i < n; i++) {
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    }
    out[n] = '\0';
}

static void parse_general(struct snapshot *snapshot, struct span name, struct span value) {
    if (span_is(name, "version")) {
        copy_printable(snapshot->version, sizeof snapshot->version, value);
        return;
    }
    int i = name_index(general_stat_names, GENERAL_COUNT, name);
    if (i < 0) {
        return;
    }
    bool is_time = i == GENERAL_rusage_user || i == GENERAL_rusage_system;
    snapshot->general[i] = is_time                                 ? parse_fixed(value, 6)
                           : i == GENERAL_extstore_memory_pressure ? parse_fixed(value, 2)
                                                                   : parse_number(value);
}

/* name is "12:chunk_size", or "items:12:number" with the "items:" already taken off. */
static void parse_class(struct snapshot *snapshot, struct span name, struct span value) {
    struct span rest;
    uint64_t id = parse_digits(name, &rest);
    if (id >= CLASS_LIMIT || rest.bytes < 2 || rest.at[0] != ':') {
        return;
    }
    int i = name_index(class_stat_names, CLASS_COUNT, (struct span){rest.at + 1, rest.bytes - 1});
    struct class_stats *stats = snapshot_add_class(snapshot, (unsigned)id);
    stats->present = true;
    if (i >= 0) {
        stats->value[i] = parse_number(value);
    }
}

static const char *const automove_words[AUTOMOVE_MODES] = {"off", "ratio", "eviction", "random",
                                                    "lra", "lrc",   "utility"};

static uint64_t parse_automove(struct span value) {
    for (unsigned mode = 0; mode < AUTOMOVE_MODES; mode++) {
        if (span_is(value, automove_words[mode])) {
            return mode;
        }
    }
    return parse_number(value);
}

static void parse_setting(struct snapshot *snapshot, struct span name, struct span value) {
    int i = name_index(setting_names, SETTING_COUNT, name);
    if (i < 0) {
        return;
    }
    if (i == SETTING_slab_automove && value.at[0] != '-') {
        copy_printable(snapshot->automove, sizeof snapshot->automove, value);
        snapshot->setting[i] = parse_automove(value);
    } else if (i == SETTING_slab_automove_ratio || i == SETTING_growth_factor ||
               i == SETTING_ext_max_frag) {
        snapshot->setting[i] = parse_fixed(value, 3);
    } else if (span_is(value, "yes") || span_is(value, "on")) {
        snapshot->setting[i] = 1;
    } else if (span_is(value, "no") || span_is(value, "off")) {
        snapshot->setting[i] = 0;
    } else {
        snapshot->setting[i] = parse_number(value);
    }
}

static void parse_stat(struct snapshot *snapshot, enum stats_group group, struct span name,
                       struct span value) {
    switch (group) {
    case GROUP_GENERAL:
        parse_general(snapshot, name, value);
        break;
    case GROUP_ITEMS:
        if (name.bytes > 6 && memcmp(name.at, "items:", 6) == 0) {
            parse_class(snapshot, (struct span){name.at + 6, name.bytes - 6}, value);
        }
        break;
    case GROUP_SLABS:
        if (span_is(name, "total_malloced")) {
            snapshot->general[GENERAL_total_malloced] = parse_number(value);
        }
        parse_class(snapshot, name, value);
        break;
    case GROUP_SETTINGS:
        parse_setting(snapshot, name, value);
        break;
    case GROUP_SLATED:
        snapshot->is_slated = true;
        if (span_is(name, "slated_version")) {
            copy_printable(snapshot->own_version, sizeof snapshot->own_version, value);
        } else if (span_is(name, "role")) {
            copy_printable(snapshot->role, sizeof snapshot->role, value);
        } else if (span_is(name, "store")) {
            copy_printable(snapshot->store, sizeof snapshot->store, value);
        }
        break;
    case GROUP_PROXY_BACKENDS:
        if (name.bytes > 4 && memcmp(name.at, "bad_", 4) == 0 &&
            parse_number(value) != STAT_ABSENT) {
            snapshot->general[GENERAL_proxy_links_bad] += parse_number(value);
        }
        break;
    case GROUP_COUNT:
        break;
    }
}

void snapshot_init(struct snapshot *snapshot) {
    memset(snapshot, 0, offsetof(struct snapshot, classes));
    snapshot->reply_ms = NAN;
    for (int i = 0; i < GENERAL_COUNT; i++) {
        snapshot->general[i] = STAT_ABSENT;
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        snapshot->setting[i] = STAT_ABSENT;
    }
}

size_t snapshot_bytes(const struct snapshot *snapshot) {
    return offsetof(struct snapshot, classes) + snapshot->class_end * sizeof *snapshot->classes;
}

void snapshot_copy(struct snapshot *copy, const struct snapshot *snapshot) {
    memcpy(copy, snapshot, snapshot_bytes(snapshot));
}

const struct class_stats *snapshot_class(const struct snapshot *snapshot, unsigned id) {
    return id < snapshot->class_end ? &snapshot->classes[id] : &absent_class;
}

struct class_stats *snapshot_add_class(struct snapshot *snapshot, unsigned id) {
    for (; snapshot->class_end <= id; snapshot->class_end++) {
        snapshot->classes[snapshot->class_end] = absent_class;
    }
    return &snapshot->classes[id];
}

void snapshot_parse(struct snapshot *snapshot, enum stats_group group, const char *text,
                    size_t text_bytes) {
    const char *end = text + text_bytes;
    if (group == GROUP_PROXY_BACKENDS) { /* only bad ones are told */
        snapshot->general[GENERAL_proxy_links_bad] = 0;
    }
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline != NULL ? newline : end;
        const char *next = newline != NULL ? newline + 1 : end;
        if (stop > line && stop[-1] == '\r') {
            stop--;
        }
        if (stop - line > 5 && memcmp(line, "STAT ", 5) == 0) {
            const char *name = line + 5;
            const char *space = memchr(name, ' ', (size_t)(stop - name));
            const char *value = space != NULL ? space + 1 : stop;
            parse_stat(snapshot, group,
                       (struct span){name, (size_t)((space != NULL ? space : stop) - name)},
                       (struct span){value, (size_t)(stop - value)});
        }
        line = next;
    }
}

void snapshot_inherit(struct snapshot *snapshot, const struct snapshot *older) {
    memcpy(snapshot->setting, older->setting, sizeof snapshot->setting);
    memcpy(snapshot->automove, older->automove, sizeof snapshot->automove);
    memcpy(snapshot->own_version, older->own_version, sizeof snapshot->own_version);
    memcpy(snapshot->store, older->store, sizeof snapshot->store);
    memcpy(snapshot->role, older->role, sizeof snapshot->role);
    snapshot->is_slated = older->is_slated;
}

uint64_t class_free_chunks(const struct class_stats *stats) {
    uint64_t free_chunks = stats->value[CLASS_free_chunks];
    uint64_t never_used = stats->value[CLASS_free_chunks_end];
    if (free_chunks == STAT_ABSENT || never_used == STAT_ABSENT) {
        return free_chunks;
    }
    return free_chunks + never_used;
}

double class_free_pages(const struct class_stats *stats) {
    uint64_t free_chunks = class_free_chunks(stats);
    uint64_t per_page = stats->value[CLASS_chunks_per_page];
    if (free_chunks == STAT_ABSENT || per_page == STAT_ABSENT || per_page == 0) {
        return NAN;
    }
    return (double)free_chunks / (double)per_page;
}

uint64_t class_tail_age(const struct class_stats *stats) {
    /* An empty class reports age 0, which would look like the youngest tail of all. */
    return stats->value[CLASS_number] == 0 ? STAT_ABSENT : stats->value[CLASS_age];
}

bool snapshot_may_change(const struct snapshot *snapshot) {
    return snapshot->role[0] == '\0' || strcmp(snapshot->role, "admin") == 0;
}

const char *snapshot_software(const struct snapshot *snapshot) {
    return snapshot->is_slated ? "slated" : "memcached";
}

const char *snapshot_version(const struct snapshot *snapshot) {
    return snapshot->is_slated ? snapshot->own_version : snapshot->version;
}

bool snapshot_has_slabs(const struct snapshot *snapshot) {
    return snapshot->store[0] == '\0' || strcmp(snapshot->store, "slab") == 0;
}

bool snapshot_has_extstore(const struct snapshot *snapshot) {
    return snapshot->general[GENERAL_extstore_limit_maxbytes] != STAT_ABSENT;
}

bool snapshot_is_proxy(const struct snapshot *snapshot) {
    return snapshot->setting[SETTING_proxy_enabled] == 1;
}

bool snapshot_has_cache(const struct snapshot *snapshot) {
    uint64_t items = snapshot->general[GENERAL_curr_items];
    return !snapshot_is_proxy(snapshot) || (items != STAT_ABSENT && items > 0);
}

double snapshot_item_bytes(const struct snapshot *snapshot) {
    double bytes = stat_number(snapshot->general[GENERAL_bytes]);
    double flash = stat_number(snapshot->general[GENERAL_extstore_bytes_used]);
    return isnan(flash) ? bytes : fmax(bytes - flash, 0);
}

double stat_number(uint64_t value) {
    return value == STAT_ABSENT ? NAN : (double)value;
}
