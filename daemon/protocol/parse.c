/* The text parser has two paths. Plain get, set and meta lines, in the form that clients usually
 * write, are recognised by comparing words, and scanned once. All other lines, and every irregular
 * get, set or meta line, take the general path: find the line's end, split the line at spaces. */
#include "protocol/parse.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "protocol/binary.h"
#include "protocol/parse_line.h"
#include "protocol/token.h"

static const char bad_exptime[] = "CLIENT_ERROR invalid exptime argument\r\n";
static const char bad_delta[] = "CLIENT_ERROR invalid numeric delta argument\r\n";

static bool parse_starts_with(const char *p, const char *word, size_t n) {
    return memcmp(p, word, n) == 0;
}
#define STARTS_WITH(p, word) parse_starts_with((p), (word), sizeof(word) - 1)

/* --- get lines --- */

/* parse_get_keys for a plain line. Returns the number of keys. 0: the line is not plain, and
 * parse_get_keys must parse the line. */
static inline unsigned parse_plain_keys(const char *p, const char *end, struct request *out,
                                        unsigned room, const char **next) {
    for (unsigned n = 0; n < room; n++) {
        const char *stop = scan_token_end(p, end);
        size_t bytes = (size_t)(stop - p);
        if (stop >= end) {
            return 0;
        }
        bool last = *stop == '\n';
        /* a CR of the line's end is no part of the key; before an empty key there is a space */
        bytes -= last && stop[-1] == '\r';
        if (bytes == 0 || bytes > KEY_BYTES_MAX) {
            return 0;
        }
        struct request *r = &out[n];
        r->verb = VERB_GET;
        r->flags = last ? REQUEST_END : 0;
        r->key = key_make(p, bytes);
        p = stop + 1;
        if (last) {
            *next = p;
            return n + 1;
        }
    }
    return 0;
}

/* The same for a line that must be complete. `next` is behind the line, or at its start. */
static inline unsigned parse_plain_get(char *at, char *end, struct request *out, unsigned room,
                                       char **next) {
    const char *behind = at;
    unsigned n = parse_plain_keys(at + 4, end, out, room, &behind);
    *next = at + (behind - at);
    return n;
}

static enum parsed parse_get(struct parser *ps, uint8_t verb, char *keys, char *end,
                             struct request *out, unsigned room, unsigned *count, char **next) {
    ps->verb = verb;
    ps->exptime = 0;
    return parse_get_keys(ps, keys, end, out, room, count, next);
}

/* --- data blocks --- */

/* Refuses a storage command with a valid length: replies an error, and drops the data block. */
static enum parsed parse_refuse_block(struct request *r, const char *text, size_t bytes,
                                      bool noreply, uint32_t value_bytes) {
    line_reply(r, text, bytes, noreply);
    r->flags = REQUEST_SWALLOW;
    r->value_bytes = value_bytes;
    return PARSED;
}

/* Reads one to nine digits and the byte `after`. -1: the bytes differ. Reads at most ten bytes. */
static inline int64_t parse_short_number(const char **p, char after) {
    const char *at = *p;
    uint32_t v = (uint32_t)(*at - '0');
    if (v > 9) {
        return -1;
    }
    for (int i = 1; i < 9; i++) {
        uint32_t digit = (uint32_t)(at[i] - '0');
        if (digit > 9) {
            *p = at + i + 1;
            return at[i] == after ? (int64_t)v : -1;
        }
        v = v * 10 + digit;
    }
    *p = at + 10;
    return at[9] == after ? (int64_t)v : -1;
}

/* Parses a plain line `set key 1 2 3\r\n`, with noreply or without. False: the general path must
 * parse the line. Reads behind `end` stay within the slack: four short numbers fit into it. */
static bool parse_plain_set(char *at, char *end, struct request *r, char **data) {
    const char *key = at + 4;
    const char *p = scan_token_end(key, end);
    size_t key_bytes = (size_t)(p - key);
    if (p >= end || *p != ' ' || key_bytes == 0 || key_bytes > KEY_BYTES_MAX) {
        return false;
    }
    p++;
    int64_t flags = parse_short_number(&p, ' ');
    int64_t exptime = flags < 0 ? -1 : parse_short_number(&p, ' ');
    if (exptime < 0) {
        return false;
    }
    const char *bytes_at = p;
    int64_t bytes = parse_short_number(&p, '\r');
    uint8_t request_flags = 0;
    if (bytes < 0) {
        p = bytes_at;
        bytes = parse_short_number(&p, ' ');
        if (bytes < 0 || !STARTS_WITH(p, "noreply\r")) {
            return false;
        }
        p += 8;
        request_flags = REQUEST_NOREPLY;
    }
    if (p >= end || *p != '\n') {
        return false;
    }
    r->verb = VERB_SET;
    r->flags = request_flags;
    r->value_bytes = (uint32_t)bytes;
    r->key = key_make(key, key_bytes);
    r->number = 0;
    r->client_flags = (uint32_t)flags;
    r->exptime = (int32_t)exptime;
    *data = at + (p + 1 - at);
    return true;
}

