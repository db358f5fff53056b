/* Copies memory beside threads that serve requests, on the same processor or on others, while the
 * thread that asked goes on with other things.
 *
 * A job is many small steps. They are done in turns, with a nap after each, by a thread of its own
 * that has a tenth of a worker's weight and a long time slice: a worker that wakes up goes first,
 * at once, and the end of a nap interrupts nobody. Where workers are busy nearly all of the time
 * that leaves too little: naps last until the clock ticks, and pages would hardly move. Then the
 * owner goes on with the job itself, a turn in each pace_step, and does those of the next second:
 * with a worker's weight, a shorter slice, longer turns and no naps, so that the scheduler gives it
 * as much as a worker; after each turn a worker that waits may go first.
 *
 * One regime for both was tried since sets help (cache/pages/assist.c), with calcify's server on a
 * core that it fills: the second and the third phase are to end with 60 pages of 64 or more. By the
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
 * Jobs take turns with each other: each is done for some milliseconds, then the next one is.
 * Threading: all calls from the owner's thread, with no lock held and outside a turn of the cache.
 * Cost: two switches between threads a job, a look at the clock a step. */
#ifndef SLATE_CONTROL_PAGES_PACE_H
#define SLATE_CONTROL_PAGES_PACE_H
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cache_thread;

enum { PACE_STEP_BYTES = 1024 }; /* bytes that a step goes over, or one larger chunk */

/* When a machine of this folder wants its next step: a time; PACE_DONE: it has ended; PACE_NEVER:
 * once a job has got on. */
#define PACE_DONE  UINT64_C(0)
#define PACE_NEVER UINT64_MAX

struct pace_job {
    struct cache_thread *ct;   /* the steps run in its turns; no other thread uses it meanwhile */
    /* Does a few microseconds of work within a turn of ct. Work that cannot be parted, as picking
     * or handing over a page, may take a tenth of a millisecond. False: that was the last step. */
    bool    (*step)(void *, uint64_t now_us);
    void     *arg;
    uint64_t  nap_us;         /* steps may add to it: the next nap lasts at least so long */
    struct pace_job *next;     /* the pace's, as what follows */
    bool      under_way;
};

struct pace {
    pthread_t        thread;
    bool             started;
    void           (*wake)(void *); /* called on its thread when the owner is to step; not NULL */
    void            *wake_arg;
    _Atomic bool     stop, others; /* others: a job waits behind the one that is being done */
    sem_t            posted;
    _Atomic bool     has_job;  /* the first job belongs to the thread */
    enum pace_left { PACE_NOTHING_LEFT, PACE_PRESSED, PACE_MADE_WAY } left; /* likewise */
    bool             handed;    /* the thread has, or had, the first job */
    struct pace_job *first;    /* of those that are not done */
    uint64_t         pressed_until_us, due_us;
};

/* Starts the thread of a struct that is zero but for `wake`. A struct without a thread works too:
 * its steps do all the work. False: errno. */
bool pace_start(struct pace *);
/* Ends the thread, if it was started, after the turn under way. Jobs stay where they are. */
void pace_stop(struct pace *);
/* The caller keeps the job until it is done. */
void pace_begin(struct pace *, struct pace_job *, uint64_t now_us);
static inline bool pace_job_done(const struct pace_job *j) { return !j->under_way; }
/* Hands a job to the thread, or does one turn of it. Returns when it wants to be called again. */
uint64_t pace_step(struct pace *, uint64_t now_us);
#endif
