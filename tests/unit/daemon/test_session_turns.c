/* Bounds of a session's turn: commands end the turn when they have used their share, replies end it, and a slow reader has short turns. */
#include "tap.h"

#include <unistd.h>

#include "server/session/session_internal.h"
#include "session_fixture.h"

enum { COPIED_BYTES = ITEM_COPY_MAX - 100, REPLY_BYTES_MOST = 256 * 1024 };

static void load(struct client *c, const char *line, int count) { client_load(c, line, strlen(line), count); }

static void store(struct rig *rig, struct client *c, const char *key, size_t bytes) {
    char head[64], *value = calloc(1, bytes + 2);
    memcpy(value + bytes, "\r\n", 2);
    client_send(rig, c, head, (size_t)sprintf(head, "set %s 0 0 %zu\r\n", key, bytes));
    client_send(rig, c, value, bytes + 2);
    c->out_bytes = 0;
    free(value);
}

/* Not by memmem: the thread sanitizer counts all bytes after a match as read, and checks them each time. */
static int count_of(const struct client *c, const char *text) {
    int count = 0;
    size_t n = strlen(text), step;
    const char *at = c->out, *end = at + c->out_bytes;
    for (; at && (size_t)(end - at) >= n && (at = memchr(at, text[0], (size_t)(end - at) - n + 1)) != NULL; at += step) {
        bool found = memcmp(at, text, n) == 0;
        count += found;
        step = found ? n : 1;
    }
    return count;
}

/* --- commands --- */

TEST(test_commands_that_took_their_share_end_their_sessions_turn) {
    enum { COMMANDS = 600 };
    static struct rig rig;
    struct client spammer, other, *both[] = {&spammer, &other};
    int turns = 1, early = 0;
    rig_open_for(&rig, &spammer, NULL);
    client_open(&other);
    load(&spammer, "stats\r\n", COMMANDS);
    load(&other, "get k\r\n", 1);
    rig_turn(&rig, both, 2);
    int most = count_of(&spammer, "END\r\n");
    ok(most >= 1 && most <= SESSION_COMMANDS_US, "of 600 commands that came together, a turn runs some (%d)", most);
    ok(out_is(&other, "END\r\n"), "and a get of another client is answered in the same turn");
    is(session_need(spammer.session), SESSION_NEED_TURN, "the others wait for the next turns");
    for (; count_of(&spammer, "END\r\n") < COMMANDS && turns < 2 * COMMANDS; turns++) {
        int before = count_of(&spammer, "END\r\n");
        size_t before_bytes = spammer.out_bytes;
        rig_turn(&rig, both, 1);
        int ran = count_of(&spammer, "END\r\n") - before;
        most = ran > most ? ran : most;
        bool spent = rig.batch->commands_us >= SESSION_COMMANDS_US || spammer.out_bytes - before_bytes >= SESSION_REPLY_BYTES;
        early += !spent && session_need(spammer.session) == SESSION_NEED_TURN;
    }
    ok(turns >= COMMANDS / SESSION_COMMANDS_US, "all take many turns (%d)", turns);
    ok(most <= SESSION_COMMANDS_US, "of which none runs more than fit its share, each counting as a microsecond at least (%d)", most);
    is(early, 0, "and none ends before that is used");
    client_close(&rig, &spammer);
    rig_close_for(&rig, &other);
}

TEST(test_short_commands_that_came_together_share_turns) {
    enum { COMMANDS = 600 };
    static struct rig rig;
    struct client c, *ready = &c;
    int turns = 0;
    rig_open_for(&rig, &c, NULL);
    load(&c, "nonsense\r\n", COMMANDS);
    do {
        rig_turn(&rig, &ready, 1);
        turns++;
    } while (client_goes_on(&c));
    is(count_of(&c, "ERROR\r\n"), COMMANDS, "each of 600 short commands is answered");
    ok(turns < COMMANDS, "in fewer turns, and so fewer packets (%d)", turns);
    rig_close_for(&rig, &c);
}

