#include "protocol/meta.h"

#include "base/number.h"

static const char bad_line[] = "CLIENT_ERROR bad command line format\r\n";
static const char bad_token[] = "CLIENT_ERROR bad token in command line format\r\n";

/* Reads a flag with its argument. Returns `error`, or a new error. The caller reads the flags
 * behind a bad argument, too: the last error is replied, and only an unknown or repeated flag ends
 * the line. */
static const char *meta_read_argument(struct meta_flags *m, const struct token *t,
                                      const char *error) {
    const char *argument = t->ptr + 1;
    size_t bytes = t->bytes - 1;
    switch (t->ptr[0]) {
    case 'N': return bytes && number_i32(argument, bytes, &m->vivify_exptime) ? error : bad_token;
    case 'T': return bytes && number_i32(argument, bytes, &m->touch_exptime) ? error : bad_token;
    case 'R': return bytes && number_i32(argument, bytes, &m->recache) ? error : bad_token;
    case 'C': return bytes && number_u64(argument, bytes, &m->compare_cas) ? error : bad_token;
    case 'E': return bytes && number_u64(argument, bytes, &m->cas) ? error : bad_token;
    case 'F':
        return bytes && number_u32(argument, bytes, &m->client_flags) ? error
               : error                                                ? error
                                                                      : bad_line;
    case 'J':
        return bytes && number_u64(argument, bytes, &m->initial)
                   ? error
                   : "CLIENT_ERROR invalid numeric initial value\r\n";
    case 'D':
        return bytes && number_u64(argument, bytes, &m->delta)
                   ? error
                   : "CLIENT_ERROR invalid numeric delta value\r\n";
    case 'M':
        /* a blank is no mode: commands that use the mode reply an error */
        m->mode = bytes ? *argument : ' ';
        return error;
    case 'O':
        m->opaque_too_long = t->bytes > META_OPAQUE_BYTES_MAX;
        return error;
    default: return error;
    }
}

/* A-Z, a-z and the characters between share one word of bits; 0: no meta command has this flag. */
static uint64_t meta_known_bit(char c) {
    static const uint64_t known =
        META_BIT('b') | META_BIT('c') | META_BIT('f') | META_BIT('h') | META_BIT('k') |
        META_BIT('l') | META_BIT('q') | META_BIT('s') | META_BIT('t') | META_BIT('u') |
        META_BIT('v') | META_BIT('x') | META_BIT('C') | META_BIT('D') | META_BIT('E') |
        META_BIT('F') | META_BIT('I') | META_BIT('J') | META_BIT('L') | META_BIT('M') |
        META_BIT('N') | META_BIT('O') | META_BIT('P') | META_BIT('R') | META_BIT('T');
    unsigned bit = (unsigned)(c - 'A');
    return bit < 64 ? known & (uint64_t)1 << bit : 0;
}

const char *meta_flags_parse(const struct request *r, struct meta_flags *m) {
    m->present = 0;
    m->touch_exptime = m->vivify_exptime = m->recache = 0;
    m->client_flags = 0;
    m->compare_cas = m->cas = m->initial = 0;
    m->delta = 1;
    m->mode = 0;
    m->opaque_too_long = false;
    m->token_count = 0;
    if ((r->flags & (REQUEST_BAD_KEY | REQUEST_BINARY_KEY)) == REQUEST_BAD_KEY) {
        return bad_line;
    }
    struct token tokens[META_FLAGS_MAX + 1];
    unsigned n = token_split(r->text, r->text_bytes, tokens, META_FLAGS_MAX + 1);
    if (n > (r->verb == VERB_META_SET ? META_FLAGS_MAX - 1u : META_FLAGS_MAX)) {
        return "CLIENT_ERROR options flags are too long\r\n";
    }
    const char *error = NULL;
    for (unsigned i = 0; i < n; i++) {
        char c = tokens[i].ptr[0];
        uint64_t bit = meta_known_bit(c);
        if (m->present & bit) {
            return "CLIENT_ERROR duplicate flag\r\n";
        }
        if (!bit) {
            return "CLIENT_ERROR invalid flag\r\n";
        }
        m->present |= bit;
        m->tokens[i] = tokens[i];
        if (c == 'b' && r->flags & REQUEST_BAD_KEY) {
            error = "CLIENT_ERROR error decoding key\r\n";
        } else if (c < 'a') {
            error = meta_read_argument(m, &tokens[i], error);
        }
    }
    m->token_count = n;
    return error;
}
