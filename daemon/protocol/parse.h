/* Bytes to requests: the classic and the meta text protocol, and the entry to the binary one
 * (protocol/binary.h). Pure, and restartable at any byte.
 *
 * A line is parsed when it is whole. A storage command with a data block of up to PARSE_WAIT_MAX
 * bytes is parsed when the block is whole, too; a larger block that is not whole is left to the
 * caller (request.value NULL, `next` at its first byte). A get line may be of any length and is
 * handed out in pieces. Up to PARSE_GET_MAX bytes of it are checked before the first piece, because
 * an error in them replaces all replies to the line; an error behind them ends the replies where it
 * stands. A line longer than PARSE_LINE_MAX is refused at the first key that is too long, wherever
 * the line ends, and the rest is skipped: so the bytes that wait in the buffer are bounded.
 * Threading: one owner per parser. Cost: a few ns a token, XXH3 per key; no allocation. */
#ifndef SLATE_PROTOCOL_PARSE_H
#define SLATE_PROTOCOL_PARSE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/request.h"

enum {
    /* The parser may read so many bytes behind the buffer's end; their contents do not matter. */
    PARSE_SLACK = 64,
    PARSE_WAIT_MAX = 2048, /* data blocks up to this size wait in the buffer until they are whole */
    /* so many bytes without a line feed end the connection, unless they begin a get line */
    PARSE_LINE_MAX = 2048,
    PARSE_GET_MAX = 64 * 1024, /* so many bytes of a get line wait for its end */
};

/* What the next bytes are. */
enum parser_mode {
    PARSER_LINES,
    PARSER_SKIPS,   /* the rest of a line that was refused, up to the next line feed */
    PARSER_PACKETS, /* packets of the binary protocol, to the connection's end */
};

/* What a parser keeps between two calls. It is zero at the start of a connection, except the mode
 * if the connection speaks the binary protocol. */
struct parser {
    size_t  seen_bytes;  /* bytes so far of a line without an end */
    size_t  good_bytes;  /* the first of these, in a get line: no key up to there is too long */
    int32_t exptime;     /* of the get line */
    uint8_t verb;        /* of the get line */
    bool    in_get_line; /* the line's first keys have been handed out; more of it may still come */
    bool    any_key;     /* the line had a key so far */
    uint8_t mode;        /* enum parser_mode */
    bool    logins;      /* a step of a login is a request: the server has SASL */
};

enum parsed {
    PARSED,      /* `count` requests, at least one; the next starts at `next` */
    PARSE_MORE,  /* the bytes are the start of a request */
    /* the same, and longer than PARSE_LINE_MAX: a get line, which waits for at most PARSE_GET_MAX
     * bytes, or a step of a login, for BINARY_LOGIN_MAX */
    PARSE_GROW,
    PARSE_CLOSE, /* the bytes cannot become a request: hang up */
};

/* Parses one line from at (< end), or as many keys of a get line as there is room for; room >= 1. A
 * part of a line may come out as a reply without text. Base64 keys are decoded in place once their
 * request is whole. */
enum parsed parse(struct parser *, char *at, char *end, struct request *out, unsigned room,
                  unsigned *count, char **next);

/* After PARSE_MORE: whether those bytes hold a whole request except its data block. */
bool parse_waits_for_block(const struct parser *, const char *bytes, size_t n);

/* The fast way through a pipeline: parses plain lines, as many as there is room for. A plain line
 * is a whole get, set or meta line with its data block, as clients usually write it. Returns the
 * number of requests and moves `at` behind them; none of them must be handled before the next one
 * is parsed. 0: the next line is not plain, so parse must parse it. */
unsigned parse_plain(const struct parser *, char **at, char *end, struct request *out,
                     unsigned room);
#endif
