/* What a session promises whatever its client sends: the same replies however the bytes arrive, its own replies only, a
 * bounded turn, values that stay whole while they are sent, and no memory lost. */
#include "tap.h"

#include "session_fixture.h"
#include "cache/signals.h"

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

/* --- turns --- */

static bool out_ends(const struct client *c, const char *text) {
    size_t n = strlen(text);
    return c->out_bytes >= n && memcmp(c->out + c->out_bytes - n, text, n) == 0;
}

static bool out_is(const struct client *c, const char *text) { return c->out_bytes == strlen(text) && out_ends(c, text); }

static void test_a_get_line_of_100000_keys(void) {
    enum { KEYS = 100000 };
    static struct rig rig;
    struct client c;
    char *line = malloc(KEYS * 8 + 16);
    size_t n = (size_t)sprintf(line, "get");
    rig_open(&rig, NULL);
    client_open(&c);
    client_send(&rig, &c, "set k7 0 0 1\r\nx\r\n", 17);
    for (int i = 0; i < KEYS; i++) {
        n += (size_t)sprintf(line + n, " k%d", i % 10);
    }
    n += (size_t)sprintf(line + n, "\r\n");
    c.out_bytes = 0;
    c.in = realloc(c.in, n + PARSE_SLACK);
    memcpy(c.in, line, n);
    memset(c.in + n, 0, PARSE_SLACK);
    c.in_bytes = n;
    int turns = 0;
    size_t most = 0;
    struct client *ready = &c;
    do {
        size_t before = c.out_bytes;
        rig_turn(&rig, &ready, 1);
        most = c.out_bytes - before > most ? c.out_bytes - before : most;
        turns++;
    } while (session_need(c.session) == SESSION_NEED_TURN);
    ok(turns >= KEYS / 512, "a get line of 100000 keys takes many turns (%d)", turns);
    ok(most <= 512 * 20, "each of which says little (at most %zu bytes)", most);
    is(c.out_bytes, KEYS / 10 * (sizeof "VALUE k7 0 1\r\nx\r\n" - 1) + 5, "all its values come, and one END");
    is(counter_get(&rig.counters.conn_yields), turns - 1, "each turn but the last is counted as a yield");
    client_close(&rig, &c);
    rig_close(&rig);
    free(line);
}

static void test_everyone_gets_a_share_of_a_full_batch(void) {
    enum { CLIENTS = 10 };
    static struct rig rig;
    struct client clients[CLIENTS], *ready[CLIENTS];
    rig_open(&rig, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        client_open(&clients[i]);
        clients[i].in = realloc(clients[i].in, 1000 * 4 + PARSE_SLACK);
        for (int k = 0; k < 1000; k++) {
            memcpy(clients[i].in + 4 * k, "mn\r\n", 4);
        }
        clients[i].in_bytes = 4000;
        ready[i] = &clients[i];
    }
    rig_turn(&rig, ready, CLIENTS);
    size_t least = SIZE_MAX, total = 0;
    for (int i = 0; i < CLIENTS; i++) {
        least = clients[i].out_bytes / 4 < least ? clients[i].out_bytes / 4 : least;
        total += clients[i].out_bytes / 4;
    }
    ok(least >= 20, "the last of ten pipelining clients still runs its 20 requests (%zu)", least);
    ok(total < 2048 + 512 + 20 * CLIENTS, "and the turn is bounded (%zu requests)", total);
    while (clients[CLIENTS - 1].out_bytes < 4000) {
        rig_turn(&rig, ready, CLIENTS);
    }
    for (int i = 0; i < CLIENTS; i++) {
        client_settle(&rig, &clients[i]);
        total = i == 0 ? clients[i].out_bytes : total + clients[i].out_bytes;
        client_close(&rig, &clients[i]);
    }
    is(total, CLIENTS * 4000, "in the end everybody has everything");
    rig_close(&rig);
}

static void test_after_closing_nothing_is_taken(void) {
    static struct rig rig;
    struct client c, *ready = &c;
    rig_open(&rig, NULL);
    client_open(&c);
    client_send(&rig, &c, "mn\r\nquit\r\nset k 0 0 1\r\nx\r\n", 27);
    ok(c.closed && out_is(&c, "MN\r\n"), "what comes before quit is answered, then the session closes");
    c.in = realloc(c.in, 7 + PARSE_SLACK);
    memcpy(c.in, "get k\r\n", 7);
    c.in_bytes = 7;
    rig_turn(&rig, &ready, 1);
    ok(c.closed && out_is(&c, "MN\r\n") && c.in_bytes == 0, "later bytes are dropped");
    client_close(&rig, &c);
    rig_close(&rig);
}