static uint8_t parse_meta_verb(char c) {
    switch (c) {
    case 'g': return VERB_META_GET;
    case 's': return VERB_META_SET;
    case 'd': return VERB_META_DELETE;
    case 'a': return VERB_META_ARITH;
    case 'e': return VERB_META_DEBUG;
    default: return VERB_COMMAND;
    }
}

/* --- the general path --- */

static enum parsed parse_storage(uint8_t verb, const struct token *t, unsigned n, char *data,
                                 char *end, struct request *r, char **next) {
    int32_t value_bytes;
    *next = data;
    if (n < 5 || !number_i32(t[4].ptr, t[4].bytes, &value_bytes) || value_bytes < 0 ||
        value_bytes > INT_MAX - 2) {
        REPLY(r, bad_line);
        return PARSED;
    }
    bool noreply = TOKEN_IS(&t[n - 1], "noreply");
    uint32_t client_flags;
    int32_t exptime;
    uint64_t cas = 0;
    if (t[1].bytes > KEY_BYTES_MAX || !number_client_flags(t[2].ptr, t[2].bytes, &client_flags) ||
        !number_exptime(t[3].ptr, t[3].bytes, &exptime) ||
        (verb == VERB_CAS && (n < 6 || !number_u64(t[5].ptr, t[5].bytes, &cas)))) {
        return parse_refuse_block(r, bad_line, sizeof bad_line - 1, noreply, (uint32_t)value_bytes);
    }
    *r = (struct request){.verb = verb,
                          .flags = noreply ? REQUEST_NOREPLY : 0,
                          .value_bytes = (uint32_t)value_bytes,
                          .key = key_make(t[1].ptr, t[1].bytes),
                          .number = cas,
                          .client_flags = client_flags,
                          .exptime = exptime};
    return line_take_block(r, data, end, next);
}

/* delete, incr, decr, touch: a key, and for all but delete a number. */
static void parse_keyed(uint8_t verb, const struct token *t, unsigned n, struct request *r) {
    if (n < (verb == VERB_DELETE ? 2u : 3u)) {
        REPLY(r, bad_line);
        return;
    }
    bool noreply = TOKEN_IS(&t[n - 1], "noreply");
    uint64_t delta = 0;
    int32_t exptime = 0;
    if (t[1].bytes > KEY_BYTES_MAX) {
        REPLY_UNLESS(noreply, r, bad_line);
        return;
    }
    if ((verb == VERB_INCR || verb == VERB_DECR) && !number_u64(t[2].ptr, t[2].bytes, &delta)) {
        REPLY_UNLESS(noreply, r, bad_delta);
        return;
    }
    if (verb == VERB_TOUCH && !number_i32(t[2].ptr, t[2].bytes, &exptime)) {
        REPLY_UNLESS(noreply, r, bad_exptime);
        return;
    }
    *r = (struct request){.verb = verb,
                          .flags = noreply ? REQUEST_NOREPLY : 0,
                          .key = key_make(t[1].ptr, t[1].bytes),
                          .number = delta,
                          .exptime = exptime};
}

/* gat and gats: the first words are checked here; from its third word on the line is a get line. */
static enum parsed parse_gat(struct parser *ps, uint8_t verb, const struct token *t, unsigned n,
                             char *line, char *data, char *end, struct request *out, unsigned room,
                             unsigned *count, char **next) {
    *next = data;
    *count = 1;
    if (n < 3) {
        REPLY(out, bad_line);
        return PARSED;
    }
    ps->verb = verb;
    if (!number_i32(t[1].ptr, t[1].bytes, &ps->exptime)) {
        REPLY(out, bad_exptime);
        return PARSED;
    }
    return parse_get_keys(ps, line + (t[2].ptr - line), end, out, room, count, next);
}

