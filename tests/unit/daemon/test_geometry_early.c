/* The looks at the sizes that come while the memory fills, at a time that the test tells. */
#include "tap.h"
#include "geometry_fixture.h"

enum { MEGABYTES = 16, VALUE_LEAST = 610, VALUE_MOST = 630, ITEMS_OF_A_PAGE = 1500 };

static void open_by_hand(struct rig *r, bool follows) {
    struct cache_config cfg = fixture_config((size_t)MEGABYTES << 20);
    struct tune_config tc = {.automove = "off", .ratio = 0.8, .window_s = 10, .reassign = true, .geometry_auto = follows,
                             .geometry_rate_pct = 2, .by_hand = true};
    rig_make(r, &cfg, &tc);
}

/* All that is due from a time on, for so many tenths of a second. */
static void tend(struct rig *r, uint64_t at_s, unsigned tenths) {
    r->now_us = at_s * CLOCK_SECOND_US;
    step_for(r, tenths * CLOCK_SECOND_US / 10);
}

static struct geometry_facts facts_of(struct rig *r) {
    struct geometry_facts f;
    tuner_geometry(r->t, &f);
    return f;
}

static void test_sizes_are_fitted_when_two_looks_agree(void) {
    struct rig r;
    unsigned wrong = 0;
    open_by_hand(&r, true);
    tend(&r, 1, 1); /* it looks when it is switched on, too */
    fill(&r, 10, VALUE_LEAST, VALUE_MOST);
    tend(&r, 1, 3);
    is(facts_of(&r).generation, 0, "with a page in use nothing is fitted");
    fill(&r, 2 * ITEMS_OF_A_PAGE, VALUE_LEAST, VALUE_MOST);
    tend(&r, 2, 3);
    ok(facts_of(&r).auto_gain_pct > 5 && facts_of(&r).generation == 0,
       "a look that finds %.1f %% more items changes nothing yet", facts_of(&r).auto_gain_pct);
    fill(&r, 4 * ITEMS_OF_A_PAGE, VALUE_LEAST, VALUE_MOST);
    tend(&r, 3, 1);
    struct geometry_facts f = facts_of(&r);
    is(f.generation, 1, "the next does, with a quarter of the memory in use, as it finds the same");
    tend(&r, 4, 100);
    f = facts_of(&r);
    is(f.state, GEOMETRY_STEADY, "the change ends while the memory fills");
    ok(f.waste_now_pct < f.waste_before_pct - 5, "the waste falls from %.1f to %.1f %%",
       f.waste_before_pct, f.waste_now_pct);
    is(check_values(&r, 4 * ITEMS_OF_A_PAGE, &wrong), 4 * ITEMS_OF_A_PAGE, "no item is lost");
    is(wrong, 0, "no value is wrong");
    rig_close(&r);
}

static void test_the_second_look_comes_soon(void) {
    struct rig r;
    open_by_hand(&r, true);
    fill(&r, 2 * ITEMS_OF_A_PAGE, VALUE_LEAST, VALUE_MOST);
    tend(&r, 2, 95);
    is(facts_of(&r).generation, 0, "nine seconds after a first look nothing is fitted");
    tend(&r, 12, 2);
    is(facts_of(&r).generation, 1, "after ten it is, though the memory has not filled meanwhile");
    rig_close(&r);
}

static void test_sizes_that_are_others_at_the_second_look_are_not_fitted(void) {
    struct rig r;
    open_by_hand(&r, true);
    fill(&r, 2 * ITEMS_OF_A_PAGE, 650, 655);
    tend(&r, 2, 3);
    fill(&r, 4 * ITEMS_OF_A_PAGE, 770, 775); /* the same keys among them */
    tend(&r, 3, 90);
    struct geometry_facts f = facts_of(&r);
    ok(f.generation == 0, "no change begins, though it would hold %.1f %% more", f.auto_gain_pct);
    tend(&r, 12, 20);
    is(facts_of(&r).generation, 1, "it does when two looks in turn find the same");
    rig_close(&r);
}

static void test_few_items_of_many_classes_tell_nothing(void) {
    struct rig r;
    open_by_hand(&r, true);
    fill(&r, 200, 20, 8000); /* more pages than an eighth of the memory has, nearly empty */
    tend(&r, 2, 100);
    tend(&r, 80, 100);
    is(facts_of(&r).generation, 0, "while pages are nearly empty nothing is fitted");
    rig_close(&r);
}

static void test_each_doubling_is_a_look(void) {
    struct rig r;
    open_by_hand(&r, true);
    fill(&r, 2 * ITEMS_OF_A_PAGE, VALUE_LEAST, VALUE_MOST);
    tend(&r, 2, 120);
    is(facts_of(&r).generation, 1, "small items are fitted");
    fill(&r, 2 * ITEMS_OF_A_PAGE, 1220, 1240); /* the same keys, about four pages */
    tend(&r, 20, 120);
    is(facts_of(&r).generation, 2, "others are, in the same minute, when twice as much is in use");
    rig_close(&r);
}

static void test_nothing_changes_where_it_is_off(void) {
    struct rig r;
    open_by_hand(&r, false);
    fill(&r, 2 * ITEMS_OF_A_PAGE, VALUE_LEAST, VALUE_MOST);
    tend(&r, 2, 100);
    struct geometry_facts f = facts_of(&r);
    is(f.generation, 0, "without slab_geometry_auto no size changes");
    ok(f.auto_gain_pct > 5, "what a change would gain is told all the same: %.1f %%",
       f.auto_gain_pct);
    rig_close(&r);
}

int main(void) {
    clock_start();
    test_sizes_are_fitted_when_two_looks_agree();
    test_the_second_look_comes_soon();
    test_sizes_that_are_others_at_the_second_look_are_not_fitted();
    test_few_items_of_many_classes_tell_nothing();
    test_each_doubling_is_a_look();
    test_nothing_changes_where_it_is_off();
    return tap_done();
}
