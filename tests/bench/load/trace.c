#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW_BYTES 65536
#define KEY_MAX_BYTES 250

struct trace {
    gzFile file;
    char *path;
    uint64_t line_number;
    size_t start, end; /* unread bytes of the window */
    bool at_end;
    char error[512];
    char window[WINDOW_BYTES];
};

struct trace *trace_open(const char *path, char *why, size_t why_bytes) {
    bool from_stdin = strcmp(path, "-") == 0;
    struct trace *t = calloc(1, sizeof(*t));
    struct stat st;
    int fd = -1;

    if (t == NULL || (t->path = strdup(from_stdin ? "standard input" : path)) == NULL) {
        snprintf(why, why_bytes, "out of memory");
        goto fail;
    }
    fd = from_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, why_bytes, "cannot open %s: %s", t->path, strerror(errno));
        goto fail;
    }
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(why, why_bytes, "cannot read %s: it is a directory", t->path);
        goto fail;
    }
    t->file = gzdopen(fd, "rb");
    if (t->file == NULL) {
        snprintf(why, why_bytes, "cannot read %s: out of memory", t->path);
        goto fail;
    }
    return t;
fail:
    if (fd >= 0) {
        close(fd);
    }
    if (t != NULL) {
        free(t->path);
        free(t);
    }
    return NULL;
}

static enum trace_step bad(struct trace *t, const char *what) {
    snprintf(t->error, sizeof(t->error), "%s, line %llu: %s", t->path,
             (unsigned long long)t->line_number, what);
    return TRACE_BAD;
}

/* Moves the unread bytes to the front and reads on. False on a read error. */
static bool refill(struct trace *t) {
    memmove(t->window, t->window + t->start, t->end - t->start);
    t->end -= t->start;
    t->start = 0;
    int got = gzread(t->file, t->window + t->end, (unsigned)(sizeof(t->window) - t->end));
    int code = Z_OK;
    const char *text = gzerror(t->file, &code);
    /* A file that ends inside a gzip member yields its last bytes first, then Z_BUF_ERROR. */
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR)) {
        t->line_number++;
        snprintf(t->error, sizeof(t->error), "%s, near line %llu: %s", t->path,
                 (unsigned long long)t->line_number,
                 code == Z_BUF_ERROR    ? "the compressed data is cut short"
                 : code == Z_ERRNO      ? strerror(errno)
                 : code == Z_DATA_ERROR ? "the compressed data is damaged"
                                        : text);
        return false;
    }
    if (got == 0) {
        t->at_end = true;
    }
    t->end += (size_t)got;
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static enum trace_step parse_line(struct trace *t, const char *p, const char *end,
                                  struct trace_line *out) {
    const char *key = p;
    while (p < end && !is_blank(*p)) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return bad(t, "a key holds a control character");
        }
        p++;
    }
    *out = (struct trace_line){.key = key, .key_bytes = (size_t)(p - key)};
    if (out->key_bytes > KEY_MAX_BYTES) {
        return bad(t, "the key is longer than 250 bytes");
    }
    while (p < end && is_blank(*p)) {
        p++;
    }
    if (p == end) {
        return TRACE_LINE;
    }
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        out->value_bytes = out->value_bytes * 10 + (uint64_t)(*p - '0');
        if (out->value_bytes > TRACE_SIZE_MAX) {
            return bad(t, "the size is out of range");
        }
        out->has_size = true;
    }
    while (p < end && is_blank(*p)) {
        p++;
    }
    if (!out->has_size || p != end) {
        return bad(t, "not `key` or `key size`");
    }
    return TRACE_LINE;
}

enum trace_step trace_next(struct trace *t, struct trace_line *out) {
    if (t->error[0] != '\0') {
        return TRACE_BAD;
    }
    for (;;) {
        char *line = t->window + t->start;
        char *newline = memchr(line, '\n', t->end - t->start);
        if (newline == NULL && !t->at_end && t->end - t->start <= TRACE_LINE_MAX) {
            if (!refill(t)) {
                return TRACE_BAD;
            }
            continue;
        }
        if (newline == NULL && t->start == t->end) {
            return TRACE_END;
        }
        char *end = newline ? newline : t->window + t->end;
        t->start = (size_t)(end - t->window) + (newline ? 1 : 0);
        t->line_number++;
        if (end - line > TRACE_LINE_MAX) {
            return bad(t, "the line is longer than 512 bytes");
        }
        if (end > line && end[-1] == '\r') {
            end--;
        }
        while (line < end && is_blank(*line)) {
            line++;
        }
        if (line < end) {
            return parse_line(t, line, end, out);
        }
    }
}

const char *trace_error(const struct trace *t) {
    return t->error;
}

void trace_close(struct trace **t) {
    if (*t != NULL) {
        gzclose_r((*t)->file);
        free((*t)->path);
        free(*t);
        *t = NULL;
    }
}
