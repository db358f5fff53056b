/* Jobs of many steps: a thread of its own does them, until it finds no time; then the one that asked. Run under TSan too. */
#include "tap.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "cache_fixture.h"
#include "tune/pages/pace.h"

enum { STEPS = 200, LONG_STEPS = 12, LONG_STEP_MS = 3, NICEST = 19 };

struct steps {
    unsigned  count, done, by_asker;
    unsigned  step_ms; /* asleep: the thread has no processor meanwhile */
    int       nice;    /* of the thread that did the last one */
    pthread_t asker;
};

static bool step(void *arg) {
    struct steps *s = arg;
    if (s->step_ms > 0) {
        struct timespec t = {.tv_nsec = s->step_ms * 1000000L};
        nanosleep(&t, NULL);
    }
    s->done++;
    s->by_asker += pthread_equal(pthread_self(), s->asker) != 0;
    s->nice = getpriority(PRIO_PROCESS, 0);
    return s->done < s->count;
}

static struct steps run(struct pace *p, struct cache_thread *ct, unsigned count, unsigned step_ms) {
    struct steps s = {.count = count, .step_ms = step_ms, .asker = pthread_self()};
    struct pace_job job = {.ct = ct, .step = step, .arg = &s};
    pace_run(p, &job);
    return s;
}

static void test_alone(struct cache_thread *ct) {
    struct pace p = {0};
    struct steps s = run(&p, ct, STEPS, 0);
    is(s.done, STEPS, "without a thread of its own every step is done once");
    is(s.by_asker, STEPS, "by the thread that asked");
    pace_stop(&p);
}

static void test_thread(struct cache_thread *ct) {
    struct pace p = {0};
    int nice = getpriority(PRIO_PROCESS, 0);
    ok(pace_start(&p), "a thread of its own starts");
    struct steps s = run(&p, ct, STEPS, 0);
    is(s.done, STEPS, "every step of a job is done once when pace_run returns");
    p.pressed_until_us = 0; /* on a busy machine it may have found no time for that */
    s = run(&p, ct, 1, 0);
    ok(s.done == 1 && s.by_asker == 0, "and that of a job of one, by its thread");
    is(s.nice, nice + 10 < NICEST ? nice + 10 : NICEST, "which has a tenth of the asker's weight");
    is(getpriority(PRIO_PROCESS, 0), nice, "while the asker keeps its own");
    pace_stop(&p);
}

enum { REST_US = 1000, SPIN_US = 100, RESTING_STEPS = 10 }; /* each step takes longer than a turn, so that a nap follows it */

struct resting {
    struct pace_job *job;
    pthread_t        asker;
    unsigned         done, too_soon;
    uint64_t         ended_us; /* the step before */
};

static bool rest_after_step(void *arg) {
    struct resting *s = arg;
    uint64_t now_us = clock_mono_us();
    s->too_soon += !pthread_equal(pthread_self(), s->asker) && s->done > 0 && now_us - s->ended_us < REST_US;
    while (clock_mono_us() - now_us < SPIN_US) {
    }
    s->job->rest_us += REST_US;
    s->ended_us = clock_mono_us();
    return ++s->done < RESTING_STEPS;
}

static void test_a_wish_for_rest(struct cache_thread *ct) {
    struct pace p = {0};
    struct resting s = {.asker = pthread_self()};
    struct pace_job job = {.ct = ct, .step = rest_after_step, .arg = &s};
    s.job = &job;
    ok(pace_start(&p), "a thread of its own starts");
    pace_run(&p, &job);
    is(s.done, RESTING_STEPS, "a job whose steps wish for rest is done");
    is(s.too_soon, 0, "and no step of its thread comes before that is over");
    pace_stop(&p);
}

static void test_pressed(struct cache_thread *ct) {
    struct pace p = {0};
    ok(pace_start(&p), "a thread of its own starts");
    struct steps s = run(&p, ct, LONG_STEPS, LONG_STEP_MS);
    is(s.done, LONG_STEPS, "a job whose thread gets no processor is done all the same, every step once");
    ok(s.by_asker > 0 && s.by_asker < LONG_STEPS, "the asker went on with it, at step %u of %u", s.done - s.by_asker, s.done);
    ok(p.pressed_until_us > 0, "and does so for a while");
    p.pressed_until_us = UINT64_MAX;
    is(run(&p, ct, 1, 0).by_asker, 1, "in which it does a job from the start");
    p.pressed_until_us = 1;
    is(run(&p, ct, 1, 0).by_asker, 0, "after that the thread has the next one");
    is(p.pressed_until_us, 0, "and keeps it that way, for it had the time");
    pace_stop(&p);
}

int main(void) {
    struct cache_thread *ct;
    struct cache *cache = fixture_cache(8 << 20, &ct);
    test_alone(ct);
    test_thread(ct);
    test_a_wish_for_rest(ct);
    test_pressed(ct);
    fixture_end(&cache, &ct);
    return tap_done();
}
