/* Commands run in one process, without a socket: replies, and changes that only the inside can see. The transcripts of tests/proto hold the
 * exact replies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/command_table.h"
#include "server/commands/command_words.h"
#include "server/prefix_stats.h"
#include "session_fixture.h"
#include "tap.h"

static struct text_out out;

static struct command_context context_of(struct rig *rig, const char *line, struct text_out *to) {
    return (struct command_context){.server = &rig->server, .role = ROLE_ADMIN, .ct = rig->ct, .line = line, .line_bytes = strlen(line),
                                    .out = to, .counters = &rig->counters};
}

/* Runs a line in a turn of its own, and a long reply to its end; returns the whole reply. */
static const char *answer(struct rig *rig, const char *line, bool noreply) {
    struct command_context ctx = context_of(rig, line, &out), next = context_of(rig, "", &out);
    ctx.noreply = noreply;
    text_out_clear(&out);
    cache_turn_begin(rig->ct);
    bool known = command_run(&ctx);
    cache_turn_end(rig->ct);
    while (ctx.more) {
        cache_turn_begin(rig->ct);
        command_continue(&ctx.more, &next);
        cache_turn_end(rig->ct);
    }
    text_out_bytes(&out, "", 1);
    return known ? out.bytes : "(unknown)";
}

static void answers(struct rig *rig, const char *line, const char *want) {
    is_str(answer(rig, line, false), want, "`%s` is answered", line);
}

static void store(struct rig *rig, const char *name, const char *value, size_t bytes) {
    struct key key = key_make(name, strlen(name));
    cache_turn_begin(rig->ct);
    fixture_store_key(rig->ct, &key, value, bytes, NULL);
    cache_turn_end(rig->ct);
}

static void test_a_change_reaches_its_owner(struct rig *rig) {
    static const char *const taken[] = {"slabs automove 2", "slabs automove window 60", "slabs automove ratio 0.5", "lru_crawler sleep 5",
                                        "lru_crawler tocrawl 7", "lru_crawler disable", "lru mode flat", "cache_memlimit 32"};
    const struct tuner *t = rig->server.tuner;
    const struct tuner_settings *s = &t->settings;
    struct cache_facts facts;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        answers(rig, taken[i], "OK\r\n");
    }
    ok(t->active.mode == &automove_eviction, "the tuner has the mode");
    ok(s->automove_window_s == 60 && s->automove_ratio == 0.5, "and its window and ratio");
    ok(s->crawler_sleep_us == 5 && s->crawler_tocrawl == 7 && !s->crawler, "and the crawler's knobs");
    is_str(cache_policy(rig->server.cache)->name, "lru", "the cache has the policy");
    cache_facts(rig->server.cache, &facts);
    is(facts.pages_limit, 32, "and the limit");
    answers(rig, "lru_crawler enable", "OK\r\n");
    answers(rig, "lru mode segmented", "OK\r\n");
    answers(rig, "config set maxbytes 64m", "OK\r\n");
    answers(rig, "config get maxbytes", "CONFIG maxbytes 67108864 runtime\r\nEND\r\n");
    answers(rig, "config get nosuch*", "END\r\n");
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

