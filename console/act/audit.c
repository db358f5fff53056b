#include "act/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA "slate/audit/1"
enum { UNDONE_MOST = 4096 };

void audit_default_path(char out[AUDIT_PATH_BYTES]) {
    const char *named = getenv("SLATE_AUDIT"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    out[0] = '\0';
    if (named != NULL && named[0] != '\0') {
        snprintf(out, AUDIT_PATH_BYTES, "%s", named);
    } else if (state != NULL && state[0] == '/') {
        snprintf(out, AUDIT_PATH_BYTES, "%s/slate/audit.log", state);
    } else if (home != NULL && home[0] == '/') {
        snprintf(out, AUDIT_PATH_BYTES, "%s/.local/state/slate/audit.log", home);
    }
}

/* ---- reading ---- */

static void copy_text(const json_t *object, const char *name, char *out, size_t out_bytes) {
    const json_t *value = json_object_get(object, name);
    if (json_is_string(value)) {
        snprintf(out, out_bytes, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(out, out_bytes, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        snprintf(out, out_bytes, "%.10g", json_real_value(value));
    } else {
        out[0] = '\0';
    }
}

static bool parse(const char *line, size_t bytes, struct audit_entry *out) {
    json_t *object = json_loadb(line, bytes, 0, NULL);
    const char *schema = json_string_value(json_object_get(object, "schema"));
    const char *what = json_string_value(json_object_get(object, "what"));
    const json_t *id = json_object_get(object, "id");
    bool is_entry = schema != NULL && strcmp(schema, SCHEMA) == 0 && json_is_integer(id);
    bool is_move = what != NULL && strcmp(what, "move") == 0;
    *out = (struct audit_entry){.what = is_move ? AUDIT_MOVE : AUDIT_SET};
    if (is_entry) {
        out->id = (long)json_integer_value(id);
        out->time_s = json_number_value(json_object_get(object, "time_s"));
        copy_text(object, "server", out->server, sizeof out->server);
        copy_text(object, "name", out->name, sizeof out->name);
        copy_text(object, "was", out->was, sizeof out->was);
        copy_text(object, "is", out->is, sizeof out->is);
        out->from = (int)json_integer_value(json_object_get(object, "src"));
        out->to = (int)json_integer_value(json_object_get(object, "dst"));
        out->pages = (unsigned)json_integer_value(json_object_get(object, "pages"));
        out->undoes = (long)json_integer_value(json_object_get(object, "undoes"));
    }
    json_decref(object);
    return is_entry;
}

/* The end of the record, from the beginning of a line on; NULL when there is none. The caller frees it. */
static char *read_tail(int fd, size_t *bytes) {
    struct stat info;
    char *text = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? malloc(AUDIT_TAIL_BYTES) : NULL;
    if (text == NULL) {
        return NULL;
    }
    off_t from = info.st_size > AUDIT_TAIL_BYTES ? info.st_size - AUDIT_TAIL_BYTES : 0;
    ssize_t got = pread(fd, text, AUDIT_TAIL_BYTES, from);
    *bytes = got > 0 ? (size_t)got : 0;
    char *newline = from > 0 ? memchr(text, '\n', *bytes) : NULL;
    if (newline != NULL) { /* the line it begins in is torn */
        *bytes -= (size_t)(newline + 1 - text);
        memmove(text, newline + 1, *bytes);
    }
    return text;
}

/* The entry before `end`, which moves to its beginning; false when there is no more. */
static bool entry_before(const char *text, size_t *end, struct audit_entry *out) {
    while (*end > 0) {
        size_t stop = *end - (text[*end - 1] == '\n'), start = stop;
        while (start > 0 && text[start - 1] != '\n') {
            start--;
        }
        *end = start;
        if (parse(text + start, stop - start, out)) {
            return true;
        }
    }
    return false;
}

bool audit_last_undone(const char *path, const char *server, struct audit_entry *out) {
    static long undone[UNDONE_MOST];
    unsigned count = 0;
    size_t end = 0;
    int fd = path[0] != '\0' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    char *text = read_tail(fd, &end);
    bool is_found = false;
    while (text != NULL && !is_found && entry_before(text, &end, out)) {
        bool is_undone = false;
        for (unsigned i = 0; i < count; i++) {
            is_undone = is_undone || undone[i] == out->id;
        }
        if (out->undoes != 0) {
            undone[count] = out->undoes;
            count += count + 1 < UNDONE_MOST;
        } else {
            is_found = !is_undone && strcmp(out->server, server) == 0;
        }
    }
    free(text);
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

/* ---- writing ---- */

/* The folders above a path, from the top. */
static void make_folders(const char *path) {
    char folder[AUDIT_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        mkdir(folder, 0700); /* it may be there; opening the file says what is wrong */
        *slash = '/';
    }
}

static const char *who(void) {
    const char *user = getenv("USER"), *name = getenv("LOGNAME");
    const struct passwd *account = user == NULL && name == NULL ? getpwuid(getuid()) : NULL;
    return user != NULL ? user : name != NULL ? name : account != NULL ? account->pw_name : "";
}

/* NULL when out of memory, or when a text is no UTF-8. */
static json_t *compose(const struct audit_entry *entry) {
    json_t *object = json_pack("{s:s, s:I, s:f, s:s, s:s, s:s}", "schema", SCHEMA, "id", (json_int_t)entry->id,
                               "time_s", entry->time_s, "who", who(), "server", entry->server, "what",
                               entry->what == AUDIT_MOVE ? "move" : "set");
    json_t *rest = entry->what == AUDIT_MOVE
                       ? json_pack("{s:i, s:i, s:I}", "src", entry->from, "dst", entry->to, "pages",
                                   (json_int_t)entry->pages)
                       : json_pack("{s:s, s:s, s:s}", "name", entry->name, "was", entry->was, "is", entry->is);
    bool is_whole = object != NULL && rest != NULL && json_object_update(object, rest) == 0;
    json_decref(rest);
    if (is_whole && entry->undoes != 0) {
        is_whole = json_object_set_new(object, "undoes", json_integer(entry->undoes)) == 0;
    }
    if (!is_whole) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* One line in one write; the object is given away. */
static bool write_line(int fd, json_t *object) {
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(14)) : NULL;
    size_t bytes = text != NULL ? strlen(text) : 0;
    ssize_t written = -1;
    errno = ENOMEM;
    if (text != NULL) {
        text[bytes] = '\n'; /* in the place of the end */
        errno = ENOSPC;
        written = write(fd, text, bytes + 1);
    }
    free(text);
    json_decref(object);
    return written == (ssize_t)bytes + 1;
}

/* Opened and locked, for the id; whoever has it gives it back within this moment. -1 with errno when it cannot be. */
static int open_record(const char *path) {
    make_folders(path);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd >= 0) {
        flock(fd, LOCK_EX | LOCK_NB);
    }
    return fd;
}

/* Ends what open_record began. is_written with errno tells how the write went. */
static bool close_record(int fd, bool is_written, const char *path, char *why, size_t why_bytes) {
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (!is_written) {
        snprintf(why, why_bytes, "the record of changes %.120s was not written: %s", path, strerror(error));
    }
    return is_written;
}

bool audit_append(const char *path, struct audit_entry *entry, char *why, size_t why_bytes) {
    if (path[0] == '\0') {
        snprintf(why, why_bytes, "no record of changes: set HOME or SLATE_AUDIT, or name a file with --audit-log");
        return false;
    }
    int fd = open_record(path);
    struct audit_entry last;
    size_t end = 0;
    char *text = read_tail(fd, &end);
    entry->id = text != NULL && entry_before(text, &end, &last) ? last.id + 1 : 1;
    free(text);
    return close_record(fd, fd >= 0 && write_line(fd, compose(entry)), path, why, why_bytes);
}

static void set_figure(json_t *object, const char *name, double value) {
    if (!isnan(value)) {
        json_object_set_new(object, name, json_real(value));
    }
}

bool audit_append_outcome(const char *path, const struct audit_outcome *outcome, char *why, size_t why_bytes) {
    json_t *object = json_pack("{s:s, s:s, s:I, s:f, s:s, s:s}", "schema", SCHEMA, "what", "outcome", "of",
                               (json_int_t)outcome->of, "time_s", outcome->time_s, "server", outcome->server, "words",
                               outcome->words);
    set_figure(object, "hit_ratio_before", outcome->hit_ratio_before);
    set_figure(object, "hit_ratio_after", outcome->hit_ratio_after);
    set_figure(object, "evictions_before_per_s", outcome->evictions_before_per_s);
    set_figure(object, "evictions_after_per_s", outcome->evictions_after_per_s);
    set_figure(object, "items_lost", outcome->items_lost);
    int fd = open_record(path);
    return close_record(fd, fd >= 0 ? write_line(fd, object) : (json_decref(object), false), path, why, why_bytes);
}
