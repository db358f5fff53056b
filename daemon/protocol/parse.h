/* Bytes to requests: the classic and the meta text protocol, and the entry to the binary one
 * (protocol/binary.h). Pure, and restartable at any byte.
 *
 * A line is parsed when its end has come. A storage command with a data block of up to
 * PARSE_WAIT_MAX bytes is parsed when the block is complete, too. The caller receives a larger
 * block that is not complete (request.value NULL, `next` at the first byte of the block). A get
 * line may have any length, and is returned in pieces. Up to PARSE_GET_MAX bytes of the line are
 * checked before the first piece, because an error in them replaces all replies to the line; an
 * error behind them ends the replies at that key. A line longer than PARSE_LINE_MAX is refused at
 * the first key that is too long, and the rest of the line is skipped: so the bytes that wait in
 * the buffer are bounded. Threading: one owner per parser. Cost: a few ns a token, XXH3 per key; no
 * allocation. */
#ifndef SLATE_PROTOCOL_PARSE_H
#define SLATE_PROTOCOL_PARSE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/request.h"

/* The kind of the next bytes. */
enum parser_mode {
    PARSER_LINES,
    PARSER_SKIPS,   /* the rest of a refused line, up to the next line feed */
    PARSER_PACKETS, /* packets of the binary protocol, to the connection's end */
};

/* A parser's state between two calls. All zero at the start of a connection, except the mode of a
 * connection with the binary protocol. */
struct parser {
    size_t  seen_bytes;  /* bytes of a line whose end has not come */
    size_t  good_bytes;  /* of these, in a get line: no key before is too long */
    int32_t exptime;     /* the get line's */
    uint8_t verb;        /* the get line's */
    bool    in_get_line; /* the line's first keys were returned; more keys may come */
    bool    any_key;     /* the line has had a key */
    uint8_t mode;        /* enum parser_mode */
    bool    logins;      /* the server has SASL: a step of a login is a request */
};

/* Parses one line from at (< end), or as many keys of a get line as there is room for; room >= 1.
 * A part of a line may become a reply without text. Base64 keys are decoded in place once their
 * request is complete. */
enum parsed parse(struct parser *, char *at, char *end, struct request *out, unsigned room,
                  unsigned *count, char **next);

/* After PARSE_MORE. True: those bytes hold a complete request except its data block. */
bool parse_waits_for_block(const struct parser *, const char *bytes, size_t n);

/* The fast path through a pipeline: parses plain lines, as many as there is room for. A plain line
 * is a complete get, set or meta line with its data block, in the form that clients usually write.
 * Returns the number of requests, and moves `at` behind them. No request of these must run before
 * the next one is parsed. 0: the next line is not plain: call parse. */
unsigned parse_plain(const struct parser *, char **at, char *end, struct request *out,
                     unsigned room);
#endif
