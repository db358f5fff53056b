#include "watch/watcher.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "watch/event.h"
#include "watch/event_line.h"

enum {
    DRAIN_MOST = 512, /* events between two polls of the sockets */
    /* wait without events: doubles from the least to the most */
    WAIT_MIN_MS = 1,
    WAIT_MAX_MS = 64,
};

struct watcher {
    struct watcher *next;    /* in the logger's list, or in watch.waiting */
    unsigned        classes;
    uint32_t        one_in;    /* events of requests for one key in so many */
    uint64_t        first_gid; /* earlier events are not for this watcher */
    _Atomic int     fd;        /* the logger's descriptor; -1: not attached yet */
    /* under the lock: the client is gone, and the logger may free this */
    bool            closed;
    bool            broken;    /* sending has failed */
    uint64_t        skipped;   /* lines lost since the last line */
    uint64_t        in, out;   /* bytes ever put into the buffer and taken out */
    size_t          room;
    char            buffer[];
};

/* Protects this struct except the logger's own list of watchers. */
static struct {
    struct lock     lock;
    struct watcher *waiting; /* opened, not in the logger's list yet */
    unsigned        count, of_class[EVENT_CLASS_COUNT];
    /* one entry for each watcher of requests; 0: none */
    uint32_t        one_in[WATCHERS_MAX];
    size_t          buffer_bytes;
    pthread_t       thread;
    bool            running, to_join;
    int             wake_fd;
} watch = {.lock = {PTHREAD_MUTEX_INITIALIZER}, .buffer_bytes = 256 * 1024, .wake_fd = -1};

static struct counter lines_sent, lines_skipped; /* the logger's */

static void watcher_wake_logger(void) {
    uint64_t one = 1;
    /* a full counter wakes the logger as well */
    ssize_t written = write(watch.wake_fd, &one, sizeof one);
    (void)written;
}

/* --- a watcher's buffer --- */

static void watcher_put_bytes(struct watcher *w, const char *bytes, size_t n) {
    size_t at = w->in % w->room, first = w->room - at < n ? w->room - at : n;
    memcpy(w->buffer + at, bytes, first);
    memcpy(w->buffer, bytes + first, n - first);
    w->in += n;
}

static bool watcher_has_room(const struct watcher *w, size_t n) {
    return w->room - (size_t)(w->in - w->out) >= n;
}

/* Reports the number of lost lines, if `more` bytes fit behind the report. False: they do not. */
static bool watcher_report_skipped(struct watcher *w, size_t more) {
    char text[40];
    size_t n =
        (size_t)snprintf(text, sizeof text, "skipped=%llu\n", (unsigned long long)w->skipped);
    if (!watcher_has_room(w, n + more)) {
        return false;
    }
    watcher_put_bytes(w, text, n);
    w->skipped = 0;
    return true;
}

static void watcher_add_line(struct watcher *w, const char *line, size_t n) {
    bool has_room = w->skipped > 0 ? watcher_report_skipped(w, n) : watcher_has_room(w, n);
    if (!has_room) {
        w->skipped++;
        counter_add(&lines_skipped, 1);
        return;
    }
    watcher_put_bytes(w, line, n);
    counter_add(&lines_sent, 1);
}

/* Sends as much as the socket takes. */
static void watcher_flush(struct watcher *w) {
    int fd = atomic_load_explicit(&w->fd, memory_order_acquire);
    while (fd >= 0 && w->in > w->out) {
        size_t left = (size_t)(w->in - w->out), at = w->out % w->room,
               first = w->room - at < left ? w->room - at : left;
        struct iovec iov[2] = {{w->buffer + at, first}, {w->buffer, left - first}};
        struct msghdr message = {.msg_iov = iov, .msg_iovlen = left > first ? 2 : 1};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            w->out += (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            w->broken = true;
            w->out = w->in;
            shutdown(fd, SHUT_RDWR); /* so that the worker notices */
        }
    }
}

/* --- the logger thread --- */

/* Adds new watchers to the list and frees closed ones. The list is exact up to *gid; later events
 * may be for watchers that came or went since. False: no watcher is left, and the thread is marked
 * as ended. */
