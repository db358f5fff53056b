/* One parsed request, as values and as pointers into the client's bytes; limits and results of all
 * parsers.
 *
 * Pointers stay valid as long as the parsed bytes. A multi-get is one request a key; the last
 * request has REQUEST_END. A request is one cache line, since a batch holds many. */
#ifndef SLATE_PROTOCOL_REQUEST_H
#define SLATE_PROTOCOL_REQUEST_H
#include <stdbool.h>
#include <stdint.h>

#include "base/key.h"

enum verb {
    VERB_GET,
    VERB_GETS,
    VERB_GAT,
    VERB_GATS, /* one key of the line, as the three above */
    VERB_SET,
    VERB_ADD,
    VERB_REPLACE,
    VERB_APPEND,
    VERB_PREPEND,
    VERB_CAS,
    VERB_DELETE,
    VERB_INCR,
    VERB_DECR,
    VERB_TOUCH,
    VERB_BINARY_GET,
    VERB_BINARY_TOUCH, /* with the value in the reply or without */
    VERB_BINARY_STORE, /* set, add and all other modes */
    VERB_BINARY_DELETE,
    VERB_BINARY_ARITH,
    VERB_META_GET,
    VERB_META_SET,
    VERB_META_DELETE,
    VERB_META_ARITH,
    VERB_META_DEBUG,
    VERB_META_NOOP,
    VERB_VERSION, /* not in the table of commands, because clients end runs of noreply with it */
    VERB_COMMAND, /* every other line: `text` is the line, for the table of commands */
    /* binary protocol: a step of a login; `key` is the mechanism, the value the client's data */
    VERB_BINARY_LOGIN,
    VERB_REPLY, /* only replies `text` (a protocol error) */
    VERB_CLOSE, /* quit: hang up without a reply, once the requests before are answered */
    /* binary protocol: only replies; `number` is the status */
    VERB_BINARY_ANSWER,
};

enum {
    REQUEST_NOREPLY = 1,     /* classic noreply */
    REQUEST_END = 2,         /* the last key of a get line: END follows */
    REQUEST_BAD_DATA = 4,    /* the data block does not end in CR LF */
    /* with VERB_REPLY and VERB_BINARY_ANSWER: drop the data block that follows */
    REQUEST_SWALLOW = 8,
    /* with VERB_COMMAND: the line looks like HTTP; hang up if there is no such command */
    REQUEST_HTTP = 16,
    /* with VERB_META_GET: the session may not store, so it must not win the right to recache */
    REQUEST_READS_ONLY = REQUEST_HTTP,
    REQUEST_BINARY_KEY = 32, /* meta flag b: `key` is decoded */
    /* meta: the key is too long, or with REQUEST_BINARY_KEY no base64; `key` is empty */
    REQUEST_BAD_KEY = 64,
    /* binary protocol: `text` is the packet; the data block has no line end */
    REQUEST_BINARY = 128,
    /* with VERB_BINARY_ANSWER: hang up after the reply */
    REQUEST_LAST = REQUEST_END,
};

struct request {
    uint8_t  verb, flags;
    uint16_t slot;        /* the session's slot in the batch */
    uint32_t value_bytes; /* length of the data block, without its line end */
    struct key key;
    /* depends on the verb; of a meta command the flags, from behind the key (or datalen) to the end
     * of the line */
    const char *text;
    /* the data block if the buffer has all of it; NULL: bytes are still to come */
    const char *value;
    uint64_t number;      /* cas unique, delta of incr and decr, or a binary status */
    union {
        uint32_t client_flags; /* classic storage commands */
        uint32_t text_bytes;   /* verbs that have a text */
    };
    int32_t exptime; /* as the client sent it; in the binary protocol without a sign */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct request) == 64, "a request is one cache line");

static inline bool verb_has_key(uint8_t verb) { return verb < VERB_META_NOOP; }
/* True: the verb is a command, which runs alone and may take long. */
static inline bool verb_is_command(uint8_t verb) {
    return verb == VERB_COMMAND || verb == VERB_BINARY_LOGIN;
}
/* True: the verb may take an item out of its queue. */
static inline bool verb_deletes(uint8_t verb) {
    return verb == VERB_DELETE || verb == VERB_META_DELETE || verb == VERB_BINARY_DELETE;
}
/* True: the verb has a data block. */
static inline bool verb_stores(uint8_t verb) {
    return verb == VERB_META_SET || verb == VERB_BINARY_STORE ||
           (verb >= VERB_SET && verb <= VERB_CAS);
}
/* Returns the length of the data block with its line end. */
static inline uint64_t request_block_bytes(const struct request *r) {
    return (uint64_t)r->value_bytes + (r->flags & REQUEST_BINARY ? 0 : 2);
}
static inline bool verb_is_meta(uint8_t verb) {
    return verb >= VERB_META_GET && verb <= VERB_META_NOOP;
}

enum {
    /* The parser may read so many bytes behind the buffer's end; their contents do not matter. */
    PARSE_SLACK = 64,
    PARSE_WAIT_MAX = 2048, /* data blocks up to this size wait in the buffer until complete */
    /* so many bytes without a line feed end the connection, unless they begin a get line */
    PARSE_LINE_MAX = 2048,
    PARSE_GET_MAX = 64 * 1024, /* so many bytes of a get line wait for its end */
};

/* The result of a parser. */
enum parsed {
    PARSED,     /* `count` requests, at least one; the next request starts at `next` */
    PARSE_MORE, /* the bytes are the start of a request */
    /* The same, and the request is longer than PARSE_LINE_MAX: a get line, which may wait for up to
     * PARSE_GET_MAX bytes, or a step of a login, for up to BINARY_LOGIN_MAX. */
    PARSE_GROW,
    PARSE_CLOSE, /* the bytes cannot become a request: hang up */
};
#endif
