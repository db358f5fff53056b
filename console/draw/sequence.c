#include "draw/sequence.h"

#include <wchar.h>

enum { BELL = 7, ESCAPE = 27, POINTER_BYTES = 3 };

static void sequence_set(struct sequence *sequence, enum sequence_part part, uint64_t now_ms) {
    sequence->part = part;
    sequence->seen_ms = now_ms;
}

void sequence_escape(struct sequence *sequence, uint64_t now_ms) {
    sequence_set(sequence, SEQUENCE_ESCAPE, now_ms);
}

bool sequence_begin(struct sequence *sequence, uint32_t code, uint64_t now_ms) {
    sequence->text_bytes = 0;
    sequence->text[0] = '\0';
    sequence_set(sequence,
                 code == 'O'                                              ? SEQUENCE_LETTER
                 : code == '['                                            ? SEQUENCE_BRACKET
                 : code != 0 && wcschr(L"]P^_X", (wchar_t)code) != NULL ? SEQUENCE_STRING
                                                                          : SEQUENCE_NONE,
                 now_ms);
    return sequence->part != SEQUENCE_NONE;
}

static void sequence_append(struct sequence *sequence, uint32_t code) {
    if (sequence->text_bytes < sizeof sequence->text - 1) {
        sequence->text[sequence->text_bytes++] = (char)code;
        sequence->text[sequence->text_bytes] = '\0';
    }
}

/* The part after a code of ESC [ or ESC O. */
static enum sequence_part sequence_after(enum sequence_part part, uint32_t code) {
    if (part == SEQUENCE_BRACKET && (code == '[' || code == 'M')) {
        return code == '[' ? SEQUENCE_LINUX : SEQUENCE_POINTER;
    }
    bool goes_on = part != SEQUENCE_LINUX && code < '@';
    return !goes_on ? SEQUENCE_NONE : part == SEQUENCE_LETTER ? part : SEQUENCE_PARAMETERS;
}

bool sequence_take(struct sequence *sequence, uint32_t code, uint64_t now_ms) {
    enum sequence_part part = sequence->part;
    bool is_late = now_ms - sequence->seen_ms > SEQUENCE_PAUSE_MS && part != SEQUENCE_LETTER;
    sequence_set(sequence, SEQUENCE_NONE, now_ms);
    if (part == SEQUENCE_NONE || is_late) {
        return false;
    }
    if (part == SEQUENCE_STRING_ENDS) {
        return code == '\\' || sequence_begin(sequence, code, now_ms);
    }
    if (part == SEQUENCE_STRING) {
        sequence->part = code == BELL     ? SEQUENCE_NONE
                         : code == ESCAPE ? SEQUENCE_STRING_ENDS
                                          : SEQUENCE_STRING;
        if (sequence->part == SEQUENCE_STRING) {
            sequence_append(sequence, code);
        }
        return true;
    }
    if (part == SEQUENCE_ESCAPE) {
        return code == 'O' && sequence_begin(sequence, code, now_ms);
    }
    if (code < ' ') {
        return false; /* a key ends what has no end */
    }
    if (part == SEQUENCE_POINTER) {
        sequence->part = --sequence->pointer_bytes > 0 ? part : SEQUENCE_NONE;
        return true;
    }
    sequence->part = sequence_after(part, code);
    sequence->pointer_bytes = POINTER_BYTES;
    sequence_append(sequence, code);
    return true;
}

bool sequence_wants_byte(const struct sequence *sequence) {
    return sequence->part == SEQUENCE_POINTER;
}
