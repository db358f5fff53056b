/* What a session promises of random streams of requests: the same replies however the bytes arrive,
 * and to each client its own replies only. */
#include "tap.h"

#include "session_fixture.h"

/* --- random streams --- */

struct stream {
    char    *bytes;
    size_t   n, room;
    uint64_t random;
    bool     private_only; /* nothing that tells of other clients: no CAS numbers */
    const char *prefix;
};

static uint32_t pick(struct stream *s, uint32_t below) {
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(s->random >> 33) % below;
}

static void put(struct stream *s, const char *bytes, size_t n) {
    if (s->room - s->n < n) {
        s->room = (s->n + n) * 2;
        s->bytes = realloc(s->bytes, s->room);
    }
    if (n > 0) {
        memcpy(s->bytes + s->n, bytes, n);
    }
    s->n += n;
}
static void put_str(struct stream *s, const char *text) { put(s, text, strlen(text)); }
static void put_number(struct stream *s, long n) {
    char text[24];
    put(s, text, (size_t)snprintf(text, sizeof text, "%ld", n));
}

static void put_key(struct stream *s) {
    char key[300];
    int n = snprintf(key, sizeof key, "%s%u", s->prefix, pick(s, 8));
    if (pick(s, 40) == 0) {
        memset(key + n, 'k', sizeof key - (size_t)n);
        n = 250 + (int)pick(s, 2) - (int)strlen(s->prefix) % 2;
    }
    put(s, key, (size_t)n);
}

static void put_line_end(struct stream *s) { put_str(s, pick(s, 8) ? "\r\n" : "\n"); }

static size_t pick_value_bytes(struct stream *s) {
    switch (pick(s, 12)) {
    case 0: return 2040 + pick(s, 16);
    case 1: return 2049 + pick(s, 20000);
    case 2: return pick(s, 400) == 0 ? 600000 + pick(s, 600000) : 0;
    default: return pick(s, 40);
    }
}

/* With a line feed now and then: a block that is taken for a line must not be one that is too long to wait for. */
static void put_block(struct stream *s, size_t n) {
    static char block[1300000];
    for (size_t i = 0; i < n; i++) {
        block[i] = i % 1000 == 999 ? '\n' : n < 12 && pick(s, 3) ? (char)('0' + i % 10) : (char)(' ' + (i * 7 + n) % 90);
    }
    put(s, block, n);
    /* One beyond the item limit is refused before its end comes, unless all of it lies in one buffer, as no socket gives it. */
    put_str(s, pick(s, 30) || n > 1000000 ? "\r\n" : "xx\r\n");
}

static void put_storage(struct stream *s) {
    static const char *const verbs[] = {"set", "set", "set", "add", "replace", "append", "prepend", "cas"};
    const char *verb = verbs[pick(s, s->private_only ? 7 : 8)];
    size_t n = pick_value_bytes(s);
    put_str(s, verb);
    put_str(s, " ");
    put_key(s);
    put_str(s, pick(s, 30) ? " 5 " : " x ");
    put_str(s, pick(s, 20) ? "0 " : "-1 ");
    put_number(s, (long)n);
    if (verb[0] == 'c') {
        put_str(s, " ");
        put_number(s, pick(s, 40));
    }
    put_str(s, pick(s, 6) ? "" : " noreply");
    put_line_end(s);
    put_block(s, n);
}

static void put_get(struct stream *s) {
    static const char *const verbs[] = {"get", "get", "gat 0", "gets", "gats 0"};
    const char *verb = verbs[pick(s, s->private_only ? 3 : 5)];
    uint32_t keys = pick(s, 10) ? 1 + pick(s, 3) : pick(s, verb[1] == 'a' ? 7 : 150); /* gat lines have a limit */
    put_str(s, verb);
    for (uint32_t i = 0; i < keys; i++) {
        put_str(s, pick(s, 9) ? " " : "  ");
        put_key(s);
    }
    put_line_end(s);
}

