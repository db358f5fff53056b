/* Changes before they are sent: whether each may be sent, and its exact bytes. */
#include "act/action.h"
#include "fixture.h"
#include "tap.h"

static char why[NOTE_BYTES];

static bool allowed(struct action action) {
    return action_check(&action, model, why, sizeof why);
}

static bool may_move(unsigned from, unsigned to, unsigned pages) {
    return allowed(action_move(from, to, pages));
}

static void load(const char *server) {
    model_destroy(&model);
    model = fixture_model(server);
}

TEST(test_only_sound_moves_are_allowed) {
    load("memcached-1.6.18");
    ok(may_move(4, 12, 3), "a class with pages may give to another");
    ok(may_move(4, 0, 3), "or to the pool");
    ok(!may_move(12, 4, 1) && strstr(why, "last one") != NULL, "a class keeps its last page: %s", why);
    ok(!may_move(4, 12, 64) && strstr(why, "has 64 pages, keeps its last one") != NULL, "not more than it has: %s", why);
    ok(!may_move(4, 4, 1) && strstr(why, "same") != NULL, "not to itself: %s", why);
    ok(!may_move(0, 12, 1), "not from the pool");
    ok(!may_move(5, 12, 1), "not from a class without pages");
}

/* 1.6.34 to 1.6.41 crash when told of a class above the highest used one. */
TEST(test_class_ids_the_server_does_not_list_are_never_sent) {
    static const unsigned unlisted[] = {13, 39, 63, 64, 200, 255, 256, 999, 4294967295u};
    for (size_t i = 0; i < sizeof unlisted / sizeof *unlisted; i++) {
        ok(!may_move(4, unlisted[i], 1) && !may_move(unlisted[i], 12, 1), "class %u is refused", unlisted[i]);
    }
}

static void says_line(struct action action, unsigned index, const char *wanted, unsigned wanted_times) {
    char line[ACTION_LINE_BYTES];
    unsigned times = 0;
    bool is_there = action_line(&action, model, index, line, &times);
    ok(is_there && times == wanted_times, "there is a line, sent %u times", times);
    is_str(line, wanted, "as the server understands it");
}

TEST(test_commands_are_in_the_servers_words) {
    char line[ACTION_LINE_BYTES];
    unsigned times;
    struct action one = action_set("verbosity", "1");
    says_line(action_move(4, 12, 3), 0, "slabs reassign 4 12", 3);
    says_line(action_set("hot_lru_pct", "25"), 0, "lru tune 25 40 0.20 2.00", 1);
    says_line(action_set("maxbytes", "80"), 0, "cache_memlimit 80", 1);
    ok(!action_line(&one, model, 1, line, &times), "there is no second line");
    load("slated-0.1");
    says_line(action_move(4, 12, 3), 0, "slabs reassign 4 12 3", 1);
    says_line(action_set("policy", "s3fifo 5=sieve"), 1, "evict policy sieve 5", 1);
}

int main(void) {
    tap_run_tests();
    model_destroy(&model);
    return tap_done();
}
