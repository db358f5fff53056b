#include "mem/settings_blob.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/failpoint.h"

#define BLOB_SEED UINT64_C(0x736c617465206e6f) /* another layout of blobs gets another seed */

struct blob {
    uint64_t number; /* the blob with the higher number is valid; 0: never written */
    uint64_t bytes;
    uint64_t check;  /* a hash of number, bytes and text */
    char     text[SETTINGS_BLOB_BYTES + 8];
};
_Static_assert(sizeof(struct blob) * 2 == MEMORY_FRONT_AT - MEMORY_BLOBS_AT, "two fill the room");

static uint64_t blob_checksum(const struct blob *n) {
    uint64_t of_text = XXH3_64bits_withSeed(n->text, n->bytes, BLOB_SEED);
    const uint64_t all[] = {n->number, n->bytes, of_text};
    return XXH3_64bits_withSeed(all, sizeof all, BLOB_SEED);
}

static bool blob_is_intact(const struct blob *n) {
    return n->number != 0 && n->bytes <= SETTINGS_BLOB_BYTES && n->check == blob_checksum(n);
}

/* The valid blob; NULL: neither is intact. */
static const struct blob *blob_latest(const struct blob *a, const struct blob *b) {
    if (!blob_is_intact(a) || (blob_is_intact(b) && b->number >= a->number)) {
        return blob_is_intact(b) ? b : NULL;
    }
    return a;
}

bool settings_blob_write(const struct memory_file *f, const char *text, size_t bytes) {
    struct blob *blobs = (struct blob *)(void *)((char *)f->head + MEMORY_BLOBS_AT);
    const struct blob *now = blob_latest(&blobs[0], &blobs[1]);
    struct blob *next = now == &blobs[0] ? &blobs[1] : &blobs[0];
    if (bytes > SETTINGS_BLOB_BYTES) {
        return false;
    }
    next->number = now != NULL ? now->number + 1 : 1;
    next->bytes = bytes;
    memcpy(next->text, text, bytes);
    failpoint_reach("note_half_written");
    next->check = blob_checksum(next);
    failpoint_reach("note_written");
    return true;
}

size_t settings_blob_read(const struct memory_file *f, char text[SETTINGS_BLOB_BYTES + 1]) {
    struct blob *blobs = malloc(2 * sizeof *blobs);
    const struct blob *now = NULL;
    if (blobs != NULL &&
        pread(f->fd, blobs, 2 * sizeof *blobs, MEMORY_BLOBS_AT) == (ssize_t)(2 * sizeof *blobs)) {
        now = blob_latest(&blobs[0], &blobs[1]);
    }
    size_t bytes = now != NULL ? now->bytes : 0;
    if (now != NULL) {
        memcpy(text, now->text, bytes);
    }
    text[bytes] = '\0';
    free(blobs);
    return bytes;
}
