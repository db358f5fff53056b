/* The reply parser: every reply of the protocols, at every split. */
#include "tap.h"

#include "random.h"
#include "reply.h"

static enum reply_kind kind_of(const char *text) {
    struct reply r;
    reply_parse(text, strlen(text), &r);
    return r.kind;
}

TEST(lines) {
    static const struct {
        const char *text;
        enum reply_kind kind;
    } cases[] = {
        {"END\r\n", REPLY_END}, {"STORED\r\n", REPLY_DONE}, {"NOT_STORED\r\n", REPLY_NOT_STORED},
        {"EXISTS\r\n", REPLY_EXISTS}, {"NOT_FOUND\r\n", REPLY_NOT_FOUND}, {"DELETED\r\n", REPLY_DONE},
        {"OK\r\n", REPLY_DONE}, {"HD\r\n", REPLY_DONE}, {"HD kfoo c5\r\n", REPLY_DONE}, {"EN\r\n", REPLY_NOT_FOUND},
        {"EN kfoo\r\n", REPLY_NOT_FOUND}, {"NF\r\n", REPLY_NOT_FOUND}, {"NF kfoo\r\n", REPLY_NOT_FOUND},
        {"NS\r\n", REPLY_NOT_STORED}, {"EX\r\n", REPLY_EXISTS}, {"MN\r\n", REPLY_FENCE}, {"VERSION 1.6.45\r\n", REPLY_FENCE},
        {"ERROR\r\n", REPLY_ERROR}, {"ERROR Too many open connections\r\n", REPLY_ERROR},
        {"CLIENT_ERROR bad data chunk\r\n", REPLY_ERROR}, {"SERVER_ERROR out of memory storing object\r\n", REPLY_ERROR},
        {"SERVER_ERROR: shutdown not enabled\r\n", REPLY_ERROR}, {"\r\n", REPLY_BAD}, {"\n", REPLY_BAD},
        {"END\n", REPLY_BAD}, {"STOREDX\r\n", REPLY_BAD}, {"STORED x\r\n", REPLY_BAD}, {"stored\r\n", REPLY_BAD},
        {" END\r\n", REPLY_BAD}, {"12x\r\n", REPLY_BAD}, {"ERRORS\r\n", REPLY_BAD}, {"VALUE\r\n", REPLY_BAD},
        {"VALUE k 0\r\n", REPLY_BAD}, {"VALUE k 0 x\r\n", REPLY_BAD}, {"VALUE k  0 3\r\nabc\r\n", REPLY_BAD},
        {"VALUE  0 3\r\nabc\r\n", REPLY_BAD}, {"VALUE k 0 -3\r\n", REPLY_BAD}, {"VALUE k 0 3x\r\n", REPLY_BAD},
        {"VALUE k 0 99999999999999999999\r\n", REPLY_BAD}, {"VALUE k 0 3\r\nabcd\r\n", REPLY_BAD},
        {"VALUE k 0 3\r\nab\r\n\r\n", REPLY_BAD}, {"VA x\r\n", REPLY_BAD}, {"VA 3x\r\nabc\r\n", REPLY_BAD},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char shown[64];
        snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(cases[i].text, "\r\n"), cases[i].text);
        is(kind_of(cases[i].text), cases[i].kind, "'%s' is understood or refused", shown);
    }
}

