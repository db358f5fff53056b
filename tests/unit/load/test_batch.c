/* Batches without a network: the bytes sent, and the meaning of each reply. */
#include "tap.h"

#include <unistd.h>

#include "batch.h"
#include "value.h"

static struct options options;
static struct batcher batcher;
static struct batch batch;
static struct source *source;
static struct tally tally;
static char trace_path[64];

/* A batcher over the given command line; the source is a trace where --replay is given. */
static void start(int argc, char **argv) {
    char why[300] = "";
    static struct tally none;
    tally = none;
    if (!options_parse(argc, argv, &options, why, sizeof(why))) {
        printf("Bail out! %s\n", why);
        exit(1);
    }
    options.seed = 1;
    source =
        source_create(options.replay ? SOURCE_TRACE : SOURCE_MIX, &options, 0, why, sizeof(why));
    if (source == NULL || !batcher_init(&batcher, &options, source, &tally, 1)) {
        printf("Bail out! %s\n", why);
        exit(1);
    }
}

static void stop(void) {
    batcher_fini(&batcher);
    batch_fini(&batch);
    source_destroy(&source);
}

#define START(...)                                                                                 \
    do {                                                                                           \
        char *args[] = {(char *)"slate-load", __VA_ARGS__};                                        \
        start((int)(sizeof(args) / sizeof(*args)), args);                                          \
    } while (0)

static void write_trace(const char *text) {
    FILE *f = fopen(trace_path, "w");
    fputs(text, f);
    fclose(f);
}

/* The bytes to send, NUL-terminated. */
static const char *sent(void) {
    static char text[1 << 16];
    size_t n = batch.out.n < sizeof(text) - 1 ? batch.out.n : sizeof(text) - 1;
    memcpy(text, batch.out.bytes, n);
    text[n] = '\0';
    return text;
}

static size_t feed(const char *text) {
    size_t needed;
    return batch_feed(&batch, &batcher, text, strlen(text), 1000, &needed);
}

/* The reply that holds the right value of a key. */
static size_t value_reply(char *into, const char *key, size_t value_bytes, uint64_t of_key_hash) {
    size_t n = (size_t)sprintf(into, "VALUE %s 0 %zu\r\n", key, value_bytes);
    value_fill(into + n, value_bytes, of_key_hash, 3);
    memcpy(into + n + value_bytes, "\r\n", 2);
    return n + value_bytes + 2;
}

TEST(replay_batches) {
    write_trace("a 20\nb 20\nc 20\na 20\nd 20\n");
    START("--replay", trace_path, "--pipeline", "10", "--mget", "2");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 3, "a repeated key cuts the batch");
    is_str(sent(), "get a b\r\nget c\r\n", "keys go into commands of at most --mget");
    char reply[500];
    size_t n = value_reply(reply, "b", 20, value_key_hash("b", 1)), needed;
    strcpy(reply + n, "END\r\nEND\r\n");
    is(batch_feed(&batch, &batcher, reply, n + 10, 5, &needed), n + 10, "the replies are used up");
    ok(batch_is_answered(&batch), "the batch is answered");
    ok(tally.hits == 1 && tally.misses == 2 && tally.wrong.total == 0, "one hit, two misses");
    ok(batch_build_fills(&batch, &batcher, 0), "misses are filled");
    ok(strncmp(sent(), "set a 0 0 20\r\n", 14) == 0 && strstr(sent(), "set b") == NULL,
       "with the missed keys and their sizes, and no others");
    is(batch.group_count, 2, "one set each");
    ok(value_check(batch.out.bytes + 14, 20, value_key_hash("a", 1)) == VALUE_RIGHT, "a set value can be checked");
    feed("STORED\r\nSTORED\r\n");
    ok(tally.stored == 2 && tally.fills == 2 && batch_is_answered(&batch), "fills are counted");
    ok(!batch_build_fills(&batch, &batcher, 0), "fills are not filled again");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 2, "the next batch begins with the repeat");
    is_str(sent(), "get a d\r\n", "in the order of the trace");
    feed("END\r\n");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 0, "the trace has ended");
    ok(batcher.ended && batcher.failure[0] == '\0', "without trouble");
    is(tally.requests, 5, "all requests are counted");
    stop();
}

TEST(replay_options) {
    write_trace("a 20\nbb\nccc 30\n");
    START("--replay", trace_path, "--pipeline", "10", "--scale", "1.5", "--limit", "2", "--sizes", "7");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 2, "--limit ends the trace");
    ok(batch.ops[0].value_bytes == 30 && batch.ops[1].value_bytes == 11, "sizes are scaled, missing ones come from --sizes");
    stop();
    write_trace("a 20\nb x\n");
    START("--replay", trace_path);
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 1, "a good line is sent");
    feed("END\r\n");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 0, "a bad line ends the run");
    ok(strstr(batcher.failure, "line 2") != NULL, "and is named: %s", batcher.failure);
    stop();
}

