/* The reading half of recording.h. */
#include "facts/recording.h"

#include "facts/format.h"
#include "facts/recording_change.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 65536, FIELD_BYTES = 400 };

struct recording {
    int fd;
    off_t file_bytes, read_bytes;
    unsigned long line; /* number of the one read last */
    char *text;         /* start..used: read and not yet handed out */
    size_t start, used, capacity;
    bool is_at_end, skips_line;
    bool has_first;
    int64_t first_wall_ms, last_wall_ms;
    char server[200];
    struct snapshot last; /* for the settings that most lines leave out */
    json_t *root;         /* the snapshot read last; NULL: there was none */
    unsigned since_whole; /* lines of changes that led to it */
};

struct recording *recording_open(const char *path, char *why, size_t why_bytes) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(why, why_bytes, "cannot read %.100s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "cannot read %.100s: not a regular file", path);
    } else {
        struct recording *recording = calloc(1, sizeof *recording);
        if (recording != NULL) {
            recording->fd = fd;
            recording->file_bytes = info.st_size;
            snapshot_init(&recording->last);
            return recording;
        }
        snprintf(why, why_bytes, "out of memory");
    }
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

void recording_close(struct recording **recording) {
    if (*recording != NULL) {
        close((*recording)->fd);
        json_decref((*recording)->root);
        free((*recording)->text);
        free(*recording);
        *recording = NULL;
    }
}

/* Reads more behind what is there; false at the end of the file. */
static bool read_more(struct recording *recording) {
    if (recording->start > 0) {
        memmove(recording->text, recording->text + recording->start,
                recording->used - recording->start);
        recording->used -= recording->start;
        recording->start = 0;
    }
    if (recording->capacity < recording->used + READ_BYTES) {
        size_t wanted = 2 * recording->capacity + READ_BYTES;
        char *larger = realloc(recording->text, wanted);
        if (larger == NULL) {
            return false;
        }
        recording->text = larger;
        recording->capacity = wanted;
    }
    ssize_t got = read(recording->fd, recording->text + recording->used, READ_BYTES);
    if (got <= 0) {
        return false;
    }
    recording->used += (size_t)got;
    recording->read_bytes += got;
    return true;
}

/* The next line without its end; NULL at the end. A line that is too long comes as bytes 0 and
 * *is_long. */
static const char *next_line(struct recording *recording, size_t *bytes, bool *is_long) {
    size_t scanned = 0;
    *is_long = false;
    for (;;) {
        size_t there = recording->used - recording->start;
        char *newline = there > scanned ? memchr(recording->text + recording->start + scanned, '\n',
                                                 there - scanned)
                                        : NULL;
        if (newline != NULL) {
            char *from = recording->text + recording->start;
            *bytes = (size_t)(newline - from);
            recording->start += *bytes + 1;
            recording->line++;
            return *is_long ? (*bytes = 0, from) : from;
        }
        if (there > RECORDING_LINE_LIMIT) {
            *is_long = true;
            recording->start = recording->used; /* forget it, go on to its end */
            there = 0;
        }
        scanned = there;
        if (!read_more(recording)) {
            break;
        }
    }
    *bytes = recording->used - recording->start;
    if (*bytes == 0 && !*is_long) {
        return NULL;
    }
    recording->start = recording->used; /* a line torn at the end of the file */
    recording->line++;
    return *is_long ? (*bytes = 0, recording->text) : recording->text + recording->start - *bytes;
}

/* One value as a server spells it; false for what no server says. */
static bool value_text(const json_t *value, char out[FIELD_BYTES]) {
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        snprintf(out, FIELD_BYTES, "%lld", (long long)json_integer_value(value));
        return true;
    case JSON_REAL: {
        double number = json_real_value(value);
        snprintf(out, FIELD_BYTES, fabs(number) < 1e18 ? "%.6f" : "%.17g", number);
        return true;
    }
    case JSON_TRUE:
    case JSON_FALSE:
        snprintf(out, FIELD_BYTES, "%s", json_is_true(value) ? "yes" : "no");
        return true;
    case JSON_STRING:
        snprintf(out, FIELD_BYTES, "%s", json_string_value(value));
        out[strcspn(out, "\r\n")] = '\0';
        return true;
    case JSON_NULL:
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    return false;
}

/* Gives the members of an object to the parser of replies, one "STAT" line each. */
static void take_members(struct snapshot *snapshot, enum stats_group group, const json_t *object,
                         long long class_id) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        char text[FIELD_BYTES], line[2 * FIELD_BYTES + 80];
        if (strlen(name) >= FIELD_BYTES || strpbrk(name, " \r\n") != NULL ||
            !value_text(value, text)) {
            continue;
        }
        int n = class_id >= 0
                    ? snprintf(line, sizeof line, "STAT %lld:%s %s\r\n", class_id, name, text)
                    : snprintf(line, sizeof line, "STAT %s %s\r\n", name, text);
        snapshot_parse(snapshot, group, line, (size_t)n);
    }
}

