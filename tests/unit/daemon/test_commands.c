/* Commands run in one process, without a socket: what they answer and what they change. The transcripts of tests/proto hold
 * the exact replies; here stands what only the inside can see. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session_fixture.h"
#include "serve/commands.h"
#include "serve/dump.h"
#include "serve/prefix.h"
#include "serve/words.h"
#include "tap.h"

static struct text_out out;

/* Runs a line in a turn of its own, a long answer to its end; returns the whole answer. */
static const char *answer(struct rig *rig, const char *line, bool noreply) {
    struct command_context ctx = {.server = &rig->server,
                                  .role = ROLE_ADMIN,
                                  .ct = rig->ct,
                                  .line = line,
                                  .line_bytes = strlen(line),
                                  .noreply = noreply,
                                  .out = &out,
                                  .counters = &rig->counters};
    text_out_clear(&out);
    cache_turn_begin(rig->ct);
    bool known = command_run(&ctx);
    cache_turn_end(rig->ct);
    while (ctx.more) {
        struct command_context next = {
            .role = ROLE_ADMIN,
            .server = &rig->server, .ct = rig->ct, .out = &out, .counters = &rig->counters};
        cache_turn_begin(rig->ct);
        command_go_on(&ctx.more, &next);
        cache_turn_end(rig->ct);
    }
    text_out_bytes(&out, "", 1);
    return known ? out.bytes : "(unknown)";
}

static void answers(struct rig *rig, const char *line, const char *want) {
    is_str(answer(rig, line, false), want, "`%s` is answered", line);
}

static void dump_prefixes(struct prefix_stats *p) {
    for (uint32_t bucket = 0; bucket < PREFIX_BUCKETS;) {
        bucket = prefix_stats_dump(p, bucket, &out);
    }
}

static const char *automove_of(struct rig *rig) {
    static char name[AUTOMOVE_NAME_BYTES];
    tuner_automove(rig->server.tuner, name);
    return name;
}

static void store(struct rig *rig, const char *name, const char *value, size_t bytes) {
    struct key key = key_make(name, strlen(name));
    cache_turn_begin(rig->ct);
    fixture_store_key(rig->ct, &key, value, bytes, NULL);
    cache_turn_end(rig->ct);
}

static void test_a_change_reaches_its_owner(struct rig *rig) {
    struct tune_facts t;
    answers(rig, "slabs automove 2", "OK\r\n");
    is_str(automove_of(rig), "2", "the tuner has the mode");
    answers(rig, "slabs automove window 60", "OK\r\n");
    answers(rig, "slabs automove ratio 0.5", "OK\r\n");
    answers(rig, "lru_crawler sleep 5", "OK\r\n");
    answers(rig, "lru_crawler tocrawl 7", "OK\r\n");
    tuner_facts(rig->server.tuner, &t);
    ok(t.window_s == 60 && t.ratio == 0.5, "and its window and ratio");
    ok(t.crawler_sleep_us == 5 && t.crawler_tocrawl == 7, "and the crawler's knobs");
    answers(rig, "lru_crawler disable", "OK\r\n");
    tuner_facts(rig->server.tuner, &t);
    ok(!t.crawler, "the crawler is off");
    answers(rig, "lru_crawler enable", "OK\r\n");
    answers(rig, "lru mode flat", "OK\r\n");
    is_str(cache_policy(rig->server.cache)->name, "lru", "the cache has the policy");
    answers(rig, "lru mode segmented", "OK\r\n");
    is_str(cache_policy(rig->server.cache)->name, "slru", "and back");
    struct cache_facts facts;
    answers(rig, "cache_memlimit 32", "OK\r\n");
    cache_facts(rig->server.cache, &facts);
    is(facts.pages_limit, 32, "the cache has the limit");
    answers(rig, "cache_memlimit 64", "OK\r\n");
    answers(rig, "config set maxbytes 33554432", "OK\r\n");
    answers(rig, "config get maxbytes", "CONFIG maxbytes 33554432 runtime\r\nEND\r\n");
    answers(rig, "config set maxbytes 64m", "OK\r\n");
    answers(rig, "config get maxbytes", "CONFIG maxbytes 67108864 runtime\r\nEND\r\n");
    answers(rig, "config get nosuch*", "END\r\n");
}

/* Between two orders, with nobody else to change them. */
static const struct settings *settings_version(struct rig *rig) { return server_settings_now(&rig->server); }