static void test_noreply_silences_the_same_as_in_memcached(struct rig *rig) {
    is_str(answer(rig, "verbosity 0 noreply", true), "", "a change");
    is_str(answer(rig, "verbosity x noreply", true), "", "its errors");
    is_str(answer(rig, "slabs reassign 1 noreply", true), "", "also of a subcommand");
    is_str(answer(rig, "slabs geometry auto noreply", true), "", "later replies");
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

TEST(test_prefixes_are_bounded) {
    struct prefix_stats *p = prefix_stats_create(':', true);
    struct key empty = key_make(":x", 2);
    char name[32];
    for (int i = 0; i < 2 * (PREFIX_MAX + 500); i++) {
        struct key key = key_make(name, (size_t)snprintf(name, sizeof name, "p%d:x", i % (PREFIX_MAX + 500)));
        if (i == PREFIX_MAX + 500) {
            prefix_stats_clear(p);
            prefix_stats_count(p, &empty, PREFIX_SET);
        }
        prefix_stats_count(p, &key, PREFIX_HIT);
        prefix_stats_count(p, &key, PREFIX_GET);
    }
    text_out_clear(&out);
    for (uint32_t bucket = 0; bucket < PREFIX_BUCKETS;) {
        bucket = prefix_stats_dump(p, bucket, &out);
    }
    text_out_bytes(&out, "", 1);
    is(count_lines(out.bytes, "PREFIX "), PREFIX_MAX, "at most PREFIX_MAX are kept");
    ok(strstr(out.bytes, "PREFIX  get 0 hit 0 set 1 del 0\r\n") != NULL, "an empty prefix is one too");
    ok(strstr(out.bytes, "PREFIX p0 get 2 hit 1 set 0 del 0\r\n") != NULL, "counts from before a reset are gone");
    prefix_stats_destroy(&p);
}

TEST(test_words) {
    static const char *const not_u32[] = {"4294967296", "", "-1", "+1", "1x", " 1", "99999999999999999999999"},
                      *const not_i32[] = {"-2147483649", "2147483648"}, *const not_classes[] = {"0", "256", "x", "1,x", "", ",", "-1"};
    struct words w;
    uint32_t u;
    int32_t  i;
    double   d;
    struct class_set classes;
    words_split("  a  bc   d ", 12, &w);
    ok(w.count == 3 && word_is(&w.word[1], "bc") && w.word[2].bytes == 1, "lines are split at runs of spaces");
    words_split("a b c d e f g h i j k l m n o p q r s t u v w x y z", 51, &w);
    is(w.count, WORDS_MAX, "into at most WORDS_MAX words");
    words_split("", 0, &w);
    is(w.count, 0, "or none");
#define WORD(text) (&(struct token){(text), strlen(text)})
    ok(word_u32(WORD("4294967295"), &u) && u == UINT32_MAX && word_i32(WORD("-2147483648"), &i) && i == INT32_MIN, "the largest and the smallest number");
    ok(word_double(WORD("0.25"), &d) && d == 0.25 && !word_double(WORD("inf"), &d), "a fraction is a number, infinity is not");
    for (size_t n = 0; n < sizeof not_u32 / sizeof *not_u32; n++) {
        ok(!word_u32(WORD(not_u32[n]), &u) && !word_i32(WORD(not_i32[n % 2]), &i), "\"%s\" is none", not_u32[n]);
    }
    ok(word_classes(WORD("1,2,,255"), 255, &classes) && class_set_count(&classes) == 3 && class_set_has(&classes, 1) &&
           class_set_has(&classes, 2) && class_set_has(&classes, 255), "classes are a list");
    ok(word_classes(WORD("all"), 255, &classes) && class_set_count(&classes) == 255 && !class_set_has(&classes, 0), "or all");
    for (size_t n = 0; n < sizeof not_classes / sizeof *not_classes; n++) {
        ok(!word_classes(WORD(not_classes[n]), 255, &classes), "\"%s\" is no list of classes", not_classes[n]);
    }
#undef WORD
}

/* --- orders, on a server without a control thread: each runs when the test says so --- */

/* An administrator's session that sleeps until the reply to its order. */
struct asking {
    struct command_context ctx;
    struct text_out        out;
};

static void ask(struct asking *a, struct rig *rig, const char *line) {
    text_out_init(&a->out);
    a->ctx = context_of(rig, line, &a->out);
    cache_turn_begin(rig->ct);
    command_run(&a->ctx);
    cache_turn_end(rig->ct);
}

/* Whether the session goes on sleeping. */
static bool sleeps(struct asking *a) {
    if (a->ctx.more != NULL) {
        command_continue(&a->ctx.more, &a->ctx);
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

static void adjust_by_hand(struct cache_config *cache, struct tuner_config *tune) {
    (void)cache;
    tune->by_hand = true;
}

static void test_each_order_is_checked_against_present_settings(struct rig *rig) {
    struct asking hot, warm, other, gone;
    struct settings now;
    ask(&hot, rig, "config set warm_lru_pct 10");
    step(rig);
    is_told(&hot, "OK\r\n", "percentages that leave room");
    ask(&hot, rig, "config set hot_lru_pct 60");
    ask(&warm, rig, "config set warm_lru_pct 60");
    ok(sleeps(&hot) && sleeps(&warm), "two administrators raise them at once");
    step(rig);
    step(rig);
    is_told(&hot, "OK\r\n", "the first has its reply");
    is_told(&warm, "CLIENT_ERROR hot_lru_pct (60) and warm_lru_pct (60) must not exceed 80 together\r\n",
            "the second is checked against that");
    ask(&other, rig, "config set idle_timeout 5");
    step(rig);
    is_told(&other, "OK\r\n", "and other settings can be changed as before");
    ask(&gone, rig, "config set idle_timeout 77");
    gone.ctx.more->destroy(gone.ctx.more);
    text_out_fini(&gone.out);
    step(rig);
    server_settings(&rig->server, &now);
    is(now.idle_timeout, 77, "an order is carried out though its client has hung up");
}

static void test_the_reported_limit_is_the_one_in_force(struct rig *rig) {
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
    is(alike, LINES, "after each of four orders that came at once, the reported limit is the one in force");
    struct cache_facts facts;
    cache_facts(rig->server.cache, &facts);
    is(facts.pages_limit, 56, "and at the end it is the last order's");
}

static void test_a_worker_waits_for_no_order(struct rig *rig) {
    static const char *const lines[] = {"slabs reassign cancel", "slabs reassign 1 2", "slabs automove off", "slabs geometry auto", "lru_crawler crawl all",
                                        "evict policy lru", "flush_all 10", "verbosity 0", "stats audit", "stats reset", "refresh_auth"};
    enum { LINES = sizeof lines / sizeof *lines };
    struct asking each[LINES];
    unsigned asleep = 0;
    for (unsigned i = 0; i < LINES; i++) {
        ask(&each[i], rig, lines[i]); /* returns though no thread carries out the order */
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
    struct tuner_facts facts;
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

int main(void) {
    struct rig rig;
    char sizes[] = "-f 1.25", fixed[] = "-f 1.25"; /* given, so that they are not fitted to the items while a slow machine dumps class 1 */
    text_out_init(&out);
    if (!ok(rig_open(&rig, sizes), "a server starts")) {
        return tap_done();
    }
    test_a_change_reaches_its_owner(&rig);
    test_a_refused_change_changes_nothing(&rig);
    test_noreply_silences_the_same_as_in_memcached(&rig);
    rig_close(&rig);
    rig_adjust = adjust_by_hand;
    if (ok(rig_open(&rig, fixed), "a server without a control thread")) {
        test_each_order_is_checked_against_present_settings(&rig);
        test_the_reported_limit_is_the_one_in_force(&rig);
        test_a_worker_waits_for_no_order(&rig);
        test_an_order_waits_for_no_work(&rig);
        rig_close(&rig);
    }
    tap_run_tests();
    text_out_fini(&out);
    return tap_done();
}