TEST(times_to_live) {
    write_trace("# slate trace 1\n0 set a 12 60 1\n0 get a - - 1\n0 set b 12 - 1\n0 get b - - 1\n"
                "0 get c - - 1\n");
    START("--replay", trace_path, "--pipeline", "10", "--ttl", "7");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 1, "a set, and then its key repeats");
    ok(strncmp(sent(), "set a 0 60 12\r\n", 15) == 0, "a store has the trace's time to live");
    feed("STORED\r\n");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    feed("END\r\nSTORED\r\n");
    ok(batch_build_fills(&batch, &batcher, 0), "a stored item is filled after a miss");
    ok(strncmp(sent(), "set a 0 60 12\r\n", 15) == 0, "with its old size and time");
    feed("STORED\r\n");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    feed("END\r\nEND\r\n");
    ok(batch_build_fills(&batch, &batcher, 0) && batch.op_count == 1 && strncmp(sent(), "set b 0 7 12\r\n", 14) == 0,
           "--ttl is for those that tell none; what was never stored has no size and is not filled");
    stop();
}

TEST(times_of_a_trace) {
    write_trace("# slate trace 1\n5000 get a 20 - 1\n5010 get b 20 - 1\n5010 get c 20 - 1\n"
                "5400 get d 20 - 1\n5300 get e 20 - 1\n");
    START("--replay", trace_path, "--pipeline", "10", "--mget", "2", "--speed", "10");
    batcher.pace.speed = options.speed;
    batcher.pace.start_ns = 1e9;
    is(batch_build(&batch, &batcher, UINT64_MAX, 999999999), 0, "nothing before the start");
    is(batch_build(&batch, &batcher, UINT64_MAX, 1000000000), 1, "the first is due at the start");
    is(batch_build(&batch, &batcher, UINT64_MAX, 1000999999), 0, "the next ten times as fast as it was");
    is((uint64_t)batcher.pace.next_due_ns, 1001000000, "in a millisecond");
    is(batch_build(&batch, &batcher, UINT64_MAX, 1039999999), 2, "requests due together go together");
    is(batch.groups[0].due_ns, 1001000000, "and waits from when it was due");
    is(batch_build(&batch, &batcher, UINT64_MAX, 1040000000), 2, "a time that goes back is due at once");
    is(batch_build(&batch, &batcher, UINT64_MAX, UINT64_MAX), 0, "then the trace has ended");
    ok(batcher.ended && batcher.failure[0] == '\0', "well");
    stop();
    char why[300] = "";
    write_trace("a 20\n");
    source = source_create(SOURCE_TRACE, &options, 0, why, sizeof why);
    ok(source == NULL && strstr(why, "has no times") != NULL, "a trace without times: %s", why);
}

TEST(stable_sizes) {
    uint32_t sizes[2][3];
    write_trace("a\nb\nc\n");
    for (int i = 0; i < 2; i++) {
        START("--replay", trace_path, "--pipeline", "10", "--sizes", "l300,1");
        batch_build(&batch, &batcher, UINT64_MAX, 0);
        for (int j = 0; j < 3; j++) {
            sizes[i][j] = batch.ops[j].value_bytes;
        }
        stop();
    }
    ok(memcmp(sizes[0], sizes[1], sizeof(sizes[0])) == 0, "a key's size is the same in every run");
    ok(sizes[0][0] != sizes[0][1], "and not that of another key");
}

TEST(wrong_values) {
    static const struct {
        const char *key, *of_key;
        size_t      bytes;
        bool        damaged;
        unsigned    wrong;
        const char *claim;
    } rows[] = {{"a", "b", 20, false, 1, "another key's value is wrong"}, {"b", "b", 20, true, 2, "a damaged value is wrong"},
                {"x", "x", 20, false, 3, "a value under a key that was not asked for is wrong"},
                {"d", "d", 19, false, 3, "another length is not wrong: an older version may have had it"}};
    char reply[500];
    size_t n, needed;
    write_trace("a 20\nb 20\nc 20\nd 20\n");
    START("--replay", trace_path, "--pipeline", "4");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        n = value_reply(reply, rows[i].key, rows[i].bytes, value_key_hash(rows[i].of_key, 1));
        reply[n - 3] ^= rows[i].damaged;
        strcpy(reply + n, "END\r\n");
        batch_feed(&batch, &batcher, reply, n + 5, 5, &needed);
        is(tally.wrong.total, rows[i].wrong, "%s", rows[i].claim);
    }
    is(tally.wrong.count, 3, "each is kept as a sample");
    ok(strncmp(tally.wrong.list[0].text, "a (20 bytes): not", 17) == 0, "which names itself: %s", tally.wrong.list[0].text);
    stop();
}