static bool watcher_update_list(struct watcher **list, uint64_t *gid) {
    struct watcher *gone = NULL;
    lock_take(&watch.lock);
    struct watcher **link = list;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = watch.waiting;
    watch.waiting = NULL;
    for (link = list; *link != NULL;) {
        struct watcher *w = *link;
        if (w->closed) {
            *link = w->next;
            w->next = gone;
            gone = w;
        } else {
            link = &w->next;
        }
    }
    *gid = event_last_gid();
    watch.running = *list != NULL;
    bool running = watch.running;
    lock_release(&watch.lock);
    while (gone != NULL) {
        struct watcher *next = gone->next;
        int fd = atomic_load_explicit(&gone->fd, memory_order_relaxed);
        if (fd >= 0) {
            close(fd);
        }
        free(gone);
        gone = next;
    }
    return running;
}

static bool watcher_wants(const struct watcher *w, const struct event_record *e,
                          unsigned class_bit) {
    return (w->classes & class_bit) && e->gid >= w->first_gid && !w->broken &&
           (!(class_bit & EVENT_OF_REQUESTS) ||
            event_key_sampled(e->text, e->text_bytes, w->one_in));
}

/* Adds the oldest events, up to a gid, to the buffers of their watchers. True: there were some. */
static bool watcher_drain_events(struct watcher *list, uint64_t last_gid) {
    char line[LINE_BYTES_MAX];
    const struct event_record *e;
    int n = 0;
    for (; n < DRAIN_MOST && (e = event_oldest()) != NULL && e->gid <= last_gid; n++) {
        unsigned class_bit = event_class_of((enum event_kind)e->kind);
        size_t line_bytes = 0;
        for (struct watcher *w = list; w != NULL; w = w->next) {
            if (watcher_wants(w, e, class_bit)) {
                line_bytes = line_bytes > 0 ? line_bytes : line_write(e, line);
                watcher_add_line(w, line, line_bytes);
            }
        }
        event_take();
    }
    return n > 0;
}

/* Waits until a socket takes bytes, a watcher comes or goes, or the time is over. */
static void watcher_wait(const struct watcher *list, int ms) {
    struct pollfd fds[1 + WATCHERS_MAX];
    nfds_t n = 1;
    fds[0] = (struct pollfd){.fd = watch.wake_fd, .events = POLLIN};
    for (const struct watcher *w = list; w != NULL && n < sizeof fds / sizeof *fds; w = w->next) {
        if (w->in > w->out) {
            fds[n++] = (struct pollfd){.fd = atomic_load_explicit(&w->fd, memory_order_relaxed),
                                       .events = POLLOUT};
        }
    }
    uint64_t count;
    if (poll(fds, n, ms) > 0 && fds[0].revents != 0 &&
        read(watch.wake_fd, &count, sizeof count) < 0 && errno != EAGAIN) {
        log_warn("watchers: cannot read a wake-up: %s", strerror(errno));
    }
}

static void *watcher_logger_main(void *arg) {
    struct watcher *list = NULL;
    uint64_t gid;
    int wait_ms = WAIT_MIN_MS;
    (void)arg;
    thread_name("slated-logger");
    while (watcher_update_list(&list, &gid)) {
        bool busy = watcher_drain_events(list, gid);
        for (struct watcher *w = list; w != NULL; w = w->next) {
            watcher_flush(w);
            /* otherwise the report would wait for the next event */
            if (w->skipped > 0 && w->in == w->out && !w->broken) {
                watcher_report_skipped(w, 0);
                watcher_flush(w);
            }
        }
        if (busy) {
            wait_ms = WAIT_MIN_MS;
        } else {
            wait_ms = wait_ms * 2 < WAIT_MAX_MS ? wait_ms * 2 : WAIT_MAX_MS;
        }
        watcher_wait(list, busy ? 0 : wait_ms);
    }
    return NULL;
}

/* Under the lock. An earlier thread, if any, has ended and only has to be joined. */
static bool watcher_start_logger(void) {
    if (watch.running) {
        return true;
    }
    if (watch.wake_fd < 0) {
        watch.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (watch.wake_fd < 0) {
            return false;
        }
    }
    if (watch.to_join) {
        pthread_join(watch.thread, NULL);
        watch.to_join = false;
    }
    int error = thread_start(&watch.thread, watcher_logger_main, NULL);
    watch.running = watch.to_join = error == 0;
    errno = error;
    return error == 0;
}

/* --- coming and going --- */

