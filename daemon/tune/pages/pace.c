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
    SLICE_US = 3000,         /* far longer than a worker's slice */
    /* the longest wait of a request whose thread does not go first */
    TURN_US = 50,
    NAP_US = 20,
    /* a turn that ends so late was held up for longer than a worker takes for what comes in at
     * once */
    TURN_LATE_US = 2000,
    /* Workers leave this thread no time if its waits, without the longest one, add up to
     * PRESSED_LATE_US … */
    PRESSED_LATE_US = 1000,
    /* … and to so many times the time that it ran. */
    PRESSED_SHARE = 4,
    PRESSED_TURN_US = 100,
    PRESSED_US = 1000 * 1000, /* after that, the gentle way is tried again only after so long */
};

static void nap(uint64_t us) {
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
}

/* Runs steps within one turn of the cache. Returns whether steps are left. */
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

/* By how much the stretch took longer than this thread ran and rested on purpose. The next stretch
 * begins. */
static uint64_t late_us(struct stretch *s, uint64_t rest_us) {
    struct stretch now = {clock_mono_us(), clock_thread_us()};
    uint64_t took_us = now.begun_us - s->begun_us, meant_us = now.had_us - s->had_us + rest_us;
    *s = now;
    return took_us > meant_us ? took_us - meant_us : 0;
}

/* Runs the job with naps, on the low-weight thread. True: steps are left, because workers leave it
 * no time. A single turn that ends late says so: others may have waited for a lock that it held. */
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

/* Runs the rest of the job on the thread that asked for it, with a worker's weight: the scheduler
 * shares the processor, and this thread asks for less at a time. It yields after each turn, because
 * the scheduler itself looks only when the clock ticks. Without that a get on the same core waited
 * 4 ms beside 60 pages that moved; with it, 1.2 ms. */
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
    thread_name("slated-mover");
    /* on Linux this concerns the thread alone; without it all works, less gently */
    int now = nice(NICE);
    (void)now;
    slice_ask(SLICE_US);
    if (!event_thread_begin()) {
        log_warn("mover: no memory to send its events to clients that watch");
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