/* Joins of nothing to a large value are short to send and long to run: with 12 KB each, 20 clients could hold a worker for seconds. */
TEST(test_appends_to_large_values_end_their_sessions_turn) {
    enum { CLIENTS = 5, APPENDS = 100, VALUE_BYTES = 200000 };
    static const char *const lines[] = {"append big 0 0 0\r\n\r\n", "ms big 0 MA\r\n\r\n", "append big 0 0 0 noreply\r\n\r\n"};
    static struct rig rig;
    static struct client spammers[CLIENTS], other;
    struct client *all[CLIENTS + 1], one;
    rig_open_for(&rig, &one, NULL);
    store(&rig, &one, "big", VALUE_BYTES);
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        for (int i = 0; i < CLIENTS; i++) {
            client_open(&spammers[i]);
            load(&spammers[i], lines[l], APPENDS);
            all[i] = &spammers[i];
        }
        client_open(&other);
        all[CLIENTS] = &other;
        uint64_t first = 0, most = 0, begun = cache_thread_copied(rig.ct), left = 1;
        int turns = 0, answered = 0;
        for (; left > 0 && turns < 20 * CLIENTS * APPENDS; turns++) {
            uint64_t before = cache_thread_copied(rig.ct);
            other.out_bytes = 0;
            load(&other, "get k\r\n", 1);
            rig_turn(&rig, all, CLIENTS + 1);
            answered += out_is(&other, "END\r\n");
            uint64_t copied = cache_thread_copied(rig.ct) - before;
            first = turns == 0 ? copied : first;
            most = turns > 0 && copied > most ? copied : most;
            left = 0;
            for (int i = 0; i < CLIENTS; i++) {
                left += spammers[i].in_bytes;
            }
        }
        is(left, 0, "%d clients with %d of `%.*s` come to their end", CLIENTS, APPENDS, (int)strcspn(lines[l], "\r"), lines[l]);
        is(cache_thread_copied(rig.ct) - begun, (uint64_t)CLIENTS * APPENDS * VALUE_BYTES, "each copies the value once");
        ok(first <= (uint64_t)(SESSION_INFLIGHT_MOST +
                               CLIENTS * (SESSION_INFLIGHT_MOST_COPY_PENALTY + 1)) *
                        VALUE_BYTES,
           "nobody knows in the first turn: it runs a group of them, %u at most",
           (unsigned)(first / VALUE_BYTES));
        ok(most <= (uint64_t)BATCH_COMMANDS_US * COPIED_BYTES_US + 2 * VALUE_BYTES, "then as many a turn as fit the time for commands, %u", (unsigned)(most / VALUE_BYTES));
        is(answered, turns, "while each turn answers another client's get");
        for (int i = 0; i < CLIENTS; i++) {
            client_close(&rig, &spammers[i]);
        }
        client_close(&rig, &other);
        for (int i = 0; i < COPY_PENALTY_TURNS; i++) {
            rig_turn(&rig, all, 0);
        }
    }
    rig_close_for(&rig, &one);
}

/* Each command counts a microsecond at least, so that a turn's time ends however fast the machine is. */
TEST(test_a_turn_has_time_for_some_commands_only) {
    enum { CLIENTS = TURN_SESSIONS - 1, LINE_BYTES = 7 };
    static struct rig rig;
    static struct client clients[CLIENTS + 1];
    static char lines[CLIENTS][LINE_BYTES + PARSE_SLACK];
    char get[7 + PARSE_SLACK] = "get k\r\n";
    int ran = 0, waiting = 0, used = 0;
    rig_open(&rig, NULL);
    for (int i = 0; i <= CLIENTS; i++) {
        client_open(&clients[i]);
    }
    cache_turn_begin(rig.ct);
    batch_begin(rig.batch);
    ok(batch_has_time(rig.batch), "a turn begins with time for commands");
    for (int i = 0; i < CLIENTS; i++) {
        memcpy(lines[i], "stats\r\n", LINE_BYTES);
        bool had_time = batch_has_time(rig.batch);
        size_t n = batch_add(rig.batch, clients[i].session, lines[i], LINE_BYTES);
        ran += n == LINE_BYTES && had_time;
        used += n != 0 && !had_time;
        waiting += session_need(clients[i].session) == SESSION_NEED_COMMAND_TIME;
    }
    batch_add(rig.batch, clients[CLIENTS].session, get, 7);
    batch_run(rig.batch);
    ok(ran >= 1 && !batch_has_time(rig.batch), "after some commands it has none left (%d of %d ran)", ran, CLIENTS);
    ok(used == 0 && waiting == CLIENTS - ran, "the others stay as they came, and wait for a turn with time (%d)", waiting);
    struct output *out = batch_output(rig.batch, clients[CLIENTS].session);
    ok(out != NULL && output_bytes(out) == 5, "a get behind all of them is answered in this turn");
    batch_begin(rig.batch);
    batch_defer_commands(rig.batch);
    is(batch_add(rig.batch, clients[CLIENTS - 1].session, lines[CLIENTS - 1], LINE_BYTES), 0, "while others wait, a command does too");
    batch_begin(rig.batch);
    is(batch_add(rig.batch, clients[CLIENTS - 1].session, lines[CLIENTS - 1], LINE_BYTES), LINE_BYTES, "in the next turn it runs");
    cache_turn_end(rig.ct);
    for (int i = 0; i <= CLIENTS; i++) {
        client_close(&rig, &clients[i]);
    }
    rig_close(&rig);
}

