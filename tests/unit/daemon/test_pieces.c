/* Long answers in pieces: they say the same in however many pieces, a piece is bounded, and connections may come and go meanwhile. */
#include "tap.h"

#include "server/command_table.h"
#include "session_fixture.h"

enum { CONNS = 900, FD_FIRST = 100 };

static struct conn_record records[CONNS + 1];
static struct text_out out;

static void come(struct rig *rig, int i) {
    records[i].fd = FD_FIRST + i;
    snprintf(records[i].addr, sizeof records[i].addr, "unix:/client/%d", i);
    conn_registry_add(&rig->server.registry, &records[i]);
}

static struct command_context context(struct rig *rig, const char *line, size_t piece_bytes) {
    text_out_clear(&out);
    return (struct command_context){.role = ROLE_READ, .server = &rig->server, .ct = rig->ct, .line = line, .line_bytes = strlen(line), .out = &out,
                                    .counters = &rig->counters, .piece_bytes = piece_bytes, .until_us = UINT64_MAX};
}

struct told {
    struct text_out text;
    size_t          longest; /* the longest piece */
    unsigned        pieces;
};

static void note_piece(struct told *t) {
    text_out_bytes(&t->text, out.bytes, out.used);
    t->longest = out.used > t->longest ? out.used : t->longest;
    t->pieces += out.used > 0; /* a session that sleeps until its order is answered has no reply yet */
}

/* The whole reply to the line; `between` runs after each piece. */
static struct told ask(struct rig *rig, const char *line, size_t piece_bytes, void (*between)(struct rig *, unsigned)) {
    struct told t = {.pieces = 0};
    struct command_context ctx = context(rig, line, piece_bytes);
    cache_turn_begin(rig->ct);
    command_run(&ctx);
    note_piece(&t);
    struct command_more *more = ctx.more;
    while (more) {
        if (between) {
            between(rig, t.pieces);
        }
        ctx = context(rig, line, piece_bytes);
        command_continue(&more, &ctx);
        note_piece(&t);
    }
    cache_turn_end(rig->ct);
    text_out_bytes(&t.text, "", 1);
    return t;
}

static void test_pieces_equal_the_whole_reply(struct rig *rig) {
    static const char *const lines[] = {"stats items", "stats slabs", "stats conns", "stats describe", "stats pages", "stats moves",
                                        "stats audit", "stats whatif", "stats evictions", "stats hotkeys", "stats detail dump",
                                        "stats sizehist", "stats sizes", "lru_crawler metadump all", "lru_crawler mgdump all"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct told whole = ask(rig, lines[i], SIZE_MAX, NULL), rows = ask(rig, lines[i], 1, NULL);
        is(whole.pieces, 1, "%s is one piece when it may be as long as it likes", lines[i]);
        is_str(rows.text.bytes, whole.text.bytes, "%s says the same in %u pieces", lines[i], rows.pieces);
        text_out_fini(&whole.text);
        text_out_fini(&rows.text);
    }
}

static void test_a_piece_is_bounded(struct rig *rig) {
    struct told t = ask(rig, "stats conns", 4096, NULL);
    ok(t.text.used > 60000 && t.longest < 4096 + 16 * 512, "stats conns of %d connections (%zu bytes) takes pieces of at most %zu", CONNS,
       t.text.used, t.longest);
    text_out_fini(&t.text);
    t = ask(rig, "stats describe", 4096, NULL);
    ok(t.longest < 4096 + 512, "stats describe (%zu bytes) of at most %zu", t.text.used, t.longest);
    text_out_fini(&t.text);
}

/* Connections with even numbers leave while the reply lists connections, some before their line, and one arrives. */
static void one_goes(struct rig *rig, unsigned piece) {
    unsigned i = 2 * piece;
    if (i < CONNS) {
        conn_registry_remove(&rig->server.registry, &records[i]);
    }
    if (piece == 1) {
        come(rig, CONNS);
    }
}

static void test_connections_come_and_go_during_an_answer(struct rig *rig) {
    struct told t = ask(rig, "stats conns", 1, one_goes);
    unsigned lost = 0, twice = 0, late = 0;
    for (int i = 0; i <= CONNS; i++) {
        char line[64];
        snprintf(line, sizeof line, "STAT %d:addr ", FD_FIRST + i);
        const char *at = strstr(t.text.bytes, line);
        lost += at == NULL && i % 2 == 1 && i < CONNS;
        twice += at != NULL && strstr(at + 1, line) != NULL;
        late += at != NULL && i == CONNS;
    }
    is(lost, 0, "each connection that stays is listed");
    is(twice, 0, "none twice");
    is(late, 0, "and none that came after the question");
    ok(rig->server.registry.cursors == NULL, "the reply's cursor goes with the reply");
    text_out_fini(&t.text);
}

static void fill(struct rig *rig) {
    struct client c;
    char line[64], *value = calloc(1, 70000);
    client_open(&c);
    for (int bytes = 10, i = 0; bytes < 60000; bytes += bytes / 4, i++) {
        memcpy(value + bytes, "\r\n", 2);
        client_send(rig, &c, line, (size_t)snprintf(line, sizeof line, "set p%d:key 0 0 %d\r\n", i, bytes));
        client_send(rig, &c, value, (size_t)bytes + 2);
        memset(value, 0, (size_t)bytes + 2);
        client_send(rig, &c, line, (size_t)snprintf(line, sizeof line, "config set hot_lru_pct %d\r\n", 20 + i % 2));
    }
    client_close(rig, &c);
    free(value);
}

int main(void) {
    static struct rig rig;
    char options[] = "-D : -o track_sizes";
    clock_pause();
    if (!rig_open(&rig, options)) {
        return 1;
    }
    fill(&rig);
    for (int i = 0; i < CONNS; i++) {
        come(&rig, i);
    }
    test_pieces_equal_the_whole_reply(&rig);
    test_a_piece_is_bounded(&rig);
    test_connections_come_and_go_during_an_answer(&rig);
    text_out_fini(&out);
    rig_close(&rig);
    return tap_done();
}
