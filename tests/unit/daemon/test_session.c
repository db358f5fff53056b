/* Promises of a session, whatever its client sends: a bounded turn, values that stay complete while they are sent, and no lost memory.
 * test_session_streams.c has the replies to random streams. */
#include "tap.h"

#include "cache/admin/signals.h"
#include "session_fixture.h"

/* --- turns --- */

static bool out_ends(const struct client *c, const char *text) {
    size_t n = strlen(text);
    return c->out_bytes >= n && memcmp(c->out + c->out_bytes - n, text, n) == 0;
}

TEST(test_a_get_line_of_100000_keys) {
    enum { KEYS = 100000 };
    static struct rig rig;
    struct client c;
    char *line = malloc(KEYS * 8 + 16);
    size_t n = (size_t)sprintf(line, "get");
    rig_open_for(&rig, &c, NULL);
    client_send(&rig, &c, "set k7 0 0 1\r\nx\r\n", 17);
    for (int i = 0; i < KEYS; i++) {
        n += (size_t)sprintf(line + n, " k%d", i % 10);
    }
    n += (size_t)sprintf(line + n, "\r\n");
    c.out_bytes = 0;
    client_load(&c, line, n, 1);
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
    rig_close_for(&rig, &c);
    free(line);
}

TEST(test_everyone_gets_a_share_of_a_full_batch) {
    enum { CLIENTS = 10 };
    static struct rig rig;
    struct client clients[CLIENTS], *ready[CLIENTS];
    rig_open(&rig, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        client_open(&clients[i]);
        client_load(&clients[i], "mn\r\n", 4, 1000);
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

enum { FLOOD_REST = 8, FLOOD = 4 * 512 + FLOOD_REST };

static void flood(struct client *c) {
    c->in_bytes = 0;
    client_load(c, "mn\r\n", 4, FLOOD);
}

/* Requests that the client's next turn runs. */
static size_t turn_of(struct rig *rig, struct client *c) {
    size_t before = c->out_bytes;
    rig_turn(rig, &c, 1);
    return (c->out_bytes - before) / 4;
}

TEST(test_clients_with_many_requests_leave_time_for_others) {
    static struct rig rig;
    struct client much, little;
    rig_open_for(&rig, &much, NULL);
    client_open(&little);
    client_send(&rig, &much, "mn\r\n", 4); /* the first turn treats a first byte with care */
    for (int i = 0; i < 64; i++) {
        rig_turn(&rig, NULL, 0);
    }
    flood(&much);
    is(turn_of(&rig, &much), 512, "alone, a client of many requests runs 512 in a turn");
    client_send(&rig, &little, "mn\r\n", 4);
    is(turn_of(&rig, &much), 128, "128 after another client has sent few requests");
    for (int i = 0; i < 64; i++) {
        rig_turn(&rig, NULL, 0);
    }
    is(turn_of(&rig, &much), 512, "512 once that was 64 turns ago");
    flood(&much);
    for (int i = 0; i < 4; i++) {
        turn_of(&rig, &much);
    }
    is(turn_of(&rig, &much), FLOOD_REST, "the last turn of a long run has its rest");
    flood(&much);
    is(turn_of(&rig, &much), 512, "and that does not count as little");
    client_close(&rig, &much);
    rig_close_for(&rig, &little);
}

TEST(test_a_first_byte_chooses_the_protocol) {
    static struct rig rig;
    struct client c;
    char noop[24] = "\x80\x0a", ascii[] = "-B ascii", binary[] = "-B binary";
    rig_open_for(&rig, &c, NULL);
    client_send(&rig, &c, noop, 24);
    ok(!c.closed && c.out_bytes == 24 && memcmp(c.out, "\x81\x0a", 2) == 0, "the binary protocol's magic byte opens a binary session");
    client_send(&rig, &c, "mn\r\n", 4);
    ok(c.closed && c.out_bytes == 24, "which takes no text later");
    client_close(&rig, &c);
    client_open(&c);
    client_send(&rig, &c, "mn\r\n\x80\x0b\r\n", 8);
    ok(!c.closed && out_is(&c, "MN\r\nERROR\r\n"), "in a session of text it is a byte like others");
    rig_close_for(&rig, &c);
    rig_open_for(&rig, &c, ascii);
    client_send(&rig, &c, noop, 1);
    ok(c.closed && c.out_bytes == 0, "with -B ascii it opens no session");
    rig_close_for(&rig, &c);
    rig_open_for(&rig, &c, binary);
    client_send(&rig, &c, "m", 1);
    ok(c.closed && c.out_bytes == 0, "nor does any other with -B binary");
    client_close(&rig, &c);
    client_open(&c);
    client_send(&rig, &c, noop, 24);
    ok(!c.closed && c.out_bytes == 24, "but this one does");
    rig_close_for(&rig, &c);
}

/* --- values --- */

TEST(test_a_value_stays_whole_while_it_is_sent) {
    enum { BYTES = 700000 };
    static struct rig rig;
    struct client writer, reader;
    char head[64], *value = malloc(BYTES + 2);
    rig_open_for(&rig, &writer, NULL);
    client_open(&reader);
    fixture_value(value, BYTES, 1, 1);
    memcpy(value + BYTES, "\r\n", 2);
    client_send(&rig, &writer, head, (size_t)sprintf(head, "set k 0 0 %d\r\n", BYTES));
    client_send(&rig, &writer, value, BYTES + 2);
    ok(out_is(&writer, "STORED\r\n"), "a value of 700000 bytes is stored as it arrives");

    struct output *out = client_begin(&rig, &reader, "get k\r\n", 7);
    is(output_bytes(out), BYTES + sizeof "VALUE k 0 700000\r\n\r\nEND\r\n" - 1, "its reply is borrowed, not copied");
    client_receive(&rig, &reader, out, 1000);
    reader.kept = output_save(out, "");
    cache_turn_end(rig.ct);

    client_send(&rig, &writer, "set k 0 0 1\r\nx\r\ndelete k\r\n", 27);
    for (int i = 0; i < 400; i++) { /* memory is reused meanwhile */
        client_send(&rig, &writer, head, (size_t)sprintf(head, "set f%d 0 0 %d\r\n", i, BYTES));
        client_send(&rig, &writer, value + i, BYTES - i);
        client_send(&rig, &writer, value, (size_t)i);
        client_send(&rig, &writer, "\r\n", 2);
    }
    cache_turn_begin(rig.ct);
    client_take_kept(&rig, &reader);
    cache_turn_end(rig.ct);
    size_t at = sizeof "VALUE k 0 700000\r\n" - 1;
    ok(reader.out_bytes > at + BYTES && memcmp(reader.out + at, value, BYTES) == 0 && out_ends(&reader, "\r\nEND\r\n"),
       "a reader that takes it late gets it whole, though it was replaced, deleted and its memory wanted");
    client_close(&rig, &writer);
    rig_close_for(&rig, &reader);
    free(value);
}

/* The parts of the reply to `get a l missing` and others; a line may follow each part. */
#define VALUE_A "END\r\nVALUE b\r"
enum { LARGE = 3000 }; /* borrowed */
static const char *const cut_pieces[] = {
    "VALUE a 0 13\r\n" VALUE_A "\r\n", "VALUE l 7 3000\r\n", "END\r\n", "VA 13 ka\r\n" VALUE_A "\r\n", "HD\r\n",
    "VA 3000 f7\r\n", "MN\r\n", "VALUE l 7 3000 ", "VALUE a 0 13 ", "END\r\n", "NOT_FOUND\r\n",
};
static const char cut_requests[] =
    "get a l missing\r\nmg a v k\r\nmg a\r\nmg l v f\r\nmn\r\ngets l a\r\ntouch missing 0\r\n";

/* The whole reply, and the ends of its pieces. */
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

/* A turn in which a client takes n bytes and `begun` more are encrypted; then the remaining bytes are cut, and "NO\r\n" follows. */
static bool cut_after(struct rig *rig, const struct client *whole, const size_t *ends, size_t n, size_t begun) {
    struct client c;
    client_open(&c);
    struct output *out = client_begin(rig, &c, cut_requests, sizeof cut_requests - 1);
    client_receive(rig, &c, out, n);
    bool is_cut = output_cut(out, begun);
    c.kept = output_save(out, "NO\r\n");
    cache_turn_end(rig->ct);
    cache_turn_begin(rig->ct);
    client_take_kept(rig, &c);
    cache_turn_end(rig->ct);
    size_t end = 0, least = n + begun < whole->out_bytes ? n + begun : whole->out_bytes;
    for (size_t i = 0; end < least; i++) {
        end = ends[i];
    }
    bool good = is_cut && c.out_bytes == end + 4 && memcmp(c.out, whole->out, end) == 0 &&
                memcmp(c.out + end, "NO\r\n", 4) == 0;
    client_close(rig, &c);
    return good;
}

TEST(test_replies_are_cut_where_a_line_may_follow) {
    static struct rig rig;
    struct client whole;
    char set[LARGE + 64];
    size_t ends[sizeof cut_pieces / sizeof *cut_pieces];
    rig_open_for(&rig, &whole, NULL);
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
        for (size_t begun = 0; begun <= whole.out_bytes; begun = begun < 40 ? begun + 13 : begun * 3) {
            wrong += !cut_after(&rig, &whole, ends, i, begun);
        }
    }
    is(wrong, 0, "wherever a client stops to take them (%zu places), it gets the piece that has begun, and then the reason",
       whole.out_bytes + 1);
    struct client packets;
    client_open(&packets);
    char noop[24] = {(char)0x80, 0x0a};
    struct output *out = client_begin(&rig, &packets, noop, 24);
    ok(!output_cut(out, 0) && output_bytes(out) == 24, "packets are not cut");
    cache_turn_end(rig.ct);
    client_close(&rig, &packets);
    rig_close_for(&rig, &whole);
}

TEST(test_a_client_gone_in_the_middle_leaves_no_memory_behind) {
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
    rig_close_for(&rig, &c);
    free(value);
}

TEST(test_empty_turns_and_unsent_replies) {
    static struct rig rig;
    struct client c;
    char get[7 + PARSE_SLACK] = "get k\r\n", *value = calloc(1, 5002);
    rig_open_for(&rig, &c, NULL);
    memcpy(value + 5000, "\r\n", 2);
    client_send(&rig, &c, "set k 0 0 5000\r\n", 16);
    client_send(&rig, &c, value, 5002);
    cache_turn_begin(rig.ct);
    for (int i = 0; i < 1000; i++) { /* borrowed and never sent: the next turn returns the values */
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
    ok(out_is(&c, "DELETED\r\n"), "an empty input leaves the session usable");
    rig_close_for(&rig, &c);
    free(value);
}

/* --- keys --- */

/* A reader that comes in time: for a late one fewer keys are noted. */
static void take_noted_keys(struct rig *rig, struct cache_samples *samples, uint64_t *noted, uint64_t *stand_for) {
    for (unsigned t = 0; cache_take_samples(rig->server.cache, t, samples); t++) {
        for (; samples->used > 0; cache_take_samples(rig->server.cache, t, samples)) {
            for (const struct sample_record *r = NULL; (r = cache_sample_next(samples, r)) != NULL; ++*noted) {
                *stand_for += r->bytes;
            }
        }
    }
}

static void test_noted_keys_stand_for_all_requests(unsigned together) {
    enum { REQUESTS = 64000, READ_EVERY = 6400, EVERY = 16, RING_BYTES = 1 << 20, LINE_BYTES = 8 };
    static struct rig rig;
    static struct cache_samples samples;
    struct client c;
    uint64_t stand_for = 0, noted = 0;
    char lines[64 * LINE_BYTES + 1];
    rig_open_for(&rig, &c, NULL);
    cache_sample_start(rig.server.cache, RING_BYTES, 2);
    cache_set_sample(rig.server.cache, 0, EVERY);
    for (unsigned i = 0; i < together; i++) {
        memcpy(lines + (size_t)i * LINE_BYTES, "get kk\r\n", LINE_BYTES);
    }
    for (unsigned sent = 0; sent < REQUESTS; sent += together) {
        client_send(&rig, &c, lines, (size_t)together * LINE_BYTES);
        if ((sent + together) % READ_EVERY == 0) {
            take_noted_keys(&rig, &samples, &noted, &stand_for);
        }
    }
    ok(stand_for > REQUESTS * 9 / 10 && stand_for <= REQUESTS, "%u at a time: %" PRIu64 " keys are noted, and stand for %" PRIu64 " of %d requests",
       together, noted, stand_for, REQUESTS);
    rig_close_for(&rig, &c);
}

int main(void) {
    tap_run_tests();
    test_noted_keys_stand_for_all_requests(1);
    test_noted_keys_stand_for_all_requests(64);
    return tap_done();
}
