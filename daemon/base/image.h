/* An image: bytes in a file without a name, which one process fills and another reads. What is put
 * one behind the other is taken in the same order; a take beyond the end, or of a part that is
 * longer than what is left, fails, and so do all behind it: whoever reads looks once, at the end.
 *
 * Ownership: an image owns its mapping and its descriptor. Threading: one owner. Errors: `failed`,
 * and errno of the first call that did. */
#ifndef SLATE_BASE_IMAGE_H
#define SLATE_BASE_IMAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    int    fd; /* -1: none */
    char  *bytes;
    size_t size;  /* mapped */
    size_t at;    /* put, or taken */
    bool   reads, failed;
};

/* Makes one with room for so much, backed with memory; it grows where that is too little. False:
 * errno. */
bool image_make(struct image *, size_t room_bytes);
/* One that another process has filled; the descriptor is the image's from now on. False: errno. */
bool image_open(struct image *, int taken_fd);
/* After the last put: whoever opens the descriptor finds what was put. False: some call failed. */
bool image_finish(struct image *);
void image_close(struct image *);

void image_put(struct image *, const void *from, size_t bytes);
static inline void image_put_u64(struct image *i, uint64_t v) { image_put(i, &v, sizeof v); }

/* False: there are not so many, and what `to` holds is zeroes. */
bool     image_take(struct image *, void *to, size_t bytes);
uint64_t image_take_u64(struct image *); /* 0 when there is none */
/* Where so many bytes lie, until the image is closed; NULL: there are not so many. */
const void *image_part(struct image *, size_t bytes);
#endif
