/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loaded into a server by LD_PRELOAD, makes calls of the C library fail as a test orders through shared memory (control.h): the n-th of a
 * kind, or all from then on; receives and sends come short or interrupted; the calendar jumps. All calls that the server, libevent, Lua and
 * jemalloc make through the library's table of symbols pass here. Calls within the C library do not, except allocations.
 *
 * SLATE_FAULTS names the file of the shared memory. SLATE_DRIBBLE=seed alone dribbles from the start, without a test. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

static struct fault_control unarmed = {.call = FAULT_NONE};
static struct fault_control *control = &unarmed;
/* The shim's own calls are not counted. With this TLS model, because the address sanitizer makes the call that looks others up before it is
 * ready. */
static __attribute__((tls_model("initial-exec"))) _Thread_local bool inside;

/* The library's function of this name. */
#define NEXT(name) \
    static __typeof__(name) *next_##name; \
    if (next_##name == NULL) { \
        next_##name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    }

static bool shim_is_memory(enum fault_call call) { return call <= FAULT_posix_memalign; }

/* Writes down the callers of a call. */
static void shim_print_callers(void) {
    void *frame[FAULT_FRAMES + 2];
    Dl_info module;
    inside = true;
    int n = backtrace(frame, FAULT_FRAMES + 2);
    for (int i = 2; i < n; i++) { /* this function and the one below are the shim's */
        const char *name = dladdr(frame[i], &module) && module.dli_fname ? strrchr(module.dli_fname, '/') : NULL;
        snprintf(control->from[i - 2], sizeof control->from[0], "%.40s 0x%zx", name ? name + 1 : "?",
                 name ? (size_t)((char *)frame[i] - (char *)module.dli_fbase) - 1 : 0);
    }
    inside = false;
}

/* Counts a call. True, with errno set: the call must fail. */
static bool shim_fails(enum fault_call call) {
    atomic_fetch_add_explicit(&control->seen[call], 1, memory_order_relaxed);
    int wanted = atomic_load(&control->call);
    if (inside || (wanted != (int)call && !(wanted == FAULT_ANY_MEMORY && shim_is_memory(call)))) {
        return false;
    }
    if (atomic_fetch_sub(&control->skip, 1) > 0 || atomic_fetch_sub(&control->most, 1) <= 0) {
        return false;
    }
    if (atomic_fetch_add(&control->failed, 1) == 0) {
        shim_print_callers();
    }
    errno = atomic_load(&control->error);
    return true;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SLATE_FAULTS"), *dribble = getenv("SLATE_DRIBBLE");
    void *frame[1];
    backtrace(frame, 1); /* its first call allocates */
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED) {
            control = mapped;
        }
        close(fd);
    } else if (dribble) {
        atomic_store(&control->dribble, (uint32_t)strtoul(dribble, NULL, 0));
    }
}

/* --- memory --- */

/* dlsym may need memory before it has returned the real allocator. */
static char early[1 << 16];
static size_t early_bytes;
static bool looking;
static __typeof__(malloc) *next_malloc;
static __typeof__(calloc) *next_calloc;
static __typeof__(realloc) *next_realloc;
static __typeof__(free) *next_free;

/* True: the real ones are known. The first call is made before there is a second thread. */
static bool shim_know_memory(void) {
    if (next_free == NULL && !looking) {
        looking = true;
        next_malloc = (__typeof__(malloc) *)dlsym(RTLD_NEXT, "malloc");
        next_calloc = (__typeof__(calloc) *)dlsym(RTLD_NEXT, "calloc");
        next_realloc = (__typeof__(realloc) *)dlsym(RTLD_NEXT, "realloc");
        next_free = (__typeof__(free) *)dlsym(RTLD_NEXT, "free");
        looking = false;
    }
    return !looking;
}

static void *shim_early_alloc(size_t bytes) {
    size_t at = (early_bytes + 15) & ~(size_t)15;
    if (bytes > sizeof early - at) {
        return NULL;
    }
    early_bytes = at + bytes;
    return early + at;
}
static bool shim_is_early(const void *p) { return (const char *)p >= early && (const char *)p < early + sizeof early; }

void *malloc(size_t bytes) {
    if (!shim_know_memory()) {
        return shim_early_alloc(bytes);
    }
    return shim_fails(FAULT_malloc) ? NULL : next_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    if (!shim_know_memory()) {
        return shim_early_alloc(count * bytes);
    }
    return shim_fails(FAULT_calloc) ? NULL : next_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
    if (shim_is_early(old)) {
        size_t held = (size_t)(early + sizeof early - (char *)old);
        void *moved = malloc(bytes);
        return moved ? memcpy(moved, old, bytes < held ? bytes : held) : NULL;
    }
    return shim_know_memory() && !shim_fails(FAULT_realloc) ? next_realloc(old, bytes) : NULL;
}