static void put_meta_flags(struct stream *s) {
    static const char *const flags[] = {" v", " q", " k", " s", " t", " f", " h", " Oabc", " u", " T0", " N0", " I", " x",
                                        " MA", " MS", " ME", " MD", " D5", " J7", " C3", " E99", " F7", " c", " b", " R30",
                                        " T", " =", " a", " Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    uint32_t kinds = sizeof flags / sizeof *flags;
    for (uint32_t i = 0, n = pick(s, 6); i < n; i++) {
        const char *flag = flags[pick(s, pick(s, 4) ? 12 : kinds)];
        if (!(s->private_only && strchr("cCE", flag[1]))) {
            put_str(s, flag);
        }
    }
}

static void put_meta(struct stream *s) {
    static const char *const verbs[] = {"mg ", "mg ", "md ", "ma ", "ms "};
    const char *verb = verbs[pick(s, 5)];
    put_str(s, verb);
    put_key(s);
    if (verb[1] == 's') {
        size_t n = pick_value_bytes(s);
        put_str(s, " ");
        put_number(s, (long)n);
        put_meta_flags(s);
        put_line_end(s);
        put_block(s, n);
        return;
    }
    put_meta_flags(s);
    put_line_end(s);
}

static void put_other(struct stream *s) {
    static const char *const lines[] = {"mn", "delete ", "incr ", "decr ", "touch ", "version", "foo", "", "get", "zzzz noreply"};
    const char *line = lines[pick(s, 10)];
    put_str(s, line);
    if (line[0] && line[strlen(line) - 1] == ' ') {
        put_key(s);
        put_str(s, pick(s, 10) ? " 3" : pick(s, 2) ? " x" : "");
        put_str(s, pick(s, 6) ? "" : " noreply");
    }
    put_line_end(s);
}

static void make_stream(struct stream *s, int commands) {
    for (int i = 0; i < commands; i++) {
        uint32_t kind = pick(s, 16);
        if (kind < 5) {
            put_storage(s);
        } else if (kind < 9) {
            put_get(s);
        } else if (kind < 14) {
            put_meta(s);
        } else {
            put_other(s);
        }
    }
    put_str(s, "\r\nmn\r\n");
}

/* All replies to the stream, fed in pieces of at most `piece` bytes (0: whole; awkward when it is negative). */
static void play(const struct stream *s, long piece, struct client *c) {
    static struct rig rig;
    rig_open(&rig, NULL);
    rig.random = s->random;
    rig.awkward = piece < 0;
    client_open(c);
    for (size_t at = 0; at < s->n;) {
        size_t step = piece == 0 ? s->n : piece < 0 ? 1 + rig_random(&rig, rig_random(&rig, 3) ? 30 : 6000) : (size_t)piece;
        step = step < s->n - at ? step : s->n - at;
        client_send(&rig, c, s->bytes + at, step);
        at += step;
    }
    cache_turn_begin(rig.ct);
    output_destroy(&c->kept);
    session_destroy(&c->session, rig.batch);
    cache_turn_end(rig.ct);
    rig_close(&rig);
    free(c->in);
}

static bool same(const struct client *a, const struct client *b, const char *how) {
    size_t n = a->out_bytes < b->out_bytes ? a->out_bytes : b->out_bytes, i = 0;
    while (i < n && a->out[i] == b->out[i]) {
        i++;
    }
    if (i == a->out_bytes && i == b->out_bytes) {
        return true;
    }
    size_t from = i > 60 ? i - 60 : 0;
    printf("# %s differs at byte %zu: whole '%.*s', else '%.*s'\n", how, i, (int)(n - from < 100 ? n - from : 100),
           a->out + from, (int)(n - from < 100 ? n - from : 100), b->out + from);
    return false;
}

static void test_replies_do_not_depend_on_how_bytes_arrive(uint64_t seed) {
    int wrong = 0, unsettled = 0;
    size_t bytes = 0;
    clock_pause(); /* replies tell ages and remaining times */
    for (int round = 0; round < 40; round++) {
        struct stream s = {.random = seed + (uint64_t)round * 977, .prefix = "k"};
        make_stream(&s, 120);
        struct client whole, pieces, awkward;
        play(&s, 0, &whole);
        play(&s, s.n > 300000 ? 997 : 1, &pieces);
        play(&s, -1, &awkward);
        unsettled += whole.out_bytes < 4 || memcmp(whole.out + whole.out_bytes - 4, "MN\r\n", 4) != 0;
        if (!same(&whole, &pieces, "byte by byte") || !same(&whole, &awkward, "in awkward pieces")) {
            printf("# round %d of this seed\n", round);
            wrong++;
        }
        bytes += whole.out_bytes;
        free(whole.out), free(pieces.out), free(awkward.out), free(s.bytes);
    }
    clock_resume();
    is(wrong, 0, "random requests get the same replies whole, byte by byte and in awkward pieces");
    is(unsettled, 0, "each of these streams is answered to its end");
    ok(bytes > 10000, "they were answered at some length (%zu bytes)", bytes);
}

static void test_clients_in_one_turn_get_their_own_replies(uint64_t seed) {
    enum { CLIENTS = 6 };
    static const char *const prefixes[CLIENTS] = {"a", "b", "c", "d", "e", "f"};
    static struct rig rig;
    struct stream streams[CLIENTS];
    struct client together[CLIENTS], alone;
    size_t at[CLIENTS] = {0};
    int wrong = 0;
    clock_pause(); /* replies tell ages and remaining times */
    rig_open(&rig, NULL);
    rig.random = seed;
    for (int i = 0; i < CLIENTS; i++) {
        streams[i] = (struct stream){.random = seed + (uint64_t)i, .prefix = prefixes[i], .private_only = true};
        make_stream(&streams[i], 400);
        client_open(&together[i]);
    }
    for (bool busy = true; busy;) {
        struct client *ready[CLIENTS];
        size_t count = 0;
        busy = false;
        for (int i = 0; i < CLIENTS; i++) {
            struct client *c = &together[i];
            size_t step = rig_random(&rig, 3000) < streams[i].n - at[i] ? rig_random(&rig, 3000) : streams[i].n - at[i];
            step = step < streams[i].n - at[i] ? step : streams[i].n - at[i];
            c->in = realloc(c->in, c->in_bytes + step + PARSE_SLACK);
            memcpy(c->in + c->in_bytes, streams[i].bytes + at[i], step);
            memset(c->in + c->in_bytes + step, ' ', PARSE_SLACK);
            c->in_bytes += step;
            at[i] += step;
            busy |= at[i] < streams[i].n || client_goes_on(c);
            ready[count++] = c;
        }
        rig_turn(&rig, ready, count);
    }
    /* One may have waited for memory that a value of another's held, who has all its bytes only now. */
    for (int round = 0; round < CLIENTS; round++) {
        for (int i = 0; i < CLIENTS; i++) {
            client_settle(&rig, &together[i]);
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        play(&streams[i], 0, &alone);
        wrong += !same(&alone, &together[i], "among others");
        free(alone.out), free(streams[i].bytes);
        client_close(&rig, &together[i]);
    }
    rig_close(&rig);
    clock_resume();
    is(wrong, 0, "six clients in the same turns get what each would get alone");
}

int main(void) {
    uint64_t seed = tap_seed();
    test_replies_do_not_depend_on_how_bytes_arrive(seed);
    test_clients_in_one_turn_get_their_own_replies(seed);
    return tap_done();
}
