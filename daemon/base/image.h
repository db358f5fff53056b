/* An image: bytes in a file without a name, which one process fills and another reads. The reader
 * takes the parts in the order in which they were put. A take fails beyond the end, or if the part
 * is longer than what is left; all later takes then fail, too, so the reader checks `failed` once,
 * at the end.
 *
 * Ownership: an image owns its mapping and its descriptor. Threading: one owner. Errors: `failed`,
 * and errno of the first call that failed. */
#ifndef SLATE_BASE_IMAGE_H
#define SLATE_BASE_IMAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    int    fd; /* -1: none */
    char  *bytes;
    size_t size;  /* bytes that are mapped */
    size_t at;    /* bytes that were put, or taken */
    bool   reads, failed;
};

/* Makes an image with room for so many bytes, backed with memory. It grows when that is too little.
 * False: errno. */
bool image_make(struct image *, size_t room_bytes);
/* Opens an image that another process has filled, and owns the descriptor from now on. False:
 * errno. */
bool image_open(struct image *, int taken_fd);
/* Call it after the last put: a process that opens the descriptor then finds what was put. False:
 * some call failed. */
bool image_finish(struct image *);
void image_close(struct image *);

void image_put(struct image *, const void *from, size_t bytes);
static inline void image_put_u64(struct image *i, uint64_t v) { image_put(i, &v, sizeof v); }

/* False: there are not so many bytes left; `to` is then zeroed. */
bool     image_take(struct image *, void *to, size_t bytes);
uint64_t image_take_u64(struct image *); /* 0: there is none */
/* Takes a part without copying it: it stays valid until the image is closed. NULL: there are not so
 * many bytes left. */
const void *image_part(struct image *, size_t bytes);
#endif
