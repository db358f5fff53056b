/* Codes of the terminal that are no keys: what follows an escape in sequences that ncurses does not
 * know, such as ESC [ 1 ~ under a wrong TERM, in reports of a mouse, and in strings, such as the
 * answer about the background. A slow link brings them in parts. Pure: the caller has the clock. */
#ifndef CONSOLE_DRAW_SEQUENCE_H
#define CONSOLE_DRAW_SEQUENCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer pause ends a sequence, but for ESC O: the code after it is a key's last letter. */
enum { SEQUENCE_PAUSE_MS = 1000, SEQUENCE_TEXT_BYTES = 40 };

struct sequence {
    enum sequence_part {
        SEQUENCE_NONE,
        SEQUENCE_ESCAPE,     /* ESC alone, which was a key */
        SEQUENCE_LETTER,     /* ESC O: digits and a letter follow */
        SEQUENCE_BRACKET,    /* ESC [: anything of it may follow */
        SEQUENCE_LINUX,      /* ESC [ [: a letter follows */
        SEQUENCE_PARAMETERS, /* ESC [ and digits: more of them, and a letter */
        SEQUENCE_POINTER,    /* ESC [ M: three bytes, which are no characters */
        SEQUENCE_STRING,     /* up to BEL, or ESC and a backslash */
        SEQUENCE_STRING_ENDS,
    } part;
    unsigned pointer_bytes;
    uint64_t seen_ms;
    size_t text_bytes;
    char text[SEQUENCE_TEXT_BYTES]; /* what followed ESC and a letter; cut */
};

/* ESC was read, and no code after it yet: it is a key. */
void sequence_escape(struct sequence *sequence, uint64_t now_ms);
/* The first code after ESC. False: the escape and the code are keys. */
bool sequence_begin(struct sequence *sequence, uint32_t code, uint64_t now_ms);
/* The next code. False: it is of no sequence. */
bool sequence_take(struct sequence *sequence, uint32_t code, uint64_t now_ms);
/* True if the next code must be read as a byte. */
bool sequence_wants_byte(const struct sequence *sequence);
#endif