void watch_init(size_t worker_bytes, size_t watcher_bytes) {
    event_set_ring_bytes(worker_bytes);
    lock_take(&watch.lock);
    watch.buffer_bytes = watcher_bytes;
    lock_release(&watch.lock);
}

void watch_fini(void) {
    lock_take(&watch.lock);
    assert(watch.count == 0);
    bool join = watch.to_join;
    watch.to_join = false;
    lock_release(&watch.lock);
    if (join) {
        watcher_wake_logger();
        pthread_join(watch.thread, NULL);
    }
    if (watch.wake_fd >= 0) {
        close(watch.wake_fd);
        watch.wake_fd = -1;
    }
    event_rings_free();
}

/* Under the lock: counts the classes and publishes the watched ones. */
static void watcher_count_classes(unsigned classes, int by) {
    uint32_t mask = 0;
    watch.count += (unsigned)by;
    for (unsigned i = 0; i < EVENT_CLASS_COUNT; i++) {
        if (classes & 1u << i) {
            watch.of_class[i] += (unsigned)by;
        }
        mask |= watch.of_class[i] > 0 ? 1u << i : 0;
    }
    atomic_store_explicit(&event_mask.classes, mask, memory_order_relaxed);
}

static uint32_t watcher_common_divisor(uint32_t a, uint32_t b) {
    while (b != 0) {
        uint32_t remainder = a % b;
        a = b;
        b = remainder;
    }
    return a;
}

/* Under the lock: a watcher of requests for one key in so many comes or goes. A sample of one key
 * in 32 serves one key in 64 and one in 96: every key of either is in the sample. */
static void watcher_count_sample(const struct watcher *w, bool comes) {
    if (!(w->classes & EVENT_OF_REQUESTS)) {
        return;
    }
    uint32_t from = comes ? 0 : w->one_in, to = comes ? w->one_in : 0, all = 0;
    unsigned at = 0;
    while (at < WATCHERS_MAX - 1 && watch.one_in[at] != from) {
        at++;
    }
    watch.one_in[at] = to;
    for (unsigned i = 0; i < WATCHERS_MAX; i++) {
        all = watcher_common_divisor(all, watch.one_in[i]);
    }
    atomic_store_explicit(&event_mask.sample_one_in, all > 0 ? all : 1, memory_order_relaxed);
}

static struct watcher *watcher_make(unsigned classes, uint32_t one_in, size_t room) {
    struct watcher *w = malloc(sizeof *w + room);
    if (w != NULL) {
        *w = (struct watcher){.classes = classes, .one_in = one_in, .room = room};
        atomic_init(&w->fd, -1);
    }
    return w;
}

struct watcher *watcher_open(unsigned classes, uint32_t one_in) {
    int error = EUSERS;
    struct watcher *w = NULL;
    lock_take(&watch.lock);
    if (watch.count < WATCHERS_MAX) {
        w = watcher_make(classes, one_in, watch.buffer_bytes);
        error = w == NULL ? ENOMEM : 0;
        if (w != NULL && !watcher_start_logger()) {
            error = errno;
            free(w);
            w = NULL;
        }
    }
    if (w != NULL) {
        w->first_gid = event_next_gid();
        w->next = watch.waiting;
        watch.waiting = w;
        watcher_count_sample(w,
                             /* before the classes, so that no thread writes unwanted events */
                             true);
        watcher_count_classes(classes, +1);
        watcher_wake_logger();
    }
    lock_release(&watch.lock);
    errno = error;
    return w;
}

bool watcher_attach(struct watcher *w, int fd) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        return false;
    }
    atomic_store_explicit(&w->fd, own, memory_order_release);
    watcher_wake_logger();
    return true;
}

void watcher_close(struct watcher **taken) {
    struct watcher *w = *taken;
    *taken = NULL;
    if (w == NULL) {
        return;
    }
    lock_take(&watch.lock);
    watcher_count_classes(w->classes, -1);
    watcher_count_sample(w, false);
    w->closed = true; /* from here on the logger may free the watcher */
    watcher_wake_logger();
    lock_release(&watch.lock);
}

void watch_facts(struct watch_facts *facts) {
    event_rings_count(&facts->worker_written, &facts->worker_dropped);
    facts->watcher_sent = counter_get(&lines_sent);
    facts->watcher_skipped = counter_get(&lines_skipped);
    lock_take(&watch.lock);
    facts->watchers = watch.count;
    lock_release(&watch.lock);
}
