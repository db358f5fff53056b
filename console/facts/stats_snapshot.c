#include "facts/stats_snapshot.h"

#include "facts/stat_line.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define STAT_AS_NAME(name) #name,
const char *const general_stat_names[GENERAL_COUNT] = {GENERAL_STATS(STAT_AS_NAME)};
const char *const class_stat_names[CLASS_COUNT] = {CLASS_STATS(STAT_AS_NAME)};
static const char *const setting_names[SETTING_COUNT] = {SETTING_STATS(STAT_AS_NAME)};

#define STAT_AS_ABSENT(name) STAT_ABSENT,
static const struct class_stats absent_class = {false, {CLASS_STATS(STAT_AS_ABSENT)}};

static int stats_name_index(const char *const names[], int count, const char *name) {
    int i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i < count ? i : -1;
}

/* Parses digits. Any other text, a negative number, and 2^63 and more, is absent: a counter that
 * went below zero is nearly 2^64. Leaves *end after the digits, or at the first if they do not
 * fit. */
static uint64_t stat_parse_digits(const char *text, const char **end) {
    uint64_t value = 0;
    const char *at = text;
    *end = text;
    for (; isdigit((unsigned char)*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (INT64_MAX - digit) / 10) {
            return STAT_ABSENT;
        }
        value = value * 10 + digit;
    }
    *end = at;
    return at > text ? value : STAT_ABSENT;
}

static uint64_t stat_parse_number(const char *text) {
    uint64_t value = stat_parse_digits(text, &text);
    return *text == '\0' ? value : STAT_ABSENT;
}

/* "12.345678" in units of 10^-places; a plain integer is fine too. */
static uint64_t stat_parse_fixed(const char *text, unsigned places) {
    const char *end;
    uint64_t value = stat_parse_digits(text, &end);
    if (value == STAT_ABSENT || value > UINT64_MAX / 10000000 || (*end != '\0' && *end != '.')) {
        return STAT_ABSENT;
    }
    const char *digit = *end == '.' ? end + 1 : end;
    for (unsigned i = 0; i < places; i++) {
        value = value * 10 + (isdigit((unsigned char)*digit) ? (uint64_t)(*digit - '0') : 0);
        digit += *digit != '\0';
    }
    return value;
}

static void stats_parse_general(struct snapshot *snapshot, const char *name, const char *value) {
    if (stat_line_is(name, "version")) {
        stat_line_copy(snapshot->version, sizeof snapshot->version, value);
        return;
    }
    int i = stats_name_index(general_stat_names, GENERAL_COUNT, name);
    if (i < 0) {
        return;
    }
    bool is_time = i == GENERAL_rusage_user || i == GENERAL_rusage_system;
    snapshot->general[i] = is_time                                 ? stat_parse_fixed(value, 6)
                           : i == GENERAL_extstore_memory_pressure ? stat_parse_fixed(value, 2)
                                                                   : stat_parse_number(value);
}

/* name is "12:chunk_size", or "items:12:number" with the "items:" already taken off. */
static void stats_parse_class(struct snapshot *snapshot, const char *name, const char *value) {
    unsigned id;
    const char *field;
    if (!stat_line_numbered(name, CLASS_LIMIT, &id, &field) || field[0] == '\0') {
        return;
    }
    int i = stats_name_index(class_stat_names, CLASS_COUNT, field);
    struct class_stats *stats = snapshot_add_class(snapshot, id);
    stats->present = true;
    if (i >= 0) {
        stats->value[i] = stat_parse_number(value);
    }
}

static const char *const automove_words[AUTOMOVE_MODES] = {"off", "ratio", "eviction", "random",
                                                    "lra", "lrc",   "utility"};

static void stats_parse_setting(struct snapshot *snapshot, const char *name, const char *value) {
    int i = stats_name_index(setting_names, SETTING_COUNT, name);
    if (i < 0) {
        return;
    }
    if (i == SETTING_slab_automove && value[0] != '-') {
        int mode = stats_name_index(automove_words, AUTOMOVE_MODES, value);
        stat_line_copy(snapshot->automove, sizeof snapshot->automove, value);
        snapshot->setting[i] = mode >= 0 ? (uint64_t)mode : stat_parse_number(value);
    } else if (i == SETTING_slab_automove_ratio || i == SETTING_growth_factor ||
               i == SETTING_ext_max_frag) {
        snapshot->setting[i] = stat_parse_fixed(value, 3);
    } else if (stat_line_is(value, "yes") || stat_line_is(value, "on")) {
        snapshot->setting[i] = 1;
    } else if (stat_line_is(value, "no") || stat_line_is(value, "off")) {
        snapshot->setting[i] = 0;
    } else {
        snapshot->setting[i] = stat_parse_number(value);
    }
}

static void stats_parse_slated(struct snapshot *snapshot, const char *name, const char *value) {
    const struct stat_slot slots[] = {STAT_TEXT("slated_version", snapshot->own_version),
                                      STAT_TEXT("role", snapshot->role),
                                      STAT_TEXT("store", snapshot->store)};
    snapshot->is_slated = true;
    STAT_LINE_TAKE(slots, name, value);
}

static void parse_stat(struct snapshot *snapshot, enum stats_group group, const char *name,
                       const char *value) {
    switch (group) {
    case GROUP_GENERAL:
        stats_parse_general(snapshot, name, value);
        break;
    case GROUP_ITEMS:
        if (strncmp(name, "items:", 6) == 0) {
            stats_parse_class(snapshot, name + 6, value);
        }
        break;
    case GROUP_SLABS:
        if (stat_line_is(name, "total_malloced")) {
            snapshot->general[GENERAL_total_malloced] = stat_parse_number(value);
        }
        stats_parse_class(snapshot, name, value);
        break;
    case GROUP_SETTINGS:
        stats_parse_setting(snapshot, name, value);
        break;
    case GROUP_SLATED:
        stats_parse_slated(snapshot, name, value);
        break;
    case GROUP_PROXY_BACKENDS:
        if (strncmp(name, "bad_", 4) == 0 && stat_parse_number(value) != STAT_ABSENT) {
            snapshot->general[GENERAL_proxy_links_bad] += stat_parse_number(value);
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
    struct stat_line line;
    if (group == GROUP_PROXY_BACKENDS) { /* the reply has only bad ones */
        snapshot->general[GENERAL_proxy_links_bad] = 0;
    }
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        parse_stat(snapshot, group, line.name, line.value);
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

uint64_t snapshot_free_chunks(const struct class_stats *stats) {
    uint64_t free_chunks = stats->value[CLASS_free_chunks];
    uint64_t never_used = stats->value[CLASS_free_chunks_end];
    if (free_chunks == STAT_ABSENT || never_used == STAT_ABSENT) {
        return free_chunks;
    }
    return free_chunks + never_used;
}

double snapshot_free_pages(const struct class_stats *stats) {
    uint64_t free_chunks = snapshot_free_chunks(stats);
    uint64_t per_page = stats->value[CLASS_chunks_per_page];
    if (free_chunks == STAT_ABSENT || per_page == STAT_ABSENT || per_page == 0) {
        return NAN;
    }
    return (double)free_chunks / (double)per_page;
}

uint64_t snapshot_tail_age(const struct class_stats *stats) {
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
