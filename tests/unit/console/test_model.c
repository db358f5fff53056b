#include "brain/brain.h"
#include "facts/model.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static struct snapshot snapshot;

static bool near(double got, double want) {
    return fabs(got - want) < 1e-6 * fmax(1, fabs(want));
}

TEST(test_one_snapshot_gives_no_rates) {
    look_at_model(brain_model("x"), 0);
    ok(model_now(model) == NULL && model_age_ms(model, 5) == UINT64_MAX, "nothing is known at first");
    fixture_load("memcached-1.6.18-first.txt", 10000, &snapshot);
    model_add(model, &snapshot, 0);
    ok(isnan(model_metric(model, METRIC_GETS)), "a rate needs two snapshots");
    ok(isnan(model_class_metric(model, 12, CLASS_METRIC_EVICTIONS)), "so does a class's");
    ok(!isnan(model_metric(model, METRIC_CONNECTIONS)), "a gauge does not");
}

TEST(test_rates_are_increase_over_monotonic_time) {
    look_at_model(fixture_model("memcached-1.4.25"), 0);
    ok(near(model_metric(model, METRIC_GETS), 100), "200 gets in 2 s are 100/s");
    ok(near(model_metric(model, METRIC_EVICTIONS), 100), "evictions/s");
    ok(near(model_metric(model, METRIC_HIT_RATIO), 0.75), "150 hits of 200 gets");
    ok(near(model_metric(model, METRIC_CPU), 2), "4 s of processor time in 2 s are two cores");
    ok(near(model_class_metric(model, 12, CLASS_METRIC_EVICTIONS), 100), "class 12 evictions/s");
    ok(model_class_metric(model, 4, CLASS_METRIC_EVICTIONS) == 0, "class 4 evicts nothing: a measured zero");
    ok(isnan(model_metric(model, METRIC_PAGES_MOVED)), "1.4.25 has no slabs_moved: unknown, not zero");
    ok(near(model_metric(model, METRIC_NO_MEMORY), 0), "nor store_no_memory: there the classes show that no store was refused");
    ok(near(model_metric(model, METRIC_OPS), 300), "ops leave out uncounted commands");
}

TEST(test_a_reset_is_said_not_computed) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    fixture_load("memcached-1.6.18-second.txt", 13000, &snapshot);
    snapshot.general[GENERAL_cmd_get] = 3;
    snapshot.classes[12].value[CLASS_evicted] = 0;
    model_add(model, &snapshot, 5);
    ok(model_metric(model, METRIC_GETS) == RATE_RESET, "a counter that fell is a reset");
    ok(model_class_metric(model, 12, CLASS_METRIC_EVICTIONS) == RATE_RESET, "a class counter too");
    ok(strstr(model_event(model, 0)->text, "stats reset") != NULL, "an event says so");
    float values[1];
    model_history(model, METRIC_GETS, values, 1);
    ok(isnan(values[0]), "history has a gap there");
}

TEST(test_a_restart_begins_a_new_life) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    ok(model_mean(model, METRIC_EVICTIONS, 10000) > 0, "evictions before");
    fixture_load("memcached-1.6.18-first.txt", 14000, &snapshot);
    snapshot.general[GENERAL_pid]++;
    model_add(model, &snapshot, 5);
    ok(strstr(model_event(model, 0)->text, "restarted") != NULL, "an event says that it restarted");
    ok(isnan(model_mean(model, METRIC_EVICTIONS, 10000)), "means do not mix two lives");
}

/* Class 12 evicts 100/s; then a class with other chunks gets its id, at once or after a while without one. */
static void test_a_class_of_other_chunks_has_no_past(bool after_a_while) {
    look_at_model(fixture_model("memcached-1.4.25"), 0);
    static struct snapshot gone;
    struct details *details = model_open_details(model);
    details_focus(details, 12);
    details->focus.count = 3;
    details->class_curves[12].count = 5;
    fixture_load("memcached-1.4.25-second.txt", 14000, &snapshot);
    if (after_a_while) {
        snapshot_init(&gone);
        gone.at_ms = 13000;
        memcpy(gone.general, snapshot.general, sizeof gone.general);
        model_add(model, &gone, 0);
    }
    snapshot.classes[12].value[CLASS_chunk_size] += 8;
    snapshot.classes[12].value[CLASS_evicted] += 1000000;
    model_add(model, &snapshot, 0);
    float values[4];
    int count = model_class_history(model, 12, CLASS_METRIC_EVICTIONS, values, 4);
    bool is_empty = true;
    for (int i = 0; i < count; i++) {
        is_empty = is_empty && isnan(values[i]);
    }
    ok(is_empty, "no evictions of the one before");
    count = model_class_history(model, 12, CLASS_METRIC_PAGES, values, 4);
    ok(count >= 3 && !isnan(values[count - 1]) && isnan(values[count - 2]), "pages from now on");
    ok(isnan(model_class_metric(model, 12, CLASS_METRIC_EVICTIONS)), "a rate needs two samples of the same class");
    ok(isnan(model_class_mean(model, 12, CLASS_METRIC_EVICTIONS, 10000)), "so does a mean");
    ok(details->focus.class_id == 12 && details->focus.count == 0 && details->class_curves[12].count == 0,
       "nor is anything kept of what was asked about it");
    count = model_class_history(model, 4, CLASS_METRIC_PAGES, values, 4);
    ok(!isnan(values[0]), "other classes keep their past");
    snapshot.at_ms = 16000;
    snapshot.classes[12].value[CLASS_evicted] += 20;
    model_add(model, &snapshot, 0);
    ok(near(model_class_metric(model, 12, CLASS_METRIC_EVICTIONS), 10), "from the second sample on it has a rate");
}

