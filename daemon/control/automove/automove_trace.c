#include "control/automove/automove_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct automove_trace {
    int fd; /* -1: the file could not be written */
};

struct automove_trace *automove_trace_open(const char *path) {
    struct automove_trace *s = malloc(sizeof *s);
    /* Does not wait: if the file is a pipe without a reader, this call and writes fail. So the
     * tuner, which moves pages, never waits for a reader. */
    if (s != NULL &&
        (s->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644)) < 0) {
        int saved = errno;
        free(s);
        s = NULL;
        errno = saved;
    }
    return s;
}

void automove_trace_close(struct automove_trace **taken) {
    if (*taken != NULL) {
        if ((*taken)->fd >= 0) {
            close((*taken)->fd);
        }
        free(*taken);
        *taken = NULL;
    }
}

/* Writes one figure, behind a comma unless the figure is the id, which comes first. */
static void trace_print_figure(void *to, const char *name, uint64_t value) {
    fprintf(to, "%s\"%s\":%" PRIu64, strcmp(name, "id") == 0 ? "" : ",", name, value);
}

static void trace_print_curve(FILE *to, const struct class_curve *curve) {
    fputs(",\"curve\":[", to);
    for (unsigned i = 0; i < curve->count; i++) {
        fprintf(to, "%s[%" PRIu64 ",%.17g]", i > 0 ? "," : "", curve->points[i].bytes,
                curve->points[i].hit_ratio);
    }
    putc(']', to);
}

static void trace_print_line(FILE *to, const struct snapshot *s) {
    uint64_t us = s->epoch_us + s->time_us;
    fprintf(to,
            "{\"schema\":\"slate/snapshot/1\",\"time_s\":%" PRIu64 ".%06" PRIu64
            ",\"slated\":\"" SLATE_VERSION "\",\"pages_limit\":%" PRIu32 ",\"pages_free\":%" PRIu32
            ",\"general\":{\"pid\":%ld},\"classes\":[",
            us / 1000000, us % 1000000, s->pages_limit, s->pages_free, (long)getpid());
    const char *before = "{";
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (snapshot_class_listed(&s->classes[i])) {
            fputs(before, to);
            snapshot_class_each(&s->classes[i], i, trace_print_figure, to);
            if (s->curves != NULL && s->curves[i].count > 0) {
                trace_print_curve(to, &s->curves[i]);
            }
            putc('}', to);
            before = ",{";
        }
    }
    fputs("]}\n", to);
}

/* Writes the line by one call, so that a reader sees complete lines. If the disk is full, cuts off
 * the written part of the line. */
static bool trace_write_line(int fd, const char *line, size_t bytes) {
    off_t end = lseek(fd, 0, SEEK_END); /* -1: not a file */
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(fd, line + done, bytes - done);
        if (n < 0 && errno != EINTR) {
            int why = errno;
            if (end >= 0 && done > 0 && ftruncate(fd, end) != 0) {
                log_warn("automove_record ends with half a line: %s", strerror(errno));
            }
            errno = why;
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

void automove_trace_add(struct automove_trace *s, const struct snapshot *snapshot) {
    char  *line = NULL;
    size_t bytes = 0;
    FILE  *to = s->fd >= 0 ? open_memstream(&line, &bytes) : NULL;
    if (to == NULL) {
        return;
    }
    trace_print_line(to, snapshot);
    if (fclose(to) == 0 && !trace_write_line(s->fd, line, bytes)) {
        log_warn("automove_record cannot be written and ends: %s", strerror(errno));
        close(s->fd);
        s->fd = -1;
    }
    free(line);
}
