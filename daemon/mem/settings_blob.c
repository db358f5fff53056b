#include "mem/settings_blob.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/failpoint.h"

#define NOTE_SEED UINT64_C(0x736c617465206e6f) /* another layout of notes gets another seed */

struct note {
    uint64_t number; /* the note with the higher number counts; 0: never written */
    uint64_t bytes;
    uint64_t check;  /* a hash of number, bytes and text */
    char     text[MEMORY_NOTE_BYTES + 8];
};
_Static_assert(sizeof(struct note) * 2 == MEMORY_FRONT_AT - MEMORY_NOTES_AT, "two fill the room");

static uint64_t check_of(const struct note *n) {
    uint64_t of_text = XXH3_64bits_withSeed(n->text, n->bytes, NOTE_SEED);
    const uint64_t all[] = {n->number, n->bytes, of_text};
    return XXH3_64bits_withSeed(all, sizeof all, NOTE_SEED);
}

static bool is_whole(const struct note *n) {
    return n->number != 0 && n->bytes <= MEMORY_NOTE_BYTES && n->check == check_of(n);
}

/* The note that counts; NULL: neither is whole. */
static const struct note *latest(const struct note *a, const struct note *b) {
    const struct note *first = is_whole(a) ? a : NULL, *second = is_whole(b) ? b : NULL;
    return first == NULL                    ? second
           : second == NULL                 ? first
           : first->number > second->number ? first
                                            : second;
}

bool memory_note_write(const struct memory_file *f, const char *text, size_t bytes) {
    struct note *notes = (struct note *)(void *)((char *)f->head + MEMORY_NOTES_AT);
    const struct note *now = latest(&notes[0], &notes[1]);
    struct note *next = now == &notes[0] ? &notes[1] : &notes[0];
    if (bytes > MEMORY_NOTE_BYTES) {
        return false;
    }
    next->number = now != NULL ? now->number + 1 : 1;
    next->bytes = bytes;
    memcpy(next->text, text, bytes);
    crash_point("note_half_written");
    next->check = check_of(next);
    crash_point("note_written");
    return true;
}

size_t memory_note_read(const struct memory_file *f, char text[MEMORY_NOTE_BYTES + 1]) {
    struct note *notes = malloc(2 * sizeof *notes);
    const struct note *now = NULL;
    if (notes != NULL &&
        pread(f->fd, notes, 2 * sizeof *notes, MEMORY_NOTES_AT) == (ssize_t)(2 * sizeof *notes)) {
        now = latest(&notes[0], &notes[1]);
    }
    size_t bytes = now != NULL ? now->bytes : 0;
    if (now != NULL) {
        memcpy(text, now->text, bytes);
    }
    text[bytes] = '\0';
    free(notes);
    return bytes;
}
