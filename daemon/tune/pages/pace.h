/* Copies memory beside threads that serve requests, on the same processor or on others.
 *
 * A job is many small steps. They are done in turns, with a nap after each, by a thread of its own
 * that has a tenth of a worker's weight and a long time slice: a worker that wakes up goes first,
 * at once, and the end of a nap interrupts nobody. Where workers are busy nearly all of the time
 * that leaves too little: naps last until the clock ticks, and pages would hardly move. Then the
 * thread that asked goes on with the job itself, and does those of the next second: with a worker's
 * weight, a shorter slice, longer turns and no naps, so that the scheduler gives it as much as a
 * worker. (Where client, worker and tuner shared two processors, the experiment of 2012 ended all
 * its phases with 60 pages of 64 or more in 3 runs of 10 with naps for half of the time, and in 17
 * of 26 without.) A single long nap says nothing of workers, for the machine may have done
 * something else: the longest does not count. But one turn that ends late is enough: somebody may
 * wait for a lock that it holds.
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

enum { PACE_STEP_BYTES = 1024 }; /* that a step goes over, or one chunk that is larger */

struct pace_job {
    struct cache_thread *ct;   /* whose turns they are; nobody else's meanwhile */
    /* A few microseconds of work, within a turn of ct; as much as a tenth of a millisecond where it
     * cannot be parted, as when a page is picked or handed over. False: it was the last. */
    bool    (*step)(void *);
    void     *arg;
    uint64_t  rest_us;         /* steps may add to it: what the next nap is to take at least */
};

struct pace {
    pthread_t        thread;
    bool             started, stop;
    sem_t            asked, done;
    struct pace_job *job;      /* of the thread, from asked to done */
    bool             more;     /* likewise: steps are left */
    uint64_t         pressed_until_us;
};

/* of one that is all 0, which works too: all is done by the thread that asks. False: errno */
bool pace_start(struct pace *);
void pace_stop(struct pace *);  /* of one that may not have started; no job runs */
void pace_run(struct pace *, struct pace_job *);
#endif
