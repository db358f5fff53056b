/* Trials: when they go back, and why. The model is fed samples a second apart. */
#include "brain/brain.h"
#include "act/trial.h"
#include "tap.h"

#include "fixture.h"

static uint64_t at_ms, gets, hits, evicted;

static void second(struct model *model, unsigned gets_now, unsigned hits_now, unsigned evicted_now) {
    static struct snapshot snapshot;
    snapshot_init(&snapshot);
    at_ms += 1000;
    gets += gets_now;
    hits += hits_now;
    evicted += evicted_now;
    snapshot.at_ms = at_ms;
    snapshot.general[GENERAL_cmd_get] = gets;
    snapshot.general[GENERAL_get_hits] = hits;
    snapshot.general[GENERAL_evictions] = evicted;
    model_add(model, &snapshot, (time_t)(at_ms / 1000));
}

static char why[NOTE_BYTES];
static struct trial trial;

static struct model *begin(unsigned minutes, unsigned evictions_pct, unsigned hit_points) {
    struct model *model = brain_model("cache7");
    at_ms = 1000;
    for (int i = 0; i < 15; i++) {
        second(model, 1000, 900, 100);
    }
    trial_prepare(&trial, &(struct trial_terms){minutes, evictions_pct, hit_points}, model, "what is tried");
    trial_begin(&trial, at_ms);
    return model;
}

static bool runs(struct model *model, int seconds, unsigned gets_now, unsigned hits_now, unsigned evicted_now) {
    for (int i = 0; i < seconds; i++) {
        second(model, gets_now, hits_now, evicted_now);
        if (trial_is_over(&trial, model, at_ms, why, sizeof why)) {
            return false;
        }
    }
    return true;
}

static void test_it_ends_with_its_time(void) {
    struct model *model = begin(1, 20, 1);
    ok(runs(model, 59, 1000, 900, 100), "for a minute nothing is wrong, and it goes on");
    char words[NOTE_BYTES];
    trial_words(&trial, at_ms, words, sizeof words);
    ok(strstr(words, "back in 0:01") != NULL, "%s", words);
    ok(!runs(model, 1, 1000, 900, 100) && strstr(why, "1 min") != NULL, "then it is over: %s", why);
    model_destroy(&model);
}

static void test_evictions_over_the_bound_end_it(void) {
    struct model *model = begin(10, 20, 1);
    ok(runs(model, 4, 1000, 900, 500), "not within the first seconds, when everything moves");
    ok(!runs(model, 10, 1000, 900, 500) && strstr(why, "evictions rose") != NULL, "then: %s", why);
    model_destroy(&model);
    model = begin(10, 20, 1);
    ok(runs(model, 60, 1000, 900, 115), "15 in a hundred more are within 20");
    model_destroy(&model);
    model = begin(10, 0, 1);
    ok(runs(model, 60, 1000, 900, 5000), "a bound of 0 is none");
    model_destroy(&model);
}

static void test_hits_under_the_bound_end_it(void) {
    struct model *model = begin(10, 20, 2);
    ok(runs(model, 60, 1000, 885, 100), "1.5 points less are within 2");
    ok(!runs(model, 30, 1000, 850, 100) && strstr(why, "hit ratio fell") != NULL, "5 are not: %s", why);
    model_destroy(&model);
    model = begin(10, 20, 2);
    ok(runs(model, 60, 0, 0, 100), "no gets are no fall");
    model_destroy(&model);
}

int main(void) {
    test_it_ends_with_its_time();
    test_evictions_over_the_bound_end_it();
    test_hits_under_the_bound_end_it();
    return tap_done();
}
