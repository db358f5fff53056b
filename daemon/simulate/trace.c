#include "simulate/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/key.h"

enum { WINDOW_BYTES = 1 << 16 };

struct trace {
    gzFile   file;
    char    *name;
    uint64_t line, bad_lines; /* lines begun; of these, no requests */
    size_t   start, end;      /* what of the window is not read yet */
    /* the file has been read; the rest of a line that is too long is to be skipped */
    bool     at_end, in_long;
    char     first_bad[TRACE_WHY_BYTES], error[TRACE_WHY_BYTES];
    char     window[WINDOW_BYTES];
};

struct trace *trace_open_fd(int fd, const char *name, char *why) {
    struct trace *t = calloc(1, sizeof *t);
    struct stat st;
    if (t == NULL || (t->name = strdup(name)) == NULL) {
        snprintf(why, TRACE_WHY_BYTES, "cannot read %.300s: out of memory", name);
        goto fail;
    }
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(why, TRACE_WHY_BYTES, "cannot read %.300s: it is a folder", name);
        goto fail;
    }
    t->file = gzdopen(fd, "rb"); /* reads plain text too */
    if (t->file == NULL) {
        snprintf(why, TRACE_WHY_BYTES, "cannot read %.300s: out of memory", name);
        goto fail;
    }
    return t;
fail:
    close(fd);
    if (t != NULL) {
        free(t->name);
        free(t);
    }
    return NULL;
}

struct trace *trace_open(const char *path, char *why) {
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, TRACE_WHY_BYTES, "cannot open %.300s: %s", standard ? "standard input" : path,
                 strerror(errno));
        return NULL;
    }
    return trace_open_fd(fd, standard ? "standard input" : path, why);
}

void trace_close(struct trace **taken) {
    if (*taken != NULL) {
        gzclose_r((*taken)->file);
        free((*taken)->name);
        free(*taken);
        *taken = NULL;
    }
}

/* Moves what is unread to the front and reads on. False: the file is broken. */
static bool refill(struct trace *t) {
    memmove(t->window, t->window + t->start, t->end - t->start);
    t->end -= t->start;
    t->start = 0;
    int got = gzread(t->file, t->window + t->end, (unsigned)(WINDOW_BYTES - t->end)), code = Z_OK;
    const char *said = gzerror(t->file, &code);
    /* A file cut off within its compressed data gives all it has first, then nothing and
     * Z_BUF_ERROR. */
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR)) {
        snprintf(t->error, sizeof t->error, "cannot read %.300s beyond line %llu: %.120s", t->name,
                 (unsigned long long)t->line,
                 code == Z_BUF_ERROR    ? "its compressed data is cut short"
                 : code == Z_DATA_ERROR ? "its compressed data is damaged"
                 : code == Z_ERRNO      ? strerror(errno)
                                        : said);
        return false;
    }
    t->at_end = got == 0;
    t->end += (size_t)got;
    return true;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Reads a line that has no blanks at its ends. NULL: it is a request; else what is wrong with
 * it. */
static const char *parse(const char *p, const char *end, struct trace_request *to) {
    const char *key = p;
    for (; p < end && !is_blank(*p); p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return "the key holds a control character";
        }
    }
    if (p - key > KEY_BYTES_MAX) {
        return "the key is longer than 250 bytes";
    }
    *to = (struct trace_request){.key = key, .key_bytes = (uint8_t)(p - key)};
    while (p < end && is_blank(*p)) {
        p++;
    }
    to->has_size = p < end;
    uint64_t bytes = 0;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') {
            return "it is neither `key` nor `key size`";
        }
        bytes = bytes * 10 + (uint64_t)(*p - '0');
        if (bytes > TRACE_VALUE_BYTES_MAX) {
            return "the size is larger than 1 GiB";
        }
    }
    to->value_bytes = (uint32_t)bytes;
    return NULL;
}

static void note_bad(struct trace *t, const char *what) {
    if (t->bad_lines++ == 0) {
        snprintf(t->first_bad, sizeof t->first_bad, "line %llu: %s", (unsigned long long)t->line,
                 what);
    }
}

/* A line as it stands in the window. False: it is no request. */
static bool read_line(struct trace *t, const char *p, const char *end, struct trace_request *to) {
    while (end > p && (is_blank(end[-1]) || end[-1] == '\r')) {
        end--;
    }
    while (p < end && is_blank(*p)) {
        p++;
    }
    if (p == end) {
        return false;
    }
    const char *wrong = parse(p, end, to);
    if (wrong != NULL) {
        note_bad(t, wrong);
    }
    return wrong == NULL;
}

enum trace_step trace_next(struct trace *t, struct trace_request *to) {
    while (t->error[0] == '\0') {
        char  *line = t->window + t->start;
        size_t have = t->end - t->start;
        char  *newline = memchr(line, '\n', have);
        if (newline == NULL && !t->at_end && have <= TRACE_LINE_BYTES_MAX) {
            if (!refill(t)) {
                break;
            }
            continue;
        }
        if (have == 0) {
            return TRACE_END;
        }
        char *end = newline != NULL ? newline : t->window + t->end;
        bool  starts = !t->in_long, too_long = end - line > TRACE_LINE_BYTES_MAX;
        t->start += (size_t)(end - line) + (newline != NULL);
        t->line += starts;
        t->in_long = newline == NULL && (too_long || !starts);
        if (starts && too_long) {
            note_bad(t, "it is longer than 512 bytes");
        } else if (starts && read_line(t, line, end, to)) {
            return TRACE_REQUEST;
        }
    }
    return TRACE_BROKEN;
}

uint64_t    trace_bad_lines(const struct trace *t) { return t->bad_lines; }
const char *trace_first_bad(const struct trace *t) { return t->first_bad; }
const char *trace_error(const struct trace *t) { return t->error; }
