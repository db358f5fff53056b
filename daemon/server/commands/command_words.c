#include "server/commands/command_words.h"

#include <string.h>

#include "base/number.h"
#include "mem/slab.h"

bool word_is(const struct token *w, const char *text) {
    return strlen(text) == w->bytes && memcmp(w->ptr, text, w->bytes) == 0;
}

bool word_begins(const struct token *w, const char *text) {
    return strncmp(w->ptr, text, w->bytes) == 0;
}

static bool word_digits(const struct token *w, uint64_t most, uint64_t *n) {
    *n = 0;
    for (size_t i = 0; i < w->bytes; i++) {
        if (w->ptr[i] < '0' || w->ptr[i] > '9') {
            return false;
        }
        *n = *n * 10 + (uint64_t)(w->ptr[i] - '0');
        if (*n > most) {
            return false;
        }
    }
    return w->bytes > 0;
}

bool word_u32(const struct token *w, uint32_t *to) {
    uint64_t n;
    if (!word_digits(w, UINT32_MAX, &n)) {
        return false;
    }
    *to = (uint32_t)n;
    return true;
}

bool word_i32(const struct token *w, int32_t *to) {
    bool negative = w->bytes > 0 && w->ptr[0] == '-';
    struct token number = {w->ptr + negative, w->bytes - negative};
    uint64_t n;
    if (!word_digits(&number, (uint64_t)INT32_MAX + negative, &n)) {
        return false;
    }
    *to = (int32_t)(negative ? -(int64_t)n : (int64_t)n);
    return true;
}

bool word_text(const struct token *w, char *to, size_t room) {
    if (w->bytes >= room) {
        return false;
    }
    memcpy(to, w->ptr, w->bytes);
    to[w->bytes] = '\0';
    return true;
}

bool word_double(const struct token *w, double *to) {
    char text[64];
    return word_text(w, text, sizeof text) && number_real(text, to);
}

bool word_classes(const struct token *w, unsigned last, struct class_set *classes) {
    *classes = (struct class_set){{0}};
    if (word_is(w, "all")) {
        *classes = class_set_all();
        return true;
    }
    const char *at = w->ptr, *end = w->ptr + w->bytes;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct token id = {at, (uint32_t)((comma ? comma : end) - at)};
        uint32_t    class_id;
        if (id.bytes > 0) { /* empty ids are skipped, as in memcached */
            if (!word_u32(&id, &class_id) || class_id == SLAB_CLASS_NONE || class_id > last) {
                return false;
            }
            class_set_add(classes, class_id);
        }
        at = comma ? comma + 1 : end;
    }
    return !class_set_empty(classes);
}