static void test_a_setting_that_stays_is_told_to_nobody(struct rig *rig) {
    answers(rig, "verbosity 1", "OK\r\n");
    const struct settings *version = settings_version(rig);
    answers(rig, "verbosity 1", "OK\r\n");
    answers(rig, "slabs automove 2", "OK\r\n");
    answers(rig, "cache_memlimit 64", "OK\r\n");
    ok(settings_version(rig) == version, "values that the settings have already are no change");
    answers(rig, "verbosity 0", "OK\r\n");
    ok(settings_version(rig) != version, "another one is");
}

static void test_a_refused_change_changes_nothing(struct rig *rig) {
    struct settings before, after;
    server_settings(&rig->server, &before);
    static const char *const lines[] = {
        "slabs automove 9",         "slabs automove window 2",       "slabs automove ratio 7", "lru tune 50 40 0.2 2.0",
        "lru tune 10 20 0 2.0",     "lru mode sideways",             "lru temp_ttl x",         "lru_crawler sleep 1000001",
        "lru_crawler tocrawl many", "config set hot_lru_pct 100",    "config set maxbytes 1",  "config set maxbytes 64",
        "config set warm_lru_pct",  "config set slab_automove sideways", "verbosity loud",         "cache_memlimit 7",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *said = answer(rig, lines[i], false);
        ok(strcmp(said, "OK\r\n") != 0 && strstr(said, "\r\n") == said + strlen(said) - 2, "`%s` is refused in one line",
           lines[i]);
    }
    server_settings(&rig->server, &after);
    is(memcmp(&before, &after, sizeof before), 0, "and every setting is as it was");
}

static void test_noreply_silences_what_it_silences_in_memcached(struct rig *rig) {
    is_str(answer(rig, "verbosity 0 noreply", true), "", "a change");
    is_str(answer(rig, "verbosity x noreply", true), "", "its errors");
    is_str(answer(rig, "slabs reassign 1 noreply", true), "", "also of a subcommand");
    is_str(answer(rig, "slabs geometry auto noreply", true), "", "what is answered later");
    is_str(answer(rig, "slabs automove lua:none noreply", true), "", "a refusal that comes later");
    is_str(answer(rig, "stats noreply", true), "ERROR\r\n", "nor stats, which takes it for a word");
    is_str(answer(rig, "nonsense noreply", true), "(unknown)", "an unknown command is the session's to answer");
}

static unsigned count_lines(const char *text, const char *begin) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, begin)) != NULL; at++) {
        n += at == text || at[-1] == '\n';
    }
    return n;
}

static void test_dumps_show_every_item_once(struct rig *rig) {
    enum { ITEMS = 20000 };
    char name[32];
    for (int i = 0; i < ITEMS; i++) {
        snprintf(name, sizeof name, "dump %d", i);
        store(rig, name, "abc", 3);
    }
    const char *meta = answer(rig, "lru_crawler metadump all", false);
    is(count_lines(meta, "key=dump%20"), ITEMS, "metadump shows every item, its key escaped");
    is(count_lines(meta, "key=dump%2019999 "), 1, "each once");
    ok(strncmp(meta, "OK\r\n", 4) == 0 && strcmp(meta + strlen(meta) - 5, "END\r\n") == 0, "between OK and END");
    const char *mg = answer(rig, "lru_crawler mgdump all", false);
    is(count_lines(mg, "mg dump "), ITEMS, "mgdump too");
    const char *none = answer(rig, "lru_crawler metadump 40", false);
    is_str(none, "OK\r\nEND\r\n", "a class without items is empty");
    const char *few = answer(rig, "stats cachedump 1 5", false);
    is(count_lines(few, "ITEM dump "), 5, "cachedump keeps to its limit");
    const char *all = answer(rig, "stats cachedump 1 0", false);
    ok(strlen(all) <= DUMP_CACHE_BYTES + 5, "and to its size");
}

static void test_a_dump_can_be_given_up(struct rig *rig) {
    struct command_context ctx = {.role = ROLE_ADMIN, .server = &rig->server, .ct = rig->ct, .out = &out, .counters = &rig->counters};
    ctx.line = "lru_crawler metadump all";
    ctx.line_bytes = strlen(ctx.line);
    text_out_clear(&out);
    cache_turn_begin(rig->ct);
    command_run(&ctx);
    cache_turn_end(rig->ct);
    ok(ctx.more != NULL && out.used < 1 << 20, "its first piece is small");
    ctx.more->destroy(ctx.more); /* leaks are the sanitizer's to find */
}

