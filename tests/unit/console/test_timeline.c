#include "app/servers/timeline.h"
#include "brain/brain.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static struct snapshot snapshot;

/* Two hundred samples, a second apart; the n-th second saw n gets. */
static struct tape *counting_tape(struct model *live) {
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, 1 << 24);
    fixture_load("memcached-1.6.45-first.txt", 1000, &snapshot);
    for (int i = 0; i < 200; i++) {
        snapshot.at_ms += 1000;
        snapshot.general[GENERAL_uptime] += 1;
        snapshot.general[GENERAL_cmd_get] += (uint64_t)i;
        tape_add(tape, &snapshot, 1000000 + 1000 * (int64_t)i);
        model_add(live, &snapshot, 1000 + i);
    }
    return tape;
}

TEST(test_the_cursor_shows_the_rates_of_its_moment) {
    struct model *live = brain_model("x");
    struct tape *tape = counting_tape(live);
    struct timeline timeline = {0};
    ok(timeline_model(&timeline, tape, live, 80) == live, "live is live");
    timeline_hold(&timeline, tape);
    const struct model *shown = timeline_model(&timeline, tape, live, 80);
    ok(shown != live && model_metric(shown, METRIC_GETS) == 199, "a pause shows the newest");
    timeline_step(&timeline, tape, -9);
    ok(model_metric(timeline_model(&timeline, tape, live, 80), METRIC_GETS) == 190, "nine back");
    timeline_step(&timeline, tape, 1);
    shown = timeline_model(&timeline, tape, live, 80);
    ok(model_metric(shown, METRIC_GETS) == 191, "one on");
    ok(fabs(model_mean(shown, METRIC_GETS, 100000) - 141.5) < 0.01, "means look back from there");
    is(model_event(shown, 0) == NULL, true, "no events");
    timeline_step(&timeline, tape, -100000);
    is(timeline.index, 0, "not before the first");
    timeline_step(&timeline, tape, 100000);
    is(timeline.index, 199, "nor after the last");
    timeline_seek(&timeline, tape, 1000000 + 50 * 1000 + 400);
    is(timeline.index, 50, "a time of day finds the sample before it");
    timeline_go_live(&timeline);
    ok(timeline_model(&timeline, tape, live, 80) == live, "and back to live");
    tape_destroy(&tape);
    model_destroy(&live);
}

TEST(test_a_wider_screen_has_more_of_the_past) {
    struct model *live = brain_model("x");
    struct tape *tape = counting_tape(live);
    struct timeline timeline = {0};
    float values[300];
    timeline_step(&timeline, tape, -9);
    const struct model *shown = timeline_model(&timeline, tape, live, 80);
    is(model_history(shown, METRIC_GETS, values, 300), TIMELINE_LEAST + 1, "as much as 100 s need");
    timeline_step(&timeline, tape, 1);
    shown = timeline_model(&timeline, tape, live, 80);
    is(model_history(shown, METRIC_GETS, values, 300), TIMELINE_LEAST + 1, "and no more as it goes on");
    shown = timeline_model(&timeline, tape, live, 150);
    is(model_history(shown, METRIC_GETS, values, 300), 151, "the wider one is full too");
    ok(values[150] == 191 && values[1] == 42, "up to the same moment");
    timeline_go_live(&timeline);
    tape_destroy(&tape);
    model_destroy(&live);
}

TEST(test_the_screen_is_held_at_a_pause) {
    struct model *live = brain_model("x");
    struct tape *tape = counting_tape(live);
    struct timeline timeline = {0};
    static const char hot[] = "STAT requests 5\r\nEND\r\n";
    details_take(model_open_details(live), INQUIRY_HOTKEYS, 0, hot, sizeof hot - 1, true, 1);
    timeline_hold(&timeline, tape);
    const struct model *shown = timeline_model(&timeline, tape, live, 80);
    ok(detail_is_known(model_details(shown), INQUIRY_HOTKEYS), "at the pause, the screen's data are still there");
    timeline_step(&timeline, tape, -1);
    shown = timeline_model(&timeline, tape, live, 80);
    ok(!detail_is_known(model_details(shown), INQUIRY_HOTKEYS), "a sample before, it is not");
    timeline_step(&timeline, tape, 1);
    shown = timeline_model(&timeline, tape, live, 80);
    ok(detail_is_known(model_details(shown), INQUIRY_HOTKEYS), "and back there, again");
    timeline_go_live(&timeline);
    tape_destroy(&tape);
    model_destroy(&live);
}

