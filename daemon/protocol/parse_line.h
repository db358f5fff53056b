/* Shared by the files of the text parser, and included by no other file. */
#ifndef SLATE_PROTOCOL_PARSE_LINE_H
#define SLATE_PROTOCOL_PARSE_LINE_H
#include <string.h>

#include "protocol/request.h"
#include "protocol/scan.h"

struct parser;

enum { TOKENS_MAX = 23 }; /* further tokens are ignored */

static const char bad_line[] = "CLIENT_ERROR bad command line format\r\n";

static inline void line_reply(struct request *r, const char *text, size_t bytes, bool noreply) {
    *r = (struct request){
        .verb = VERB_REPLY, .text = text, .text_bytes = noreply ? 0 : (uint32_t)bytes};
}
#define REPLY(r, text) line_reply((r), (text), sizeof(text) - 1, false)
#define REPLY_UNLESS(noreply, r, text) line_reply((r), (text), sizeof(text) - 1, (noreply))

/* Returns the end of a token without the CR of a line end. scan_token_end has returned `stop`. */
static inline const char *line_trim(const char *token, const char *stop) {
    return *stop == '\n' && stop > token && stop[-1] == '\r' ? stop - 1 : stop;
}

/* Completes a storage request whose data block starts at `data`. */
static inline enum parsed line_take_block(struct request *r, char *data, char *end, char **next) {
    size_t want = (size_t)r->value_bytes + 2, have = (size_t)(end - data);
    r->value = NULL;
    *next = data;
    if (have >= want) {
        r->value = data;
        if (data[want - 2] != '\r' || data[want - 1] != '\n') {
            r->flags |= REQUEST_BAD_DATA;
        }
        *next = data + want;
        return PARSED;
    }
    return r->value_bytes <= PARSE_WAIT_MAX ? PARSE_MORE : PARSED;
}

/* --- parse_get.c --- */
/* Parses a get or gets line of more than PARSE_LINE_MAX bytes, whose keys start at `keys`. line_end
 * NULL: the end has not come yet. */
enum parsed parse_long_get(struct parser *, char *line, char *keys, char *line_end, char *end,
                           struct request *out, unsigned room, unsigned *count, char **next);
/* Replies to a line with this text, and skips the line from `from` to its end. */
enum parsed parse_refuse_line(struct parser *, struct request *r, const char *text, size_t bytes,
                              char *from, char *end, unsigned *count, char **next);
/* Parses the keys of a get line from `at`, behind the command (and exptime). The parser holds the
 * verb and the exptime. */
enum parsed parse_get_keys(struct parser *, char *at, char *end, struct request *out, unsigned room,
                           unsigned *count, char **next);

/* --- parse_meta.c --- */
/* Parses a meta command with a key, from behind the command's name. PARSE_MORE: its line is not
 * complete or, with `complete_only`, its data block is not. The key is decoded in place at the end,
 * because decoding may happen only once. */
enum parsed parse_meta(uint8_t verb, bool complete_only, char *p, char *end, struct request *r,
                       char **next);
#endif
