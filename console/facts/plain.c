#include "facts/plain.h"

#include <stdbool.h>

void plain_make(char *text) {
    for (char *at = text; *at != '\0'; at++) {
        bool is_wide = (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
                       (unsigned char)at[1] < 0xa0; /* a control beyond ASCII, in UTF-8 */
        if ((unsigned char)*at < ' ' || *at == 0x7f || is_wide) {
            *at = '?';
        }
        if (is_wide) {
            *++at = '?';
        }
    }
}
