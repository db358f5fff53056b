#include "serve/words.h"

#include <string.h>

#include "base/number.h"
#include "mem/slab.h"

void words_split(const char *line, size_t bytes, struct words *w) {
    const char *at = line, *end = line + bytes;
    w->count = 0;
    while (w->count < WORDS_MAX) {
        while (at < end && *at == ' ') {
            at++;
        }
        const char *start = at;
        while (at < end && *at != ' ') {
            at++;
        }
        if (at == start) {
            return;
        }
        w->word[w->count++] = (struct word){start, (size_t)(at - start)};
    }
}

bool word_is(const struct word *w, const char *text) {
    return strlen(text) == w->len && memcmp(w->at, text, w->len) == 0;
}

bool word_begins(const struct word *w, const char *text) {
    return strncmp(w->at, text, w->len) == 0;
}

static bool digits(const struct word *w, uint64_t most, uint64_t *n) {
    *n = 0;
    for (size_t i = 0; i < w->len; i++) {
        if (w->at[i] < '0' || w->at[i] > '9') {
            return false;
        }
        *n = *n * 10 + (uint64_t)(w->at[i] - '0');
        if (*n > most) {
            return false;
        }
    }
    return w->len > 0;
}

bool word_u32(const struct word *w, uint32_t *to) {
    uint64_t n;
    if (!digits(w, UINT32_MAX, &n)) {
        return false;
    }
    *to = (uint32_t)n;
    return true;
}

bool word_i32(const struct word *w, int32_t *to) {
    bool negative = w->len > 0 && w->at[0] == '-';
    struct word rest = {w->at + negative, w->len - negative};
    uint64_t n;
    if (!digits(&rest, (uint64_t)INT32_MAX + negative, &n)) {
        return false;
    }
    *to = (int32_t)(negative ? -(int64_t)n : (int64_t)n);
    return true;
}

bool word_text(const struct word *w, char *to, size_t room) {
    if (w->len >= room) {
        return false;
    }
    memcpy(to, w->at, w->len);
    to[w->len] = '\0';
    return true;
}

bool word_double(const struct word *w, double *to) {
    char text[64];
    return word_text(w, text, sizeof text) && number_real(text, to);
}

bool word_classes(const struct word *w, unsigned last, struct class_set *classes) {
    *classes = (struct class_set){{0}};
    if (word_is(w, "all")) {
        *classes = class_set_all();
        return true;
    }
    const char *at = w->at, *end = w->at + w->len;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct word id = {at, (size_t)((comma ? comma : end) - at)};
        uint32_t    class_id;
        if (id.len > 0) { /* memcached skips empty ones */
            if (!word_u32(&id, &class_id) || class_id == SLAB_CLASS_NONE || class_id > last) {
                return false;
            }
            class_set_add(classes, class_id);
        }
        at = comma ? comma + 1 : end;
    }
    return !class_set_empty(classes);
}
