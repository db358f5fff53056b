/* Shared by a test and the shim in its server: a page of memory, and the table of calls that can fail.
 *
 * The test maps a file and names it in SLATE_FAULTS; the shim (shim.c), loaded into the server by LD_PRELOAD, maps the file, too. */
#ifndef FAULTS_CONTROL_H
#define FAULTS_CONTROL_H
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

/* X(call, errors ...): the errors that the system documents for the call, of which a test takes each in turn; 0 fills up.
 * Reads and writes of an eventfd that does not block have none, so they are left alone. */
#define FAULT_CALLS(X)                                        \
    X(malloc, ENOMEM, 0, 0)                                   \
    X(calloc, ENOMEM, 0, 0)                                   \
    X(realloc, ENOMEM, 0, 0)                                  \
    X(aligned_alloc, ENOMEM, 0, 0)                            \
    X(posix_memalign, ENOMEM, 0, 0)                           \
    X(mmap, ENOMEM, 0, 0)                                     \
    X(madvise, EAGAIN, ENOMEM, 0)                             \
    X(mprotect, ENOMEM, 0, 0)                                 \
    X(pthread_create, EAGAIN, 0, 0)                           \
    X(mlockall, ENOMEM, 0, 0)                                 \
    X(eventfd, EMFILE, ENOMEM, 0)                             \
    X(epoll_create1, EMFILE, ENOMEM, 0)                       \
    X(epoll_ctl, ENOMEM, ENOSPC, 0)                           \
    X(epoll_wait, EINTR, 0, 0)                                \
    X(timerfd_create, EMFILE, ENOMEM, 0)                      \
    X(pipe2, EMFILE, 0, 0)                                    \
    X(socket, EMFILE, ENOBUFS, 0)                             \
    X(bind, EADDRINUSE, ENOMEM, 0)                            \
    X(listen, EADDRINUSE, 0, 0)                               \
    X(getsockname, ENOBUFS, 0, 0)                             \
    X(setsockopt, ENOMEM, 0, 0)                               \
    X(getpwnam, ENOMEM, 0, 0)                                 \
    X(getaddrinfo, ENOMEM, 0, 0)                              \
    X(accept4, EMFILE, ECONNABORTED, EINTR)                   \
    X(recv, ECONNRESET, EINTR, ENOMEM)                        \
    X(readv, ECONNRESET, EINTR, ENOMEM)                       \
    X(send, EPIPE, EINTR, ENOMEM)                             \
    X(sendmsg, EPIPE, EINTR, ENOMEM)                          \
    X(read, EINTR, EIO, 0)                                    \
    X(write, EINTR, ENOSPC, EIO)                              \
    X(open, EMFILE, ENOMEM, 0)                                \
    X(fopen, EMFILE, ENOSPC, 0)                               \
    X(fflush, ENOSPC, 0, 0)                                   \
    X(rename, ENOSPC, 0, 0)                                   \
    X(unlink, EIO, 0, 0)                                      \
    X(fcntl, ENOMEM, 0, 0)                                    \
    X(setrlimit, EPERM, 0, 0)

enum fault_call {
#define FAULT_ENUM(name, ...) FAULT_##name,
    FAULT_CALLS(FAULT_ENUM)
#undef FAULT_ENUM
    FAULT_CALL_COUNT,
    FAULT_MEMORY_END = FAULT_pthread_create + 1, /* the calls before this one give memory or threads */
    FAULT_NONE = FAULT_CALL_COUNT,
    FAULT_ANY_MEMORY, /* malloc, calloc, realloc, aligned_alloc and posix_memalign, counted together */
};
enum { FAULT_ERRORS = 3, FAULT_FRAMES = 12 };

struct fault_control {
    _Atomic int      call;  /* enum fault_call: the call that fails; FAULT_NONE: none */
    _Atomic int      error; /* errno of the failure */
    _Atomic int64_t  skip;  /* so many of these calls succeed first */
    _Atomic int64_t  most;  /* and then so many fail */
    _Atomic uint64_t failed; /* failed calls */
    _Atomic uint64_t seen[FAULT_CALL_COUNT]; /* calls since the server started */
    _Atomic uint32_t dribble;    /* not 0: the seed of short receives, short sends and interruptions */
    _Atomic uint64_t dribbled;   /* calls that were made short or interrupted */
    _Atomic int64_t  calendar_step_s; /* added to CLOCK_REALTIME */
    _Atomic int64_t  passed_s;        /* added to CLOCK_MONOTONIC */
    char             from[FAULT_FRAMES][64]; /* the callers of the first failed call: file and offset, "" after the last */
};
#endif
