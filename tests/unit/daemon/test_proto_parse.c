/* Lines to requests: the request of each command, the words of each refusal, and no line taken before it is complete. */
#include "tap.h"

#include "protocol/meta.h"
#include "protocol/parse.h"

enum { ROOM = 256 };
static struct request requests[ROOM];
static char buffer[200 * 1024 + PARSE_SLACK];
static struct parser parser;
static unsigned count;
static size_t used;

/* Parses `line`, which starts a fresh connection; junk that looks like more of the line follows. */
static enum parsed parse_bytes(const char *line, size_t n, unsigned room) {
    char *next = NULL;
    memcpy(buffer, line, n);
    memset(buffer + n, '\n', PARSE_SLACK);
    parser = (struct parser){0};
    count = 0;
    enum parsed how = parse(&parser, buffer, buffer + n, requests, room, &count, &next);
    used = how == PARSED ? (size_t)(next - buffer) : 0;
    return how;
}

static enum parsed parse_text(const char *line) { return parse_bytes(line, strlen(line), ROOM); }

static bool replies(const char *line, const char *text) {
    return parse_text(line) == PARSED && count == 1 && requests[0].verb == VERB_REPLY &&
           requests[0].text_bytes == strlen(text) && memcmp(requests[0].text, text, strlen(text)) == 0;
}

static bool key_is(const struct request *r, const char *key) {
    return r->key.len == strlen(key) && memcmp(r->key.ptr, key, r->key.len) == 0 &&
           r->key.hash == key_hash(key, strlen(key));
}

#define BAD_LINE "CLIENT_ERROR bad command line format\r\n"

TEST(test_get) {
    ok(parse_text("get a\r\n") == PARSED && count == 1 && requests[0].verb == VERB_GET &&
           requests[0].flags == REQUEST_END && key_is(&requests[0], "a") && used == 7,
       "get of one key is one request, which ends the line");
    ok(parse_text("gets  a   bc \n") == PARSED && count == 2 && requests[0].verb == VERB_GETS && requests[0].flags == 0 &&
           key_is(&requests[1], "bc") && requests[1].flags == REQUEST_END,
       "several spaces, a trailing one and a bare line feed are fine");
    ok(parse_text("get a\rb\r\r\n") == PARSED && key_is(&requests[0], "a\rb\r"), "only the line end's CR is no part of a key");
    ok(parse_text("gat 60 a b\r\n") == PARSED && count == 2 && requests[1].verb == VERB_GAT && requests[1].exptime == 60,
       "gat gives every key its exptime");
    char line[512];
    snprintf(line, sizeof line, "get %0251d noreply\r\n", 0);
    ok(replies(line, "\r\n"), "of the refusal of an overlong key noreply leaves the empty line");
    ok(parse_text("get") == PARSE_MORE && parse_text("get a") == PARSE_MORE && parse_text("get a\r") == PARSE_MORE,
       "a get line without its end waits");
}

TEST(test_long_get_lines_come_in_pieces) {
    static char line[64 * 1024];
    size_t n = (size_t)sprintf(line, "get");
    for (int i = 0; i < 5000; i++) {
        n += (size_t)sprintf(line + n, " key%d", i);
    }
    n += (size_t)sprintf(line + n, "\r\n");
    enum parsed how = parse_bytes(line, n, 100);
    int keys = 0, wrong = 0;
    char *at = buffer;
    while (how == PARSED) {
        for (unsigned i = 0; i < count; i++) {
            char want[16];
            sprintf(want, "key%d", keys++);
            wrong += !key_is(&requests[i], want) || (requests[i].flags == REQUEST_END) != (keys == 5000);
        }
        at = buffer + used;
        if (!parser.in_get_line) {
            break;
        }
        char *next;
        how = parse(&parser, at, buffer + n, requests, 100, &count, &next);
        used = (size_t)(next - buffer);
    }
    ok(how == PARSED && keys == 5000 && wrong == 0 && used == n, "5000 keys come out in pieces of 100, END with the last");
    ok(parse_bytes(line, n - 1, 100) == PARSE_GROW, "a long line waits for its end before its first piece");
    memset(line + n - 300, 'x', 298);
    ok(parse_bytes(line, n, 100) == PARSED && count == 1 && requests[0].verb == VERB_REPLY && used == n,
       "a bad key at the end of a long line replaces its first piece");
}

