/* Inside the parser: what its files share. A line's pieces are found here and there; parse.c says
 * which. */
#ifndef SLATE_PROTO_LINE_H
#define SLATE_PROTO_LINE_H
#include <string.h>

#include "proto/parse.h"
#include "proto/scan.h"

enum { TOKENS_MAX = 23 }; /* further ones are not looked at */

static const char bad_line[] = "CLIENT_ERROR bad command line format\r\n";

static inline void reply(struct request *r, const char *text, size_t bytes, bool noreply) {
    *r = (struct request){
        .verb = VERB_REPLY, .text = text, .text_bytes = noreply ? 0 : (uint32_t)bytes};
}
#define REPLY(r, text) reply((r), (text), sizeof(text) - 1, false)
#define REPLY_UNLESS(noreply, r, text) reply((r), (text), sizeof(text) - 1, (noreply))

/* The end of a token that scan_token_end found at `stop`, without the CR of the line's end. */
static inline const char *trim(const char *token, const char *stop) {
    return *stop == '\n' && stop > token && stop[-1] == '\r' ? stop - 1 : stop;
}

/* Completes a storage request whose data block starts at `data`. */
static inline enum parsed take_block(struct request *r, char *data, char *end, char **next) {
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
/* A get or gets line of more than PARSE_LINE_MAX bytes, whose keys start at `keys`; line_end NULL:
 * it has not come. */
enum parsed parse_long_get(struct parser *, char *line, char *keys, char *line_end, char *end,
                           struct request *out, unsigned room, unsigned *count, char **next);
/* Replies the text in place of a line, whose bytes from `from` on are skipped up to its end. */
enum parsed refuse_line(struct parser *, struct request *r, const char *text, size_t bytes,
                        char *from, char *end, unsigned *count, char **next);
/* The keys of a get line from `at`, behind the command (and exptime); the verb and the exptime are
 * the parser's. */
enum parsed parse_keys(struct parser *, char *at, char *end, struct request *out, unsigned room,
                       unsigned *count, char **next);

/* --- parse_meta.c --- */
/* A meta command with a key, from behind its name on. PARSE_MORE: its line is not whole, or
 * `whole_only` and its data block is not. Decoding the key in place comes last, since it may be
 * done only once. */
enum parsed parse_meta(uint8_t verb, bool whole_only, char *p, char *end, struct request *r,
                       char **next);
#endif