TEST(verify_levels) {
    char reply[500];
    size_t n, needed;
    static const struct {
        const char *level;
        unsigned verified;
    } cases[] = {{"all", 6}, {"none", 0}, {"sample:3", 2}};
    for (size_t i = 0; i < 3; i++) {
        write_trace("a 20\nb 20\nc 20\nd 20\ne 20\nf 20\n");
        START("--replay", trace_path, "--pipeline", "6", "--verify", (char *)cases[i].level);
        batch_build(&batch, &batcher, UINT64_MAX, 0);
        for (char key[2] = "a"; key[0] <= 'f'; key[0]++) {
            n = value_reply(reply, key, 20, value_key_hash(key, 1));
            n += (size_t)sprintf(reply + n, "END\r\n");
            batch_feed(&batch, &batcher, reply, n, 5, &needed);
        }
        ok(tally.verified == cases[i].verified && tally.hits == 6, "--verify %s checks %u of 6", cases[i].level, cases[i].verified);
        stop();
    }
}

static void errors(void) {
    START("--method", "set", "--pipeline", "3", "--sizes", "5");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    feed("STORED\r\nSERVER_ERROR out of memory storing object\r\nNOT_STORED\r\n");
    ok(tally.stored == 1 && tally.errors.total == 1 && tally.not_stored == 1 && batch_is_answered(&batch),
           "a refused set is one error and the rest goes on");
    is_str(tally.errors.list[0].text, "SERVER_ERROR out of memory storing object", "its text is kept");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    is(feed("END\r\n"), 0, "an answer of the wrong kind is not taken");
    ok(strstr(batcher.failure, "unexpected reply: 'END'") != NULL, "it is a breach: %s", batcher.failure);
    stop();
    START("--method", "set");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    feed("STORED\r\nSTORED\r\n");
    ok(strstr(batcher.failure, "more than was requested") != NULL, "so is an answer too many");
    stop();
    START("--method", "set");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    feed("HTTP/1.1 400 Bad Request\r\n");
    ok(strstr(batcher.failure, "no reply of the protocol") != NULL, "so is another protocol: %s", batcher.failure);
    stop();
    START("--mget", "3");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    feed("SERVER_ERROR out of memory writing get response\r\n");
    ok(tally.errors.total == 1 && tally.misses == 0 && batch_is_answered(&batch),
       "an error in place of a multi-get's values is neither hit nor miss");
    stop();
}

TEST(quiet_runs) {
    START("--method", "set", "--pipeline", "3", "--noreply", "--sizes", "5", "--keys", "5");
    is(batch_build(&batch, &batcher, UINT64_MAX, 0), 3, "three quiet sets");
    ok(strstr(sent(), " 0 0 5 noreply\r\n") != NULL, "request no reply");
    ok(strstr(sent(), "version\r\n") == sent() + batch.out.n - 9, "a fence ends the run");
    is(batch.group_count, 1, "all wait for one reply");
    feed("VERSION 1.6.45\r\n");
    ok(batch_is_answered(&batch) && tally.unconfirmed == 3 && tally.write_latency.count == 3, "which ends all of them");
    stop();
    START("--method", "set", "--pipeline", "2", "--noreply", "--sizes", "5", "--protocol", "meta");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    ok(strstr(sent(), " q\r\n") != NULL && strstr(sent(), "mn\r\n") != NULL, "meta uses q and mn");
    feed("SERVER_ERROR out of memory storing object\r\nMN\r\n");
    ok(tally.errors.total == 1 && tally.unconfirmed == 1, "an error in a quiet run is counted");
    stop();
    START("--method", "set", "--reads", "50", "--pipeline", "50", "--noreply", "--sizes", "5");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    bool fenced = true;
    for (uint32_t i = 1; i < batch.group_count; i++) {
        fenced = fenced &&
                 !(batch.groups[i].kind == GROUP_QUIET && batch.groups[i - 1].kind == GROUP_QUIET);
    }
    ok(fenced && batch.group_count > 10, "quiet runs between gets each have their own fence");
    for (uint32_t i = 0; i < batch.group_count && batcher.failure[0] == '\0'; i++) {
        feed(batch.groups[i].kind == GROUP_QUIET ? "VERSION 1\r\n" : "END\r\n");
    }
    ok(batch_is_answered(&batch) && batcher.failure[0] == '\0', "and replies stay in step");
    stop();
}

