/* A growable run of bytes that text is appended to: the reply of a command outside the hot path.
 *
 * Running out of memory is remembered, not reported at each call: what could not be appended is
 * dropped and `failed` stays set, so that a command checks once at its end, or leaves it to whoever
 * sends the text. Threading: one owner. */
#ifndef SLATE_SERVER_TEXT_OUT_H
#define SLATE_SERVER_TEXT_OUT_H
#include <stdbool.h>
#include <stddef.h>

struct text_out {
    char  *bytes; /* `used` of them; not terminated */
    size_t used, room;
    bool   failed;
};

void text_out_init(struct text_out *);
void text_out_fini(struct text_out *);
void text_out_clear(struct text_out *); /* forgets the text and the failure, keeps the memory */

void text_out_bytes(struct text_out *, const void *bytes, size_t n);
void text_out_str(struct text_out *, const char *text);
__attribute__((format(printf, 2, 3))) void text_out_printf(struct text_out *, const char *format,
                                                           ...);

/* At least n writable bytes at the end, or NULL: out of memory. text_out_grow says how many were
 * written. */
char *text_out_reserve(struct text_out *, size_t n);
static inline void text_out_grow(struct text_out *t, size_t written) { t->used += written; }
#endif
