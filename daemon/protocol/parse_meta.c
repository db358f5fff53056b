/* Parses lines of meta commands. Flags stay text until the command runs (protocol/meta.h). */
#include "protocol/parse_line.h"

#include <limits.h>

#include "base/number.h"
#include "protocol/base64.h"
#include "protocol/token.h"

/* `me` accepts b only where memcached does: as its first flag, with another flag behind it. */
static bool meta_debug_key_is_binary(const struct request *r) {
    struct token t[2];
    return token_split(r->text, r->text_bytes, t, 2) == 2 && TOKEN_IS(&t[0], "b");
}

/* Decodes and hashes the key of a complete request. A key that cannot be decoded becomes empty, and
 * the request is marked. */
static void meta_take_key(struct request *r, char *key, size_t bytes, bool binary) {
    if (r->verb == VERB_META_DEBUG) {
        binary = meta_debug_key_is_binary(r);
    }
    if (bytes <= KEY_BYTES_MAX && binary) {
        r->flags |= REQUEST_BINARY_KEY;
        bytes = base64_decode(key, key, bytes);
    }
    if (bytes == 0 || bytes > KEY_BYTES_MAX) {
        r->flags |= REQUEST_BAD_KEY;
        r->key = (struct key){.ptr = key};
    } else {
        r->key = key_make(key, bytes);
    }
}

/* True: the character is a letter, or a digit, which no command knows. Any other makes a bad
 * line. */
static inline bool meta_flag_is_valid(char c) {
    return (c > 64 && c < 123) || (c >= '0' && c <= '9');
}

enum parsed parse_meta(uint8_t verb, bool complete_only, char *p, char *end, struct request *r,
                       char **next) {
    bool storing = verb == VERB_META_SET, good = true, binary = false;
    int32_t value_bytes = 0;
    const char *key = scan_spaces_end(p, end);
    const char *stop = key < end ? scan_token_end(key, end) : end;
    if (stop >= end) {
        return PARSE_MORE;
    }
    const char *flags = line_trim(key, stop);
    size_t key_bytes = (size_t)(flags - key);
    good = key_bytes > 0;
    if (storing && *stop != '\n') {
        const char *digits = scan_spaces_end(stop, end);
        stop = digits < end ? scan_token_end(digits, end) : end;
        if (stop >= end) {
            return PARSE_MORE;
        }
        flags = line_trim(digits, stop);
        good &= flags > digits && number_i32(digits, (size_t)(flags - digits), &value_bytes) &&
                value_bytes >= 0 && value_bytes <= INT_MAX - 2;
    } else if (storing) {
        good = false;
    }
    const char *text_end = flags;
    for (unsigned n = storing ? 3 : 2; *stop != '\n'; n++) {
        const char *flag = scan_spaces_end(stop, end);
        stop = flag < end ? scan_token_end(flag, end) : end;
        if (stop >= end) {
            return PARSE_MORE;
        }
        text_end = line_trim(flag, stop);
        if (text_end > flag) {
            good &= meta_flag_is_valid(*flag) || n >= TOKENS_MAX;
            binary |= *flag == 'b';
        }
    }
    char *data = p + (stop + 1 - p);
    *next = data;
    if (!good) {
        REPLY(r, bad_line);
        return PARSED;
    }
    r->verb = verb;
    r->flags = 0;
    r->value_bytes = (uint32_t)value_bytes;
    r->text = flags;
    r->text_bytes = (uint32_t)(text_end - flags);
    if (storing &&
        (line_take_block(r, data, end, next) == PARSE_MORE || (complete_only && !r->value))) {
        return PARSE_MORE;
    }
    meta_take_key(r, p + (key - p), key_bytes, binary);
    return PARSED;
}