/* The requests of the stream when `piece` bytes arrive at a time: keys counted, replies written; `most`: bytes that waited. */
static void play(const char *stream, size_t n, size_t piece, char *said, size_t *most) {
    size_t at = 0, arrived = 0, keys = 0;
    char *next;
    parser = (struct parser){0};
    *said = 0;
    *most = 0;
    for (;;) {
        enum parsed how = at < arrived ? parse(&parser, buffer + at, buffer + arrived, requests, 100, &count, &next) : PARSE_MORE;
        if (how == PARSE_CLOSE || (how != PARSED && arrived == n)) {
            break;
        }
        if (how != PARSED) {
            *most = arrived - at > *most ? arrived - at : *most;
            size_t step = n - arrived < piece ? n - arrived : piece;
            memcpy(buffer + arrived, stream + arrived, step);
            memset(buffer + arrived + step, ' ', PARSE_SLACK);
            arrived += step;
            continue;
        }
        at = (size_t)(next - buffer);
        for (unsigned i = 0; i < count; i++) {
            bool is_reply = requests[i].verb == VERB_REPLY;
            keys += !is_reply;
            if (is_reply && requests[i].text_bytes > 0) {
                said += sprintf(said, "%zu keys %.*s", keys, (int)requests[i].text_bytes, requests[i].text);
            } else if (!is_reply && requests[i].flags & REQUEST_END) {
                said += sprintf(said, "%zu keys END\r\n", keys);
            }
        }
    }
}

/* A get line of `keys` keys, each of 9 bytes with its space. Key number `bad` is too long; -1: none is. */
static size_t make_line(char *line, int keys, int bad, bool ends) {
    char *p = line + sprintf(line, "get");
    for (int i = 0; i < keys; i++) {
        p += sprintf(p, " key%05d", i);
        if (i == bad) {
            memset(p, 'x', 300);
            p += 300;
        }
    }
    if (ends) {
        p += sprintf(p, "\r\nget a\r\n");
    }
    return (size_t)(p - line);
}

TEST(test_long_get_lines_wait_in_bounded_room) {
    static const struct {
        const char *claim, *said;
        int  keys, bad;
        bool ends;
        size_t most;
    } lines[] = {
        {"a line of good keys is answered as it comes", "17000 keys END\r\n17001 keys END\r\n", 17000, -1, true, PARSE_GET_MAX},
        {"a bad key in its first 64 KiB is its only answer", "0 keys " BAD_LINE "\r\n1 keys END\r\n", 17000, 7000, true, PARSE_GET_MAX},
        {"one behind ends the answers where it stands", "10000 keys " BAD_LINE "\r\n10001 keys END\r\n", 17000, 10000, true, PARSE_GET_MAX},
        {"a line without end is refused at its first bad key", "0 keys " BAD_LINE "\r\n", 17000, 300, false, 4096},
    };
    static char line[200 * 1024], whole[1024], pieces[1024];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t n = make_line(line, lines[i].keys, lines[i].bad, lines[i].ends), most;
        play(line, n, 1000, pieces, &most);
        ok(most <= lines[i].most + 1000, "%s: %zu of its %zu bytes wait at most", lines[i].claim, most, n);
        is_str(pieces, lines[i].said, "and gets that reply");
        play(line, n, n, whole, &most);
        is_str(whole, lines[i].said, "in one piece too");
    }
    size_t most;
    memset(line, ' ', sizeof line);
    memcpy(line, "get", 3);
    memcpy(line + sizeof line - 2, "\r\n", 2);
    play(line, sizeof line, 1000, pieces, &most);
    ok(most <= PARSE_GET_MAX + 1000 && strcmp(pieces, "0 keys " BAD_LINE) == 0, "spaces for keys are skipped, and found to be none");
}

TEST(test_set) {
    ok(parse_text("set k 5 60 3\r\nabc\r\nget") == PARSED && requests[0].verb == VERB_SET && key_is(&requests[0], "k") &&
           requests[0].client_flags == 5 && requests[0].exptime == 60 && requests[0].value_bytes == 3 &&
           requests[0].value && memcmp(requests[0].value, "abc", 3) == 0 && requests[0].flags == 0 && used == 19,
       "a whole set is taken with its data block");
    ok(parse_text("set k 0 0 2048\r\nx") == PARSE_MORE, "a value of up to 2048 bytes waits in the buffer");
    ok(parse_text("set k 0 0 2049\r\nx") == PARSED && !requests[0].value && used == 16, "a larger one is left to the caller");
}

TEST(test_other_lines) {
    ok(replies("incr k x\r\n", "CLIENT_ERROR invalid numeric delta argument\r\n") && replies("decr k\r\n", BAD_LINE) &&
           replies("incr k noreply\r\n", ""),
       "incr without a number is refused, silently when the last word is noreply");
    ok(parse_text("    \r\n") == PARSED && requests[0].verb == VERB_COMMAND, "a line of spaces is a command nobody knows");
}

