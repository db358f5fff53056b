#include "control/pages/pace.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "watch/event.h"

enum {
    NICE = 10,               /* a tenth of a worker's weight */
    SLICE_US = 3000,         /* far longer than a worker's slice */
    /* the longest wait of a request whose thread does not run first */
    TURN_US = 50,
    NAP_US = 20,
    /* a turn that ends so late was held up for longer than a worker's turn takes */
    TURN_LATE_US = 2000,
    /* Workers leave this thread no time if its waits, without the longest one, add up to
     * PRESSED_LATE_US, and to PRESSED_SHARE times the time that the thread ran. */
    PRESSED_LATE_US = 1000,
    PRESSED_SHARE = 4,
    PRESSED_TURN_US = 100,
    PRESSED_US = 1000 * 1000, /* then the mover thread is tried again only after so long */
    MADE_WAY_US = 5000, /* the thread continues a job for so long while another job waits */
};

static void pace_nap(uint64_t us) {
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
}

/* Runs steps within one turn of the cache. Returns whether steps are left. */
static bool pace_run_turn(struct pace_job *j, uint64_t now_us, uint64_t turn_us) {
    uint64_t until_us = clock_mono_us() + turn_us;
    bool more;
    cache_turn_begin(j->ct);
    do {
        more = j->step(j->arg, now_us);
    } while (more && clock_mono_us() < until_us);
    cache_turn_end(j->ct);
    return more;
}

static uint64_t pace_nap_us(struct pace_job *j) {
    uint64_t us = j->nap_us > NAP_US ? j->nap_us : NAP_US;
    j->nap_us = 0;
    return us;
}

struct stretch {
    uint64_t begun_us, had_us;
};

/* How much longer the stretch took than this thread ran and slept on purpose. Begins the next
 * stretch. */
static uint64_t pace_late_us(struct stretch *s, uint64_t nap_us) {
    struct stretch now = {clock_mono_us(), clock_thread_us()};
    uint64_t took_us = now.begun_us - s->begun_us, meant_us = now.had_us - s->had_us + nap_us;
    *s = now;
    return took_us > meant_us ? took_us - meant_us : 0;
}

static bool pace_must_yield(const struct pace *p, uint64_t begun_us) {
    return atomic_load_explicit(&p->stop, memory_order_relaxed) ||
           (atomic_load_explicit(&p->others, memory_order_relaxed) &&
            clock_mono_us() - begun_us > MADE_WAY_US);
}

/* Runs the job with naps, on the low-weight thread. Ends early where workers leave the thread no
 * time. A single late turn is a sign of that: others may have waited for a lock that it held. */
static enum pace_left pace_run_gently(const struct pace *p, struct pace_job *j) {
    struct stretch s = {clock_mono_us(), clock_thread_us()};
    uint64_t begun_us = s.begun_us, had_first_us = s.had_us, waited_us = 0, longest_us = 0;
    while (pace_run_turn(j, clock_mono_us(), TURN_US)) {
        uint64_t turn_late_us = pace_late_us(&s, 0), wish_us = pace_nap_us(j);
        if (turn_late_us > TURN_LATE_US) {
            return PACE_PRESSED;
        }
        pace_nap(wish_us);
        uint64_t here_us = turn_late_us + pace_late_us(&s, wish_us);
        longest_us = here_us > longest_us ? here_us : longest_us;
        waited_us += here_us;
        if (waited_us - longest_us > PRESSED_LATE_US &&
            waited_us - longest_us > PRESSED_SHARE * (s.had_us - had_first_us)) {
            return PACE_PRESSED;
        }
        if (pace_must_yield(p, begun_us)) {
            return PACE_MADE_WAY;
        }
    }
    return PACE_NOTHING_LEFT;
}

static void pace_await(sem_t *s) {
    while (sem_wait(s) != 0 && errno == EINTR) {
    }
}