/* Any other line: the table of commands reads the line. */
static void parse_command(const char *line, const char *stop, const struct token *t, unsigned n,
                          struct request *r) {
    *r = (struct request){
        .verb = VERB_COMMAND, .text = line, .text_bytes = (uint32_t)(stop - line)};
    if (n > 1 && t[n - 1].bytes >= 5 && STARTS_WITH(t[n - 1].ptr, "HTTP/")) {
        r->flags |= REQUEST_HTTP;
    }
    bool always_answers = n > 0 && line[0] != ' ' &&
        (TOKEN_IS(&t[0], "version") || TOKEN_IS(&t[0], "stats") ||
                          TOKEN_IS(&t[0], "watch"));
    if (n > 0 && !always_answers && TOKEN_IS(&t[n - 1], "noreply")) {
        r->flags |= REQUEST_NOREPLY;
    }
}

static const struct {
    char    name[8];
    uint8_t verb;
} hot_commands[] = {
    {"get", VERB_GET},         {"gets", VERB_GETS},       {"gat", VERB_GAT},
    {"gats", VERB_GATS},       {"set", VERB_SET},         {"add", VERB_ADD},
    {"cas", VERB_CAS},         {"replace", VERB_REPLACE}, {"append", VERB_APPEND},
    {"prepend", VERB_PREPEND}, {"delete", VERB_DELETE},   {"touch", VERB_TOUCH},
    {"incr", VERB_INCR},       {"decr", VERB_DECR},       {"mg", VERB_META_GET},
    {"ms", VERB_META_SET},     {"md", VERB_META_DELETE},  {"ma", VERB_META_ARITH},
    {"me", VERB_META_DEBUG},   {"mn", VERB_META_NOOP},    {"quit", VERB_CLOSE},
    {"version", VERB_VERSION},
};

static uint8_t parse_find_verb(const char *name, size_t bytes) {
    char padded[8] = {0};
    if (bytes >= sizeof padded) {
        return VERB_COMMAND;
    }
    memcpy(padded, name, bytes);
    for (size_t i = 0; i < sizeof hot_commands / sizeof *hot_commands; i++) {
        if (memcmp(hot_commands[i].name, padded, sizeof padded) == 0) {
            return hot_commands[i].verb;
        }
    }
    return VERB_COMMAND;
}

/* Returns the place where the keys of a get line start. Like memcached, accepts up to 100 spaces
 * before the command. NULL: the line is no get line. */
static char *parse_find_long_get_keys(char *line) {
    enum { SPACES_MAX = 100 };
    char *word = line;
    while (*word == ' ' && word - line <= SPACES_MAX) {
        word++;
    }
    if (word - line > SPACES_MAX) {
        return NULL;
    }
    return STARTS_WITH(word, "get ") ? word + 4 : STARTS_WITH(word, "gets ") ? word + 5 : NULL;
}

/* Parses a line of more than PARSE_LINE_MAX bytes whose keys start at `keys`. line_end NULL: the
 * end has not come yet. */
static enum parsed parse_long_line(struct parser *ps, char *line, char *keys, char *line_end,
                                   char *end, struct request *out, unsigned room, unsigned *count,
                                   char **next) {
    static const char unknown[] = "ERROR\r\n";
    /* long as a get line may be, but no command begins with a space */
    if (*line == ' ') {
        return parse_refuse_line(ps, out, unknown, sizeof unknown - 1, line, end, count, next);
    }
    ps->verb = keys - line == 4 ? VERB_GET : VERB_GETS;
    ps->exptime = 0;
    return parse_long_get(ps, line, keys, line_end, end, out, room, count, next);
}

/* Skips the rest of a refused line. */
static enum parsed parse_skip_line(struct parser *ps, char *at, char *end, struct request *out,
                                   unsigned *count, char **next) {
    char *feed = memchr(at, '\n', (size_t)(end - at));
    ps->mode = feed == NULL ? PARSER_SKIPS : PARSER_LINES;
    line_reply(out, "", 0, true);
    *count = 1;
    *next = feed ? feed + 1 : end;
    return PARSED;
}

