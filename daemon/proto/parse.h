/* Bytes to requests: the classic and the meta text protocol, and the way into the binary one
 * (proto/binary.h). Pure, and restartable at any byte.
 *
 * A line is parsed when it is whole. Storage commands with a data block of up to PARSE_WAIT_MAX
 * bytes are parsed when the block is whole too; a larger one that is not is left to the caller
 * (request.value NULL, `next` at its first byte). A get line may be of any length and comes out in
 * pieces. Up to PARSE_GET_MAX bytes of it are looked at before the first, because an error in them
 * replaces all its replies; one behind them ends the replies where it stands. A line longer than
 * PARSE_LINE_MAX is refused at the first key that is too long, wherever its end is, and the rest
 * skipped: what waits in the buffer is bounded. Threading: one owner per parser. Cost: a few ns a
 * token, XXH3 per key; no allocation. */
#ifndef SLATE_PROTO_PARSE_H
#define SLATE_PROTO_PARSE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/request.h"

enum {
    /* bytes behind the buffer's end that may be read (they need no meaning) */
    PARSE_SLACK = 64,
    PARSE_WAIT_MAX = 2048, /* data blocks up to this wait in the buffer until they are whole */
    /* so many bytes without a line feed end the connection, unless they are a get line */
    PARSE_LINE_MAX = 2048,
    PARSE_GET_MAX = 64 * 1024, /* so many bytes of a get line wait for its end */
};

/* What the next bytes are. */
enum parser_mode {
    PARSER_LINES,
    PARSER_SKIPS,   /* up to the next line feed: the rest of a line that was refused */
    PARSER_PACKETS, /* the binary protocol's, to the connection's end */
};

/* What is remembered between two calls; zero at the start of a connection, but for the mode of one
 * that speaks the binary protocol. */
struct parser {
    size_t  seen_bytes;  /* of a line without an end so far */
    size_t  good_bytes;  /* of these, in a get line: its keys up to there are not too long */
    int32_t exptime;     /* of the get line */
    uint8_t verb;        /* of the get line */
    bool    in_get_line; /* its first keys have been handed out; its rest may still have to come */
    bool    any_key;     /* such keys there are */
    uint8_t mode;        /* enum parser_mode */
    bool    logins;      /* steps of a login are requests: the server has SASL */
};

enum parsed {
    PARSED,      /* `count` requests, at least one; the next starts at `next` */
    PARSE_MORE,  /* what is there is the start of a request */
    /* the same, and it is longer than PARSE_LINE_MAX: a get line, which waits for PARSE_GET_MAX
     * bytes at most, or a step of a login, for BINARY_LOGIN_MAX */
    PARSE_GROW,
    PARSE_CLOSE, /* what is there cannot become a request: hang up */
};

/* Part of a line may come out as a reply without text. Parses one line from at (< end), or as many
 * keys of a get line as there is room for; room >= 1. Decodes base64 keys in place once their
 * request is whole. */
enum parsed parse(struct parser *, char *at, char *end, struct request *out, unsigned room,
                  unsigned *count, char **next);

/* After PARSE_MORE: whether those bytes hold all of a request but its data block. */
bool parse_waits_for_block(const struct parser *, const char *bytes, size_t n);

/* As many lines as there is room for while they are plain: whole get, set and meta lines with their
 * data blocks, as clients write them. Returns how many requests, none of which needs its caller
 * before the next, and moves `at` behind them; 0: parse has to look. The fast way through a
 * pipeline. */
unsigned parse_plain(const struct parser *, char **at, char *end, struct request *out,
                     unsigned room);
#endif