static void test_a_first_byte_chooses_the_protocol(void) {
    static struct rig rig;
    struct client c;
    char noop[24] = "\x80\x0a", ascii[] = "-B ascii", binary[] = "-B binary";
    rig_open(&rig, NULL);
    client_open(&c);
    client_send(&rig, &c, noop, 24);
    ok(!c.closed && c.out_bytes == 24 && memcmp(c.out, "\x81\x0a", 2) == 0, "the binary protocol's magic byte opens a binary session");
    client_send(&rig, &c, "mn\r\n", 4);
    ok(c.closed && c.out_bytes == 24, "which takes no text later");
    client_close(&rig, &c);
    client_open(&c);
    client_send(&rig, &c, "mn\r\n\x80\x0b\r\n", 8);
    ok(!c.closed && out_is(&c, "MN\r\nERROR\r\n"), "in a session of text it is a byte like others");
    client_close(&rig, &c);
    rig_close(&rig);
    rig_open(&rig, ascii);
    client_open(&c);
    client_send(&rig, &c, noop, 1);
    ok(c.closed && c.out_bytes == 0, "with -B ascii it opens no session");
    client_close(&rig, &c);
    rig_close(&rig);
    rig_open(&rig, binary);
    client_open(&c);
    client_send(&rig, &c, "m", 1);
    ok(c.closed && c.out_bytes == 0, "nor does any other with -B binary");
    client_close(&rig, &c);
    client_open(&c);
    client_send(&rig, &c, noop, 24);
    ok(!c.closed && c.out_bytes == 24, "but this one does");
    client_close(&rig, &c);
    rig_close(&rig);
}

/* --- values --- */

static void test_a_value_stays_whole_while_it_is_sent(void) {
    enum { BYTES = 700000 };
    static struct rig rig;
    struct client writer, reader;
    char head[64], *value = malloc(BYTES + 2);
    rig_open(&rig, NULL);
    client_open(&writer);
    client_open(&reader);
    fixture_value(value, BYTES, 1, 1);
    memcpy(value + BYTES, "\r\n", 2);
    client_send(&rig, &writer, head, (size_t)sprintf(head, "set k 0 0 %d\r\n", BYTES));
    client_send(&rig, &writer, value, BYTES + 2);
    ok(out_is(&writer, "STORED\r\n"), "a value of 700000 bytes is stored as it arrives");

    cache_turn_begin(rig.ct);
    batch_begin(rig.batch);
    char get[7 + PARSE_SLACK] = "get k\r\n";
    batch_add(rig.batch, reader.session, get, 7);
    batch_run(rig.batch);
    struct output *out = batch_output(rig.batch, reader.session);
    is(output_bytes(out), BYTES + sizeof "VALUE k 0 700000\r\n\r\nEND\r\n" - 1, "its reply is borrowed, not copied");
    client_receive(&rig, &reader, out, 1000);
    struct output *kept = output_keep(out, "");
    cache_turn_end(rig.ct);

    client_send(&rig, &writer, "set k 0 0 1\r\nx\r\ndelete k\r\n", 27);
    for (int i = 0; i < 400; i++) { /* memory is reused meanwhile */
        client_send(&rig, &writer, head, (size_t)sprintf(head, "set f%d 0 0 %d\r\n", i, BYTES));
        client_send(&rig, &writer, value + i, BYTES - i);
        client_send(&rig, &writer, value, (size_t)i);
        client_send(&rig, &writer, "\r\n", 2);
    }
    cache_turn_begin(rig.ct);
    client_receive(&rig, &reader, kept, SIZE_MAX);
    output_destroy(&kept);
    cache_turn_end(rig.ct);
    size_t at = sizeof "VALUE k 0 700000\r\n" - 1;
    ok(reader.out_bytes > at + BYTES && memcmp(reader.out + at, value, BYTES) == 0 && out_ends(&reader, "\r\nEND\r\n"),
       "a reader that takes it late gets it whole, though it was replaced, deleted and its memory wanted");
    client_close(&rig, &writer);
    client_close(&rig, &reader);
    rig_close(&rig);
    free(value);
}