TEST(test_events_are_stations) {
    struct model *live = brain_model("x");
    struct tape *tape = counting_tape(live);
    struct timeline timeline = {0};
    model_note(live, EVENT_YOU, 1040, "one");
    model_note(live, EVENT_YOU, 1090, "two");
    ok(timeline_to_event(&timeline, tape, live, -1) && timeline.index == 90, "the last event");
    ok(timeline_to_event(&timeline, tape, live, -1) && timeline.index == 40, "the one before");
    const struct model *shown = timeline_model(&timeline, tape, live, 80);
    ok(model_events_total(shown) == 1, "later events have not happened yet");
    ok(!timeline_to_event(&timeline, tape, live, -1), "there is none before");
    ok(timeline_to_event(&timeline, tape, live, 1) && timeline.index == 90, "and on again");
    timeline_go_live(&timeline);
    tape_destroy(&tape);
    model_destroy(&live);
}

/* A flush and a restart among calm samples: the judge's sentences are events, and so stations. */
TEST(test_incidents_are_stations) {
    struct model *live = brain_model("x");
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, 1 << 24);
    struct timeline timeline = {0};
    fixture_load("memcached-1.6.45-first.txt", 1000, &snapshot);
    for (int i = 0; i < 100; i++) {
        snapshot.at_ms += 1000;
        snapshot.general[GENERAL_uptime] = i == 80 ? 1 : snapshot.general[GENERAL_uptime] + 1;
        snapshot.general[GENERAL_cmd_flush] += i == 50;
        snapshot.general[GENERAL_curr_items] = 5000;
        tape_add(tape, &snapshot, 1000000 + 1000 * (int64_t)i);
        model_add(live, &snapshot, 1000 + i);
    }
    is_str(model_event(live, 1)->text, "a client sent flush_all: 5000 items were in the cache",
           "flush");
    is_str(model_event(live, 0)->text, "the server restarted and lost 5000 items", "restart");
    ok(model_event(live, 0)->kind == EVENT_ALARM && model_events_total(live) == 2, "and no more");
    ok(timeline_to_event(&timeline, tape, live, -1) && timeline.index == 80, "} stops at it");
    ok(timeline_to_event(&timeline, tape, live, -1) && timeline.index == 50, "and at the flush");
    timeline_go_live(&timeline);
    tape_destroy(&tape);
    model_destroy(&live);
}

TEST(test_playing_keeps_the_pace_of_the_samples) {
    struct model *live = brain_model("x");
    struct tape *tape = counting_tape(live);
    struct timeline timeline = {0};
    timeline_seek(&timeline, tape, 0);
    timeline.plays = true;
    timeline.due_ms = 5000;
    ok(!timeline_tick(&timeline, tape, 4999), "not before it is due");
    ok(timeline_tick(&timeline, tape, 5000) && timeline.index == 1, "then one sample");
    ok(!timeline_tick(&timeline, tape, 5999), "the next is a second later");
    ok(timeline_tick(&timeline, tape, 9500) && timeline.index == 5, "a late one catches up");
    ok(timeline_tick(&timeline, tape, 10000000) && timeline.index == 199, "up to the end");
    ok(!timeline_tick(&timeline, tape, 20000000), "where it waits");
    timeline_go_live(&timeline);
    tape_destroy(&tape);
    model_destroy(&live);
}

int main(void) { return tap_main(); }
