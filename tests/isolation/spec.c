#include "spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char outcomes_line[] = "== outcomes";
enum { RUN_LEAST = 9, PREEMPTIONS = 2, PARTITIONS = 1 };

static char spec_read_byte(const char **p) {
    char c = *(*p)++;
    if (c != '\\') {
        return c;
    }
    c = *(*p)++;
    unsigned byte;
    if (c == 'x' && sscanf(*p, "%2x", &byte) == 1) {
        *p += 2;
        return (char)byte;
    }
    return c == 'r' ? '\r' : c == 'n' ? '\n' : c;
}

/* The bytes behind "> ". */
static void spec_read_bytes(struct spec_step *step, const char *p) {
    step->send = true;
    while (*p) {
        bool   run = *p == '{';
        p += run;
        char   c = spec_read_byte(&p);
        size_t times = 1;
        if (run) {
            char *close;
            times = strtoul(p + 1, &close, 10);
            p = close + 1;
        }
        step->bytes = realloc(step->bytes, step->n + times + 1);
        memset(step->bytes + step->n, c, times);
        step->n += times;
    }
    step->bytes = realloc(step->bytes, step->n + 1);
    step->bytes[step->n] = 0;
}

static bool spec_add_step(struct spec_part *part, const char *line) {
    if (part == NULL || part->step_count == SPEC_STEPS_MAX) {
        return false;
    }
    struct spec_step *step = &part->steps[part->step_count++];
    if (line[0] == '>') {
        spec_read_bytes(step, line + 2);
    } else {
        step->bytes = strdup(line + 2);
        step->n = strlen(step->bytes);
    }
    return true;
}

/* The part that begins with a line "@ setup", "@ after", "@ tuner" or "@ client NAME"; NULL: another line, or one part too many. */
static struct spec_part *spec_begin_part(struct spec *s, const char *words) {
    if (strcmp(words, "setup") == 0) {
        return &s->setup;
    }
    if (strcmp(words, "after") == 0) {
        return &s->after;
    }
    bool tuner = strcmp(words, "tuner") == 0;
    if (s->part_count == ACTORS_MAX || !(tuner || strncmp(words, "client ", 7) == 0)) {
        return NULL;
    }
    struct spec_part *part = &s->parts[s->part_count++];
    part->tuner = tuner;
    snprintf(part->name, sizeof part->name, "%s", tuner ? words : words + 7);
    return part;
}

static bool spec_read_header(struct spec *s, const char *words) {
    if (strncmp(words, "option ", 7) == 0) {
        size_t used = strlen(s->options);
        snprintf(s->options + used, sizeof s->options - used, "%s ", words + 7);
        return true;
    }
    if (strcmp(words, "every index") == 0) {
        return s->every_index = true;
    }
    unsigned few, all;
    int counts = sscanf(words, "preemptions %u %u", &few, &all);
    if (counts > 0) {
        s->preemptions = counts == 2 && getenv("ALL") ? all : few;
        return true;
    }
    return sscanf(words, "partitions %u", &s->partitions) == 1;
}

static bool spec_read_line(struct spec *s, struct spec_part **part, const char *line) {
    switch (line[0]) {
    case 0: return true;
    case '#':
        if (s->claim[0] == 0) {
            snprintf(s->claim, sizeof s->claim, "%s", line + 2);
        }
        return true;
    case '!': return spec_read_header(s, line + 2);
    case '@': return (*part = spec_begin_part(s, line + 2)) != NULL;
    case '>':
    case '=': return line[1] == ' ' && spec_add_step(*part, line);
    default: return false;
    }
}

/* Outcomes are separated by empty lines; their lines stay as they are. */
static bool spec_read_outcome_line(struct spec *s, bool *inside, const char *line) {
    if (line[0] == 0) {
        *inside = false;
        return true;
    }
    if (!*inside && s->outcome_count == SPEC_OUTCOMES_MAX) {
        return false;
    }
    char **outcome = &s->outcomes[*inside ? s->outcome_count - 1 : s->outcome_count];
    size_t had = *inside ? strlen(*outcome) : 0, n = strlen(line);
    *outcome = realloc(*outcome, had + n + 2);
    memcpy(*outcome + had, line, n);
    memcpy(*outcome + had + n, "\n", 2);
    s->outcome_count += !*inside;
    *inside = true;
    return true;
}

bool spec_read(struct spec *s, const char *path, char *why, size_t why_bytes) {
    memset(s, 0, sizeof *s);
    s->preemptions = PREEMPTIONS;
    s->partitions = PARTITIONS;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    bool good = true, in_outcomes = false, inside = false;
    struct spec_part *part = NULL;
    for (ssize_t n; good && (n = getline(&line, &room, file)) >= 0;) {
        line[n > 0 && line[n - 1] == '\n' ? n - 1 : n] = 0;
        number++;
        if (strcmp(line, outcomes_line) == 0) {
            in_outcomes = true;
        } else {
            good = in_outcomes ? spec_read_outcome_line(s, &inside, line) : spec_read_line(s, &part, line);
        }
    }
    free(line);
    fclose(file);
    if (!good || s->part_count < 2 || s->claim[0] == 0) {
        snprintf(why, why_bytes, "%s:%d: %s", path, number, good ? "no claim, or fewer than two that act" : "not a line of a specification");
        return false;
    }
    return true;
}

static void spec_part_free(struct spec_part *part) {
    for (unsigned i = 0; i < part->step_count; i++) {
        free(part->steps[i].bytes);
    }
}

void spec_free(struct spec *s) {
    spec_part_free(&s->setup);
    spec_part_free(&s->after);
    for (unsigned i = 0; i < s->part_count; i++) {
        spec_part_free(&s->parts[i]);
    }
    for (unsigned i = 0; i < s->outcome_count; i++) {
        free(s->outcomes[i]);
    }
}

bool spec_write_outcomes(const char *path, char *const *outcomes, unsigned count) {
    FILE *file = fopen(path, "r");
    char *text = NULL, *line = NULL;
    size_t bytes = 0, room = 0;
    for (ssize_t n; file != NULL && (n = getline(&line, &room, file)) >= 0 && strncmp(line, outcomes_line, strlen(outcomes_line)) != 0;) {
        text = realloc(text, bytes + (size_t)n + 1);
        memcpy(text + bytes, line, (size_t)n + 1);
        bytes += (size_t)n;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    file = file != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) {
        free(text);
        return false;
    }
    fprintf(file, "%s%s\n", text != NULL ? text : "", outcomes_line);
    for (unsigned i = 0; i < count; i++) {
        fprintf(file, "%s%s", i > 0 ? "\n" : "", outcomes[i]);
    }
    free(text);
    return fclose(file) == 0;
}

static size_t spec_run_at(const char *bytes, size_t n) {
    size_t run = 1;
    while (run < n && bytes[run] == bytes[0]) {
        run++;
    }
    return run;
}

void spec_show(const char *bytes, size_t n, char *to, size_t room) {
    size_t used = 0;
    to[0] = 0;
    for (size_t i = 0; i < n && used + 32 < room;) {
        size_t run = spec_run_at(bytes + i, n - i);
        char one[8];
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\r' || c == '\n') {
            snprintf(one, sizeof one, "\\%c", c == '\r' ? 'r' : 'n');
        } else {
            snprintf(one, sizeof one, isprint(c) ? "%c" : "\\x%02x", c);
        }
        run = run >= RUN_LEAST ? run : 1;
        used += (size_t)snprintf(to + used, room - used, run > 1 ? "{%s*%zu}" : "%s", one, run);
        i += run;
    }
}
