/* Does jobs, mostly copies of memory, beside threads that serve requests, while the owner's thread
 * continues with other work.
 *
 * A job is many small steps. The mover thread does them in turns, with a nap after each turn. This
 * thread has a tenth of a worker's weight and a long time slice: a worker that wakes up runs at
 * once, and the end of a nap interrupts no worker. Where workers are busy nearly all of the time,
 * that leaves too little: naps last until the clock ticks, and pages would hardly move. Then, and
 * for the next second, the owner's thread does the jobs, a turn in each pace_step: with a worker's
 * weight, a shorter slice, longer turns and no naps. The scheduler gives it as much as a worker,
 * and after each turn a worker that waits may run first.
 *
 * One regime for both was tried with direct reclaim (cache/pages/assist.c) and calcify's server on
 * a core that it fills: the second and the third phase are to end with 60 pages of 64 or more. With
 * the owner's thread alone, and naps for half of the time: 25 to 55 and 10 to 53 pages, 0 runs of
 * 6. With the mover thread alone, in turns of a quarter of its last nap: 5 and 3, 33 and 46, 21 and
 * 7. With both as above, in alternation with these: 9 of 13. And beside moves of a mover that never
 * gives way the p99 of gets is 4.9 times that without moves, for 0.7 to 0.8 (tests/bench/memory).
 *
 * A single long nap says nothing of workers, because the machine may have done something else: the
 * longest nap does not count. But one turn that ends late is enough: a worker may wait for a lock
 * that the turn holds.
 *
 * There are two threads because a thread that has lowered its weight needs a privilege to raise it
 * again. Jobs alternate: each is done for some milliseconds, then the next one. Threading: all
 * calls from the owner's thread, with no lock held and outside a turn of the cache. Cost: two
 * switches between threads a job, a look at the clock a step. */
#ifndef SLATE_CONTROL_PAGES_PACE_H
#define SLATE_CONTROL_PAGES_PACE_H
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cache_thread;

enum { PACE_STEP_BYTES = 1024 }; /* bytes that a step goes over, or one larger chunk */

/* When the work of a step function is due again: a time; PACE_DONE: the work has ended; PACE_NEVER:
 * when `wake` is called, as a job has made progress. */
#define PACE_DONE  UINT64_C(0)
#define PACE_NEVER UINT64_MAX

struct pace_job {
    struct cache_thread *ct;   /* steps run in turns of ct, which no other thread uses meanwhile */
    /* Does a few microseconds of work within a turn of ct. A step that picks or hands over a page
     * may take a tenth of a millisecond. False: this was the last step. */
    bool    (*step)(void *, uint64_t now_us);
    void     *arg;
    uint64_t  nap_us;         /* steps may add to it: the next nap lasts at least so long */
    struct pace_job *next;     /* next and under_way belong to the pace */
    bool      under_way;
};

struct pace {
    pthread_t        thread;
    bool             started;
    void           (*wake)(void *); /* called on its thread when the owner is to step; not NULL */
    void            *wake_arg;
    _Atomic bool     stop, others; /* others: another job waits */
    sem_t            posted;
    _Atomic bool     has_job;  /* the first job belongs to the thread */
    enum pace_left { PACE_NOTHING_LEFT, PACE_PRESSED, PACE_MADE_WAY } left; /* the thread's, too */
    bool             handed;    /* the thread has, or had, the first job */
    struct pace_job *first;    /* of the jobs that are not done */
    uint64_t         pressed_until_us, due_us;
};

/* Starts the mover thread; all members but `wake` and wake_arg are zero. Without a thread pace_step
 * does all the work. False: errno. */
bool pace_start(struct pace *);
/* Ends the thread, if it was started, after the current turn. Unfinished jobs stay in the list. */
void pace_stop(struct pace *);
/* Appends a job. The caller does not free the job before it is done. */
void pace_begin(struct pace *, struct pace_job *, uint64_t now_us);
static inline bool pace_job_done(const struct pace_job *j) { return !j->under_way; }
/* Hands a job to the thread, or does one turn of the job. Returns when to call it again. */
uint64_t pace_step(struct pace *, uint64_t now_us);
#endif