/* NULL when the classes are a list of objects with ids that ascend, else what is wrong. */
static const char *take_classes(struct snapshot *snapshot, const json_t *classes) {
    size_t i;
    json_t *one;
    long long last = -1;
    json_array_foreach(classes, i, one) {
        const json_t *id = json_object_get(one, "id");
        if (!json_is_integer(id) || json_integer_value(id) <= last ||
            json_integer_value(id) >= CLASS_LIMIT) {
            return "classes are not a list of records with ascending ids";
        }
        last = json_integer_value(id);
        take_members(snapshot, GROUP_SLABS, one, last);
    }
    return NULL;
}

/* NULL when the object is a snapshot, which is then in *snapshot; else what is wrong. */
static const char *take_snapshot(struct recording *recording, const json_t *root,
                                 struct snapshot *snapshot, int64_t *wall_ms) {
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema == NULL || strcmp(schema, RECORDING_SCHEMA) != 0) {
        return "its schema is not " RECORDING_SCHEMA;
    }
    const json_t *general = json_object_get(root, "general");
    const json_t *classes = json_object_get(root, "classes");
    const json_t *time_s = json_object_get(root, "time_s");
    if (!json_is_number(time_s) || !json_is_object(general) || !json_is_array(classes)) {
        return "time_s, general or classes are missing";
    }
    double seconds = json_number_value(time_s);
    if (!(seconds >= 0 && seconds < 1e11)) {
        return "time_s is no time";
    }
    *wall_ms = llround(seconds * 1000);
    if (recording->has_first && *wall_ms <= recording->last_wall_ms) {
        return "it is no later than the one before";
    }
    snapshot_init(snapshot);
    snapshot_inherit(snapshot, &recording->last);
    const char *version = json_string_value(json_object_get(root, "version"));
    snprintf(snapshot->version, sizeof snapshot->version, "%s", version != NULL ? version : "");
    take_members(snapshot, GROUP_GENERAL, general, -1);
    const json_t *slated = json_object_get(root, "slated");
    if (json_is_string(slated)) {
        json_t *own = json_pack("{s:s}", "slated_version", json_string_value(slated));
        take_members(snapshot, GROUP_SLATED, own, -1);
        json_decref(own);
    }
    take_members(snapshot, GROUP_SETTINGS, json_object_get(root, "settings"), -1);
    take_members(snapshot, GROUP_SLABS, json_object_get(root, "totals"), -1);
    return take_classes(snapshot, classes);
}

static bool has_schema(const json_t *root, const char *wanted) {
    const char *schema = json_string_value(json_object_get(root, "schema"));
    return schema != NULL && strcmp(schema, wanted) == 0;
}

/* Makes a snapshot of a line of changes, which is released; NULL and what is wrong. */
static json_t *whole_of(struct recording *recording, json_t *line, const char **problem) {
    json_int_t of = json_integer_value(json_object_get(line, "of"));
    bool follows = recording->root != NULL && of == (json_int_t)recording->since_whole + 1;
    json_t *whole = follows ? recording_change_apply(recording->root, line) : NULL;
    json_decref(line);
    *problem = !follows         ? "the line before it is missing"
               : whole == NULL ? "its changes do not fit the snapshot before it"
                               : NULL;
    return whole;
}

enum recording_result recording_next(struct recording *recording, struct snapshot *snapshot,
                                     int64_t *wall_ms, char *why, size_t why_bytes) {
    size_t bytes;
    bool is_long;
    const char *line;
    do {
        line = next_line(recording, &bytes, &is_long);
        if (line == NULL) {
            return RECORDING_END;
        }
    } while (bytes == 0 && !is_long);
    json_error_t error;
    json_t *root =
        is_long ? NULL : json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    const char *problem = is_long ? "it is longer than 4 MiB" : root == NULL ? error.text : NULL;
    bool has_changes = root != NULL && has_schema(root, RECORDING_CHANGE_SCHEMA);
    if (has_changes) {
        root = whole_of(recording, root, &problem);
    }
    /* changes go on from here, whatever else is wrong */
    if (root != NULL && has_schema(root, RECORDING_SCHEMA)) {
        json_decref(recording->root);
        recording->root = json_incref(root);
        recording->since_whole = has_changes ? recording->since_whole + 1 : 0;
    }
    if (problem == NULL) {
        problem = take_snapshot(recording, root, snapshot, wall_ms);
    }
    if (problem != NULL) {
        snprintf(why, why_bytes, "line %lu is not a snapshot: %.100s", recording->line, problem);
        json_decref(root);
        return RECORDING_BAD_LINE;
    }
    if (!recording->has_first) {
        recording->has_first = true;
        recording->first_wall_ms = *wall_ms;
    }
    const char *server = json_string_value(json_object_get(root, "server"));
    snprintf(recording->server, sizeof recording->server, "%s", server != NULL ? server : "?");
    format_plain(recording->server);
    json_decref(root);
    snapshot->at_ms = (uint64_t)(*wall_ms - recording->first_wall_ms) + 1;
    recording->last_wall_ms = *wall_ms;
    snapshot_copy(&recording->last, snapshot);
    return RECORDING_SAMPLE;
}

const json_t *recording_line(const struct recording *recording) {
    return recording->root;
}

const char *recording_server(const struct recording *recording) {
    return recording->server;
}

double recording_progress(const struct recording *recording) {
    return recording->file_bytes > 0
               ? (double)(recording->read_bytes - (off_t)(recording->used - recording->start)) /
                     (double)recording->file_bytes
               : 1;
}
