/* Parser of server replies, text and meta protocol: one element (a line, or a value with its header line) at a time. Pure: no state between
 * calls, so a caller may call again with more bytes after REPLY_MORE. Pointers in the result point into the bytes given. */
#ifndef LOAD_REPLY_H
#define LOAD_REPLY_H
#include <stddef.h>
#include <stdint.h>

#define REPLY_LINE_MAX 4096 /* no server line is longer */
#define REPLY_VALUE_MAX (1024u * 1024 * 1024)

enum reply_kind {
    REPLY_MORE,       /* incomplete: `needed` says how many bytes the element has at least */
    REPLY_BAD,        /* not a reply of the protocol; `line` has the bytes */
    REPLY_VALUE,      /* VALUE k f n, or VA n: key (may be absent in VA) and value */
    REPLY_END,        /* END */
    REPLY_FENCE,      /* MN or VERSION: answers a fence behind quiet commands */
    REPLY_DONE,       /* STORED DELETED TOUCHED OK HD or a number */
    REPLY_NOT_STORED, /* NOT_STORED NS */
    REPLY_NOT_FOUND,  /* NOT_FOUND NF EN */
    REPLY_EXISTS,     /* EXISTS EX */
    REPLY_ERROR       /* ERROR CLIENT_ERROR SERVER_ERROR; `line` is the text */
};

struct reply {
    enum reply_kind kind;
    size_t used;      /* bytes of the element; 0 unless complete */
    size_t needed;    /* REPLY_MORE only */
    const char *line; /* without the line's end; not for REPLY_VALUE */
    size_t line_bytes;
    const char *key; /* NULL when the reply names none */
    size_t key_bytes;
    const char *value;
    size_t value_bytes;
};

void reply_parse(const char *bytes, size_t n, struct reply *out);
#endif
