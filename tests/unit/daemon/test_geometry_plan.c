/* From one list of sizes to another, a range at a time: every list on the way serves every size, and the last list is the wanted one. */
#include "tap.h"

#include "control/geometry/geometry_plan.h"

enum { MOST = 512 << 10 };

static void random_list(uint64_t *x, unsigned count_most, struct size_list *l) {
    uint32_t bytes = 40;
    l->count = 0;
    for (uint64_t n = tap_random(x) % count_most; n > 0 && (bytes += 8 + (uint32_t)(tap_random(x) % (bytes / 2)) / 8 * 8) < MOST; n--) {
        l->bytes[l->count++] = bytes;
    }
    l->bytes[l->count++] = MOST;
}

static unsigned missing(const struct size_list *l, const struct size_list *in, const struct size_list *or_in) {
    unsigned n = 0;
    for (unsigned i = 0; i < l->count; i++) {
        n += !size_list_has(in, l->bytes[i]) && !size_list_has(or_in, l->bytes[i]);
    }
    return n;
}

static void test_every_step_serves_every_size(uint64_t x) {
    static struct fit_histogram h;
    unsigned bad = 0, foreign = 0, astray = 0, jumps = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct size_list from, to, now, before;
        struct geometry_plan plan;
        random_list(&x, 60, &from);
        random_list(&x, 60, &to);
        fit_histogram_init(&h, 1);
        for (unsigned i = 0; i < 500; i++) {
            fit_histogram_add(
                &h, 40 + (uint32_t)(tap_random(&x) % (MOST >> tap_random(&x) % 12)) % (MOST - 40),
                MOST);
        }
        geometry_plan_make(&plan, &from, &to, &h);
        for (before = from; geometry_plan_step(&plan, &now); before = now) {
            foreign += missing(&now, &from, &to);
            jumps += missing(&before, &now, &now) > 1;
            bad += now.bytes[now.count - 1] != MOST;
            for (unsigned i = 1; i < now.count; i++) {
                bad += now.bytes[i] <= now.bytes[i - 1];
            }
        }
        astray += !size_list_same(&before, &to) || !size_list_same(&now, &to);
    }
    is(bad, 0, "every list ascends and ends with the largest chunk");
    is(foreign, 0, "none has a size of its own");
    is(jumps, 0, "no step retires more than one class");
    is(astray, 0, "the last list is the one that was wanted");
}

TEST(test_the_largest_saving_is_first) {
    static struct fit_histogram h;
    struct size_list from = {3, {1000, 2000, MOST}}, to = {3, {600, 1100, MOST}}, now;
    struct geometry_plan plan;
    fit_histogram_init(&h, 1);
    for (unsigned i = 0; i < 1000; i++) {
        fit_histogram_add(&h, 1050, 2000);
    }
    fit_histogram_add(&h, 600, 1000);
    geometry_plan_make(&plan, &from, &to, &h);
    ok(geometry_plan_step(&plan, &now) && size_list_has(&now, 1100) && !size_list_has(&now, 2000) &&
           size_list_has(&now, 1000),
       "the range with the most to save is converted first");
}

TEST(test_a_union_has_a_bound) {
    struct size_list odd = {.count = 0}, even = {.count = 0}, both;
    for (unsigned i = 0; i < 200; i++) {
        odd.bytes[odd.count++] = 1000 + i * 16;
        even.bytes[even.count++] = 1008 + i * 16;
    }
    ok(!geometry_plan_union(&odd, &even, &both), "more sizes than there are ids are refused");
}

int main(void) {
    test_every_step_serves_every_size(tap_seed() | 1);
    return tap_main();
}