/* Parses a complete line of any command, from `line` to `stop`; `data` is behind the line feed. */
static enum parsed parse_line(struct parser *ps, char *line, char *stop, char *data, char *end,
                              struct request *out, unsigned room, unsigned *count, char **next) {
    *count = 1;
    *next = data;
    if (data - line < 4) {
        REPLY(out, bad_line);
        return PARSED;
    }
    const char *space = memchr(line, ' ', (size_t)(stop - line));
    size_t name_bytes = (size_t)((space ? space : stop) - line);
    uint8_t verb = parse_find_verb(line, name_bytes);
    if (verb == VERB_GET || verb == VERB_GETS) {
        return parse_get(ps, verb, line + name_bytes, end, out, room, count, next);
    }
    if (verb == VERB_META_NOOP || verb == VERB_VERSION || verb == VERB_CLOSE) {
        *out = (struct request){.verb = verb};
        return PARSED;
    }
    if (verb_is_meta(verb)) {
        return parse_meta(verb, false, line + name_bytes, end, out, next);
    }
    struct token t[TOKENS_MAX];
    unsigned n = token_split(line, (size_t)(stop - line), t, TOKENS_MAX);
    switch (verb) {
    case VERB_GAT:
    case VERB_GATS: return parse_gat(ps, verb, t, n, line, data, end, out, room, count, next);
    case VERB_SET:
    case VERB_ADD:
    case VERB_REPLACE:
    case VERB_APPEND:
    case VERB_PREPEND:
    case VERB_CAS: return parse_storage(verb, t, n, data, end, out, next);
    case VERB_DELETE:
    case VERB_INCR:
    case VERB_DECR:
    case VERB_TOUCH:
        parse_keyed(verb, t, n, out);
        return PARSED;
    default:
        parse_command(line, stop, t, n, out);
        return PARSED;
    }
}

/* Parses one plain line at `at`: a get, a set with its complete data block, or a meta command.
 * Returns the number of requests. 0: the line is not plain. */
static unsigned parse_plain_line(char *at, char *end, struct request *out, unsigned room,
                                 char **next) {
    if (STARTS_WITH(at, "get ")) {
        return parse_plain_get(at, end, out, room, next);
    }
    if (STARTS_WITH(at, "set ")) {
        char *data;
        return parse_plain_set(at, end, out, &data) &&
               line_take_block(out, data, end, next) == PARSED && out->value &&
               !(out->flags & REQUEST_BAD_DATA);
    }
    if (at[0] == 'm' && at[2] == ' ') {
        uint8_t verb = parse_meta_verb(at[1]);
        return verb != VERB_COMMAND && parse_meta(verb, true, at + 3, end, out, next) == PARSED;
    }
    return 0;
}

unsigned parse_plain(const struct parser *ps, char **at, char *end, struct request *out,
                     unsigned room) {
    unsigned n = 0;
    if (ps->in_get_line || ps->mode != PARSER_LINES || ps->seen_bytes > 0) {
        return 0;
    }
    for (char *p = *at; n < room && p < end; *at = p) {
        unsigned count = STARTS_WITH(p, "get ") ? parse_plain_get(p, end, out + n, room - n, &p)
                                                : parse_plain_line(p, end, out + n, room - n, &p);
        if (count == 0) {
            break;
        }
        n += count;
    }
    return n;
}

bool parse_waits_for_block(const struct parser *ps, const char *bytes, size_t n) {
    return ps->mode == PARSER_PACKETS ? binary_has_key(bytes, n) : memchr(bytes, '\n', n) != NULL;
}

enum parsed parse(struct parser *ps, char *at, char *end, struct request *out, unsigned room,
                  unsigned *count, char **next) {
    if (ps->in_get_line) {
        return parse_get_keys(ps, at, end, out, room, count, next);
    }
    if (ps->mode != PARSER_LINES) {
        return ps->mode == PARSER_PACKETS
                   ? binary_parse(at, end, ps->logins, out, room, count, next)
                   : parse_skip_line(ps, at, end, out, count, next);
    }
    if (ps->seen_bytes == 0) {
        *count = parse_plain_line(at, end, out, room, next);
        if (*count > 0) {
            return PARSED;
        }
    }
    size_t bytes = (size_t)(end - at);
    size_t seen = ps->seen_bytes < bytes ? ps->seen_bytes : 0;
    char *feed = memchr(at + seen, '\n', bytes - seen);
    size_t line_bytes = (size_t)((feed ? feed : end) - at);
    char *keys = line_bytes > PARSE_LINE_MAX ? parse_find_long_get_keys(at) : NULL;
    ps->seen_bytes = feed ? 0 : bytes;
    if (keys) {
        return parse_long_line(ps, at, keys, feed, end, out, room, count, next);
    }
    if (!feed) {
        return line_bytes > PARSE_LINE_MAX ? PARSE_CLOSE : PARSE_MORE;
    }
    char *stop = feed > at && feed[-1] == '\r' ? feed - 1 : feed;
    return parse_line(ps, at, stop, feed + 1, end, out, room, count, next);
}