TEST(test_line_limit) {
    memset(buffer, 'x', 4096);
    char *next;
    parser = (struct parser){0};
    is(parse(&parser, buffer, buffer + 2048, requests, ROOM, &count, &next), PARSE_MORE, "2048 bytes without an end wait");
    is(parse(&parser, buffer, buffer + 2049, requests, ROOM, &count, &next), PARSE_CLOSE, "2049 hang up");
    for (int i = 0; i < 4096; i += 8) {
        memcpy(buffer + i, "gets key", 8);
    }
    parser = (struct parser){0};
    is(parse(&parser, buffer, buffer + 4096, requests, ROOM, &count, &next), PARSE_GROW, "a get line may grow on");
    memcpy(buffer, "   gets ", 8);
    parser = (struct parser){0};
    ok(parse(&parser, buffer, buffer + 4096, requests, ROOM, &count, &next) == PARSED && requests[0].text_bytes == 7 && parser.mode == PARSER_SKIPS,
       "but not behind a space: no command begins so, and nobody waits for its end");
    memset(buffer, ' ', 101);
    memcpy(buffer + 101, "get ", 4);
    parser = (struct parser){0};
    is(parse(&parser, buffer, buffer + 4096, requests, ROOM, &count, &next), PARSE_CLOSE, "not behind over 100 spaces");
}

static const char *flags_error(const char *line, struct meta_flags *m) {
    return parse_text(line) == PARSED && verb_is_meta(requests[0].verb) ? meta_flags_parse(&requests[0], m) : "no request";
}

static bool flags_fail(const char *line, const char *error) {
    struct meta_flags m;
    const char *got = flags_error(line, &m);
    char want[128];
    snprintf(want, sizeof want, "CLIENT_ERROR %s\r\n", error);
    return got && strcmp(got, want) == 0;
}

TEST(test_meta_lines) {
    struct meta_flags m;
    ok(parse_text("mg k v s\r\n") == PARSED && requests[0].verb == VERB_META_GET && key_is(&requests[0], "k") &&
           requests[0].text_bytes == 4,
       "mg keeps its flags as text");
    ok(flags_error("mg k N-1 T0 R30 C7 E8 F9 J10 D11 MI Oabc q\r\n", &m) == NULL && m.vivify_exptime == -1 &&
           m.touch_exptime == 0 && m.recache == 30 && m.compare_cas == 7 && m.cas == 8 && m.client_flags == 9 &&
           m.initial == 10 && m.delta == 11 && m.mode == 'I' && meta_has(&m, 'q') && !meta_has(&m, 'v'),
       "all flags with their arguments are read");
    ok(flags_fail("mg k F\r\n", "bad command line format") && flags_fail("mg k Tx F\r\n", "bad token in command line format"),
       "bad client flags are an error, weaker than others");
    ok(flags_fail("mg k! b\r\n", "error decoding key") && flags_fail("mg k! b Tx\r\n", "bad token in command line format"),
       "so is a key that is no base64, the last error counting");
    char line[512];
    memset(line, 'k', sizeof line);
    memcpy(line, "mg ", 3);
    strcpy(line + 254, " v v\r\n");
    ok(flags_fail(line, "bad command line format"), "an overlong key comes first");
}

TEST(test_nothing_is_taken_early) {
    static const char *const lines[] = {
        "get a b c\r\n", "gets a\n", "gat 5 a b\r\n", "set k 1 2 3\r\nabc\r\n", "set  k 1 2 3 noreply \r\nabc\r\n",
        "cas k 1 2 3 4\r\nabc\r\n", "append k 0 0 0\r\n\r\n", "incr k 1\r\n", "touch k 1\r\n", "delete k\r\n", "mg k v b\r\n",
        "ms k 3 T5\r\nabc\r\n", "md k q\r\n", "ma k MD\r\n", "me k\r\n", "mn\r\n", "stats\r\n", "zzzz\r\n", "mg k =\r\n",
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        for (size_t n = 1; n < strlen(lines[i]); n++) {
            enum parsed how = parse_bytes(lines[i], n, ROOM);
            if (how != PARSE_MORE) {
                printf("# %zu bytes of %s gave %d\n", n, lines[i], how);
                wrong++;
            }
        }
        wrong += parse_text(lines[i]) != PARSED || used != strlen(lines[i]);
    }
    is(wrong, 0, "no line is taken before it is complete, though the bytes behind look like its end");
}

int main(void) { return tap_main(); }
