/* Watchers, and the thread that writes to them.
 *
 *     watch command           watcher_open     lines collect in the new watcher's buffer
 *     `OK` is sent            watcher_attach   the logger writes to the socket, the worker reads it
 *     the client hangs up     watcher_close
 *
 * The logger thread runs while there is a watcher, and writes without waiting: a watcher that does
 * not read loses lines, and gets `skipped=N` in their place. Threading: all calls from any thread,
 * no project lock held. */
#ifndef SLATE_WATCH_WATCHER_H
#define SLATE_WATCH_WATCHER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WATCHERS_MAX = 20 };

struct watcher;

/* Sets the sizes of new buffers: a thread's ring of events, and a watcher's buffer of lines. */
void watch_init(size_t worker_bytes, size_t watcher_bytes);
/* After the last watcher: waits for the logger thread, and frees the rings of ended threads. */
void watch_fini(void);

/* `classes` of enum event_class, at least one; events of requests for one key in `one_in` (1: all).
 * NULL and errno: EUSERS for WATCHERS_MAX watchers; or no memory, no thread. */
struct watcher *watcher_open(unsigned classes, uint32_t one_in);
/* The logger writes to a duplicate of the socket, so the caller may close its socket at any time.
 * False and errno: no descriptor. */
bool watcher_attach(struct watcher *, int fd);
void watcher_close(struct watcher **); /* NULL: nothing to do */

struct watch_facts {
    /* events written into rings, and events without room */
    uint64_t worker_written, worker_dropped;
    /* lines written into buffers, and lines without room */
    uint64_t watcher_sent, watcher_skipped;
    uint64_t watchers;
};
void watch_facts(struct watch_facts *);
#endif
