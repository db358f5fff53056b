#include "health.h"
#include "action.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static struct health_line lines[HEALTH_LIMIT];
static struct snapshot snapshot;

/* The first line that contains the words, -1 when none does. */
static int find(int count, const char *words) {
    for (int i = 0; i < count; i++) {
        if (strstr(lines[i].text, words) != NULL) {
            return i;
        }
    }
    return -1;
}

static void test_a_starving_class_is_named_first_with_the_key(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    int count = health_assess(model, 12100, 1000, lines);
    ok(lines[0].severity == SEVERITY_BAD && strstr(lines[0].text, "class 12 starves") != NULL,
       "worst first: %s", lines[0].text);
    ok(strncmp(lines[0].text, "press m", 7) == 0, "and the key that helps stands first");
    ok(strstr(lines[0].text, "class 4 has 7 free pages") != NULL, "and who can give");
    is(health_class_state(model, 12), CLASS_STARVING, "the class is starving");
    is(health_class_state(model, 4), CLASS_SPARE, "the other has pages to spare");
    ok(find(count, "slab_reassign is off") >= 0, "a server that can't move pages is told");
    is(health_worst_class(model), 12, "the worst class");
    model_destroy(&model);
}

static void test_evictions_alone_are_no_alarm(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_load("memcached-1.4.25-second.txt", 22000, &snapshot);
    struct class_stats *rich = &snapshot.classes[4];
    rich->value[CLASS_free_chunks] = rich->value[CLASS_free_chunks_end] = 0;
    rich->value[CLASS_age] = 12; /* not much older than class 12's 9 s */
    snapshot.classes[12].value[CLASS_evicted] += 500;
    snapshot.general[GENERAL_evictions] += 500;
    model_add(model, &snapshot, 0);
    is(health_class_state(model, 12), CLASS_EVICTING,
       "a full cache whose classes are even does not starve");
    int count = health_assess(model, 22100, 1000, lines);
    ok(find(count, "no class starves") >= 0, "and the words say so");
    model_destroy(&model);
}

/* Classes that still have room keep what came first, and are older than those that evict already. */
static void test_a_cache_that_just_filled_up_does_not_starve(void) {
    struct model *model = model_create("cache7");
    fixture_load("memcached-1.4.25-first.txt", 10000, &snapshot);
    snapshot.general[GENERAL_uptime] = 100;
    snapshot.general[GENERAL_evictions] = 0;
    model_add(model, &snapshot, 0);
    fixture_load("memcached-1.4.25-second.txt", 12000, &snapshot);
    snapshot.general[GENERAL_uptime] = 102;
    struct class_stats *rich = &snapshot.classes[4];
    rich->value[CLASS_free_chunks] = rich->value[CLASS_free_chunks_end] = 0;
    rich->value[CLASS_age] = 10000;
    model_add(model, &snapshot, 2);
    is(health_class_state(model, 12), CLASS_EVICTING, "two seconds after the first eviction");
    for (int i = 0; i < 7; i++) {
        snapshot.at_ms += 10000;
        snapshot.general[GENERAL_uptime] += 10;
        snapshot.classes[12].value[CLASS_evicted] += 5000;
        model_add(model, &snapshot, 0);
    }
    is(health_class_state(model, 12), CLASS_STARVING, "a minute later it is what it looks like");
    model_destroy(&model);
}

static void test_one_sample_calls_no_class_calm(void) {
    struct model *model = model_create("x");
    fixture_load("memcached-1.4.25-first.txt", 10000, &snapshot);
    model_add(model, &snapshot, 0);
    is_str(class_state_word(health_class_state(model, 12)), "unknown", "it may evict thousands");
    model_destroy(&model);
}

static void test_ages_under_a_second_differ_by_nothing(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_load("memcached-1.4.25-second.txt", 14000, &snapshot);
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        snapshot.classes[id].value[CLASS_age] = 0;
        snapshot.classes[id].value[CLASS_evicted] += 100;
    }
    model_add(model, &snapshot, 0);
    ok(health_tail_spread(model) == 1.0, "x%g", health_tail_spread(model));
    model_destroy(&model);
}

