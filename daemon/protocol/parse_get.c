/* Parses get lines of any length, in pieces. A piece is returned only when the checked part of the
 * line is good. */
#include "protocol/parse_line.h"
#include "protocol/parse.h"
#include "protocol/token.h"

/* Checks the keys from p to the line's end. PARSED: the line has an end. */
static enum parsed get_check_keys(const char *p, const char *end, bool *too_long) {
    *too_long = false;
    for (;;) {
        const char *key = scan_spaces_end(p, end);
        const char *stop = key < end ? scan_token_end(key, end) : end;
        if (stop >= end) {
            return PARSE_GROW;
        }
        *too_long |= line_trim(key, stop) - key > KEY_BYTES_MAX;
        if (*stop == '\n') {
            return PARSED;
        }
        p = stop;
    }
}

/* memcached replies to a bad key in a get line with this error and an empty line. noreply removes
 * only the error, and gat has no noreply. */
static const char bad_key[] = "CLIENT_ERROR bad command line format\r\n\r\n";

static void get_reply_bad_key(struct request *r, uint8_t verb, const char *keys,
                              const char *line_end) {
    struct token t[TOKENS_MAX - 1];
    const char *stop = line_end > keys && line_end[-1] == '\r' ? line_end - 1 : line_end;
    unsigned n = token_split(keys, (size_t)(stop - keys), t, TOKENS_MAX - 1);
    if (verb <= VERB_GETS && TOKEN_IS(&t[n - 1], "noreply")) {
        line_reply(r, bad_key + sizeof bad_key - 3, 2, false);
    } else {
        REPLY(r, bad_key);
    }
}

enum parsed parse_refuse_line(struct parser *ps, struct request *r, const char *text, size_t bytes,
                              char *from, char *end, unsigned *count, char **next) {
    char *feed = memchr(from, '\n', (size_t)(end - from));
    line_reply(r, text, bytes, bytes == 0);
    ps->in_get_line = ps->any_key = false;
    ps->mode = feed == NULL ? PARSER_SKIPS : PARSER_LINES;
    ps->seen_bytes = ps->good_bytes = 0;
    *count = 1;
    *next = feed ? feed + 1 : end;
    return PARSED;
}

/* True: the key from `key` to `end` is too long, whatever follows at `end`. */
static bool get_key_is_too_long(const char *key, const char *end) {
    return end - key > KEY_BYTES_MAX + (end[-1] == '\r');
}

/* True: a key from *p to `end` is too long. Moves *p to the last key, which may be incomplete. */
static bool get_has_long_key(const char **p, const char *end) {
    for (;;) {
        const char *key = scan_spaces_end(*p, end);
        const char *stop = key < end ? scan_token_end(key, end) : end;
        *p = key;
        if (stop >= end) {
            return key < end && get_key_is_too_long(key, end);
        }
        if (line_trim(key, stop) - key > KEY_BYTES_MAX) {
            return true;
        }
        if (*stop == '\n') {
            return false;
        }
        *p = stop;
    }
}

enum parsed parse_long_get(struct parser *ps, char *line, char *keys, char *line_end, char *end,
                           struct request *out, unsigned room, unsigned *count, char **next) {
    const char *stop = line_end ? line_end + 1 : end, *p = keys;
    bool enough = line_end != NULL;
    if (stop - line > PARSE_GET_MAX) {
        stop = line + PARSE_GET_MAX;
        enough = true;
    }
    if (ps->good_bytes > (size_t)(keys - line)) {
        p = line + ps->good_bytes;
    }
    if (get_has_long_key(&p, stop)) {
        return parse_refuse_line(ps, out, bad_key, sizeof bad_key - 1, line, end, count, next);
    }
    if (!enough) {
        ps->good_bytes = (size_t)(p - line);
        return PARSE_GROW;
    }
    ps->seen_bytes = ps->good_bytes = 0;
    ps->in_get_line = true; /* further keys are checked when they come */
    return parse_get_keys(ps, keys, end, out, room, count, next);
}

/* Ends the part of a get line that has come, when the line is returned in pieces. `n` keys are
 * ready; `key` begins an incomplete key. */
static enum parsed get_wait_for_key(struct parser *ps, char *at, char *key, char *end,
                                    struct request *out, unsigned n, unsigned *count, char **next) {
    if (n == 0 && key < end && get_key_is_too_long(key, end)) {
        return parse_refuse_line(ps, out, bad_key, sizeof bad_key - 1, key, end, count, next);
    }
    if (n == 0 && key == at) {
        return PARSE_MORE;
    }
    ps->any_key |= n > 0;
    if (n == 0) { /* only spaces came: they must not fill the buffer */
        line_reply(out, "", 0, true);
        n = 1;
    }
    *count = n;
    *next = key;
    return PARSED;
}

/* Ends a line behind its last n keys. Replies to a line without keys. */
static inline void get_end_line(struct parser *ps, struct request *out, unsigned n) {
    if (n > 0) {
        out[n - 1].flags = REQUEST_END;
    } else if (ps->any_key) {
        REPLY(&out[0], "END\r\n");
    } else {
        REPLY(&out[0], bad_line);
    }
    ps->in_get_line = ps->any_key = false;
}

enum parsed parse_get_keys(struct parser *ps, char *at, char *end, struct request *out,
                           unsigned room, unsigned *count, char **next) {
    unsigned n = 0;
    const char *p = at;
    bool too_long = false;
    for (;;) {
        const char *key = scan_spaces_end(p, end);
        const char *stop = key < end ? scan_token_end(key, end) : end;
        if (stop >= end) {
            return ps->in_get_line
                       ? get_wait_for_key(ps, at, at + (key - at), end, out, n, count, next)
                       : PARSE_GROW;
        }
        size_t bytes = (size_t)(line_trim(key, stop) - key);
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
            get_end_line(ps, out, n);
            *count = n > 0 ? n : 1;
            *next = at + (stop + 1 - at);
            return PARSED;
        }
    }
    /* A bad key, or more keys than there is room for: check the whole line before its first
     * reply. */
    if (!ps->in_get_line) {
        bool later_too_long;
        enum parsed checked = get_check_keys(p, end, &later_too_long);
        if (checked != PARSED) {
            return checked;
        }
        if (too_long || later_too_long) {
            char *line_end = memchr(at, '\n', (size_t)(end - at));
            get_reply_bad_key(&out[0], ps->verb, at, line_end);
            *count = 1;
            *next = line_end + 1;
            return PARSED;
        }
    } else if (too_long && n == 0) {
        return parse_refuse_line(ps, out, bad_key, sizeof bad_key - 1, at + (p - at), end, count,
                                 next);
    }
    ps->in_get_line = ps->any_key = true;
    *count = n;
    *next = at + (p - at);
    return PARSED;
}
