#include "simulate/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulate/trace_bytes.h"

enum { WINDOW_BYTES = 1 << 16 };

struct trace {
    struct trace_bytes *bytes;
    char              *name;
    enum trace_format  requested; /* TRACE_AUTO: guess */
    struct trace_form  form;
    uint64_t line, bad_lines; /* lines or records begun; those that are no requests */
    size_t   start, end;      /* unread part of the window */
    /* the format is known; the file has been read; the end of a too long line is to be skipped */
    bool     begun, at_end, in_long;
    char     first_bad[TRACE_WHY_BYTES], error[TRACE_WHY_BYTES];
    char     window[WINDOW_BYTES];
};

struct trace *trace_open_fd(int fd, const char *name, char *why) {
    struct stat st;
    struct trace *t = calloc(1, sizeof *t);
    bool is_folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    if (t == NULL || is_folder || (t->name = strdup(name)) == NULL) {
        close(fd);
    } else {
        t->bytes = trace_bytes_open(fd);
    }
    if (t == NULL || t->bytes == NULL) {
        snprintf(why, TRACE_WHY_BYTES, "cannot read %.300s: %s", name,
                 is_folder ? "it is a folder" : "out of memory");
        trace_close(&t);
    }
    return t;
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
        trace_bytes_close(&(*taken)->bytes);
        free((*taken)->name);
        free(*taken);
        *taken = NULL;
    }
}

void trace_set_format(struct trace *t, enum trace_format format) { t->requested = format; }

/* Moves the unread bytes to the front and reads more. False: the file is broken. */
static bool trace_refill(struct trace *t) {
    char why[TRACE_BYTES_WHY];
    memmove(t->window, t->window + t->start, t->end - t->start);
    t->end -= t->start;
    t->start = 0;
    int got = trace_bytes_read(t->bytes, t->window + t->end, WINDOW_BYTES - t->end, why);
    if (got < 0) {
        snprintf(t->error, sizeof t->error, "cannot read %.300s beyond %s %llu: %s", t->name,
                 t->form.format == TRACE_ORACLE ? "record" : "line", (unsigned long long)t->line,
                 why);
        return false;
    }
    t->at_end = got == 0;
    t->end += (size_t)got;
    return true;
}

static void trace_note_bad(struct trace *t, const char *what) {
    if (t->bad_lines++ == 0) {
        snprintf(t->first_bad, sizeof t->first_bad, "%s %llu: %s",
                 t->form.format == TRACE_ORACLE ? "record" : "line", (unsigned long long)t->line,
                 what);
    }
}

static bool trace_is_blank(char c) { return c == ' ' || c == '\t'; }

static size_t trace_trimmed_bytes(const char *line, size_t n) {
    while (n > 0 && (trace_is_blank(line[n - 1]) || line[n - 1] == '\r')) {
        n--;
    }
    return n;
}

/* Finds the format of the file. False: the file has another format than requested, or is broken. */
static bool trace_begin(struct trace *t) {
    t->begun = true;
    while (t->end < WINDOW_BYTES && !t->at_end) {
        size_t before = t->end;
        if (!trace_refill(t)) {
            if (before == 0) {
                return false;
            }
            /* the bytes before the error are good: read them first, and find the error again
             * later */
            t->error[0] = '\0';
            break;
        }
    }
    const char *newline = memchr(t->window, '\n', t->end);
    size_t line = newline != NULL ? (size_t)(newline - t->window) : t->end;
    const char *wrong = t->end == 0 ? NULL
                                    : trace_form_begin(&t->form, t->requested, t->window, t->end,
                                                       trace_trimmed_bytes(t->window, line));
    if (wrong == NULL && t->form.has_head && line > TRACE_LINE_BYTES_MAX) {
        wrong = "it is longer than 512 bytes";
    }
    if (wrong != NULL) {
        snprintf(t->error, sizeof t->error, "cannot read %.300s as %s: line 1: %s", t->name,
                 t->form.format != TRACE_AUTO ? trace_format_name(t->form.format) : "a trace",
                 wrong);
        return false;
    }
    if (t->form.has_head) {
        t->start = line + (newline != NULL);
        t->line = 1;
    }
    return true;
}

static bool trace_has_begun(struct trace *t) {
    return t->begun ? t->error[0] == '\0' : trace_begin(t);
}

enum trace_format trace_format(struct trace *t) {
    trace_has_begun(t);
    return t->form.format != TRACE_AUTO ? t->form.format : TRACE_KEYS;
}

double trace_sample(struct trace *t) {
    trace_has_begun(t);
    return t->form.sample > 0 ? t->form.sample : 1;
}

/* Reads a line in the window. False: it is no request. */
static bool trace_read_line(struct trace *t, const char *p, const char *end,
                            struct trace_request *to) {
    end = p + trace_trimmed_bytes(p, (size_t)(end - p));
    while (p < end && trace_is_blank(*p)) {
        p++;
    }
    if (p == end) {
        return false;
    }
    const char *wrong = trace_form_line(&t->form, p, (size_t)(end - p), to);
    if (wrong != NULL) {
        trace_note_bad(t, wrong);
    }
    return wrong == NULL && to->key_bytes > 0;
}

static enum trace_step trace_next_line(struct trace *t, struct trace_request *to) {
    while (t->error[0] == '\0') {
        char  *line = t->window + t->start;
        size_t have = t->end - t->start;
        char  *newline = memchr(line, '\n', have);
        if (newline == NULL && !t->at_end && have <= TRACE_LINE_BYTES_MAX) {
            if (!trace_refill(t)) {
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
            trace_note_bad(t, "it is longer than 512 bytes");
        } else if (starts && trace_read_line(t, line, end, to)) {
            return TRACE_REQUEST;
        }
    }
    return TRACE_BROKEN;
}

static enum trace_step trace_next_record(struct trace *t, struct trace_request *to) {
    while (t->error[0] == '\0') {
        size_t have = t->end - t->start;
        if (have < TRACE_RECORD_BYTES && !t->at_end) {
            if (!trace_refill(t)) {
                break;
            }
            continue;
        }
        if (have == 0) {
            return TRACE_END;
        }
        t->line++;
        if (have < TRACE_RECORD_BYTES) {
            snprintf(t->error, sizeof t->error,
                     "cannot read %.300s: record %llu has %zu of %d bytes: the file is cut short",
                     t->name, (unsigned long long)t->line, have, TRACE_RECORD_BYTES);
            break;
        }
        const char *wrong =
            trace_form_record(&t->form, (unsigned char *)t->window + t->start, to);
        t->start += TRACE_RECORD_BYTES;
        if (wrong != NULL) {
            trace_note_bad(t, wrong);
        } else if (to->key_bytes > 0) {
            return TRACE_REQUEST;
        }
    }
    return TRACE_BROKEN;
}

enum trace_step trace_next(struct trace *t, struct trace_request *to) {
    if (!trace_has_begun(t)) {
        return TRACE_BROKEN;
    }
    return t->form.format == TRACE_ORACLE ? trace_next_record(t, to) : trace_next_line(t, to);
}

uint64_t    trace_bad_lines(const struct trace *t) { return t->bad_lines; }
const char *trace_first_bad(const struct trace *t) { return t->first_bad; }
const char *trace_error(const struct trace *t) { return t->error; }
