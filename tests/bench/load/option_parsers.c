#include "option_row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

bool option_parse_switch(const struct row *row, const char *text, void *field) {
    (void)row;
    (void)text;
    *(bool *)field = true;
    return true;
}

bool option_parse_text(const struct row *row, const char *text, void *field) {
    (void)row;
    *(const char **)field = text;
    return true;
}

/* Decimal digits and perhaps a fraction; no sign, blank, exponent or hexadecimal. */
static bool read_decimal(const char *text, char **end, double *out) {
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    size_t plain = strspn(text, ".0123456789");
    *out = strtod(text, end);
    return *end == text + plain;
}

/* A decimal, optionally with k, m or g behind it, in thousands. */
static bool read_with_suffix(const char *text, double *number) {
    static const char suffixes[] = "kmg";
    char *end;
    if (!read_decimal(text, &end, number)) {
        return false;
    }
    if (*end != '\0') {
        const char *suffix = strchr(suffixes, *end);
        if (suffix == NULL || end[1] != '\0') {
            return false;
        }
        *number *= pow(1000, (double)(suffix - suffixes + 1));
    }
    return true;
}

bool option_parse_count(const struct row *row, const char *text, void *field) {
    double number;
    if (row->initial != NULL && strcmp(row->initial, "auto") == 0 && strcmp(text, "auto") == 0) {
        *(uint64_t *)field = OPTION_AUTO;
        return true;
    }
    if (!read_with_suffix(text, &number) || number != floor(number) || number < row->min || number > row->max) {
        return false;
    }
    *(uint64_t *)field = (uint64_t)number;
    return true;
}

bool option_parse_real(const struct row *row, const char *text, void *field) {
    double number;
    if (row->initial != NULL && strcmp(row->initial, "auto") == 0 && strcmp(text, "auto") == 0) {
        *(double *)field = -1;
        return true;
    }
    if (!read_with_suffix(text, &number) || number < row->min || number > row->max) {
        return false;
    }
    *(double *)field = number;
    return true;
}

/* Seconds, or a number with its unit; false for any other text. */
static bool read_time(const char *text, double *seconds) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    double number;
    char *end;
    if (!read_decimal(text, &end, &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].name) == 0) {
            *seconds = number * units[i].seconds;
            return true;
        }
    }
    return false;
}

bool option_parse_time(const struct row *row, const char *text, void *field) {
    double seconds;
    if (!read_time(text, &seconds) || seconds < row->min || seconds > row->max) {
        return false;
    }
    *(double *)field = seconds;
    return true;
}

bool option_parse_whole_time(const struct row *row, const char *text, void *field) {
    double seconds;
    if (row->initial != NULL && strcmp(row->initial, "auto") == 0 && strcmp(text, "auto") == 0) {
        *(uint64_t *)field = OPTION_AUTO;
        return true;
    }
    if (!option_parse_time(row, text, &seconds) || seconds != floor(seconds)) {
        return false;
    }
    *(uint64_t *)field = (uint64_t)seconds;
    return true;
}

bool option_parse_dist(const struct row *row, const char *text, void *field) {
    (void)row;
    return dist_parse(text, field);
}

bool option_parse_popularity(const struct row *row, const char *text, void *field) {
    (void)row;
    return popularity_parse(text, field);
}

bool option_parse_method(const struct row *row, const char *text, void *field) {
    static const char *const names[] = {
        [VERB_GET] = "get", [VERB_SET] = "set", [VERB_DELETE] = "delete"};
    (void)row;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *(enum verb *)field = (enum verb)i;
            return true;
        }
    }
    return false;
}

static bool choose(const char *text, const char *no, const char *yes, void *field) {
    bool is_yes = strcmp(text, yes) == 0;
    *(bool *)field = is_yes;
    return is_yes || strcmp(text, no) == 0;
}

bool option_parse_protocol(const struct row *row, const char *text, void *field) {
    (void)row;
    return choose(text, "text", "meta", field);
}

bool option_parse_size_by(const struct row *row, const char *text, void *field) {
    (void)row;
    return choose(text, "key", "request", field);
}

bool option_parse_shift(const struct row *row, const char *text, void *field) {
    struct shift s = {0};
    (void)row;
    for (;;) {
        char *end;
        if (*text < '0' || *text > '9' || s.count == SHIFT_MAX) {
            return false;
        }
        errno = 0;
        s.value_bytes[s.count] = strtoull(text, &end, 10);
        if (errno != 0 || s.value_bytes[s.count] > 1000000000) {
            return false;
        }
        s.count++;
        if (*end == '\0') {
            *(struct shift *)field = s;
            return true;
        }
        if (*end != ',') {
            return false;
        }
        text = end + 1;
    }
}

bool option_parse_every(const struct row *row, const char *text, void *field) {
    struct every e = {0};
    char *end;
    double number;
    (void)row;
    if (!read_decimal(text, &end, &number) || number <= 0 || number > 1e15) {
        return false;
    }
    if (*end != '\0') {
        if (!read_time(text, &e.seconds)) {
            return false;
        }
    } else if (number == floor(number)) {
        e.requests = (uint64_t)number;
    } else {
        return false;
    }
    *(struct every *)field = e;
    return true;
}

bool option_parse_verify(const struct row *row, const char *text, void *field) {
    struct row sample = {.min = 1, .max = 1e9};
    (void)row;
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        *(uint64_t *)field = *text == 'a' ? 1 : 0;
        return true;
    }
    return strncmp(text, "sample:", 7) == 0 && option_parse_count(&sample, text + 7, field);
}

bool option_parse_format(const struct row *row, const char *text, void *field) {
    enum trace_format format = trace_format_find(text);
    (void)row;
    if (format < TRACE_FORMAT_COUNT) {
        *(enum trace_format *)field = format;
    }
    return format < TRACE_FORMAT_COUNT;
}
