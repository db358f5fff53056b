/* Get lines: of any length, in pieces, and only when the whole line is good. */
#include "proto/line.h"
#include "proto/token.h"

/* What is wrong with the keys from p to the line's end: PARSED: nothing. */
static enum parsed check_keys(const char *p, const char *end, bool *too_long) {
    *too_long = false;
    for (;;) {
        const char *key = scan_spaces_end(p, end);
        const char *stop = key < end ? scan_token_end(key, end) : end;
        if (stop >= end) {
            return PARSE_GROW;
        }
        *too_long |= trim(key, stop) - key > KEY_BYTES_MAX;
        if (*stop == '\n') {
            return PARSED;
        }
        p = stop;
    }
}

/* memcached answers a bad key in a get line with this and an empty line, of which noreply takes only the first; gat knows
 * no noreply. */
static void reply_bad_key(struct request *r, uint8_t verb, const char *keys, const char *line_end) {
    static const char text[] = "CLIENT_ERROR bad command line format\r\n\r\n";
    struct token t[TOKENS_MAX - 1];
    const char *stop = line_end > keys && line_end[-1] == '\r' ? line_end - 1 : line_end;
    unsigned n = token_split(keys, (size_t)(stop - keys), t, TOKENS_MAX - 1);
    if (verb <= VERB_GETS && TOKEN_IS(&t[n - 1], "noreply")) {
        reply(r, text + sizeof text - 3, 2, false);
    } else {
        REPLY(r, text);
    }
}

enum parsed parse_keys(struct parser *ps, char *at, char *end, struct request *out, unsigned room, unsigned *count,
                              char **next) {
    unsigned n = 0;
    const char *p = at;
    bool too_long = false;
    for (;;) {
        const char *key = scan_spaces_end(p, end);
        const char *stop = key < end ? scan_token_end(key, end) : end;
        if (stop >= end) {
            return PARSE_GROW;
        }
        size_t bytes = (size_t)(trim(key, stop) - key);
        if (bytes > KEY_BYTES_MAX) {
            too_long = true;
            break;
        }
        if (bytes > 0) {
            if (n == room) {
                break;
            }
            struct request *r = &out[n++];
            r->verb = ps->verb;
            r->flags = 0;
            r->exptime = ps->exptime;
            r->key = key_make(key, bytes);
        }
        p = stop;
        if (*stop == '\n') {
            ps->in_get_line = false;
            if (n == 0) {
                REPLY(&out[0], bad_line);
                n = 1;
            } else {
                out[n - 1].flags = REQUEST_END;
            }
            *count = n;
            *next = at + (stop + 1 - at);
            return PARSED;
        }
    }
    /* A bad key, or more keys than room: look at the whole line before its first reply is made. */
    if (!ps->in_get_line) {
        bool rest_too_long;
        enum parsed whole = check_keys(p, end, &rest_too_long);
        if (whole != PARSED) {
            return whole;
        }
        if (too_long || rest_too_long) {
            char *line_end = memchr(at, '\n', (size_t)(end - at));
            reply_bad_key(&out[0], ps->verb, at, line_end);
            *count = 1;
            *next = line_end + 1;
            return PARSED;
        }
    }
    ps->in_get_line = true;
    *count = n;
    *next = at + (p - at);
    return PARSED;
}
