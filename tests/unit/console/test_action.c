#include "action.h"
#include "fixture.h"
#include "tap.h"

static struct snapshot now;
static char why[NOTE_BYTES];

static struct action move(unsigned from, unsigned to, unsigned pages) {
    return (struct action){.kind = ACTION_MOVE_PAGES, .from = from, .to = to, .pages = pages};
}

static bool allowed(struct action action) {
    return action_check(&action, &now, why, sizeof why);
}

static void test_only_sound_moves_are_allowed(void) {
    fixture_load("memcached-1.6.18-second.txt", 1, &now);
    ok(allowed(move(4, 12, 3)), "a class with pages may give to another");
    ok(allowed(move(4, 0, 3)), "or to the pool");
    ok(!allowed(move(12, 4, 1)) && strstr(why, "last one") != NULL,
       "a class keeps its last page: %s", why);
    ok(!allowed(move(4, 12, 64)) && strstr(why, "1 to 63") != NULL, "not more than it has: %s",
       why);
    ok(!allowed(move(4, 12, 0)), "not none");
    ok(!allowed(move(4, 4, 1)) && strstr(why, "same") != NULL, "not to itself: %s", why);
    ok(!allowed(move(0, 12, 1)), "not from the pool");
    ok(!allowed(move(5, 12, 1)), "not from a class without pages");
}

/* 1.6.34 to 1.6.41 crash when told of a class above the highest used one. */
static void test_class_ids_the_server_does_not_list_are_never_sent(void) {
    fixture_load("memcached-1.6.18-second.txt", 1, &now);
    static const unsigned unlisted[] = {13, 39, 63, 64, 200, 255, 256, 999, 4294967295u};
    for (size_t i = 0; i < sizeof unlisted / sizeof *unlisted; i++) {
        ok(!allowed(move(4, unlisted[i], 1)) && !allowed(move(unlisted[i], 12, 1)),
           "class %u is refused", unlisted[i]);
    }
}

static void test_servers_that_cannot_move_pages_say_why(void) {
    fixture_load("memcached-1.4.25-second.txt", 1, &now);
    ok(!allowed(move(4, 12, 1)) && strstr(why, "slab_reassign off") != NULL, "slab_reassign no: %s",
       why);
    now.setting[SETTING_slab_reassign] = 1;
    ok(allowed(move(4, 12, 1)), "with it on, 1.4.25 moves too");
    ok(!allowed(move(4, 0, 1)) && strstr(why, "no global page pool") != NULL,
       "but it has no pool: %s", why);
    struct action any = move(4, 12, 1);
    ok(!action_check(&any, NULL, why, sizeof why), "nothing is sent before the first snapshot");
}

static void test_automove_changes_only_to_another_known_mode(void) {
    fixture_load("memcached-1.6.18-second.txt", 1, &now);
    ok(allowed((struct action){.kind = ACTION_AUTOMOVE, .automove = 1}), "0 to 1");
    ok(!allowed((struct action){.kind = ACTION_AUTOMOVE, .automove = 0}),
       "0 to 0 changes nothing: %s", why);
    ok(!allowed((struct action){.kind = ACTION_AUTOMOVE, .automove = 3}), "3 is no mode: %s", why);
}

static void test_commands_are_what_the_server_understands(void) {
    char line[64];
    fixture_load("memcached-1.6.18-second.txt", 1, &now);
    struct action three = move(4, 12, 3);
    is(action_command(&three, &now, line, sizeof line), 3, "memcached takes one page a command");
    is_str(line, "slabs reassign 4 12", "without a count");
    now.is_slated = true;
    is(action_command(&three, &now, line, sizeof line), 1, "slated takes all in one");
    is_str(line, "slabs reassign 4 12 3", "with the count");
}

static void test_the_suggested_source_has_free_pages_or_the_oldest_items(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    double free_pages;
    is(action_suggest_source(model, 12, &free_pages), 4, "class 4 gives");
    is((long)free_pages, 7, "39543 free chunks of 5461 a page are 7 whole pages");
    is(action_suggest_source(model, 4, &free_pages), -1,
       "class 12 has one page and evicts: nothing to give");
    model_destroy(&model);
}

/* ---- the job ---- */

static struct job job;
static uint64_t clock_at;

static void reply(const char *text) {
    job_take_reply(&job, text, strlen(text), clock_at);
}

/* The next line, going forward in time until there is one; NULL when the job is over. */
static const char *next(void) {
    bool is_stats;
    for (int i = 0; i < 10000 && job.state == JOB_RUNNING; i++) {
        const char *line = job_next_line(&job, &is_stats, clock_at);
        if (line != NULL) {
            return line;
        }
        clock_at = job_due_ms(&job);
    }
    return NULL;
}

static void probe(unsigned from_pages, unsigned to_pages) {
    char text[200];
    snprintf(text, sizeof text, "STAT 4:total_pages %u\r\nSTAT 12:total_pages %u\r\nEND\r\n",
             from_pages, to_pages);
    reply(text);
}

static void begin(struct action action) {
    fixture_load("memcached-1.6.18-second.txt", 1, &now);
    clock_at = 1000;
    job_start(&job, &action, &now, clock_at);
}