static void test_connections_are_listed_in_the_order_of_their_coming(struct rig *rig) {
    static struct conn_record records[3];
    for (int i = 0; i < 3; i++) {
        records[i].fd = 10 + i;
        snprintf(records[i].addr, sizeof records[i].addr, "tcp:127.0.0.1:%d", i);
        atomic_store(&records[i].state, "conn_read");
        conn_registry_add(&rig->server.registry, &records[i]);
    }
    conn_registry_remove(&rig->server.registry, &records[2]);
    conn_registry_remove(&rig->server.registry, &records[0]);
    conn_registry_add(&rig->server.registry, &records[0]);
    const char *said = answer(rig, "stats conns", false);
    const char *first = strstr(said, "STAT 11:addr tcp:127.0.0.1:1\r\n"), *second = strstr(said, "STAT 10:addr");
    ok(first && second && first < second && !strstr(said, "STAT 12:"), "also when some have gone");
    conn_registry_remove(&rig->server.registry, &records[1]);
    conn_registry_remove(&rig->server.registry, &records[0]);
    answers(rig, "stats conns", "END\r\n");
}

static void test_prefixes_are_bounded(void) {
    struct prefix_stats *p = prefix_stats_create(':', true);
    char name[32];
    for (int i = 0; i < PREFIX_MAX + 500; i++) {
        int len = snprintf(name, sizeof name, "p%d:x", i);
        struct key key = key_make(name, (size_t)len);
        prefix_stats_note(p, &key, PREFIX_HIT);
    }
    struct key empty = key_make(":x", 2);
    prefix_stats_clear(p);
    text_out_clear(&out);
    prefix_stats_note(p, &empty, PREFIX_SET);
    for (int i = 0; i < PREFIX_MAX + 500; i++) {
        int len = snprintf(name, sizeof name, "p%d:x", i);
        struct key key = key_make(name, (size_t)len);
        prefix_stats_note(p, &key, PREFIX_HIT);
        prefix_stats_note(p, &key, PREFIX_GET);
    }
    dump_prefixes(p);
    text_out_bytes(&out, "", 1);
    is(count_lines(out.bytes, "PREFIX "), PREFIX_MAX, "at most PREFIX_MAX are kept");
    ok(strstr(out.bytes, "PREFIX  get 0 hit 0 set 1 del 0\r\n") != NULL, "an empty prefix is one too");
    ok(strstr(out.bytes, "PREFIX p0 get 2 hit 1 set 0 del 0\r\n") != NULL, "of what was counted before it was cleared nothing is left");
    prefix_stats_destroy(&p);
}

static struct token word_of(const char *text) { return (struct token){text, strlen(text)}; }

static void test_words(void) {
    struct words w;
    words_split("  a  bc   d ", 12, &w);
    ok(w.count == 3 && word_is(&w.word[1], "bc") && w.word[2].bytes == 1, "lines are split at runs of spaces");
    words_split("a b c d e f g h i j k l m n o p q r s t u v w x y z", 51, &w);
    is(w.count, WORDS_MAX, "into at most WORDS_MAX words");
    words_split("", 0, &w);
    is(w.count, 0, "or none");
    uint32_t u;
    int32_t  i;
    struct class_set classes;
    double   d;
    struct token word = word_of("4294967295");
    ok(word_u32(&word, &u) && u == UINT32_MAX, "the largest number is one");
    static const char *const not_u32[] = {"4294967296", "", "-1", "+1", "1x", " 1", "99999999999999999999999"};
    for (size_t n = 0; n < sizeof not_u32 / sizeof *not_u32; n++) {
        word = word_of(not_u32[n]);
        ok(!word_u32(&word, &u), "\"%s\" is none", not_u32[n]);
    }
    word = word_of("-2147483648");
    ok(word_i32(&word, &i) && i == INT32_MIN, "the smallest number is one");
    word = word_of("-2147483649");
    ok(!word_i32(&word, &i), "one less is none");
    word = word_of("2147483648");
    ok(!word_i32(&word, &i), "nor is one more than the largest");
    word = word_of("0.25");
    ok(word_double(&word, &d) && d == 0.25, "a fraction is a number");
    word = word_of("inf");
    ok(!word_double(&word, &d), "infinity is not");
    word = word_of("1,2,,255");
    ok(word_classes(&word, 255, &classes) && class_set_count(&classes) == 3 && class_set_has(&classes, 1) &&
           class_set_has(&classes, 2) && class_set_has(&classes, 255), "classes are a list");
    word = word_of("all");
    ok(word_classes(&word, 255, &classes) && class_set_count(&classes) == 255 && !class_set_has(&classes, 0), "or all");
    static const char *const not_classes[] = {"0", "256", "x", "1,x", "", ",", "-1"};
    for (size_t n = 0; n < sizeof not_classes / sizeof *not_classes; n++) {
        word = word_of(not_classes[n]);
        ok(!word_classes(&word, 255, &classes), "\"%s\" is no list of classes", not_classes[n]);
    }
}

