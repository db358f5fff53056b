#include "server/text_out.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_OUT_FIRST_BYTES = 1024 };

void text_out_init(struct text_out *t) { *t = (struct text_out){0}; }

void text_out_fini(struct text_out *t) {
    free(t->bytes);
    text_out_init(t);
}

void text_out_clear(struct text_out *t) {
    t->used = 0;
    t->failed = false;
}

char *text_out_reserve(struct text_out *t, size_t n) {
    if (t->room - t->used >= n) {
        return t->bytes + t->used;
    }
    size_t room = t->room ? t->room : TEXT_OUT_FIRST_BYTES;
    while (room - t->used < n) {
        if (room > SIZE_MAX / 2) {
            t->failed = true;
            return NULL;
        }
        room *= 2;
    }
    char *bytes = realloc(t->bytes, room);
    if (!bytes) {
        t->failed = true;
        return NULL;
    }
    t->bytes = bytes;
    t->room = room;
    return bytes + t->used;
}

void text_out_bytes(struct text_out *t, const void *bytes, size_t n) {
    char *to = n ? text_out_reserve(t, n) : NULL;
    if (to) {
        memcpy(to, bytes, n);
        text_out_grow(t, n);
    }
}

void text_out_str(struct text_out *t, const char *text) { text_out_bytes(t, text, strlen(text)); }

void text_out_printf(struct text_out *t, const char *format, ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    size_t room = t->room - t->used;
    int n = vsnprintf(room ? t->bytes + t->used : NULL, room, format, ap);
    va_end(ap);
    if (n > 0 && (size_t)n >= room) {
        /* The text did not fit: vsnprintf needs room for its terminator too. */
        char *to = text_out_reserve(t, (size_t)n + 1);
        n = to ? vsnprintf(to, (size_t)n + 1, format, again) : 0;
    }
    va_end(again);
    if (n > 0) {
        text_out_grow(t, (size_t)n);
    }
}
