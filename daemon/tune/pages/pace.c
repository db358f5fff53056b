#include "tune/pages/pace.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/slice.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "watch/event.h"

enum {
    NICE = 10,               /* a tenth of a worker's weight */
    SLICE_US = 3000,         /* far longer than a worker's */
    /* what a request may have to wait where its thread does not go first */
    TURN_US = 50,
    NAP_US = 20,
    TURN_LATE_US = 2000,     /* more than a worker takes for what comes in at once */
    PRESSED_LATE_US = 1000,  /* it waited for the processor so long, but for the longest wait … */
    /* … and so many times as long as it had it: workers leave no time to speak of */
    PRESSED_SHARE = 4,
    PRESSED_TURN_US = 100,
    PRESSED_US = 1000 * 1000, /* for so long it is not tried again whether they do */
};

static void nap(uint64_t us) {
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
}

/* Returns whether steps are left. */
static bool turn(struct pace_job *j, uint64_t turn_us) {
    uint64_t until_us = clock_mono_us() + turn_us;
    bool more;
    cache_turn_begin(j->ct);
    do {
        more = j->step(j->arg);
    } while (more && clock_mono_us() < until_us);
    cache_turn_end(j->ct);
    return more;
}

static uint64_t wished_us(struct pace_job *j) {
    uint64_t us = j->rest_us > NAP_US ? j->rest_us : NAP_US;
    j->rest_us = 0;
    return us;
}

struct stretch {
    uint64_t begun_us, had_us;
};

/* By how much a stretch took longer than what this thread had of a processor and what it rested on
 * purpose. The next one begins. */
static uint64_t late_us(struct stretch *s, uint64_t rest_us) {
    struct stretch now = {clock_mono_us(), clock_thread_us()};
    uint64_t took_us = now.begun_us - s->begun_us, meant_us = now.had_us - s->had_us + rest_us;
    *s = now;
    return took_us > meant_us ? took_us - meant_us : 0;
}

/* Returns whether steps are left, for there is no time to speak of. A turn that ends late says so
 * at once: somebody may have waited for a lock that it held. */
static bool run_gently(struct pace_job *j) {
    struct stretch s = {clock_mono_us(), clock_thread_us()};
    uint64_t had_first_us = s.had_us, waited_us = 0, longest_us = 0;
    while (turn(j, TURN_US)) {
        uint64_t turn_late_us = late_us(&s, 0), wish_us = wished_us(j);
        if (turn_late_us > TURN_LATE_US) {
            return true;
        }
        nap(wish_us);
        uint64_t here_us = turn_late_us + late_us(&s, wish_us);
        longest_us = here_us > longest_us ? here_us : longest_us;
        waited_us += here_us;
        if (waited_us - longest_us > PRESSED_LATE_US &&
            waited_us - longest_us > PRESSED_SHARE * (s.had_us - had_first_us)) {
            return true;
        }
    }
    return false;
}

/* The scheduler shares the processor out: this thread has a worker's weight, and asks for less at a
 * time. It asks anew after each turn, because the scheduler itself does so only when the clock
 * ticks: without that a get on the same core waited 4 ms beside 60 pages that moved, with it 1.2.
 */
static void run_pressed(struct pace_job *j) {
    while (turn(j, PRESSED_TURN_US)) {
        if (j->rest_us > 0) {
            nap(wished_us(j));
        }
        sched_yield();
    }
}

static void await(sem_t *s) {
    while (sem_wait(s) != 0 && errno == EINTR) {
    }
}

static void *pace_main(void *arg) {
    struct pace *p = arg;
    int now = nice(NICE); /* Linux does it to the thread. A wish: all works without */
    (void)now;
    slice_ask(SLICE_US);
    if (!event_thread_begin()) {
        log_warn("mover: no memory to tell its events to those who watch");
    }
    for (await(&p->asked); !p->stop; await(&p->asked)) {
        p->more = run_gently(p->job);
        sem_post(&p->done);
    }
    event_thread_end();
    return NULL;
}

void pace_run(struct pace *p, struct pace_job *j) {
    bool more = true;
    if (p->started && clock_mono_us() >= p->pressed_until_us) {
        p->job = j;
        sem_post(&p->asked);
        await(&p->done);
        more = p->more;
        p->pressed_until_us = more ? clock_mono_us() + PRESSED_US : 0;
    }
    if (more) {
        run_pressed(j);
    }
}

bool pace_start(struct pace *p) {
    sem_init(&p->asked, 0, 0);
    sem_init(&p->done, 0, 0);
    int error = thread_start(&p->thread, pace_main, p);
    if (error != 0) {
        sem_destroy(&p->asked);
        sem_destroy(&p->done);
        errno = error;
        return false;
    }
    p->started = true;
    pthread_setname_np(p->thread, "slated-mover");
    return true;
}

void pace_stop(struct pace *p) {
    if (p->started) {
        p->stop = true;
        sem_post(&p->asked);
        pthread_join(p->thread, NULL);
        sem_destroy(&p->asked);
        sem_destroy(&p->done);
        p->started = false;
    }
}