/* --- answers that go on --- */

/* Lets a client request all keys, more than one piece. */
static void begin_dump(struct rig *rig, struct client *c) {
    enum { KEYS = 20000 };
    char key[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "key%d", i);
        store(rig, c, key, 1);
    }
    c->out_bytes = 0;
    load(c, "lru_crawler mgdump all\r\n", 1);
    rig_turn(rig, &c, 1);
}

TEST(test_an_answer_that_goes_on_can_be_deferred) {
    static struct rig rig;
    struct client dumper, other, *both[] = {&dumper, &other};
    rig_open_for(&rig, &dumper, NULL);
    client_open(&other);
    begin_dump(&rig, &dumper);
    ok(session_answer_continues(dumper.session) &&
           session_need(dumper.session) == SESSION_NEED_COMMAND_TIME,
       "a dump goes on after its first piece");
    rig_turn(&rig, both, 1);
    ok(batch_answers_us(rig.batch) > 0 && !batch_has_interactive(rig.batch),
       "a turn tells how long its next piece took, and that nobody asked beside it");
    load(&other, "get k\r\n", 1);
    rig_turn(&rig, both, 2);
    ok(batch_has_interactive(rig.batch), "or that somebody did");

    char stats[7 + PARSE_SLACK] = "stats\r\n";
    cache_turn_begin(rig.ct);
    batch_begin(rig.batch);
    batch_defer_answers(rig.batch);
    batch_add(rig.batch, dumper.session, dumper.in, dumper.in_bytes);
    is(batch_add(rig.batch, other.session, stats, 7), 7, "while answers wait, a command runs");
    batch_run(rig.batch);
    ok(batch_output(rig.batch, dumper.session) == NULL && batch_answers_us(rig.batch) == 0,
       "and no answer goes on");
    cache_turn_end(rig.ct);
    ok(session_need(dumper.session) == SESSION_NEED_COMMAND_TIME, "it waits for a turn with time");
    client_settle(&rig, &dumper);
    ok(count_of(&dumper, "mg key") == 20000 && count_of(&dumper, "EN\r\n") == 1, "then it ends, and is whole");
    ok(!session_answer_continues(dumper.session), "and goes on no more");
    client_close(&rig, &dumper);
    rig_close_for(&rig, &other);
}

/* --- replies --- */

/* Has a client send the line `count` times and returns the most bytes of a turn's replies; `turns`: the number of turns. */
static size_t most_of_a_turn(struct rig *rig, const char *line, int count, bool lags, int *turns) {
    struct client c, *ready = &c;
    size_t most = 0;
    client_open(&c);
    session_set_slow_reader(c.session, lags);
    load(&c, line, count);
    *turns = 0;
    do {
        size_t before = c.out_bytes;
        rig_turn(rig, &ready, 1);
        most = c.out_bytes - before > most ? c.out_bytes - before : most;
        ++*turns;
    } while (client_goes_on(&c));
    client_close(rig, &c);
    return most;
}