/* Class 4 keeps its items for 10000 s, class 12 evicts at 9 s; a mode of automove. */
static void uneven_for_a_minute(struct model *model, const char *automove) {
    fixture_load("memcached-1.4.25-first.txt", 10000, &snapshot);
    snapshot.is_slated = true;
    snapshot.general[GENERAL_uptime] = 1000;
    snprintf(snapshot.automove, sizeof snapshot.automove, "%s", automove);
    struct class_stats *rich = &snapshot.classes[4];
    rich->value[CLASS_free_chunks] = rich->value[CLASS_free_chunks_end] = 0;
    rich->value[CLASS_age] = 10000;
    for (int i = 0; i < 8; i++) {
        snapshot.at_ms += 10000;
        snapshot.general[GENERAL_uptime] += 10;
        snapshot.general[GENERAL_evictions] += 6000;
        snapshot.classes[12].value[CLASS_evicted] += 5000;
        rich->value[CLASS_evicted] += 1000;
        model_add(model, &snapshot, 0);
    }
}

static void test_ages_do_not_count_where_hits_do(void) {
    struct model *model = model_create("cache7");
    uneven_for_a_minute(model, "ratio");
    is(health_class_state(model, 12), CLASS_STARVING, "a mode that goes by age has not come to it");
    model_destroy(&model);
    model = model_create("cache7");
    uneven_for_a_minute(model, "utility");
    is(health_class_state(model, 12), CLASS_EVICTING, "one that goes by hits has other reasons");
    model_set_link(model, LINK_UP, "", 0);
    int count = health_assess(model, snapshot.at_ms, 10000, lines);
    ok(find(count, "utility goes by hits, not age") >= 0, "which are said");
    snapshot.classes[4].value[CLASS_free_chunks] = 100000;
    snapshot.at_ms += 1000;
    snapshot.general[GENERAL_uptime] += 1;
    model_add(model, &snapshot, 0);
    is(health_class_state(model, 12), CLASS_STARVING, "free pages beside it are wrong in any mode");
    model_destroy(&model);
}

static void test_a_class_with_a_free_page_does_not_starve(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_load("memcached-1.4.25-second.txt", 14000, &snapshot);
    snapshot.classes[12].value[CLASS_free_chunks] = 2000;
    model_add(model, &snapshot, 0);
    is(health_class_state(model, 12), CLASS_EVICTING, "it was given pages and is filling them");
    model_destroy(&model);
}

static void test_one_free_page_is_what_a_class_keeps_that_is_well(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_load("memcached-1.4.25-second.txt", 14000, &snapshot);
    struct class_stats *rich = &snapshot.classes[4];
    rich->value[CLASS_free_chunks_end] = 0;
    rich->value[CLASS_free_chunks] = 2 * rich->value[CLASS_chunks_per_page] - 1;
    rich->value[CLASS_age] = 12; /* not much older than class 12's 9 s */
    snapshot.classes[12].value[CLASS_evicted] += 100;
    model_add(model, &snapshot, 0);
    is(health_class_state(model, 12), CLASS_EVICTING, "beside it another may evict");
    rich->value[CLASS_free_chunks]++;
    snapshot.at_ms = 16000;
    model_add(model, &snapshot, 0);
    is(health_class_state(model, 12), CLASS_STARVING, "two would help");
    model_destroy(&model);
}

static void test_a_class_that_just_got_pages_is_not_asked_to_give(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_load("memcached-1.4.25-second.txt", 14000, &snapshot);
    snapshot.classes[4].value[CLASS_total_pages]++;
    model_add(model, &snapshot, 0);
    double free_pages;
    is(action_suggest_source(model, 12, &free_pages), -1,
       "class 4 has grown a moment ago: it needed that");
    is(health_class_state(model, 12), CLASS_EVICTING, "so nobody has room, and nobody starves");
    model_destroy(&model);
}

static void test_old_figures_are_called_old(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    ok(!health_is_stale(model, 13000, 1000), "a second is fresh");
    ok(health_is_stale(model, 17000, 1000), "five are not");
    health_assess(model, 17000, 1000, lines);
    ok(lines[0].severity == SEVERITY_BAD && strstr(lines[0].text, "5s old") != NULL,
       "said first: %s", lines[0].text);
    model_set_link(model, LINK_DOWN, "cannot connect: refused", 0);
    health_assess(model, 17000, 1000, lines);
    ok(strstr(lines[0].text, "figures are 5s old: cannot connect") != NULL, "with the reason: %s",
       lines[0].text);
    model_destroy(&model);
}

