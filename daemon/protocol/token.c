#include "protocol/token.h"

#include "protocol/scan.h"

unsigned token_split(const char *line, size_t bytes, struct token *out, unsigned max) {
    const char *end = line + bytes, *p = line;
    unsigned n = 0;
    while (n < max) {
        p = scan_spaces_end(p, end);
        if (p == end) {
            break;
        }
        const char *stop = memchr(p, ' ', (size_t)(end - p));
        stop = stop ? stop : end;
        out[n++] = (struct token){p, (uint32_t)(stop - p)};
        p = stop;
    }
    return n;
}