static void meta(void) {
    char reply[200];
    size_t needed;
    START("--protocol", "meta", "--keys", "1", "--key-bytes", "5", "--pipeline", "2");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    is_str(sent(), "mg key-0 k v\r\nmg key-0 k v\r\n", "meta gets request key and value");
    size_t n = (size_t)sprintf(reply, "EN\r\nVA 20 kkey-0\r\n");
    value_fill(reply + n, 20, value_key_hash("key-0", 5), 1);
    memcpy(reply + n + 20, "\r\n", 2);
    batch_feed(&batch, &batcher, reply, n + 22, 1, &needed);
    ok(batch_is_answered(&batch) && tally.hits == 1 && tally.misses == 1, "EN misses, VA hits");
    stop();
    START("--protocol", "meta", "--keys", "1", "--key-bytes", "5", "--mget", "2");
    batch_build(&batch, &batcher, UINT64_MAX, 0);
    is_str(sent(), "mg key-0 k v q\r\nmg key-0 k v q\r\nmn\r\n", "a meta multi-get is quiet gets");
    feed("MN\r\n");
    ok(batch_is_answered(&batch) && tally.misses == 2, "a missing reply is a miss");
    stop();
}

TEST(budgets_and_rates) {
    START("--mget", "10", "--pipeline", "5");
    is(batch_build(&batch, &batcher, 23, 0), 23, "a budget is kept to the request");
    is(batch.group_count, 3, "in commands of 10, 10 and 3");
    stop();
    START("--pipeline", "10", "--rate", "1000");
    batcher.pace.interval_ns = 1e6;
    batcher.pace.next_due_ns = 5e6;
    is(batch_build(&batch, &batcher, 100, 4000000), 0, "nothing is sent before it is due");
    is(batch_build(&batch, &batcher, 100, 8500000), 4, "a due request is sent");
    ok(batch.groups[0].due_ns == 5000000 && batch.groups[3].due_ns == 8000000, "each from the time it was due");
    size_t needed;
    const char *ends = "END\r\nEND\r\nEND\r\nEND\r\n";
    batch_feed(&batch, &batcher, ends, strlen(ends), 9000000, &needed);
    is(tally.read_latency.max_ns, 4000000, "so waiting before sending is part of the latency");
    is(tally.read_latency.min_ns, 1000000, "and no more than that");
    stop();
    START("--method", "set", "--pipeline", "1000", "--sizes", "1000000");
    uint64_t built = batch_build(&batch, &batcher, UINT64_MAX, 0);
    ok(built >= 4 && built <= 6, "a batch of large values is cut at 4 MB: %" PRIu64, built);
    stop();
}

static void keys(void) {
    char key[KEY_MAX_BYTES + 1];
    char why[200];
    char *args[] = {(char *)"slate-load", (char *)"--key-bytes", (char *)"32"};
    options_parse(3, args, &options, why, sizeof(why));
    is(source_key_text(&options, 123, 999999, key), 32, "keys have the requested length");
    ok(memcmp(key, "key-0000000000000000000000000123", 32) == 0, "with zeros in front");
    args[2] = (char *)"5";
    options_parse(3, args, &options, why, sizeof(why));
    is(source_key_text(&options, 123, 999999, key), 10, "but never too short to be different");
    ok(memcmp(key, "key-000123", 10) == 0, "all digits fit");
    args[2] = (char *)"v30.7984,8.20449,0.078688";
    options_parse(3, args, &options, why, sizeof(why));
    bool good = true;
    unsigned least = 250, most = 0;
    for (uint64_t id = 0; id < 20000; id++) {
        unsigned n = source_key_text(&options, id, 19999, key);
        good = good && n >= 9 && n <= 250 && n == source_key_text(&options, id, 19999, key);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    ok(good && least < 20 && most > 60, "lengths vary, from %u to %u, each key's is its own", least, most);
}

static void shift(void) {
    START("--shift", "10,20,30", "--shift-every", "4", "--keys", "1", "--key-bytes", "5", "--pipeline", "1", "--fill-on-miss");
    unsigned seen[3] = {0};
    for (int i = 0; i < 12; i++) {
        batch_build(&batch, &batcher, UINT64_MAX, 0);
        seen[batch.ops[0].value_bytes / 10 - 1]++;
        feed("END\r\n");
    }
    ok(seen[0] == 4 && seen[1] == 4 && seen[2] == 4, "the size shifts after each phase's requests");
    ok(tally.phases[1].gets >= 3 && tally.phases[2].gets >= 3, "phases are counted apart");
    is_str(sent(), "get key-2\r\n", "each phase has keys of its own");
    stop();
}

int main(void) {
    char folder[] = "/tmp/slate-batch-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
    value_init();
    tap_run_tests();
    errors();
    meta();
    keys();
    shift();
    unlink(trace_path);
    rmdir(folder);
    return tap_done();
}
