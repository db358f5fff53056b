/* Copies memory beside threads that serve requests, on the same processor or on others.
 *
 * A job is many small steps. They are done in turns, with a nap after each, by a thread of its own
 * that has a tenth of a worker's weight and a long time slice: a worker that wakes up goes first,
 * at once, and the end of a nap interrupts nobody. Where workers are busy nearly all of the time
 * that leaves too little: naps last until the clock ticks, and pages would hardly move. Then the
 * thread that asked goes on with the job itself, and does those of the next second: with a worker's
 * weight, a shorter slice, longer turns and no naps, so that the scheduler gives it as much as a
 * worker; after each turn a worker that waits may go first.
 *
 * One regime for both was tried since sets help (cache/help.c), with calcify's server on a core
 * that it fills: the second and the third phase are to end with 60 pages of 64 or more. By the
 * thread that asked, with naps for half of the time: 25 to 55 and 10 to 53 pages, 0 runs of 6. By
 * the other thread alone, in turns of a quarter of its last rest: 5 and 3, 33 and 46, 21 and 7. As
 * it is, in turn with these: 9 of 13. And a mover that never gives way had a p99 of gets beside
 * moves of 4.9 times the quiet one's, for 0.7 to 0.8 (tests/bench/memory).
 *
 * A single long nap says nothing of workers, for the machine may have done something else: the
 * longest does not count. But one turn that ends late is enough: somebody may wait for a lock that
 * it holds.
 *
 * The two are threads because one that has lowered its weight needs a privilege to raise it again.
 * Threading: pace_run from one thread, with no lock held and outside a turn of the cache; it
 * returns when the job is done. Cost: two switches between threads a job, a look at the clock a
 * step. */
#ifndef SLATE_TUNE_PAGES_PACE_H
#define SLATE_TUNE_PAGES_PACE_H
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

struct cache_thread;

enum { PACE_STEP_BYTES = 1024 }; /* bytes that a step goes over, or one larger chunk */

struct pace_job {
    struct cache_thread *ct;   /* the steps run in its turns; no other thread uses it meanwhile */
    /* Does a few microseconds of work within a turn of ct. Work that cannot be parted, as picking
     * or handing over a page, may take a tenth of a millisecond. False: that was the last step. */
    bool    (*step)(void *);
    void     *arg;
    uint64_t  rest_us;         /* steps may add to it: the next nap lasts at least so long */
};

struct pace {
    pthread_t        thread;
    bool             started, stop;
    sem_t            asked, done;
    struct pace_job *job;      /* belongs to the pace's thread from `asked` to `done` */
    bool             more;     /* steps are left; belongs to the same thread */
    uint64_t         pressed_until_us;
};

/* Starts the thread of a zeroed struct. A struct without a thread works too: the thread that asks
 * does all the work. False: errno. */
bool pace_start(struct pace *);
void pace_stop(struct pace *);  /* ends the thread, if it was started; no job runs */
void pace_run(struct pace *, struct pace_job *);
#endif