static void *pace_main(void *arg) {
    struct pace *p = arg;
    thread_name("slated-mover");
    /* on Linux nice() changes this thread alone; if it fails, jobs disturb workers more */
    int now = nice(NICE);
    (void)now;
    thread_request_slice(SLICE_US);
    if (!event_thread_begin()) {
        log_warn("mover: no memory to send its events to clients that watch");
    }
    for (pace_await(&p->posted); !atomic_load(&p->stop); pace_await(&p->posted)) {
        p->left = pace_run_gently(p, p->first);
        atomic_store_explicit(&p->has_job, false, memory_order_release);
        p->wake(p->wake_arg);
    }
    event_thread_end();
    return NULL;
}

/* --- on the owner's thread --- */

static void pace_append(struct pace *p, struct pace_job *j) {
    struct pace_job **end = &p->first;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    j->next = NULL;
    *end = j;
}

/* Removes the first job if it is done; else puts it behind the others. */
static void pace_requeue(struct pace *p, bool more) {
    struct pace_job *j = p->first;
    p->first = j->next;
    j->under_way = more;
    if (more) {
        pace_append(p, j);
    }
}

/* Gives the first job to the mover thread, unless workers leave that thread no time. */
static bool pace_hand_over(struct pace *p, uint64_t now_us) {
    p->handed = p->started && now_us >= p->pressed_until_us;
    if (p->handed) {
        atomic_store_explicit(&p->others, p->first->next != NULL, memory_order_relaxed);
        atomic_store_explicit(&p->has_job, true, memory_order_relaxed);
        sem_post(&p->posted);
    }
    return p->handed;
}

static void pace_take_back(struct pace *p, uint64_t now_us) {
    p->handed = false;
    p->pressed_until_us = p->left == PACE_PRESSED ? now_us + PRESSED_US : 0;
    p->due_us = now_us;
    if (p->left != PACE_PRESSED) {
        pace_requeue(p, p->left == PACE_MADE_WAY);
    }
}

/* Does a turn of the first job with a worker's weight: the scheduler shares the processor, and this
 * thread uses less at a time. The thread yields after each turn, because the scheduler by itself
 * switches only when the clock ticks. Beside 60 pages that moved, a get on the same core waited
 * 4 ms without the yield, and 1.2 ms with it. */
static void pace_run_pressed(struct pace *p, uint64_t now_us) {
    struct pace_job *j = p->first;
    uint64_t begun_us = clock_mono_us();
    bool more = pace_run_turn(j, now_us, PRESSED_TURN_US);
    uint64_t took_us = clock_mono_us() - begun_us;
    p->due_us = now_us + (j->nap_us > 0 ? took_us + pace_nap_us(j) : 0);
    pace_requeue(p, more);
    if (p->started) {
        sched_yield();
    }
}

void pace_begin(struct pace *p, struct pace_job *j, uint64_t now_us) {
    j->under_way = true;
    j->nap_us = 0;
    pace_append(p, j);
    if (p->first != j) {
        atomic_store_explicit(&p->others, true, memory_order_relaxed);
    } else {
        p->due_us = now_us;
        pace_hand_over(p, now_us);
    }
}

uint64_t pace_step(struct pace *p, uint64_t now_us) {
    if (p->handed && atomic_load_explicit(&p->has_job, memory_order_acquire)) {
        return PACE_NEVER;
    }
    if (p->handed) {
        pace_take_back(p, now_us);
        return now_us; /* first the owner uses the result of a job that is done */
    }
    if (p->first == NULL || pace_hand_over(p, now_us)) {
        return PACE_NEVER;
    }
    if (now_us >= p->due_us) {
        pace_run_pressed(p, now_us);
    }
    return p->due_us;
}

bool pace_start(struct pace *p) {
    sem_init(&p->posted, 0, 0);
    int error = thread_start(&p->thread, pace_main, p);
    if (error != 0) {
        sem_destroy(&p->posted);
        errno = error;
        return false;
    }
    p->started = true;
    return true;
}

void pace_stop(struct pace *p) {
    if (p->started) {
        atomic_store(&p->stop, true);
        sem_post(&p->posted);
        pthread_join(p->thread, NULL);
        sem_destroy(&p->posted);
        p->started = p->handed = false;
    }
}
