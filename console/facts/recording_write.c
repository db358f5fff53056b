/* The writing half of recording.h: replies become a line as slatectl's library makes it. */
#include "facts/recording.h"

#include "facts/recording_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 1 << 20, NAME_BYTES = 250, VALUE_BYTES = 1024, EXAMINE_BYTES = 65536 };

void raw_take(struct raw_replies *raw, enum stats_group group, const char *text, size_t bytes) {
    if (raw->capacity[group] < bytes) {
        char *larger = realloc(raw->text[group], bytes);
        if (larger == NULL) {
            raw->bytes[group] = 0;
            return;
        }
        raw->text[group] = larger;
        raw->capacity[group] = bytes;
    }
    memcpy(raw->text[group], text, bytes);
    raw->bytes[group] = bytes;
}

void raw_forget(struct raw_replies *raw) {
    memset(raw->bytes, 0, sizeof raw->bytes);
}

void raw_fini(struct raw_replies *raw) {
    for (int group = 0; group < GROUP_COUNT; group++) {
        free(raw->text[group]);
    }
    *raw = (struct raw_replies){0};
}

/* Values that look like numbers and are not. */
static bool is_text(const char *name) {
    static const char *const names[] = {"version",         "libevent", "umask",
                                        "slated_version",  "inter",    "domain_socket",
                                        "stat_key_prefix", "memory_file", "ssl_min_version",
                                        "slab_reassign_last_busy_status"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Digits, with one point between them or none. */
static bool is_number(const char *text, bool *is_whole) {
    const char *at = text + (text[0] == '-');
    size_t whole = strspn(at, "0123456789");
    *is_whole = at[whole] == '\0';
    if (whole == 0 || *is_whole) {
        return whole > 0;
    }
    size_t part = at[whole] == '.' ? strspn(at + whole + 1, "0123456789") : 0;
    return part > 0 && at[whole + 1 + part] == '\0';
}

/* One value with its type; NULL for what a server calls nothing. */
static json_t *typed(const char *name, char *value) {
    bool is_whole;
    if (strcmp(value, "NULL") == 0 || strcmp(value, "(null)") == 0) {
        return NULL;
    }
    if (!is_text(name)) {
        if (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0) {
            return json_boolean(value[0] == 'y');
        }
        if (is_number(value, &is_whole)) {
            errno = 0;
            long long whole = strtoll(value, NULL, 10);
            return is_whole && errno == 0 ? json_integer(whole) : json_real(strtod(value, NULL));
        }
    }
    json_t *string = json_string(value);
    if (string == NULL) { /* not UTF-8: a server may hand us any bytes */
        for (char *at = value; *at != '\0'; at++) {
            *at = *at >= ' ' && *at <= '~' ? *at : '?';
        }
        string = json_string(value);
    }
    return string;
}

/* Where a stat belongs: into an object of its own class, or into the plain one. */
struct target {
    json_t *plain;
    json_t **classes; /* by id; NULL: this group has none */
    const char *prefix;
};

static json_t *object_for(const struct target *target, const char **name) {
    if (target->classes == NULL) {
        return target->plain;
    }
    size_t prefix = strlen(target->prefix);
    bool has_prefix = strncmp(*name, target->prefix, prefix) == 0;
    char *end;
    long id = has_prefix ? strtol(*name + prefix, &end, 10) : -1;
    if (id < 0 || (*name)[prefix] < '0' || (*name)[prefix] > '9' || *end != ':' || end[1] == '\0') {
        return target->plain;
    }
    if (id >= CLASS_LIMIT) {
        return NULL;
    }
    if (target->classes[id] == NULL) {
        target->classes[id] = json_pack("{s:i}", "id", (int)id);
    }
    *name = end + 1;
    return target->classes[id];
}

static void take_line(const struct target *target, const char *line, size_t bytes) {
    char name[NAME_BYTES], value[VALUE_BYTES];
    const char *space = memchr(line, ' ', bytes);
    size_t name_bytes = space != NULL ? (size_t)(space - line) : bytes;
    size_t value_bytes = space != NULL ? bytes - name_bytes - 1 : 0;
    if (name_bytes == 0 || name_bytes >= sizeof name || value_bytes >= sizeof value ||
        memchr(line, '\0', bytes) != NULL) {
        return;
    }
    memcpy(name, line, name_bytes);
    name[name_bytes] = '\0';
    memcpy(value, line + name_bytes + 1, value_bytes);
    value[value_bytes] = '\0';
    const char *key = name;
    json_t *object = object_for(target, &key);
    json_t *typed_value = object != NULL ? typed(key, value) : NULL;
    if (typed_value != NULL) {
        json_object_set_new(object, key, typed_value); /* a name that is not UTF-8 is left out */
    }
}

static void take_group(const struct raw_replies *raw, enum stats_group group,
                       const struct target *target) {
    const char *at = raw->text[group], *end = at + raw->bytes[group];
    while (raw->bytes[group] > 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        const char *next = newline != NULL ? newline + 1 : end;
        stop -= stop > at && stop[-1] == '\r';
        if (stop - at > 5 && memcmp(at, "STAT ", 5) == 0) {
            take_line(target, at + 5, (size_t)(stop - at) - 5);
        }
        at = next;
    }
}

/* Pages that the server may have, and those that no class has: as lua/slate/base/policy_core.lua
 * counts them. */
static void add_pages(json_t *root, const json_t *general, const json_t *totals, bool is_slated) {
    const json_t *limit = json_object_get(general, "limit_maxbytes");
    const json_t *pool = json_object_get(general, "slab_global_page_pool");
    const json_t *malloced = json_object_get(totals, "total_malloced");
    if (!json_is_integer(limit) || !json_is_integer(pool)) {
        return;
    }
    json_int_t free_pages = json_integer_value(pool);
    if (!is_slated && json_is_integer(malloced)) {
        /* memcached counts the pool as allocated, slated does not */
        json_int_t room = json_integer_value(limit) - json_integer_value(malloced);
        free_pages += room > 0 ? room / PAGE_BYTES : 0;
    }
    json_object_set_new(root, "pages_limit", json_integer(json_integer_value(limit) / PAGE_BYTES));
    json_object_set_new(root, "pages_free", json_integer(free_pages));
}

json_t *recording_build(const struct raw_replies *raw, const char *server, const char *own_version,
                        int64_t wall_ms) {
    json_t *root = json_object(), *general = json_object(), *totals = json_object();
    json_t *list = json_array(), *settings = NULL;
    json_t *classes[CLASS_LIMIT] = {0};
    take_group(raw, GROUP_GENERAL, &(struct target){.plain = general});
    take_group(raw, GROUP_SLABS, &(struct target){totals, classes, ""});
    take_group(raw, GROUP_ITEMS, &(struct target){NULL, classes, "items:"});
    if (raw->bytes[GROUP_SETTINGS] > 0) {
        settings = json_object();
        take_group(raw, GROUP_SETTINGS, &(struct target){.plain = settings});
    }
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        if (classes[id] != NULL) {
            json_array_append_new(list, classes[id]);
        }
    }
    if (root == NULL) {
        json_decref(general);
        json_decref(totals);
        json_decref(list);
        json_decref(settings);
        return NULL;
    }
    json_object_set_new(root, "schema", json_string(RECORDING_SCHEMA));
    json_object_set_new(root, "time_s", json_real((double)wall_ms / 1000));
    json_t *name = json_string(server);
    json_object_set_new(root, "server", name != NULL ? name : json_string("?"));
    json_t *version = json_object_get(general, "version");
    if (json_is_string(version)) {
        json_object_set(root, "version", version);
    }
    if (own_version[0] != '\0') {
        json_object_set_new(root, "slated", json_string(own_version));
    }
    add_pages(root, general, totals, own_version[0] != '\0');
    json_object_set_new(root, "general", general);
    if (settings != NULL) {
        json_object_set_new(root, "settings", settings);
    }
    json_object_set_new(root, "classes", list);
    json_object_set_new(root, "totals", totals);
    return root;
}

/* Looks at a file that exists: true when it is empty or a recording. */
static bool is_recording(int fd, off_t bytes, bool *ends_whole) {
    char first[EXAMINE_BYTES + 1], last = '\n';
    ssize_t got = pread(fd, first, EXAMINE_BYTES, 0);
    if (got <= 0) {
        *ends_whole = true;
        return got == 0;
    }
    first[got] = '\0';
    *ends_whole = pread(fd, &last, 1, bytes - 1) == 1 && last == '\n';
    return strstr(first, "{\"schema\":\"" RECORDING_SCHEMA "\"") != NULL;
}

bool recording_append_to(struct recording_writer *writer, const char *path, char *why,
                         size_t why_bytes) {
    struct stat info;
    bool ends_whole;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(why, why_bytes, "cannot write %.100s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "cannot write %.100s: not a regular file", path);
    } else if (!is_recording(fd, info.st_size, &ends_whole)) {
        snprintf(why, why_bytes, "%.100s exists and is not a recording: nothing was written to it",
                 path);
    } else if (!ends_whole && write(fd, "\n", 1) != 1) {
        /* the torn line of an earlier run stays open */
        snprintf(why, why_bytes, "cannot write %.100s: %s", path, strerror(errno));
    } else {
        *writer = (struct recording_writer){.fd = fd};
        return true;
    }
    if (fd >= 0) {
        close(fd);
    }
    return false;
}

void recording_end(struct recording_writer *writer) {
    if (writer->fd >= 0) {
        close(writer->fd);
        json_decref(writer->last);
        json_decref(writer->settings);
        *writer = (struct recording_writer){.fd = -1};
    }
}

/* Settings are written when they are the first, or others than before. */
static void drop_known_settings(struct recording_writer *writer, json_t *snapshot) {
    json_t *settings = json_object_get(snapshot, "settings");
    if (settings == NULL) {
        return;
    }
    bool are_known = writer->settings != NULL && json_equal(settings, writer->settings);
    json_incref(settings);
    json_decref(writer->settings);
    writer->settings = settings;
    if (are_known) {
        json_object_del(snapshot, "settings");
    }
}

/* The line of a snapshot: what changed, where that can be told, else the whole. NULL when out of
 * memory. */
static char *line_of(struct recording_writer *writer, json_t *snapshot) {
    drop_known_settings(writer, snapshot);
    bool is_due = writer->last == NULL || writer->since_whole + 1 >= RECORDING_WHOLE_EVERY;
    char *changes = is_due ? NULL : recording_change_between(writer->last, snapshot);
    json_t *change = NULL;
    writer->since_whole = changes != NULL ? writer->since_whole + 1 : 0;
    if (changes != NULL) {
        change = json_pack("{s:s, s:O, s:i, s:s}", "schema", RECORDING_CHANGE_SCHEMA, "time_s",
                           json_object_get(snapshot, "time_s"), "of", (int)writer->since_whole, "d",
                           changes);
    }
    char *text =
        json_dumps(changes != NULL ? change : snapshot, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(change);
    free(changes);
    return text;
}

bool recording_write(struct recording_writer *writer, json_t *taken, char *why, size_t why_bytes) {
    char *text = line_of(writer, taken);
    size_t bytes = text != NULL ? strlen(text) : 0;
    json_decref(writer->last);
    writer->last = taken;
    errno = ENOMEM;
    if (text != NULL) {
        text[bytes] = '\n'; /* in the place of the end: one write, one line */
        ssize_t written = write(writer->fd, text, bytes + 1);
        free(text);
        if (written == (ssize_t)bytes + 1) {
            return true;
        }
        errno = written >= 0 ? ENOSPC : errno;
    }
    snprintf(why, why_bytes, "the recording ends here: %s", strerror(errno));
    return false;
}
