/* Jobs of many steps: the pace's thread does the steps; when that thread gets no processor, the owner does. Run under TSan too. */
#include "tap.h"

#include <pthread.h>
#include <sys/resource.h>

#include "cache_fixture.h"
#include "control/pages/pace.h"

enum { STEPS = 200, LONG_STEPS = 12, LONG_STEP_US = 3000, NICEST = 19 };

struct rig {
    struct cache        *cache;
    struct cache_thread *ct;
    struct pace          pace;
    sem_t                woken;
};

static void wake(void *rig) { sem_post(&((struct rig *)rig)->woken); }

static void rig_open(struct rig *r, bool thread) {
    r->cache = fixture_cache(8 << 20, &r->ct);
    r->pace = (struct pace){.wake = wake, .wake_arg = r};
    sem_init(&r->woken, 0, 0);
    ok(!thread || pace_start(&r->pace), "a thread of its own starts");
}

static void rig_close(struct rig *r) {
    pace_stop(&r->pace);
    sem_destroy(&r->woken);
    fixture_end(&r->cache, &r->ct);
}

/* The owner sleeps until woken, and its time is that of the next step. */
static void run_to_end(struct rig *r, struct pace_job *job) {
    for (uint64_t now_us = clock_mono_us(), due_us; !pace_job_done(job);) {
        if ((due_us = pace_step(&r->pace, now_us)) != PACE_NEVER) {
            now_us = due_us > now_us ? due_us : now_us;
        } else if (!pace_job_done(job)) {
            sem_wait(&r->woken);
        }
    }
}

struct steps {
    struct pace_job job;
    unsigned  count, done, by_owner;
    int       nice;    /* nice value of the thread that did the last one */
    pthread_t owner;
    sem_t    *at, *go; /* a step on the pace's thread posts `at` and waits for `go`; NULL: neither */
};

static bool step(void *arg, uint64_t now_us) {
    struct steps *s = arg;
    bool by_owner = pthread_equal(pthread_self(), s->owner) != 0;
    if (s->at != NULL && !by_owner) {
        sem_post(s->at);
        sem_wait(s->go);
    }
    s->done++;
    s->by_owner += by_owner;
    s->nice = getpriority(PRIO_PROCESS, 0);
    return s->done < s->count && now_us > 0;
}

static void begin(struct rig *r, struct steps *s, unsigned count) {
    *s = (struct steps){.count = count, .owner = pthread_self(), .at = s->at, .go = s->go};
    s->job = (struct pace_job){.ct = r->ct, .step = step, .arg = s};
    pace_begin(&r->pace, &s->job, clock_mono_us());
}

static struct steps run(struct rig *r, unsigned count) {
    static struct steps s;
    s.at = s.go = NULL;
    begin(r, &s, count);
    run_to_end(r, &s.job);
    return s;
}

TEST(test_thread) {
    struct rig r;
    int nice = getpriority(PRIO_PROCESS, 0);
    rig_open(&r, true);
    struct steps s = run(&r, STEPS);
    is(s.done, STEPS, "every step of a job is done once");
    r.pace.pressed_until_us = 0; /* on a busy machine the thread may have got no time */
    s = run(&r, 1);
    ok(s.done == 1 && s.by_owner == 0, "and that of a job of one, by its thread");
    is(s.nice, nice + 10 < NICEST ? nice + 10 : NICEST, "which has a tenth of the owner's weight");
    is(getpriority(PRIO_PROCESS, 0), nice, "while the owner keeps its own");
    rig_close(&r);
}

TEST(test_the_owner_waits_for_no_job) {
    struct rig r;
    struct steps s, second = {.at = NULL};
    sem_t at, go;
    rig_open(&r, true);
    sem_init(&at, 0, 0);
    sem_init(&go, 0, 0);
    s = (struct steps){.at = &at, .go = &go};
    begin(&r, &s, 1);
    sem_wait(&at);
    is(pace_step(&r.pace, clock_mono_us()), PACE_NEVER, "while the thread does a step the owner has nothing to do");
    begin(&r, &second, 1);
    ok(!pace_job_done(&s.job) && !pace_job_done(&second.job), "and may begin another job meanwhile");
    sem_post(&go);
    run_to_end(&r, &second.job);
    ok(pace_job_done(&s.job) && s.done == 1 && second.done == 1, "both are done, in that order");
    rig_close(&r);
}

TEST(test_jobs_take_turns) {
    enum { LONG = 1000 * 1000 };
    struct rig r;
    static struct steps first, second;
    rig_open(&r, false);
    begin(&r, &first, LONG);
    begin(&r, &second, 1);
    for (unsigned i = 0; i < LONG && !pace_job_done(&second.job); i++) {
        pace_step(&r.pace, clock_mono_us());
    }
    ok(second.done == 1 && first.done > 0 && first.done < LONG, "a short job ends amid a long one, after %u of its %u steps", first.done, first.count);
    rig_close(&r);
}

enum { REST_US = 1000, SPIN_US = 100, RESTING_STEPS = 10 }; /* each step takes longer than a turn, so a pause follows */

static void spin(uint64_t us) {
    for (uint64_t begun_us = clock_mono_us(); clock_mono_us() - begun_us < us;) {
    }
}

struct resting {
    struct pace_job job;
    unsigned        done, too_soon;
    uint64_t        before_us; /* the time of the previous step */
};

static bool rest_after_step(void *arg, uint64_t now_us) {
    struct resting *s = arg;
    s->too_soon += s->done > 0 && now_us - s->before_us < REST_US;
    spin(SPIN_US);
    s->job.nap_us += REST_US;
    s->before_us = now_us;
    return ++s->done < RESTING_STEPS;
}

static void test_a_wish_for_rest(bool thread) {
    struct rig r;
    struct resting s = {.done = 0};
    rig_open(&r, thread);
    s.job = (struct pace_job){.ct = r.ct, .step = rest_after_step, .arg = &s};
    pace_begin(&r.pace, &s.job, clock_mono_us());
    run_to_end(&r, &s.job);
    is(s.done, RESTING_STEPS, "a job whose steps wish for rest is done, once each, %s", thread ? "by the thread" : "by the owner");
    is(s.too_soon, 0, "and no step comes before that is over");
    rig_close(&r);
}

/* While the thread waits in a step, it uses no processor. */
TEST(test_pressed) {
    struct rig r;
    struct steps s;
    sem_t at, go;
    rig_open(&r, true);
    sem_init(&at, 0, 0);
    sem_init(&go, 0, 0);
    s = (struct steps){.at = &at, .go = &go};
    begin(&r, &s, LONG_STEPS);
    sem_wait(&at);
    spin(LONG_STEP_US);
    s.at = NULL; /* for the steps that follow; `go` orders this */
    sem_post(&go);
    run_to_end(&r, &s.job);
    is(s.done, LONG_STEPS, "a job whose thread gets no processor is done all the same, every step once");
    ok(s.by_owner > 0 && s.by_owner < LONG_STEPS, "the owner went on with it, at step %u of %u", s.done - s.by_owner, s.done);
    ok(r.pace.pressed_until_us > 0, "and does so for a while");
    r.pace.pressed_until_us = UINT64_MAX;
    is(run(&r, 1).by_owner, 1, "in which it does a job from the start");
    r.pace.pressed_until_us = 1;
    is(run(&r, 1).by_owner, 0, "after that the thread has the next one");
    is(r.pace.pressed_until_us, 0, "and keeps it that way, for it had the time");
    rig_close(&r);
}

int main(void) {
    clock_start();
    tap_run_tests();
    test_a_wish_for_rest(true);
    test_a_wish_for_rest(false);
    return tap_done();
}
