/* Who watches what, and the thread that writes to them.
 *
 *     watch command           watcher_open     lines begin to wait for the new watcher
 *     `OK` is sent            watcher_attach   the logger writes to the socket, the worker reads it
 *     the client hangs up     watcher_close
 *
 * The logger thread runs while anybody watches. It writes without waiting: a watcher who does not
 * read loses lines, and finds `skipped=N` in their place. Threading: all calls from any thread, no
 * project lock held. */
#ifndef SLATE_WATCH_WATCHER_H
#define SLATE_WATCH_WATCHER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WATCHERS_MAX = 20 };

struct watcher;

/* Sizes of what is made from now on: a thread's ring of events and a watcher's buffer of lines. */
void watch_init(size_t worker_bytes, size_t watcher_bytes);
/* Once nobody watches: waits for the logger thread to end and frees the rings of threads that have
 * ended. */
void watch_fini(void);

/* NULL and errno: EUSERS, there are WATCHERS_MAX already; or no memory, no thread. `classes` of
 * enum event_class, at least one; of the events of requests those of one key in so many (1: all).
 */
struct watcher *watcher_open(unsigned classes, uint32_t one_in);
/* The logger writes to a duplicate of the socket, so the caller may close its own at any time.
 * False and errno: no descriptor. */
bool watcher_attach(struct watcher *, int fd);
void watcher_close(struct watcher **); /* NULL: nothing to do */

struct watch_facts {
    /* events into rings, and those for which there was no room */
    uint64_t worker_written, worker_dropped;
    /* lines into watchers' buffers, and those for which there was no room */
    uint64_t watcher_sent, watcher_skipped;
    uint64_t watchers;
};
void watch_facts(struct watch_facts *);
#endif