TEST(values) {
    struct reply r;
    const char *text = "VALUE some-key 4294967295 5\r\na\r\nb!\r\nEND\r\n";
    reply_parse(text, strlen(text), &r);
    is(r.kind, REPLY_VALUE, "a value with line ends in its data is one element");
    is(r.used, strlen(text) - 5, "and its length is right");
    ok(r.key_bytes == 8 && memcmp(r.key, "some-key", 8) == 0, "it names its key");
    ok(r.value_bytes == 5 && memcmp(r.value, "a\r\nb!", 5) == 0, "it holds its data");
    text = "VALUE k 0 0 77\r\n\r\n";
    reply_parse(text, strlen(text), &r);
    ok(r.kind == REPLY_VALUE && r.value_bytes == 0 && r.used == strlen(text), "an empty value with a cas number is taken");
    text = "VA 2 c5 kfoo t-1\r\nhi\r\n";
    reply_parse(text, strlen(text), &r);
    ok(r.kind == REPLY_VALUE && r.value_bytes == 2, "a meta value is taken");
    ok(r.key_bytes == 3 && memcmp(r.key, "foo", 3) == 0, "its key flag is found among others");
    text = "VA 2\r\nhi\r\n";
    reply_parse(text, strlen(text), &r);
    ok(r.kind == REPLY_VALUE && r.key == NULL, "a meta value need not name a key");
    text = "VALUE k 0 1000\r\nabc";
    reply_parse(text, strlen(text), &r);
    ok(r.kind == REPLY_MORE && r.needed == 16 + 1002, "an incomplete value says how much it needs");
}

TEST(endless_line) {
    static char line[REPLY_LINE_MAX + 1];
    struct reply r;
    memset(line, 'a', sizeof(line));
    reply_parse(line, REPLY_LINE_MAX - 1, &r);
    is(r.kind, REPLY_MORE, "a long line may still end");
    reply_parse(line, REPLY_LINE_MAX, &r);
    is(r.kind, REPLY_BAD, "a line without end is refused");
}

/* A stream of random replies, fed in random pieces, must give the same elements as fed whole. */
static void random_splits(uint64_t seed) {
    static char stream[1 << 16];
    static size_t ends[4096];
    static enum reply_kind kinds[4096];
    struct rng rng = rng_from(seed);
    size_t n = 0, count = 0;
    static const char *const simple[] = {"END\r\n", "STORED\r\n", "NOT_FOUND\r\n", "HD\r\n", "EN\r\n", "MN\r\n", "SERVER_ERROR out of memory\r\n", "DELETED\r\n"};
    while (n < sizeof(stream) - 2000) {
        if (rng_below(&rng, 2)) {
            const char *text = simple[rng_below(&rng, sizeof(simple) / sizeof(*simple))];
            memcpy(stream + n, text, strlen(text));
            n += strlen(text);
        } else {
            unsigned bytes = (unsigned)rng_below(&rng, 600);
            n += (size_t)snprintf(stream + n, 300, rng_below(&rng, 2) ? "VALUE key%u 0 %u\r\n" : "VA %2$u kkey%1$u\r\n",
                                  (unsigned)rng_below(&rng, 1000), bytes);
            for (unsigned i = 0; i < bytes; i++) {
                stream[n++] = "\r\nEND VALUE 0"[rng_below(&rng, 13)];
            }
            memcpy(stream + n, "\r\n", 2);
            n += 2;
        }
        struct reply r;
        size_t from = count ? ends[count - 1] : 0;
        reply_parse(stream + from, n - from, &r);
        kinds[count] = r.kind;
        ends[count++] = n;
        if (r.used != n - from) {
            ok(false, "element %zu is read whole", count);
            return;
        }
    }
    bool same = true;
    for (int round = 0; round < 200 && same; round++) {
        size_t at = 0, have = 0, element = 0;
        while (at < n && same) {
            have += 1 + rng_below(&rng, round % 2 ? 40 : 3000);
            have = have < n ? have : n;
            for (;;) {
                struct reply r;
                char *copy = malloc(have - at + 1); /* exact size: an overread is seen */
                memcpy(copy, stream + at, have - at);
                reply_parse(copy, have - at, &r);
                free(copy);
                if (r.kind == REPLY_MORE) {
                    same = same && r.needed > have - at;
                    break;
                }
                same = same && r.kind == kinds[element] && at + r.used == ends[element];
                if (!same || element + 1 == count) {
                    at = n;
                    break;
                }
                at = ends[element++];
            }
        }
        same = same && element + 1 == count;
    }
    ok(same, "%zu replies in 200 random splits are read as when whole", count);
}

int main(void) {
    uint64_t seed = tap_seed();
    tap_run_tests();
    random_splits(seed);
    return tap_done();
}
