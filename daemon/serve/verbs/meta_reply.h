/* Parts of the replies to meta commands: flags come back in the order in which they were asked.
 * Each writes at p and returns the end. */
#ifndef SLATE_SERVE_VERBS_META_REPLY_H
#define SLATE_SERVE_VERBS_META_REPLY_H
#include "base/number.h"
#include "proto/base64.h"
#include "serve/verbs/verbs.h"

static const char reply_opaque_too_long[] = "CLIENT_ERROR opaque token too long\r\n";

static inline char *put_flag(char *p, char c) {
    *p++ = ' ';
    *p++ = c;
    return p;
}

static inline char *put_flag_number(char *p, char c, uint64_t n) {
    return number_put(put_flag(p, c), n);
}

/* A key as the client wrote it: encoded again, and said to be, when it is binary. */
static inline char *put_flag_key(char *p, const struct key *key, bool binary) {
    p = put_flag(p, 'k');
    if (!binary) {
        return put_key(p, key);
    }
    return put_flag(base64_encode(p, key->ptr, key->len), 'b');
}

static inline char *put_opaque(char *p, const struct token *t) {
    *p++ = ' ';
    return put_bytes(p, t->ptr, t->bytes);
}

/* Seconds left to live as memcached shows them: -1 for ever, and a wrapped number for what is
 * over. */
static inline char *put_ttl(char *p, uint32_t exptime_s, uint32_t now_s) {
    p = put_flag(p, 't');
    return exptime_s == 0 ? PUT(p, "-1") : number_put(p, (uint32_t)(exptime_s - now_s));
}

/* What comes back when there is no item: the opaque and the key. */
static inline char *put_echo(char *p, const struct request *r, const struct meta_flags *m) {
    for (unsigned i = 0; i < m->token_count; i++) {
        if (m->tokens[i].ptr[0] == 'O') {
            p = put_opaque(p, &m->tokens[i]);
        } else if (m->tokens[i].ptr[0] == 'k') {
            p = put_flag_key(p, &r->key, (r->flags & REQUEST_BINARY_KEY) != 0);
        }
    }
    return PUT(p, "\r\n");
}
#endif
