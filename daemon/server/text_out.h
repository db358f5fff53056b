/* A growable text: the reply of a command outside the hot path.
 *
 * Without memory an append is dropped and `failed` stays set. So a command checks once, at its
 * end, or leaves the check to the sender of the text. Threading: one owner. */
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

/* Returns at least n writable bytes at the end; NULL: out of memory. Call text_out_grow with the
 * number of bytes written. */
char *text_out_reserve(struct text_out *, size_t n);
static inline void text_out_grow(struct text_out *t, size_t written) { t->used += written; }
#endif