TEST(test_replies_of_a_turn_are_bounded) {
    static struct rig rig;
    struct client writer;
    int turns;
    rig_open_for(&rig, &writer, NULL);
    store(&rig, &writer, "copied", COPIED_BYTES);
    store(&rig, &writer, "borrowed", 10000);
    store(&rig, &writer, "large", 500000);
    size_t most = most_of_a_turn(&rig, "get copied\r\n", 4096, false, &turns);
    ok(most <= REPLY_BYTES_MOST && turns >= 4096 * COPIED_BYTES / REPLY_BYTES_MOST,
       "4096 gets of 2 KB that came together are answered in %d turns of at most %zu bytes", turns, most);
    most = most_of_a_turn(&rig, "get borrowed\r\n", 1000, false, &turns);
    ok(most <= SESSION_INFLIGHT_MOST * 10100,
       "values that are borrowed count: at most %zu bytes in a turn", most);
    most = most_of_a_turn(&rig, "mg copied v\r\n", 1000, true, &turns);
    ok(most <=
           SESSION_REPLY_BYTES_SLOW_READER + SESSION_INFLIGHT_MOST_SLOW_READER * VERB_REPLY_BYTES,
       "a client that lags gets little in a turn: at most %zu bytes", most);
    most = most_of_a_turn(&rig, "get large\r\n", 100, true, &turns);
    ok(most <= SESSION_INFLIGHT_MOST_SLOW_READER * 500100, "and borrows two large values at most");
    rig_close_for(&rig, &writer);
}

TEST(test_a_batch_is_full_of_replies) {
    enum { CLIENTS = 64 };
    static struct rig rig;
    struct client clients[CLIENTS];
    int added = 0;
    rig_open(&rig, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        client_open(&clients[i]);
    }
    store(&rig, &clients[0], "copied", COPIED_BYTES);
    cache_turn_begin(rig.ct);
    batch_begin(rig.batch);
    for (; added < CLIENTS && !batch_full(rig.batch); added++) {
        load(&clients[added], "get copied\r\n", 20);
        batch_add(rig.batch, clients[added].session, clients[added].in, clients[added].in_bytes);
    }
    batch_run(rig.batch);
    cache_turn_end(rig.ct);
    ok(added < CLIENTS && rig.batch->sv.used < BATCH_FULL_BYTES + GROUP_ROOM * VERB_REPLY_BYTES,
       "a batch is full with %zu bytes of replies, of %d clients", rig.batch->sv.used, added);
    size_t grown = rig.batch->sv.room;
    for (int i = 0; i < 10 * SHRINK_TURNS; i++) {
        cache_turn_begin(rig.ct);
        batch_begin(rig.batch);
        batch_run(rig.batch);
        cache_turn_end(rig.ct);
    }
    ok(grown > rig.batch->sv.room && rig.batch->sv.room <= 64 * 1024, "its largest size (%zu bytes) shrinks afterwards (%zu)", grown, rig.batch->sv.room);
    for (int i = 0; i < CLIENTS; i++) {
        client_close(&rig, &clients[i]);
    }
    rig_close(&rig);
}

/* --- answers of another thread --- */

static void count_wake(void *arg) { atomic_fetch_add((_Atomic int *)arg, 1); }

TEST(test_a_session_that_waits_for_another_thread_is_woken) {
    static const char order[] = "slabs geometry factor 1.5 dry\r\nmn\r\n";
    static struct rig rig;
    static _Atomic int wakes_of_gone;
    struct client c, gone, *ready = &c, *leaving = &gone;
    eventfd_t wakes = 0;
    rig_open_for(&rig, &c, NULL);
    load(&c, order, 1);
    rig_turn(&rig, &ready, 1);
    ok(session_need(c.session) == SESSION_NEED_WAKE && c.out_bytes == 0 && c.in_bytes == 4,
       "it asks for no turn, and what follows waits");
    ok(tap_readable(rig_woken_fd) && eventfd_read(rig_woken_fd, &wakes) == 0 && wakes == 1, "the answer wakes it, once");
    rig_turn(&rig, &ready, 1);
    ok(count_of(&c, "PREDICTED") == 1 || count_of(&c, "\r\n") == 1, "in one turn it has its answer");
    client_settle(&rig, &c);
    is(count_of(&c, "MN\r\n"), 1, "then later requests are answered");

    batch_on_event(rig.batch, count_wake, &wakes_of_gone);
    client_open(&gone);
    load(&gone, order, 1);
    rig_turn(&rig, &leaving, 1);
    client_close(&rig, &gone);
    int before = wakes_of_gone;
    batch_on_event(rig.batch, rig_wake, NULL);
    do { /* once another order is accepted, that one has its reply */
        c.out_bytes = 0;
        client_send(&rig, &c, order, sizeof order - 1);
    } while (count_of(&c, "BUSY") == 1);
    is(wakes_of_gone, before, "a session that has left is not woken");
    rig_close_for(&rig, &c);
}

int main(void) { return tap_main(); }
