/* A growing byte buffer. Zero-initialised is empty. One owner. */
#ifndef LOAD_BUFFER_H
#define LOAD_BUFFER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *bytes;
    size_t n, room;
};

/* Makes room for `more` bytes after the first n; false when memory is out (nothing changes). */
static inline bool buffer_reserve(struct buffer *b, size_t more) {
    if (b->room - b->n >= more) {
        return true;
    }
    size_t room = b->room < 2048 ? 4096 : 2 * b->room;
    if (room < b->n + more) {
        room = b->n + more;
    }
    char *grown = realloc(b->bytes, room);
    if (grown == NULL) {
        return false;
    }
    b->bytes = grown;
    b->room = room;
    return true;
}

/* Room must have been reserved. */
static inline void buffer_put(struct buffer *b, const char *bytes, size_t n) {
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

static inline void buffer_fini(struct buffer *b) {
    free(b->bytes);
    *b = (struct buffer){0};
}
#endif