static void test_a_move_is_done_when_the_pages_have_moved(void) {
    begin(move(4, 12, 2));
    is_str(next(), "slabs reassign 4 12", "the first page is asked for");
    reply("OK\r\n");
    is(job.moved, 0, "OK alone proves nothing");
    is_str(next(), "stats slabs", "the counts are read");
    probe(64, 1);
    is_str(next(), "stats slabs", "and read again until they change");
    probe(63, 2);
    is_str(next(), "slabs reassign 4 12", "then the second page is asked for");
    reply("OK\r\n");
    is_str(next(), "stats slabs", "and verified");
    probe(62, 3);
    ok(job.state == JOB_DONE && job.succeeded, "done: %s", job.outcome);
    ok(strstr(job.outcome, "2 of 2 pages moved") != NULL, "and says how many");
}

static void test_an_ok_without_effect_is_a_failure(void) {
    begin(move(4, 12, 1));
    next();
    reply("OK\r\n");
    int probes = 0;
    while (next() != NULL) {
        probe(64, 1);
        probes++;
    }
    ok(!job.succeeded && strstr(job.outcome, "0 of 1 page") != NULL, "it is given up: %s",
       job.outcome);
    ok(probes < 60, "after %d patient looks, not a storm of them", probes);
}

static void test_a_busy_server_is_asked_again_for_a_while(void) {
    begin(move(4, 12, 1));
    int asked = 0;
    while (asked < 5 && next() != NULL) {
        reply("BUSY currently processing reassign request\r\n");
        asked++;
    }
    is(job.state, JOB_RUNNING, "BUSY is not the end");
    while (next() != NULL) {
        reply("BUSY currently processing reassign request\r\n");
    }
    ok(!job.succeeded && strstr(job.outcome, "busy") != NULL, "but not for ever: %s", job.outcome);
}

static void test_refusals_end_the_job_in_words(void) {
    static const char *const refusals[] = {"NOSPARE source class has no spare pages\r\n",
                                           "BADCLASS invalid src or dst class id\r\n",
                                           "ERROR\r\n",
                                           "CLIENT_ERROR slab reassignment disabled\r\n",
                                           "\033[2J\r\n",
                                           ""};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        begin(move(4, 12, 2));
        next();
        reply(refusals[i]);
        ok(job.state == JOB_DONE && !job.succeeded && strchr(job.outcome, '\033') == NULL,
           "refused: %s", job.outcome);
    }
}

static void test_another_movers_pages_are_not_counted_as_ours(void) {
    begin(move(4, 12, 1));
    next();
    reply("OK\r\n");
    next();
    probe(63, 1); /* a page left, but went elsewhere */
    is(job.moved, 0, "a page that left but did not arrive is not our move");
    next();
    probe(63, 2);
    ok(job.succeeded, "once it arrives, it is");
    begin(move(4, 12, 1));
    next();
    reply("OK\r\n");
    next();
    probe(64, 2);
    ok(job.succeeded && strstr(job.outcome, "pool") != NULL, "also when the source refilled itself: %s", job.outcome);
}

static void test_slated_is_asked_once_and_watched(void) {
    struct action action = move(4, 12, 3);
    begin(action);
    now.is_slated = true;
    job_start(&job, &action, &now, clock_at);
    is_str(next(), "slabs reassign 4 12 3", "one command");
    reply("OK\r\n");
    next();
    probe(63, 2);
    is_str(next(), "stats slabs", "no second command, only looks");
    probe(61, 4);
    ok(job.succeeded && job.moved == 3, "done: %s", job.outcome);
}

static void test_a_broken_connection_leaves_what_is_known(void) {
    begin(move(4, 12, 3));
    next();
    reply("OK\r\n");
    next();
    probe(63, 2);
    job_abandon(&job, "the connection broke");
    is_str(job.outcome, "1 of 3 pages moved, class 4 to class 12; the connection broke",
           "the outcome says how far it came");
}

static void test_automove_is_verified_by_the_settings(void) {
    begin((struct action){.kind = ACTION_AUTOMOVE, .automove = 2});
    is_str(next(), "slabs automove 2", "the command");
    reply("OK\r\n");
    is_str(next(), "stats settings", "the setting is read back");
    reply("STAT slab_automove 0\r\nEND\r\n");
    is(job.state, JOB_RUNNING, "the old value is not believed at once");
    next();
    reply("STAT slab_automove 2\r\nEND\r\n");
    ok(job.succeeded, "done: %s", job.outcome);
}

int main(void) {
    test_only_sound_moves_are_allowed();
    test_class_ids_the_server_does_not_list_are_never_sent();
    test_servers_that_cannot_move_pages_say_why();
    test_automove_changes_only_to_another_known_mode();
    test_commands_are_what_the_server_understands();
    test_the_suggested_source_has_free_pages_or_the_oldest_items();
    test_a_move_is_done_when_the_pages_have_moved();
    test_an_ok_without_effect_is_a_failure();
    test_a_busy_server_is_asked_again_for_a_while();
    test_refusals_end_the_job_in_words();
    test_another_movers_pages_are_not_counted_as_ours();
    test_slated_is_asked_once_and_watched();
    test_a_broken_connection_leaves_what_is_known();
    test_automove_is_verified_by_the_settings();
    return tap_done();
}
