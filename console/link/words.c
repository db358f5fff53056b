#include "link/words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char more[] = "…";

/* Cuts after a word (before a blank) or after a number of a list (before a comma). A word that
 * fills the buffer, such as a long path, is cut between two characters. */
static void end_behind_word(char *out, size_t out_bytes) {
    if (out_bytes < sizeof more) {
        out[0] = '\0';
        return;
    }
    size_t most = out_bytes - sizeof more, at = most;
    while (at > 0 && out[at - 1] != ' ' && out[at - 1] != ',') {
        at--;
    }
    if (at == 0) {
        for (at = most; at > 0 && (out[at] & 0xc0) == 0x80;) {
            at--;
        }
    }
    memcpy(out + at, more, sizeof more);
}

void words_vprintf(char *out, size_t out_bytes, const char *format, va_list ap) {
    int n = vsnprintf(out, out_bytes, format, ap);
    if (n >= 0 && (size_t)n >= out_bytes && out_bytes > 0) {
        end_behind_word(out, out_bytes);
    }
}

void words_make_plain(char *text) {
    for (char *at = text; *at != '\0'; at++) {
        bool is_wide = (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
                       (unsigned char)at[1] < 0xa0; /* a control character beyond ASCII, in UTF-8 */
        if ((unsigned char)*at < ' ' || *at == 0x7f || is_wide) {
            *at = '?';
        }
        if (is_wide) {
            *++at = '?';
        }
    }
}