/* What a reply of `get a l missing` and others is made of: after each of these a line may follow. */
#define VALUE_A "END\r\nVALUE b\r"
enum { LARGE = 3000 }; /* borrowed */
static const char *const cut_pieces[] = {
    "VALUE a 0 13\r\n" VALUE_A "\r\n", "VALUE l 7 3000\r\n", "END\r\n", "VA 13 ka\r\n" VALUE_A "\r\n", "HD\r\n",
    "VA 3000 f7\r\n", "MN\r\n", "VALUE l 7 3000 ", "VALUE a 0 13 ", "END\r\n", "NOT_FOUND\r\n",
};
static const char cut_requests[] =
    "get a l missing\r\nmg a v k\r\nmg a\r\nmg l v f\r\nmn\r\ngets l a\r\ntouch missing 0\r\n";

/* The whole reply, and where its pieces end. */
static size_t cut_expect(const struct client *whole, size_t ends[sizeof cut_pieces / sizeof *cut_pieces]) {
    size_t at = 0, count = sizeof cut_pieces / sizeof *cut_pieces;
    for (size_t i = 0; i < count; i++) {
        const char *piece = cut_pieces[i];
        size_t n = strlen(piece);
        if (at + n > whole->out_bytes || memcmp(whole->out + at, piece, n) != 0) {
            return 0;
        }
        at += n;
        bool gets = piece[n - 1] == ' '; /* a cas value follows */
        at += gets ? (size_t)((char *)memchr(whole->out + at, '\n', whole->out_bytes - at) + 1 - (whole->out + at)) : 0;
        at += strstr(piece, "3000") ? LARGE + 2 : gets ? sizeof VALUE_A - 1 + 2 : 0;
        ends[i] = at;
    }
    return at == whole->out_bytes ? count : 0;
}

/* A turn of which a client takes n bytes; then what is left is cut, and "NO\r\n" put behind it. */
static bool cut_after(struct rig *rig, const struct client *whole, const size_t *ends, size_t n) {
    struct client c;
    char request[sizeof cut_requests + PARSE_SLACK] = "";
    memcpy(request, cut_requests, sizeof cut_requests - 1);
    client_open(&c);
    cache_turn_begin(rig->ct);
    batch_begin(rig->batch);
    batch_add(rig->batch, c.session, request, sizeof cut_requests - 1);
    batch_run(rig->batch);
    struct output *out = batch_output(rig->batch, c.session);
    client_receive(rig, &c, out, n);
    bool is_cut = output_cut(out);
    struct output *kept = output_keep(out, "NO\r\n");
    cache_turn_end(rig->ct);
    cache_turn_begin(rig->ct);
    client_receive(rig, &c, kept, SIZE_MAX);
    output_destroy(&kept);
    cache_turn_end(rig->ct);
    size_t end = 0;
    for (size_t i = 0; end < n; i++) {
        end = ends[i];
    }
    bool good = is_cut && c.out_bytes == end + 4 && memcmp(c.out, whole->out, end) == 0 &&
                memcmp(c.out + end, "NO\r\n", 4) == 0;
    client_close(rig, &c);
    return good;
}

static void test_replies_are_cut_where_a_line_may_follow(void) {
    static struct rig rig;
    struct client whole;
    char set[LARGE + 64];
    size_t ends[sizeof cut_pieces / sizeof *cut_pieces];
    rig_open(&rig, NULL);
    client_open(&whole);
    int n = snprintf(set, sizeof set, "set l 7 0 %d noreply\r\n%0*d\r\n", LARGE, LARGE, 0);
    client_send(&rig, &whole, set, (size_t)n);
    n = snprintf(set, sizeof set, "set a 0 0 %zu noreply\r\n%s\r\n", sizeof VALUE_A - 1, VALUE_A);
    client_send(&rig, &whole, set, (size_t)n);
    client_send(&rig, &whole, cut_requests, sizeof cut_requests - 1);
    if (!ok(cut_expect(&whole, ends) > 0, "replies of which it is known where they may be cut")) {
        printf("# %.*s\n", (int)whole.out_bytes, whole.out);
    }
    size_t wrong = 0;
    for (size_t i = 0; i <= whole.out_bytes; i++) {
        wrong += !cut_after(&rig, &whole, ends, i);
    }
    is(wrong, 0, "wherever a client stops to take them (%zu places), it gets the piece that has begun, and then the reason",
       whole.out_bytes + 1);
    struct client packets;
    client_open(&packets);
    char noop[24 + PARSE_SLACK] = {(char)0x80, 0x0a};
    cache_turn_begin(rig.ct);
    batch_begin(rig.batch);
    batch_add(rig.batch, packets.session, noop, 24);
    batch_run(rig.batch);
    struct output *out = batch_output(rig.batch, packets.session);
    ok(!output_cut(out) && output_bytes(out) == 24, "packets are not cut");
    cache_turn_end(rig.ct);
    client_close(&rig, &packets);
    client_close(&rig, &whole);
    rig_close(&rig);
}

