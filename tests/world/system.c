/* The system's calls that wait, read the time, draw at random or start threads, for the whole process: the program's own
 * symbols come before those of every library that the process loads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"
#include "server.h"

enum { SECOND_US = 1000 * 1000, TIMERS_MAX = 64 };

static uint64_t system_us_of(const struct timespec *t) {
    return (uint64_t)t->tv_sec * SECOND_US + ((uint64_t)t->tv_nsec + 999) / 1000;
}

static uint64_t system_after(uint64_t us) { return world_now_us() + us; }

static void system_set_time(struct timespec *t, uint64_t us) {
    t->tv_sec = (time_t)(us / SECOND_US);
    t->tv_nsec = (long)(us % SECOND_US) * 1000;
}

/* --- the time --- */

static uint64_t system_unix_us(void) { return WORLD_UNIX_S * SECOND_US + world_read_us(); }

int clock_gettime(clockid_t clock, struct timespec *t) {
    switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        system_set_time(t, world_read_us());
        return 0;
    case CLOCK_MONOTONIC_COARSE:
        system_set_time(t, world_now_us());
        return 0;
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        system_set_time(t, system_unix_us());
        return 0;
    case CLOCK_THREAD_CPUTIME_ID:
        system_set_time(t, world_work_us());
        return 0;
    default:
        return (int)syscall(SYS_clock_gettime, clock, t);
    }
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone;
    uint64_t us = system_unix_us();
    t->tv_sec = (time_t)(us / SECOND_US);
    t->tv_usec = (suseconds_t)(us % SECOND_US);
    return 0;
}

time_t time(time_t *to) {
    time_t now_s = (time_t)(WORLD_UNIX_S + world_now_us() / SECOND_US);
    if (to != NULL) {
        *to = now_s;
    }
    return now_s;
}

/* --- sleeping --- */

static void system_sleep_until(uint64_t until_us) {
    while (world_now_us() < until_us && actor_self() != NULL) {
        actor_wait(NULL, NULL, until_us);
    }
}

int nanosleep(const struct timespec *t, struct timespec *left) {
    system_sleep_until(system_after(system_us_of(t)));
    if (left != NULL) {
        *left = (struct timespec){0};
    }
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
    uint64_t begun_us = clock == CLOCK_REALTIME ? WORLD_UNIX_S * SECOND_US : 0;
    system_sleep_until(flags & TIMER_ABSTIME ? system_us_of(t) - begun_us : system_after(system_us_of(t)));
    if (left != NULL) {
        *left = (struct timespec){0};
    }
    return 0;
}

int usleep(useconds_t us) {
    system_sleep_until(system_after(us));
    return 0;
}

unsigned sleep(unsigned s) {
    system_sleep_until(system_after((uint64_t)s * SECOND_US));
    return 0;
}

int sched_yield(void) {
    actor_yield();
    return 0;
}

/* --- descriptors --- */

static int system_poll_now(struct pollfd *fds, nfds_t count) {
    const struct timespec none = {0};
    return (int)syscall(SYS_ppoll, fds, count, &none, NULL, 0);
}

static int system_poll_until(struct pollfd *fds, nfds_t count, uint64_t until_us) {
    int n;
    while ((n = system_poll_now(fds, count)) == 0 && actor_wait_for_fds(fds, (unsigned)count, until_us)) {
    }
    return n != 0 ? n : system_poll_now(fds, count);
}

static uint64_t system_until_ms(int ms) { return ms < 0 ? WORLD_FOREVER : system_after((uint64_t)ms * 1000); }

int poll(struct pollfd *fds, nfds_t count, int ms) { return system_poll_until(fds, count, system_until_ms(ms)); }

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *t, const sigset_t *mask) {
    (void)mask;
    return system_poll_until(fds, count, t == NULL ? WORLD_FOREVER : system_after(system_us_of(t)));
}