/* --- orders, on a server without a control thread: each is carried out when the test says so --- */

/* An administrator's session that sleeps until its order is answered. */
struct asking {
    struct command_context ctx;
    struct text_out        out;
};

static void ask(struct asking *a, struct rig *rig, const char *line) {
    memset(a, 0, sizeof *a);
    text_out_init(&a->out);
    a->ctx = (struct command_context){.server = &rig->server, .role = ROLE_ADMIN, .ct = rig->ct, .line = line,
                                      .line_bytes = strlen(line), .out = &a->out, .counters = &rig->counters};
    cache_turn_begin(rig->ct);
    command_run(&a->ctx);
    cache_turn_end(rig->ct);
}

/* Whether the session goes on sleeping. */
static bool sleeps(struct asking *a) {
    if (a->ctx.more != NULL) {
        command_go_on(&a->ctx.more, &a->ctx);
    }
    return a->ctx.more != NULL;
}

static void is_told(struct asking *a, const char *want, const char *claim) {
    bool slept = sleeps(a);
    text_out_bytes(&a->out, "", 1);
    is_str(slept ? "(sleeps)" : a->out.bytes, want, "%s", claim);
    text_out_fini(&a->out);
}

static void step(struct rig *rig) { control_step(server_control(&rig->server), clock_mono_us()); }

static void adjust_by_hand(struct cache_config *cache, struct tune_config *tune) {
    (void)cache;
    tune->by_hand = true;
}

static void test_each_order_is_checked_against_what_is_in_force(struct rig *rig) {
    struct asking hot, warm, other;
    ask(&hot, rig, "config set warm_lru_pct 10");
    step(rig);
    is_told(&hot, "OK\r\n", "percentages that leave room");
    ask(&hot, rig, "config set hot_lru_pct 60");
    ask(&warm, rig, "config set warm_lru_pct 60");
    ok(sleeps(&hot) && sleeps(&warm), "two administrators raise them at once");
    step(rig);
    step(rig);
    is_told(&hot, "OK\r\n", "the first has what it wants");
    is_told(&warm, "CLIENT_ERROR hot_lru_pct (60) and warm_lru_pct (60) must not exceed 80 together\r\n",
            "the second is checked against that");
    ask(&other, rig, "config set idle_timeout 5");
    step(rig);
    is_told(&other, "OK\r\n", "and other settings can be changed as before");
}

static void test_the_limit_that_is_told_is_the_one_in_force(struct rig *rig) {
    static const char *const lines[] = {"cache_memlimit 40", "cache_memlimit 56", "config set maxbytes 32m", "config undo"};
    enum { LINES = sizeof lines / sizeof *lines };
    struct asking each[LINES];
    unsigned alike = 0;
    for (unsigned i = 0; i < LINES; i++) {
        ask(&each[i], rig, lines[i]);
    }
    for (unsigned i = 0; i < LINES; i++) {
        struct cache_facts facts;
        struct settings told;
        step(rig);
        cache_facts(rig->server.cache, &facts);
        server_settings(&rig->server, &told);
        alike += told.maxbytes == facts.limit_bytes;
        sleeps(&each[i]);
        text_out_fini(&each[i].out);
    }
    is(alike, LINES, "after each of four orders that came at once, the limit that is told is the one in force");
    struct cache_facts facts;
    cache_facts(rig->server.cache, &facts);
    is(facts.pages_limit, 56, "and at the end it is what the last order left");
}