void free(void *p) {
    if (p != NULL && !shim_is_early(p) && shim_know_memory()) {
        next_free(p);
    }
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    NEXT(aligned_alloc)
    return shim_fails(FAULT_aligned_alloc) ? NULL : next_aligned_alloc(alignment, bytes);
}

int posix_memalign(void **to, size_t alignment, size_t bytes) {
    NEXT(posix_memalign)
    return shim_fails(FAULT_posix_memalign) ? ENOMEM : next_posix_memalign(to, alignment, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    NEXT(mmap)
    return shim_fails(FAULT_mmap) ? MAP_FAILED : next_mmap(at, bytes, protection, flags, fd, offset);
}

/* --- calls that fail or are passed on --- */

#define PASS(type, name, failure, parameters, arguments) \
    type name parameters { \
        NEXT(name) \
        return shim_fails(FAULT_##name) ? (failure) : next_##name arguments; \
    }

PASS(int, madvise, -1, (void *at, size_t bytes, int advice), (at, bytes, advice))
PASS(int, mprotect, -1, (void *at, size_t bytes, int protection), (at, bytes, protection))
PASS(int, mlockall, -1, (int flags), (flags))
PASS(int, pthread_create, errno, (pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg), (t, a, f, arg))
PASS(int, eventfd, -1, (unsigned count, int flags), (count, flags))
PASS(int, epoll_create1, -1, (int flags), (flags))
PASS(int, epoll_ctl, -1, (int epoll, int what, int fd, struct epoll_event *event), (epoll, what, fd, event))
PASS(int, epoll_wait, -1, (int epoll, struct epoll_event *events, int most, int ms), (epoll, events, most, ms))
PASS(int, timerfd_create, -1, (clockid_t clock, int flags), (clock, flags))
PASS(int, pipe2, -1, (int ends[2], int flags), (ends, flags))
PASS(int, socket, -1, (int family, int type, int protocol), (family, type, protocol))
PASS(int, bind, -1, (int fd, const struct sockaddr *at, socklen_t bytes), (fd, at, bytes))
PASS(int, listen, -1, (int fd, int backlog), (fd, backlog))
PASS(int, getsockname, -1, (int fd, struct sockaddr *at, socklen_t *bytes), (fd, at, bytes))
PASS(int, setsockopt, -1, (int fd, int level, int name, const void *value, socklen_t bytes), (fd, level, name, value, bytes))
/* Within these two calls the C library ends the program when it finds no memory (an assertion of its nss_database.c), so only the whole
 * call fails. */
#define PASS_WHOLE(type, name, failure, parameters, arguments) \
    type name parameters { \
        NEXT(name) \
        if (shim_fails(FAULT_##name)) { \
            return (failure); \
        } \
        inside = true; \
        type result = next_##name arguments; \
        inside = false; \
        return result; \
    }
PASS_WHOLE(struct passwd *, getpwnam, NULL, (const char *name), (name))
PASS_WHOLE(int, getaddrinfo, EAI_MEMORY, (const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found),
     (host, port, hints, found))
PASS(int, accept4, -1, (int fd, struct sockaddr *from, socklen_t *bytes, int flags), (fd, from, bytes, flags))
PASS(FILE *, fopen, NULL, (const char *path, const char *mode), (path, mode))
PASS(int, rename, -1, (const char *from, const char *to), (from, to))
PASS(int, unlink, -1, (const char *path), (path))
PASS(int, setrlimit, -1, (__rlimit_resource_t what, const struct rlimit *limit), (what, limit))
PASS(int, fflush, EOF, (FILE *file), (file))

int open(const char *path, int flags, ...) {
    NEXT(open)
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return shim_fails(FAULT_open) ? -1 : next_open(path, flags, mode);
}

int fcntl(int fd, int command, ...) {
    NEXT(fcntl)
    va_list ap;
    va_start(ap, command);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    return shim_fails(FAULT_fcntl) ? -1 : next_fcntl(fd, command, argument);
}

/* --- bytes in and out --- */

enum dribble { WHOLE, SHORT, INTERRUPTED };

/* The outcome of a transfer of so many bytes; SHORT: *most is the most that it may take. */
static enum dribble dribble(size_t bytes, size_t *most) {
    uint32_t seed = atomic_load_explicit(&control->dribble, memory_order_relaxed);
    if (seed == 0) {
        return WHOLE;
    }
    uint64_t n = atomic_fetch_add_explicit(&control->dribbled, 1, memory_order_relaxed);
    uint64_t random = (n + seed) * 6364136223846793005u + 1442695040888963407u;
    random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u >> 33;
    if (random % 4 == 0) {
        errno = EINTR;
        return INTERRUPTED;
    }
    /* Mostly a few bytes; sometimes many of a long transfer, because otherwise a megabyte takes a million calls. */
    *most = 1 + random / 4 % (random % 3 == 0 || bytes > 65536 ? 32768 : 7);
    return SHORT;
}

/* The first pieces of a list that hold at most `most` bytes; returns how many. */
static int shim_shorten(struct iovec *to, const struct iovec *from, int count, size_t most) {
    int n = 0;
    for (; n < count && n < 16 && most > 0; n++) {
        to[n] = from[n];
        to[n].iov_len = from[n].iov_len < most ? from[n].iov_len : most;
        most -= to[n].iov_len;
    }
    return n;
}

static size_t total(const struct iovec *iov, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += iov[i].iov_len;
    }
    return bytes;
}

ssize_t recv(int fd, void *to, size_t bytes, int flags) {
    NEXT(recv)
    size_t most = bytes;
    if (shim_fails(FAULT_recv) || dribble(bytes, &most) == INTERRUPTED) {
        return -1;
    }
    return next_recv(fd, to, most < bytes ? most : bytes, flags);
}

ssize_t send(int fd, const void *from, size_t bytes, int flags) {
    NEXT(send)
    size_t most = bytes;
    if (shim_fails(FAULT_send) || dribble(bytes, &most) == INTERRUPTED) {
        return -1;
    }
    return next_send(fd, from, most < bytes ? most : bytes, flags);
}

ssize_t readv(int fd, const struct iovec *iov, int count) {
    NEXT(readv)
    struct iovec few[16];
    size_t most = 0;
    enum dribble how;
    if (shim_fails(FAULT_readv) || (how = dribble(total(iov, count), &most)) == INTERRUPTED) {
        return -1;
    }
    return how == SHORT ? next_readv(fd, few, shim_shorten(few, iov, count, most)) : next_readv(fd, iov, count);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    NEXT(sendmsg)
    struct iovec few[16];
    size_t most = 0;
    enum dribble how;
    if (shim_fails(FAULT_sendmsg) || (how = dribble(total(message->msg_iov, (int)message->msg_iovlen), &most)) == INTERRUPTED) {
        return -1;
    }
    if (how == WHOLE) {
        return next_sendmsg(fd, message, flags);
    }
    struct msghdr part = *message;
    part.msg_iov = few;
    part.msg_iovlen = (size_t)shim_shorten(few, message->msg_iov, (int)message->msg_iovlen, most);
    return next_sendmsg(fd, &part, flags);
}

enum { EVENTFD_BYTES = 8 };

ssize_t read(int fd, void *to, size_t bytes) {
    NEXT(read)
    return bytes != EVENTFD_BYTES && shim_fails(FAULT_read) ? -1 : next_read(fd, to, bytes);
}

ssize_t write(int fd, const void *from, size_t bytes) {
    NEXT(write)
    return bytes != EVENTFD_BYTES && shim_fails(FAULT_write) ? -1 : next_write(fd, from, bytes);
}

/* --- the calendar, and the time since the machine's start --- */

int clock_gettime(clockid_t clock, struct timespec *to) {
    NEXT(clock_gettime)
    int result = next_clock_gettime(clock, to);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        to->tv_sec += atomic_load_explicit(&control->calendar_step_s, memory_order_relaxed);
    } else if (result == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)) {
        to->tv_sec += atomic_load_explicit(&control->passed_s, memory_order_relaxed);
    }
    return result;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    NEXT(gettimeofday)
    int result = next_gettimeofday(to, zone);
    if (result == 0) {
        to->tv_sec += atomic_load_explicit(&control->calendar_step_s, memory_order_relaxed);
    }
    return result;
}

time_t time(time_t *to) {
    NEXT(time)
    time_t now = next_time(NULL) + atomic_load_explicit(&control->calendar_step_s, memory_order_relaxed);
    if (to) {
        *to = now;
    }
    return now;
}

/* The address sanitizer gets each thread's stack by this call and ends the program on a failure. slated does not call it. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
    NEXT(pthread_getattr_np)
    inside = true;
    int error = next_pthread_getattr_np(thread, attributes);
    inside = false;
    return error;
}