int epoll_wait(int epoll_fd, struct epoll_event *events, int most, int ms) {
    struct pollfd fd = {.fd = epoll_fd, .events = POLLIN};
    if (system_poll_until(&fd, 1, system_until_ms(ms)) < 0) {
        return -1;
    }
    return (int)syscall(SYS_epoll_pwait, epoll_fd, events, most, 0, NULL, 0);
}

static void system_wait_for_sets(int count, fd_set *read, fd_set *write, uint64_t until_us) {
    struct pollfd fds[FD_SETSIZE];
    nfds_t n = 0;
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
        short events = (short)((read != NULL && FD_ISSET(fd, read) ? POLLIN : 0) |
                               (write != NULL && FD_ISSET(fd, write) ? POLLOUT : 0));
        if (events != 0) {
            fds[n++] = (struct pollfd){.fd = fd, .events = events};
        }
    }
    system_poll_until(fds, n, until_us);
}

int select(int count, fd_set *restrict read, fd_set *restrict write, fd_set *restrict except,
           struct timeval *restrict t) {
    struct timespec none = {0};
    system_wait_for_sets(count, read, write,
                  t == NULL ? WORLD_FOREVER : system_after((uint64_t)t->tv_sec * SECOND_US + (uint64_t)t->tv_usec));
    return (int)syscall(SYS_pselect6, count, read, write, except, &none, NULL);
}

/* A receive that may wait waits here. */
ssize_t recv(int fd, void *to, size_t n, int flags) {
    if (!(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK)) {
        system_poll_until(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WORLD_FOREVER);
    }
    return syscall(SYS_recvfrom, fd, to, n, flags, NULL, NULL);
}

/* --- timers with descriptors: each is an eventfd, which has the same reads --- */

static struct timer {
    int      fd;
    uint64_t due_us;
} timers[TIMERS_MAX];
static unsigned timer_count;

uint64_t system_timers(uint64_t now_us) {
    const uint64_t once = 1;
    uint64_t next_us = WORLD_FOREVER;
    for (struct timer *t = timers; t < timers + timer_count; t++) {
        if (t->due_us <= now_us) {
            t->due_us = WORLD_FOREVER;
            syscall(SYS_write, t->fd, &once, sizeof once);
            world_fds_changed();
        }
        next_us = t->due_us < next_us ? t->due_us : next_us;
    }
    return next_us;
}

int timerfd_create(clockid_t clock, int flags) {
    (void)clock, (void)flags;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd >= 0 && timer_count < TIMERS_MAX) {
        timers[timer_count++] = (struct timer){fd, WORLD_FOREVER};
    }
    return fd;
}

/* Only once: no caller here needs more. */
int timerfd_settime(int fd, int flags, const struct itimerspec *in, struct itimerspec *was) {
    (void)was;
    for (struct timer *t = timers; t < timers + timer_count; t++) {
        if (t->fd == fd) {
            uint64_t us = system_us_of(&in->it_value);
            t->due_us = us == 0 ? WORLD_FOREVER : flags & TFD_TIMER_ABSTIME ? us : system_after(us);
        }
    }
    return 0;
}

int close(int fd) {
    for (struct timer *t = timers; t < timers + timer_count; t++) {
        if (t->fd == fd) {
            *t-- = timers[--timer_count];
        }
    }
    return (int)syscall(SYS_close, fd);
}

/* --- threads --- */

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr, void *(*run)(void *),
                   void *restrict arg) {
    return actor_start(thread, attr, run, arg);
}

int pthread_join(pthread_t thread, void **result) { return actor_join(thread, result); }

int pthread_detach(pthread_t thread) { return actor_detach(thread); }

static bool system_is_free(void *mutex) {
    bool free = REAL(pthread_mutex_trylock)(mutex) == 0;
    if (free) {
        REAL(pthread_mutex_unlock)(mutex);
    }
    return free;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    int error;
    actor_may_make_way();
    while ((error = REAL(pthread_mutex_trylock)(mutex)) == EBUSY && actor_self() != NULL) {
        actor_wait(system_is_free, mutex, WORLD_FOREVER);
    }
    return error;
}