static void test_a_worker_waits_for_no_order(struct rig *rig) {
    static const char *const lines[] = {"slabs reassign cancel", "slabs reassign 1 2", "slabs automove off", "slabs geometry auto", "lru_crawler crawl all",
                                        "evict policy lru", "flush_all 10", "verbosity 0", "stats audit", "stats reset", "refresh_auth"};
    enum { LINES = sizeof lines / sizeof *lines };
    struct asking each[LINES];
    unsigned asleep = 0;
    for (unsigned i = 0; i < LINES; i++) {
        ask(&each[i], rig, lines[i]); /* returns though nobody carries out the order */
        asleep += sleeps(&each[i]);
    }
    is(asleep, LINES, "a worker whose sessions change the server goes on, and they sleep");
    enum { STEPS_MOST = 1000 };
    for (unsigned i = 0; i < STEPS_MOST && asleep > 0; i++) {
        step(rig);
        asleep = 0;
        for (unsigned n = 0; n < LINES; n++) {
            asleep += sleeps(&each[n]);
        }
    }
    for (unsigned i = 0; i < LINES; i++) {
        text_out_fini(&each[i].out);
    }
    is(asleep, 0, "until their orders are answered");
}

static void test_an_order_waits_for_no_work(struct rig *rig) {
    enum { ITEMS = 3000, BYTES = 4000, STEPS_MOST = 100000 };
    static const char value[BYTES];
    static const char *const works[] = {"slabs geometry factor 1.1 force", "slabs reassign -1 0 5"};
    struct asking work[2], order;
    struct tune_facts facts;
    struct geometry_facts sizes = {.state = GEOMETRY_STEADY};
    char name[32];
    unsigned orders = 0, at_once = 0;
    for (int i = 0; i < ITEMS; i++) {
        snprintf(name, sizeof name, "work %d", i);
        store(rig, name, value, i % 2 ? BYTES : BYTES / 3);
    }
    ask(&work[0], rig, works[0]);
    for (int i = 0; i < STEPS_MOST && sizes.state == GEOMETRY_STEADY; i++) {
        step(rig);
        tuner_geometry(rig->server.tuner, &sizes);
    }
    ask(&work[1], rig, works[1]);
    step(rig);
    tuner_facts(rig->server.tuner, &facts);
    ok(facts.moving && sizes.state == GEOMETRY_DRAINING, "pages move, and chunk sizes change");
    for (; facts.moving && orders < STEPS_MOST; orders++) {
        ask(&order, rig, orders % 2 ? "config set idle_timeout 5" : "config set idle_timeout 6");
        step(rig);
        at_once += !sleeps(&order);
        text_out_fini(&order.out);
        tuner_facts(rig->server.tuner, &facts);
    }
    ok(at_once == orders && orders > 10, "meanwhile each of %u orders is answered by the next step", orders);
    for (unsigned i = 0; i < 2; i++) {
        sleeps(&work[i]);
        text_out_fini(&work[i].out);
    }
}

static void test_an_order_outlives_its_session(struct rig *rig) {
    struct asking gone;
    struct settings now;
    ask(&gone, rig, "config set idle_timeout 77");
    gone.ctx.more->destroy(gone.ctx.more);
    text_out_fini(&gone.out);
    step(rig);
    server_settings(&rig->server, &now);
    is(now.idle_timeout, 77, "an order is carried out though its client has hung up");
}

int main(void) {
    struct rig rig;
    char sizes[] = "-f 1.25"; /* said, so they are not fitted to the items while a slow machine dumps class 1 */
    text_out_init(&out);
    if (!ok(rig_open(&rig, sizes), "a server starts")) {
        return tap_done();
    }
    test_a_change_reaches_its_owner(&rig);
    test_a_setting_that_stays_is_told_to_nobody(&rig);
    test_a_refused_change_changes_nothing(&rig);
    test_noreply_silences_what_it_silences_in_memcached(&rig);
    test_dumps_show_every_item_once(&rig);
    test_a_dump_can_be_given_up(&rig);
    test_connections_are_listed_in_the_order_of_their_coming(&rig);
    rig_close(&rig);
    rig_adjust = adjust_by_hand;
    char fixed[] = "-f 1.25";
    if (ok(rig_open(&rig, fixed), "a server without a control thread")) {
        test_each_order_is_checked_against_what_is_in_force(&rig);
        test_the_limit_that_is_told_is_the_one_in_force(&rig);
        test_a_worker_waits_for_no_order(&rig);
        test_an_order_outlives_its_session(&rig);
        test_an_order_waits_for_no_work(&rig);
        rig_close(&rig);
    }
    test_prefixes_are_bounded();
    test_words();
    text_out_fini(&out);
    return tap_done();
}
