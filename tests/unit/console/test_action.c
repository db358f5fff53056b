#include "act/job.h"
#include "fixture.h"
#include "tap.h"

static struct snapshot now;
static struct answers answers;
static char why[NOTE_BYTES];

static struct action move(unsigned from, unsigned to, unsigned pages) {
    return action_move(from, to, pages);
}

static void load(const char *fixture) {
    fixture_load(fixture, 1, &now);
    fixture_answers(fixture, &answers);
}

static bool allowed(struct action action) {
    return action_check(&action, &now, &answers, why, sizeof why);
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
    ok(!action_check(&any, NULL, &answers, why, sizeof why), "nothing is sent before the first snapshot");
}

static void test_automove_changes_only_to_another_known_mode(void) {
    load("memcached-1.6.18-second.txt");
    ok(allowed(action_set("slab_automove", "1")), "0 to 1");
    ok(!allowed(action_set("slab_automove", "0")), "0 to 0 changes nothing: %s", why);
    ok(!allowed(action_set("slab_automove", "3")), "3 is no mode: %s", why);
}

static void test_commands_are_what_the_server_understands(void) {
    char line[SETTING_LINE_BYTES];
    unsigned times;
    load("memcached-1.6.18-second.txt");
    struct action three = move(4, 12, 3);
    ok(action_line(&three, &now, 0, line, &times) && times == 3, "memcached takes one page a command");
    is_str(line, "slabs reassign 4 12", "without a count");
    now.is_slated = true;
    ok(action_line(&three, &now, 0, line, &times) && times == 1, "slated takes all in one");
    is_str(line, "slabs reassign 4 12 3", "with the count");
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
    load("memcached-1.6.18-second.txt");
    clock_at = 1000;
    job_start(&job, &action, &now, &answers, clock_at);
    if (action.kind == ACTION_MOVE_PAGES) { /* what is there is read first */
        next();
        probe(64, 1);
    }
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

static void test_an_order_that_meets_anothers_prediction_is_sent_again(void) {
    struct action action = action_set("geometry", "factor 1.08");
    load("slated-0.1-second.txt");
    clock_at = 1000;
    job_start(&job, &action, &now, &answers, clock_at);
    is_str(next(), "stats geometry", "what is there is read first");
    reply("STAT state steady\r\nSTAT generation 0\r\nEND\r\n");
    for (int i = 0; i < 3; i++) {
        is_str(next(), "slabs geometry factor 1.08", "the same order");
        reply("BUSY currently processing another geometry request\r\n");
    }
    is(job.state, JOB_RUNNING, "BUSY is not the end");
    while (next() != NULL) {
        reply("BUSY currently processing another geometry request\r\n");
    }
    ok(!job.succeeded && strstr(job.outcome, "another geometry request") != NULL, "but not for ever: %s", job.outcome);
    ok(!job.has_inverse, "and there is nothing to take back");
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
    job_start(&job, &action, &now, &answers, clock_at);
    next();
    probe(64, 1);
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

static void test_a_move_begins_with_the_pages_of_the_moment(void) {
    load("memcached-1.6.18-second.txt");
    struct action action = move(4, 12, 1);
    job_start(&job, &action, &now, &answers, 1000);
    is_str(next(), "stats slabs", "they are read before the first line");
    probe(1, 64);
    ok(job.state == JOB_DONE && !job.succeeded && !job.has_inverse,
       "a source that has shrunk meanwhile is left alone: %s", job.outcome);
}

static void test_the_way_back_of_a_move_is_as_long_as_it_came(void) {
    begin(move(4, 12, 3));
    next();
    reply("OK\r\n");
    next();
    probe(63, 2);
    job_abandon(&job, "enough");
    ok(job.has_inverse && job.inverse.from == 12 && job.inverse.to == 4 && job.inverse.pages == 1,
       "one page of three goes back");
}

static void test_automove_is_read_set_and_verified_by_the_settings(void) {
    begin(action_set("slab_automove", "2"));
    is_str(next(), "stats settings", "the value before is read");
    reply("STAT slab_automove 0\r\nEND\r\n");
    is_str(next(), "slabs automove 2", "the command");
    reply("OK\r\n");
    is_str(next(), "stats settings", "the setting is read back");
    reply("STAT slab_automove 0\r\nEND\r\n");
    is(job.state, JOB_RUNNING, "the old value is not believed at once");
    next();
    reply("STAT slab_automove 2\r\nEND\r\n");
    ok(job.succeeded, "done: %s", job.outcome);
    ok(job.has_inverse && strcmp(job.inverse.value, "0") == 0, "the way back is what it was");
}

static void test_slated_takes_its_own_modes_by_name(void) {
    struct action lra = action_set("slab_automove", "lra");
    load("memcached-1.6.45-second.txt");
    ok(!allowed(lra), "memcached has no mode lra: %s", why);
    now.is_slated = true;
    const char *config = "STAT slab_automove:value 1\r\nSTAT slab_automove:choices off|ratio|lra|lua:NAME\r\n";
    answers_take(&answers, INQUIRY_CONFIG, config, strlen(config), true, 1);
    ok(allowed(lra), "slated has");
    ok(allowed(action_set("slab_automove", "lua:mine")), "and policies in Lua");
    ok(!allowed(action_set("slab_automove", "lua:")), "by name: %s", why);
    begin(lra);
    next();
    reply("STAT slab_automove ratio\r\nEND\r\n");
    is_str(next(), "slabs automove lra", "the command has the name");
    reply("OK\r\n");
    next();
    reply("STAT slab_automove lra\r\nEND\r\n");
    ok(job.succeeded, "and so has the setting: %s", job.outcome);
}

static void test_what_could_not_be_undone_is_not_sent(void) {
    begin(action_set("slab_automove", "1"));
    next();
    reply("STAT maxconns 1\r\nEND\r\n");
    ok(job.state == JOB_DONE && !job.succeeded && !job.has_inverse && next() == NULL, "%s", job.outcome);
    begin(action_set("slab_automove", "1"));
    next();
    reply("STAT slab_automove 1\r\nEND\r\n");
    ok(job.state == JOB_DONE && job.succeeded && next() == NULL, "nor what is so already: %s", job.outcome);
}

static void test_a_refused_setting_leaves_no_way_back(void) {
    begin(action_set("slab_automove", "1"));
    next();
    reply("STAT slab_automove 0\r\nEND\r\n");
    next();
    reply("CLIENT_ERROR \033[2J no\r\n");
    ok(!job.succeeded && !job.has_inverse && strstr(job.outcome, "unchanged") != NULL &&
           strchr(job.outcome, '\033') == NULL, "%s", job.outcome);
}

int main(void) {
    test_only_sound_moves_are_allowed();
    test_class_ids_the_server_does_not_list_are_never_sent();
    test_servers_that_cannot_move_pages_say_why();
    test_automove_changes_only_to_another_known_mode();
    test_commands_are_what_the_server_understands();
    test_a_move_is_done_when_the_pages_have_moved();
    test_an_ok_without_effect_is_a_failure();
    test_a_busy_server_is_asked_again_for_a_while();
    test_an_order_that_meets_anothers_prediction_is_sent_again();
    test_refusals_end_the_job_in_words();
    test_another_movers_pages_are_not_counted_as_ours();
    test_slated_is_asked_once_and_watched();
    test_a_broken_connection_leaves_what_is_known();
    test_a_move_begins_with_the_pages_of_the_moment();
    test_the_way_back_of_a_move_is_as_long_as_it_came();
    test_automove_is_read_set_and_verified_by_the_settings();
    test_slated_takes_its_own_modes_by_name();
    test_what_could_not_be_undone_is_not_sent();
    test_a_refused_setting_leaves_no_way_back();
    answers_fini(&answers);
    return tap_done();
}