static bool system_is_awake(void *actor) { return ((struct actor *)actor)->condition == NULL; }

static int system_wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_us) {
    struct actor *me = actor_self();
    me->condition = condition;
    REAL(pthread_mutex_unlock)(mutex);
    while (!system_is_awake(me) && actor_wait(system_is_awake, me, until_us)) {
    }
    bool late = !system_is_awake(me);
    me->condition = NULL;
    pthread_mutex_lock(mutex);
    return late ? ETIMEDOUT : 0;
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
    return system_wait_for_condition(condition, mutex, WORLD_FOREVER);
}

/* By the monotonic clock or by the system's, which is years ahead. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict t) {
    uint64_t until_us = system_us_of(t), begun_us = WORLD_UNIX_S * SECOND_US;
    return system_wait_for_condition(condition, mutex, until_us < begun_us ? until_us : until_us - begun_us);
}

int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                           const struct timespec *restrict t) {
    (void)clock;
    return pthread_cond_timedwait(condition, mutex, t);
}

int pthread_cond_signal(pthread_cond_t *condition) {
    actor_wake(condition, false);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    actor_wake(condition, true);
    return 0;
}

static bool system_is_posted(void *semaphore) {
    int value = 0;
    sem_getvalue(semaphore, &value);
    return value > 0;
}

int sem_wait(sem_t *semaphore) {
    while (sem_trywait(semaphore) != 0) {
        actor_wait(system_is_posted, semaphore, WORLD_FOREVER);
    }
    return 0;
}

/* --- chance --- */

ssize_t getrandom(void *to, size_t bytes, unsigned flags) {
    (void)flags;
    struct world_server *server = actor_self() != NULL ? actor_self()->server : NULL;
    for (size_t i = 0; i < bytes; i++) {
        uint64_t drawn = server != NULL ? world_server_random(server) : world_random();
        ((unsigned char *)to)[i] = (unsigned char)(drawn >> 32);
    }
    return (ssize_t)bytes;
}

/* --- state of one process, here of each server; and writes to a descriptor that others wait for --- */

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict was) {
    struct world_server *server = actor_self() != NULL ? actor_self()->server : NULL;
    if (server == NULL || action == NULL) {
        return REAL(sigaction)(number, action, was);
    }
    world_server_handle(server, number, action->sa_handler);
    return 0;
}

ssize_t write(int fd, const void *bytes, size_t n) {
    struct world_server *server = actor_self() != NULL ? actor_self()->server : NULL;
    if (server != NULL && (fd == STDOUT_FILENO || fd == STDERR_FILENO)) {
        fd = world_server_log(server);
    }
    world_fds_changed();
    return syscall(SYS_write, fd, bytes, n);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    world_fds_changed();
    return syscall(SYS_writev, fd, pieces, count);
}

ssize_t send(int fd, const void *bytes, size_t n, int flags) {
    world_fds_changed();
    return syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    world_fds_changed();
    return syscall(SYS_sendmsg, fd, message, flags);
}

/* --- calls refused to a server that shares its process --- */

static int system_refuse(const char *what) {
    fprintf(stderr, "world: %s is for a server in a process of its own\n", what);
    errno = ENOSYS;
    return -1;
}

pid_t fork(void) {
    return actor_self() != NULL && actor_self()->server != NULL ? system_refuse("fork") : REAL(fork)();
}
int setuid(uid_t user) { return (void)user, system_refuse("setuid"); }
int mlockall(int flags) { return (void)flags, system_refuse("mlockall"); }
int seccomp_load(void *filter);
int seccomp_load(void *filter) { return (void)filter, system_refuse("seccomp_load") < 0 ? -ENOSYS : 0; }

/* Sets one function for all servers, which would outlive the server that set it. */
void event_set_log_callback(void *log);
void event_set_log_callback(void *log) { (void)log; }
