/* The rules' own tests are in tests/spec; here are those of the data that the bridge hands over. */
#include "brain/brain.h"
#include "fixture.h"

#include <math.h>

static struct snapshot snapshot;

/* Samples of a server two seconds apart in which class 12 of one page evicts 100 items a second. */
static void starve(struct brain *brain, int samples) {
    fixture_load("memcached-1.4.25-second.txt", 12000, &snapshot);
    for (int i = 0; i < samples; i++) {
        snapshot.at_ms += 2000;
        snapshot.classes[12].value[CLASS_evicted] += 200;
        snapshot.general[GENERAL_evictions] += 200;
        brain_observe(brain, &snapshot);
    }
}

TEST(test_a_verdict_takes_samples_and_then_has_figures) {
    struct brain *brain = brain_create();
    is(brain_class(brain, 12)->state, CLASS_EMPTY, "nothing is known before the first look");
    starve(brain, 1);
    is(brain_class(brain, 12)->state, CLASS_UNKNOWN, "one sample has no rates: it may evict thousands");
    ok(isnan(brain_class(brain, 12)->life_s), "nor is a life known");
    is(brain_said(brain)->worst, -1, "nobody starves yet");
    brain_destroy(&brain);
    brain = brain_create();
    starve(brain, 4);
    is(brain_class(brain, 12)->state, CLASS_STARVING, "three samples with evictions: it starves");
    is(brain_said(brain)->worst, 12, "the worst class");
    is((long)brain_class(brain, 12)->evicted_per_s, 100, "evictions a second");
    is((long)brain_class(brain, 12)->life_s, 7, "700 items ÷ 100 a second");
    is(brain_class(brain, 200)->state, CLASS_EMPTY, "a class that the server does not list");
    struct donor donor = brain_donor(brain, 12);
    is(donor.class_id, 4, "class 4 gives");
    is(donor.pages, 3, "what it evicts in half a minute fills 3 pages");
    is(brain_donor(brain, 4).class_id, -1, "class 12 has one page: nothing to give");
    ok(brain_failure(brain) == NULL, "no module failed: %s", brain_failure(brain));
    brain_destroy(&brain);
}

TEST(test_brains_do_not_share_their_snapshots) {
    struct brain *one = brain_create(), *other = brain_create();
    starve(one, 4);
    fixture_load("memcached-1.6.18-second.txt", 1000, &snapshot);
    brain_observe(other, &snapshot);
    is(brain_said(one)->worst, 12, "one has seen a class starve");
    is(brain_said(other)->worst, -1, "the other has not");
    brain_destroy(&one);
    starve(other, 4);
    is(brain_said(other)->worst, 12, "and goes on when the first is gone");
    brain_destroy(&other);
    ok(other == NULL, "the last one closes Lua");
}

int main(void) { return tap_main(); }
