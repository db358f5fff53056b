/* A worker's connections whose values are still coming: those that hold memory, in the order of
 * their last bytes, and those that wait for memory that others hold.
 *
 * Every few milliseconds those that wait are looked at. Of those for which there is room
 * (cache/items/upload_quota.c) the ones of which most bytes have come go on. So a client that
 * stopped does not keep back one that goes on.
 *
 * While a value waits, at this worker or another, a value that holds memory must go on: each second
 * a VALUES_PACE_SHARE-th of its memory must come, so nobody holds memory for more than some 8 s.
 * 32 KB that have come and were not received are enough, because then the worker was late, and not
 * the client. A large value gives way to large ones only. As many give way as wait, the stillest
 * first. Beside that, a value of which nothing has come for `timeout_s`, and one that has waited
 * for so long, is refused. One that waits and whose client has hung up is closed, unless all its
 * bytes have come.
 *
 * Threading: the worker's. Cost: nothing while no value is coming; while some wait, up to LOOK_MOST
 * system calls a look. */
#ifndef SLATE_NET_UPLOAD_WAIT_H
#define SLATE_NET_UPLOAD_WAIT_H
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    VALUES_GIVE_WAY_MS = 1000, /* a lost packet is sent again within that time, more than once */
    VALUES_PACE_SHARE = 8,
    /* with so many that wait, their received bytes take half a MB if each keeps a whole receive */
    VALUES_CROWD = 32,
};

struct conn;
struct worker;
TAILQ_HEAD(conn_list, conn);

struct values {
    struct conn_list holding, waiting;
    struct event     timer;
    struct worker   *worker;
    uint32_t         timeout_s;
    unsigned         waiting_count;
    uint64_t         late_look_us; /* when to look again for values that are late */
};

/* of a worker that has its event base */
void values_init(struct values *, struct worker *, uint32_t timeout_s);
/* To be called after a connection's turn: notes whether its value holds memory, and whether it
 * waits. While a value waits, the connection's event is the end of its client. */
void values_note(struct values *, struct conn *, bool waits);
/* Whether all bytes of its waiting value have come, and nobody has seen that before. */
bool values_arrived(struct conn *);
void values_forget(struct values *, struct conn *);
/* Whether many connections wait. */
static inline bool values_crowd(const struct values *v) { return v->waiting_count >= VALUES_CROWD; }
#endif