static void test_without_figures_there_is_still_a_line(void) {
    struct model *model = model_create("x");
    is(health_assess(model, 0, 1000, lines), 1, "one line");
    ok(strstr(lines[0].text, "connecting") != NULL, "it says what is going on");
    model_set_link(model, LINK_DOWN, "cannot connect", 0);
    health_assess(model, 0, 1000, lines);
    is_str(lines[0].text, "cannot connect", "or why not");
    model_destroy(&model);
}

static void test_losses_and_limits_are_reported(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    fixture_load("memcached-1.6.18-second.txt", 14000, &snapshot);
    snapshot.general[GENERAL_store_no_memory] += 40;
    snapshot.general[GENERAL_curr_connections] = 1000;
    snapshot.general[GENERAL_slab_reassign_busy_deletes] += 10;
    model_add(model, &snapshot, 0);
    int count = health_assess(model, 14100, 1000, lines);
    int no_memory = find(count, "out of memory");
    ok(no_memory >= 0 && lines[no_memory].severity == SEVERITY_BAD, "refused sets are bad");
    int connections = find(count, "1000 of 1024 connections");
    ok(connections >= 0 && lines[connections].severity == SEVERITY_WATCH,
       "nearly full connections are to be watched");
    ok(find(count, "page moves drop") >= 0, "items that moves lose are named");
    for (int i = 1; i < count; i++) {
        ok(lines[i - 1].severity <= lines[i].severity, "line %d is not worse than the one above",
           i);
    }
    model_destroy(&model);
}

static void test_missing_stats_raise_no_alarm(void) {
    struct model *model = model_create("x");
    snapshot_init(&snapshot);
    for (int i = 0; i < 3; i++) {
        snapshot.at_ms = (uint64_t)i * 1000;
        model_add(model, &snapshot, 0);
    }
    model_set_link(model, LINK_UP, "", 0);
    int count = health_assess(model, 2100, 1000, lines);
    bool is_calm = true;
    for (int i = 0; i < count; i++) {
        is_calm = is_calm && lines[i].severity == SEVERITY_OK;
    }
    ok(is_calm, "a server that reports nothing is not bad, only unknown");
    ok(isnan(health_tail_spread(model)), "and has no tail spread");
    model_destroy(&model);
}

static void test_memory_beyond_the_limit_is_told_once_it_stays(void) {
    struct model *model = fixture_model("slated-0.1");
    fixture_load("slated-0.1-second.txt", 14000, &snapshot);
    is((int)(snapshot.general[GENERAL_total_malloced] >> 20), 64, "what all pages take, of stats slabs");
    snapshot.general[GENERAL_total_malloced] = 100 << 20;
    model_add(model, &snapshot, 0);
    int count = health_assess(model, 14100, 1000, lines);
    ok(find(count, "the limit is") < 0, "a moment is none");
    snapshot.at_ms = 16000;
    model_add(model, &snapshot, 0);
    count = health_assess(model, 16100, 1000, lines);
    int at = find(count, "100M held, the limit is 64.0M; pages go back by themselves");
    ok(at >= 0 && lines[at].severity == SEVERITY_BAD, "two samples are: %s", lines[0].text);
    snapshot.at_ms = 18000;
    snapshot.general[GENERAL_total_malloced] = 90 << 20;
    model_add(model, &snapshot, 0);
    count = health_assess(model, 18100, 1000, lines);
    at = find(count, "90.0M held");
    ok(at >= 0 && lines[at].severity == SEVERITY_WATCH, "less bad while it falls");
    model_destroy(&model);
}

int main(void) {
    test_a_starving_class_is_named_first_with_the_key();
    test_evictions_alone_are_no_alarm();
    test_a_cache_that_just_filled_up_does_not_starve();
    test_ages_do_not_count_where_hits_do();
    test_one_sample_calls_no_class_calm();
    test_ages_under_a_second_differ_by_nothing();
    test_a_class_with_a_free_page_does_not_starve();
    test_one_free_page_is_what_a_class_keeps_that_is_well();
    test_a_class_that_just_got_pages_is_not_asked_to_give();
    test_old_figures_are_called_old();
    test_without_figures_there_is_still_a_line();
    test_losses_and_limits_are_reported();
    test_missing_stats_raise_no_alarm();
    test_memory_beyond_the_limit_is_told_once_it_stays();
    return tap_done();
}