TEST(test_page_changes_become_events) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    fixture_load("memcached-1.6.18-second.txt", 13000, &snapshot);
    snapshot.classes[4].value[CLASS_total_pages] = 62;
    snapshot.classes[12].value[CLASS_total_pages] = 3;
    model_add(model, &snapshot, 5);
    is_str(model_event(model, 0)->text, "class 4: 64 → 62, class 12: 1 → 3 pages", "the event names both classes");
    ok(model_page_change(model, 12, 60000) == 2, "the change within the minute");
}

TEST(test_the_link_reports_loss_and_return_once) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    unsigned before = model_events_total(model);
    model_set_link(model, LINK_DOWN, "refused", 1);
    model_set_link(model, LINK_DOWN, "refused again", 1);
    is(model_events_total(model), before + 1, "one event for the loss");
    is_str(model_link_note(model), "refused again", "the newest reason is kept");
    model_set_link(model, LINK_UP, "", 1);
    is(model_events_total(model), before + 2, "one for the return");
}

TEST(test_the_event_ring_keeps_the_newest) {
    look_at_model(brain_model("x"), 0);
    for (int i = 0; i < EVENT_LIMIT + 10; i++) {
        model_note(model, EVENT_YOU, 0, "event %d", i);
    }
    char want[40];
    snprintf(want, sizeof want, "event %d", EVENT_LIMIT + 9);
    is_str(model_event(model, 0)->text, want, "the newest is first");
    ok(model_event(model, EVENT_LIMIT - 1) != NULL && model_event(model, EVENT_LIMIT) == NULL, "the oldest are forgotten");
}

TEST(test_page_moves_do_not_push_out_the_rest) {
    struct model *moment = brain_model("x");
    look_at_model(brain_model("x"), 0);
    model_note(model, EVENT_PAGES, 10, "the first move");
    model_note(model, EVENT_YOU, 20, "a trial begins");
    for (int i = 0; i < 3 * EVENT_LIMIT; i++) {
        model_note(model, EVENT_PAGES, 30, "move %d", i);
    }
    is_str(model_event(model, EVENT_LIMIT - 1)->text, "a trial begins", "hours of moves later it is there");
    for (int i = 0; i < 100; i++) {
        model_note(model, EVENT_SETTING, 40, "setting %d", i);
    }
    is_str(model_event(model, EVENT_LIMIT - 1)->text, "a trial begins", "also when more comes that is no move");
    model_copy_events(moment, model, 30);
    is(model_events_total(moment), EVENT_LIMIT - 100, "a moment has those up to it");
    is_str(model_event(moment, 0)->text, "move 767", "in their order");
    model_destroy(&model);
    model_destroy(&moment);
}

TEST(test_history_is_bounded) {
    look_at_model(brain_model("x"), 0);
    fixture_load("memcached-1.6.18-first.txt", 0, &snapshot);
    for (unsigned i = 0; i < HISTORY_SAMPLES + 100; i++) {
        snapshot.at_ms = i * 1000;
        snapshot.general[GENERAL_cmd_get] += 10;
        model_add(model, &snapshot, 0);
    }
    static float values[HISTORY_SAMPLES * 2];
    is(model_history(model, METRIC_GETS, values, HISTORY_SAMPLES * 2), HISTORY_SAMPLES,
       "history is as long as a graph is wide, not more");
    ok(near(model_mean(model, METRIC_GETS, 100000), 10), "and its means are right");
}

int main(void) {
    tap_run_tests();
    test_a_class_of_other_chunks_has_no_past(false);
    test_a_class_of_other_chunks_has_no_past(true);
    return tap_done();
}
