/* What slatetop keeps of an hour of 40 busy classes, in bytes that it has asked for. Pages of the process are counted by
 * tests/bench/console; here it is what does not depend on the machine. */
#include "app/timeline.h"
#include "brain/brain.h"
#include "facts/tape.h"
#include "fixture.h"
#include "tap.h"

#include <malloc.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { IS_COUNTED = 0, SAMPLES = 200 }; /* a sanitizer has an allocator of its own, which tells nothing */
#else
enum { IS_COUNTED = 1, SAMPLES = TAPE_HOUR_SAMPLES };
#endif

enum { TAPE_LIMIT = 16 << 20 };

static struct snapshot snapshot;

static size_t heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void begin_hour(void) {
    fixture_load("memcached-1.6.45-first.txt", 10000, &snapshot);
    for (unsigned id = 1; id <= 40; id++) {
        *snapshot_add_class(&snapshot, id) = *snapshot_class(&snapshot, 4);
    }
}

/* Of a live server, then of the moment that is looked at, half an hour ago. */
static void test_an_hour_fits(unsigned seed, size_t live_most, size_t moment_most) {
    size_t before = heap_bytes();
    struct model *live = brain_model("cache7:11211");
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, TAPE_LIMIT);
    begin_hour();
    for (int i = 0; i < SAMPLES; i++) {
        fixture_busy_second(&snapshot, &seed);
        model_add(live, &snapshot, 1000 + i);
        tape_add(tape, &snapshot, (int64_t)(1000 + i) * 1000);
    }
    size_t bytes = heap_bytes() - before;
    ok(!IS_COUNTED || bytes <= live_most, "live: %zu bytes, at most %zu", bytes, live_most);
    before = heap_bytes();
    struct timeline timeline = {0};
    timeline_step(&timeline, tape, -SAMPLES / 2);
    const struct model *moment = timeline_model(&timeline, tape, live, 80);
    bytes = heap_bytes() - before;
    ok(moment != live && (!IS_COUNTED || bytes <= moment_most),
       "the moment looked at: %zu bytes more, at most %zu", bytes, moment_most);
    timeline_go_live(&timeline);
    model_destroy(&live);
    tape_destroy(&tape);
}

int main(void) {
    test_an_hour_fits((unsigned)tap_seed(), 7100000, 450000);
    return tap_done();
}
