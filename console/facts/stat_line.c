#include "facts/stat_line.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stat_line_printable(char *out, size_t out_bytes, const char *text, size_t n) {
    size_t used = 0;
    for (; used < n && used + 1 < out_bytes && text[used] != '\r' && text[used] != '\n'; used++) {
        out[used] = text[used] >= ' ' && text[used] <= '~' ? text[used] : '?';
    }
    out[used] = '\0';
}

bool stat_line_next(const char **at, const char *end, struct stat_line *line) {
    while (*at < end) {
        const char *begin = *at, *newline = memchr(begin, '\n', (size_t)(end - begin));
        const char *stop = newline != NULL ? newline : end;
        *at = newline != NULL ? newline + 1 : end;
        if (stop > begin && stop[-1] == '\r') {
            stop--;
        }
        if (stop - begin <= 5 || memcmp(begin, "STAT ", 5) != 0) {
            continue;
        }
        const char *name = begin + 5, *space = memchr(name, ' ', (size_t)(stop - name));
        const char *value = space != NULL ? space + 1 : stop;
        stat_line_printable(line->name, sizeof line->name, name,
                            (size_t)((space != NULL ? space : stop) - name));
        stat_line_printable(line->value, sizeof line->value, value, (size_t)(stop - value));
        return true;
    }
    return false;
}

double stat_line_number(const char *text) {
    char *end;
    bool is_decimal = isdigit((unsigned char)text[text[0] == '-' || text[0] == '+']) &&
                      strspn(text, "+-.0123456789eE") == strlen(text);
    double value = is_decimal ? strtod(text, &end) : NAN;
    return is_decimal && *end == '\0' && isfinite(value) ? value : NAN;
}

bool stat_line_numbered(const char *name, unsigned limit, unsigned *number, const char **after) {
    char *end;
    if (!isdigit((unsigned char)name[0])) {
        return false;
    }
    unsigned long value = strtoul(name, &end, 10);
    if (*end != ':' || value >= limit) {
        return false;
    }
    *number = (unsigned)value;
    *after = end + 1;
    return true;
}

void stat_line_take(const struct stat_slot *slots, size_t count, const char *name,
                    const char *value) {
    for (size_t i = 0; i < count; i++) {
        if (!stat_line_is(name, slots[i].name)) {
            continue;
        }
        if (slots[i].to != NULL) {
            *slots[i].to = stat_line_number(value);
        } else {
            stat_line_copy(slots[i].text, slots[i].text_bytes, value);
        }
    }
}

bool stat_line_is(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

void stat_line_copy(char *out, size_t out_bytes, const char *text) {
    snprintf(out, out_bytes, "%.*s", (int)out_bytes - 1, text);
}
