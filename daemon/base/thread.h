/* Starts threads that no signal interrupts: signals are for the main thread. */
#ifndef SLATE_BASE_THREAD_H
#define SLATE_BASE_THREAD_H
#include <pthread.h>
#include <signal.h>

/* As pthread_create. */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    sigset_t held, before;
    sigfillset(&held);
    pthread_sigmask(SIG_SETMASK, &held, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* The name that ps and top show, given by the thread itself. That of another thread the C library
 * writes into a file below /proc, of which Linux then keeps an entry for each thread: clearing them
 * away after the process took 4 ms of processor time, more than all of a start and a stop. */
static inline void thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }
#endif
