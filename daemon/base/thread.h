/* Threads that no signal interrupts, since signals are for the main thread; their names and time
 * slices. */
#ifndef SLATE_BASE_THREAD_H
#define SLATE_BASE_THREAD_H
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

/* As pthread_create. */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    sigset_t held, before;
    sigfillset(&held);
    pthread_sigmask(SIG_SETMASK, &held, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Sets the calling thread's name for ps and top. No thread names another: the C library would write
 * a file below /proc for that, and the removal of such files takes 4 ms at the end of the
 * process. */
static inline void thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

/* Requests time slices of this length for the calling thread. With short slices the thread gets no
 * more processor time, but waits less when it wakes up beside a thread with long slices, such as
 * the one that copies memory. Linux's EEVDF scheduler lets a waking thread pass one with a longer
 * requested slice; else the running thread finishes its slice of some milliseconds. Before Linux
 * 6.12 the request changes nothing; there waking threads pass anyway. The call also requests that
 * the thread's sleeps end on time, not up to 50 us later. Cost: four system calls. */
void thread_request_slice(uint32_t slice_us);
#endif
