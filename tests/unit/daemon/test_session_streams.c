/* Promises of a session for random streams of requests: the same replies however the bytes arrive, and to each client its own replies only.
 * */
#include "tap.h"

#include "session_fixture.h"

/* --- random streams --- */

struct stream {
    char    *bytes;
    size_t   n, room;
    uint64_t random;
    bool     private_only; /* no CAS numbers, which depend on other clients */
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

/* With a line feed now and then: a block that is taken for a line must not be too long to wait for. */
static void put_block(struct stream *s, size_t n) {
    static char block[1300000];
    for (size_t i = 0; i < n; i++) {
        block[i] = i % 1000 == 999 ? '\n' : n < 12 && pick(s, 3) ? (char)('0' + i % 10) : (char)(' ' + (i * 7 + n) % 90);
    }
    put(s, block, n);
    /* A value above the item limit is refused before its last byte arrives, unless one buffer has all of it, which no socket does. */
    put_str(s, pick(s, 30) || n > 1000000 ? "\r\n" : "xx\r\n");
}

/* Requests; letters stand for K a key, G some keys, A client flags and a time, N a number of bytes, B a line's end and a block of so many,
 * C a CAS, D a delta, R noreply now and then, F flags, E a line's end. Replies to the last ones depend on other clients. */
static const char *const forms[] = {
    "set KANRB", "set KANRB", "set KANRB", "add KANRB", "replace KANRB", "append KANRB", "prepend KANRB", "getGE", "getGE", "getGE", "gat 0GE",
    "mg KFE", "mg KFE", "md KFE", "ma KFE", "ms K NFB", "ms K NFB", "mnE", "delete KDRE", "incr KDRE", "decr KDRE", "touch KDRE", "versionE",
    "fooE", "E", "getE", "zzzz noreplyE", "getsGE", "gats 0GE", "cas KAN CRB"};
static const char *const flags[] = {
    " v", " q", " k", " s", " t", " f", " h", " Oabc", " u", " T0", " N0", " I", " x", " MA", " MS", " ME", " MD", " D5", " J7", " F7", " R30",
    " T", " =", " a", " Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " b", " c", " C3", " E99"};
enum { FORMS = sizeof forms / sizeof *forms, FLAGS = sizeof flags / sizeof *flags, FORMS_OF_OTHERS = 3, FLAGS_OF_OTHERS = 3 };

static void put_form(struct stream *s, const char *form) {
    size_t n = 0;
    uint32_t some = strncmp(form, "get", 3) == 0 && pick(s, 10) == 0 ? 1 + pick(s, 150) : 1 + pick(s, 3); /* gat lines have a limit */
    for (; *form != '\0'; form++) {
        switch (*form) {
        case 'K': put_key(s); break;
        case 'G':
            for (; some > 0; some--) {
                put_str(s, pick(s, 9) ? " " : "  ");
                put_key(s);
            }
            break;
        case 'A':
            put_str(s, pick(s, 30) ? " 5" : " x");
            put_str(s, pick(s, 20) ? " 0 " : " -1 ");
            break;
        case 'N': put_number(s, (long)(n = pick_value_bytes(s))); break;
        case 'C': put_number(s, pick(s, 40)); break;
        case 'D': put_str(s, pick(s, 10) ? " 3" : pick(s, 2) ? " x" : ""); break;
        case 'R': put_str(s, pick(s, 6) ? "" : " noreply"); break;
        case 'F':
            for (uint32_t count = pick(s, 6); count > 0; count--) {
                put_str(s, flags[pick(s, pick(s, 4) ? 12 : FLAGS - (s->private_only ? FLAGS_OF_OTHERS : 0))]);
            }
            break;
        case 'B':
        case 'E':
            put_line_end(s);
            if (*form == 'B') {
                put_block(s, n);
            }
            break;
        default: put(s, form, 1);
        }
    }
}

static void make_stream(struct stream *s, int commands) {
    for (int i = 0; i < commands; i++) {
        put_form(s, forms[pick(s, FORMS - (s->private_only ? FORMS_OF_OTHERS : 0))]);
    }
    put_str(s, "\r\nmn\r\n");
}

/* All replies to the stream, fed in pieces of at most `piece` bytes (0: complete; awkward when negative). */
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
    clock_pause(); /* replies have ages and remaining times */
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
    clock_pause(); /* replies have ages and remaining times */
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
            client_load(c, streams[i].bytes + at[i], step, 1);
            at[i] += step;
            busy |= at[i] < streams[i].n || client_goes_on(c);
            ready[count++] = c;
        }
        rig_turn(&rig, ready, count);
    }
    /* A session may have waited for memory of another one's value, which is complete only now. */
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
    is(wrong, 0, "six clients in the same turns get the same replies as alone");
}

int main(void) {
    uint64_t seed = tap_seed();
    test_replies_do_not_depend_on_how_bytes_arrive(seed);
    test_clients_in_one_turn_get_their_own_replies(seed);
    return tap_done();
}