static void test_a_client_gone_in_the_middle_leaves_no_memory_behind(void) {
    static struct rig rig;
    char options[] = "-M -m 8", head[64];
    char *value = calloc(1, 600000);
    struct client c;
    rig_open(&rig, options);
    for (int i = 0; i < 200; i++) {
        client_open(&c);
        client_send(&rig, &c, head, (size_t)sprintf(head, "set k%d 0 0 500000\r\n", i));
        client_send(&rig, &c, value, 300000);
        client_close(&rig, &c);
    }
    client_open(&c);
    client_send(&rig, &c, "set k 0 0 500000\r\n", 18);
    memcpy(value + 500000, "\r\n", 2);
    client_send(&rig, &c, value, 500002);
    ok(out_is(&c, "STORED\r\n"), "after 200 half sent values of 500000 bytes one still fits in 8 MiB");
    c.out_bytes = 0;
    for (int i = 0; i < 40; i++) {
        client_send(&rig, &c, head, (size_t)sprintf(head, "set k%d 0 0 500000\r\n", i));
        client_send(&rig, &c, value, 500002);
    }
    ok(out_ends(&c, "SERVER_ERROR out of memory storing object\r\n") &&
           c.out_bytes % (sizeof "STORED\r\n" - 1) != 1 && session_need(c.session) == SESSION_NEED_BYTES,
       "with -M a full cache says so, and swallows the block");
    client_close(&rig, &c);
    rig_close(&rig);
    free(value);
}

static void test_empty_turns_and_unsent_replies(void) {
    static struct rig rig;
    struct client c;
    char get[7 + PARSE_SLACK] = "get k\r\n", *value = calloc(1, 5002);
    rig_open(&rig, NULL);
    client_open(&c);
    memcpy(value + 5000, "\r\n", 2);
    client_send(&rig, &c, "set k 0 0 5000\r\n", 16);
    client_send(&rig, &c, value, 5002);
    cache_turn_begin(rig.ct);
    for (int i = 0; i < 1000; i++) { /* borrowed and never sent: the next turn returns them */
        batch_begin(rig.batch);
        memcpy(get, "get k\r\n", 7);
        batch_add(rig.batch, c.session, get, 7);
        batch_run(rig.batch);
    }
    batch_begin(rig.batch);
    ok(batch_output(rig.batch, c.session) == NULL, "a session without requests has nothing to send");
    is(batch_add(rig.batch, c.session, get, 0), 0, "and takes nothing of nothing");
    batch_run(rig.batch);
    ok(batch_output(rig.batch, c.session) == NULL && session_need(c.session) == SESSION_NEED_BYTES, "which changes nothing");
    cache_turn_end(rig.ct);
    c.out_bytes = 0;
    client_send(&rig, &c, "delete k\r\n", 10);
    ok(out_is(&c, "DELETED\r\n"), "what nobody sent is not held for ever");
    client_close(&rig, &c);
    rig_close(&rig);
    free(value);
}

/* --- words --- */

