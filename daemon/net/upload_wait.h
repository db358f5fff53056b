/* A worker's connections whose values are still coming (uploads): those that hold memory, in the
 * order of their last bytes, and those that wait for memory.
 *
 * A timer checks waiting values every few milliseconds. Of the values for which there is room
 * (cache/items/upload_quota.c), those resume of which most bytes have come. So a client that has
 * stopped sending does not hold up one that sends.
 *
 * While a value waits, at any worker, every value that holds memory must progress: each second a
 * UPLOAD_PACE_SHARE-th of its memory must come, so no value holds memory longer than about 8 s.
 * 32 KB that have come and were not received suffice, because then the worker is slow, not the
 * client. Values that are too slow are refused, as many as wait, the longest without bytes first; a
 * large value is refused only for large ones. A value of which nothing has come for `timeout_s`, or
 * that has waited for so long, is refused in any case. When the client of a waiting value hangs up,
 * the connection is closed, unless all bytes of the value have come.
 *
 * Threading: the worker's thread. Cost: nothing while no value is coming; while some wait, up to
 * CHECK_MOST system calls a check. */
#ifndef SLATE_NET_UPLOAD_WAIT_H
#define SLATE_NET_UPLOAD_WAIT_H
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    UPLOAD_PACE_MS = 1000, /* TCP sends a lost packet again several times in this time */
    UPLOAD_PACE_SHARE = 8,
    /* so many waiting connections hold half a MB if each holds the bytes of a full receive */
    UPLOAD_WAIT_MANY = 32,
};

struct conn;
struct worker;
TAILQ_HEAD(conn_list, conn);

struct upload_wait {
    struct conn_list holding, waiting;
    struct event     timer;
    struct worker   *worker;
    uint32_t         timeout_s;
    unsigned         waiting_count;
    uint64_t         overdue_check_us; /* when overdue values are checked next */
};

/* The worker must have its event base. */
void upload_wait_init(struct upload_wait *, struct worker *, uint32_t timeout_s);
/* Called after each turn of a connection: notes whether its value holds memory, or waits. While a
 * value waits, the connection's event is the end of its client. */
void upload_wait_note(struct upload_wait *, struct conn *, bool waits);
/* True: all bytes of the waiting value have come, and this was not known before. */
bool upload_wait_arrived(struct conn *);
void upload_wait_forget(struct upload_wait *, struct conn *);
/* True: many connections wait. */
static inline bool upload_wait_is_long(const struct upload_wait *v) {
    return v->waiting_count >= UPLOAD_WAIT_MANY;
}
#endif
