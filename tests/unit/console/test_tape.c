#include "facts/tape.h"
#include "fixture.h"
#include "tap.h"

static struct snapshot snapshot, *kept;
static const struct snapshot *found;

static bool is_same(const struct snapshot *a, const struct snapshot *b) {
    return a->class_end == b->class_end && memcmp(a, b, snapshot_bytes(a)) == 0;
}

static bool reads(struct tape *tape, uint64_t index, const struct snapshot *want, int64_t wall_ms) {
    int64_t got_ms;
    return tape_read(tape, index, &found, &got_ms) && is_same(found, want) && got_ms == wall_ms;
}

static void test_every_sample_comes_back_whole_in_any_order(unsigned seed) {
    enum { SAMPLES = 200 };
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, 1 << 24);
    kept = calloc(SAMPLES, sizeof *kept);
    fixture_load("memcached-1.6.45-first.txt", 10000, &snapshot);
    is(tape_first(tape), tape_end(tape), "a new tape is empty");
    ok(!reads(tape, 0, &snapshot, 0), "and has nothing to read");
    for (int i = 0; i < SAMPLES; i++) {
        fixture_busy_second(&snapshot, &seed);
        if (i == 70) {
            snapshot_init(&snapshot); /* everything absent, and back: the hardest step */
        }
        kept[i] = snapshot;
        tape_add(tape, &snapshot, 1000 * i - 5);
    }
    bool in_order = true, in_any = true, backwards = true;
    for (int i = 0; i < SAMPLES; i++) {
        in_order = in_order && reads(tape, (uint64_t)i, &kept[i], 1000 * i - 5);
    }
    for (int i = 0; i < 100; i++) {
        int at = (int)((unsigned)rand_r(&seed) % SAMPLES);
        in_any = in_any && reads(tape, (uint64_t)at, &kept[at], 1000 * at - 5);
    }
    for (int i = SAMPLES - 1; i >= 0; i--) {
        backwards = backwards && reads(tape, (uint64_t)i, &kept[i], 1000 * i - 5);
    }
    ok(in_order, "in order");
    ok(in_any, "in any order");
    ok(backwards, "backwards");
    is(tape_find(tape, 120 * 1000), 120, "a time finds the sample before it");
    is(tape_find(tape, -99999), 0, "a time before all finds the first");
    is(tape_find(tape, 1 << 30), SAMPLES - 1, "a time after all finds the last");
    tape_destroy(&tape);
    free(kept);
}

/* Statistics that the fixture's server lacks stay absent. */
static void test_an_hour_of_forty_busy_classes_is_small(unsigned seed, const char *fixture, size_t bytes_most) {
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, 1 << 24);
    bool is_told[GENERAL_COUNT];
    fixture_load(fixture, 10000, &snapshot);
    for (int i = 0; i < GENERAL_COUNT; i++) {
        is_told[i] = snapshot.general[i] != STAT_ABSENT;
    }
    for (int id = 1; id <= 40; id++) {
        *snapshot_add_class(&snapshot, (unsigned)id) = *snapshot_class(&snapshot, 4);
    }
    for (int i = 0; i < 2 * TAPE_HOUR_SAMPLES; i++) {
        fixture_busy_second(&snapshot, &seed);
        for (int g = 0; g < GENERAL_COUNT; g++) {
            snapshot.general[g] = is_told[g] ? snapshot.general[g] : STAT_ABSENT;
        }
        tape_add(tape, &snapshot, 1000 * (int64_t)i);
    }
    uint64_t samples = tape_end(tape) - tape_first(tape);
    ok(samples >= TAPE_HOUR_SAMPLES && samples < TAPE_HOUR_SAMPLES + 2 * TAPE_BLOCK_SAMPLES,
       "an hour is kept and no more: %llu samples", (unsigned long long)samples);
    ok(tape_bytes(tape) < bytes_most, "%s in less than %zu bytes: %zu", fixture, bytes_most, tape_bytes(tape));
    ok(reads(tape, tape_end(tape) - 1, &snapshot, 1000 * (int64_t)(2 * TAPE_HOUR_SAMPLES - 1)), "the newest is the newest");
    ok(!reads(tape, tape_first(tape) - 1, &snapshot, 0), "dropped snapshots can't be read");
    tape_destroy(&tape);
}

static void test_bytes_are_bounded_whatever_a_server_says(unsigned seed) {
    enum { LIMIT = 1 << 20 };
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, LIMIT);
    size_t most = 0;
    for (int i = 0; i < 150; i++) {
        for (size_t byte = 0; byte < sizeof snapshot; byte++) {
            ((unsigned char *)&snapshot)[byte] = (unsigned char)rand_r(&seed);
        }
        snapshot.class_end = CLASS_LIMIT;
        for (unsigned id = 0; id < CLASS_LIMIT; id++) {
            snapshot.classes[id].present = rand_r(&seed) % 2;
        }
        tape_add(tape, &snapshot, (int64_t)((uint64_t)rand_r(&seed) << 33));
        most = tape_bytes(tape) > most ? tape_bytes(tape) : most;
    }
    ok(most < LIMIT + 3 * TAPE_BLOCK_SAMPLES * sizeof snapshot, "noise from a hostile server takes %zu bytes at most", most);
    int64_t wall_ms;
    ok(tape_read(tape, tape_end(tape) - 1, &found, &wall_ms) && is_same(found, &snapshot), "and is read back as it was");
    tape_destroy(&tape);
}

int main(void) {
    unsigned seed = (unsigned)tap_seed();
    test_every_sample_comes_back_whole_in_any_order(seed);
    test_an_hour_of_forty_busy_classes_is_small(seed, "memcached-1.6.45-extstore-first.txt", 6600000);
    test_bytes_are_bounded_whatever_a_server_says(seed);
    return tap_done();
}