/* However many requests run together, those that are noted stand for all. */
static void test_noted_keys_stand_for_all_requests(unsigned together) {
    enum { REQUESTS = 64000, EVERY = 16, RING_BYTES = 1 << 20, LINE_BYTES = 8 };
    static struct rig rig;
    static struct cache_samples samples;
    struct client c;
    uint64_t stand_for = 0, noted = 0;
    char lines[64 * LINE_BYTES + 1];
    rig_open(&rig, NULL);
    client_open(&c);
    cache_sample_start(rig.server.cache, RING_BYTES, 2);
    cache_set_sample(rig.server.cache, 0, EVERY);
    for (unsigned i = 0; i < together; i++) {
        memcpy(lines + (size_t)i * LINE_BYTES, "get kk\r\n", LINE_BYTES);
    }
    for (unsigned sent = 0; sent < REQUESTS; sent += together) {
        client_send(&rig, &c, lines, (size_t)together * LINE_BYTES);
    }
    for (unsigned t = 0; cache_take_samples(rig.server.cache, t, &samples); t++) {
        for (; samples.used > 0; cache_take_samples(rig.server.cache, t, &samples)) {
            for (const struct sample_record *r = NULL; (r = cache_sample_next(&samples, r)) != NULL; noted++) {
                stand_for += r->bytes;
            }
        }
    }
    ok(stand_for > REQUESTS * 9 / 10 && stand_for <= REQUESTS, "%u at a time: %" PRIu64 " keys are noted, and stand for %" PRIu64 " of %d requests",
       together, noted, stand_for, REQUESTS);
    client_close(&rig, &c);
    rig_close(&rig);
}

static void test_error_words(void) {
    static const struct {
        const char *asked, *answer;
    } lines[] = {
        {"zzzz\r\n", "ERROR\r\n"},
        {"\r\n", "CLIENT_ERROR bad command line format\r\n"},
        {"set k 0 0 1\r\nxyz\r\n", "CLIENT_ERROR bad data chunk\r\nCLIENT_ERROR bad command line format\r\n"},
        {"ms k 1 q\r\nxyz\r\n", "CLIENT_ERROR bad data chunk\r\nCLIENT_ERROR bad command line format\r\n"},
        {"touch k x\r\n", "CLIENT_ERROR invalid exptime argument\r\n"},
        {"gat x k\r\n", "CLIENT_ERROR invalid exptime argument\r\n"},
        {"incr k x\r\n", "CLIENT_ERROR invalid numeric delta argument\r\n"},
        {"set k 0 0 1\r\nx\r\nincr k 1\r\n", "STORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
        {"ma k\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
        {"mg k v v\r\n", "CLIENT_ERROR duplicate flag\r\n"},
        {"mg k a\r\n", "CLIENT_ERROR invalid flag\r\n"},
        {"ma k a\r\n", "CLIENT_ERROR invalid or duplicate flag\r\n"},
        {"mg k Tx\r\n", "CLIENT_ERROR bad token in command line format\r\n"},
        {"mg k! b\r\n", "CLIENT_ERROR error decoding key\r\n"},
        {"mg k v k s t c f h l q u x I b P L MI T1 N1 R1\r\n", "CLIENT_ERROR options flags are too long\r\n"},
        {"mg k Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", "CLIENT_ERROR opaque token too long\r\n"},
        {"ms k 1 MX\r\nx\r\n", "CLIENT_ERROR invalid mode for ms M token\r\n"},
        {"ma k MX\r\n", "CLIENT_ERROR invalid mode for ma M token\r\n"},
        {"me\r\n", "CLIENT_ERROR bad command line format\r\n"},
        {"set k 0 0 2000000\r\n", "SERVER_ERROR object too large for cache\r\n"},
    };
    static struct rig rig;
    rig_open(&rig, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct client c;
        client_open(&c);
        client_send(&rig, &c, lines[i].asked, strlen(lines[i].asked));
        if (!ok(out_is(&c, lines[i].answer), "%.*s is answered as it should be", (int)strcspn(lines[i].asked, "\r"),
                lines[i].asked)) {
            printf("# got %.*s\n", (int)c.out_bytes, c.out);
        }
        client_close(&rig, &c);
    }
    rig_close(&rig);
}

int main(void) {
    uint64_t seed = tap_seed();
    test_replies_do_not_depend_on_how_bytes_arrive(seed);
    test_clients_in_one_turn_get_their_own_replies(seed);
    test_a_get_line_of_100000_keys();
    test_everyone_gets_a_share_of_a_full_batch();
    test_after_closing_nothing_is_taken();
    test_a_first_byte_chooses_the_protocol();
    test_a_value_stays_whole_while_it_is_sent();
    test_replies_are_cut_where_a_line_may_follow();
    test_a_client_gone_in_the_middle_leaves_no_memory_behind();
    test_empty_turns_and_unsent_replies();
    test_noted_keys_stand_for_all_requests(1);
    test_noted_keys_stand_for_all_requests(64);
    test_error_words();
    return tap_done();
}
