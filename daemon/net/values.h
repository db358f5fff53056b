/* A worker's connections whose values are still coming: those that hold memory, in the order of
 * their last bytes, and those that wait for memory that others hold.
 *
 * What waits is looked at again every few milliseconds: what finds room (cache/admit.c) goes on,
 * first values that have arrived as a whole, then those of which much has come, and of equals the
 * first. Those that have sent little leave half to others. So clients that stop leave room for
 * those that go on.
 *
 * A value gives its memory back when less than VALUES_PACE_BYTES of it, or than a
 * VALUES_PACE_SHARE-th of what it takes, have come for VALUES_GIVE_WAY_MS while anybody waits, at
 * this worker or another; a large one while a large one waits. 32 KB that have come and were not
 * received are enough, because then the worker was late, and not the client. As many give way in
 * one look as wait, the stillest first. A value of which nothing has come for `timeout_s` gives way
 * in any case. One that waits and whose client has hung up is closed within a second, and one that
 * has waited for `timeout_s` is refused.
 *
 * Threading: the worker's. Cost: nothing while no value is coming; while some wait, up to LOOK_MOST
 * system calls a look. */
#ifndef SLATE_NET_VALUES_H
#define SLATE_NET_VALUES_H
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    VALUES_GIVE_WAY_MS = 1000, /* a lost packet is sent again within that time, more than once */
    VALUES_PACE_BYTES = 4096,  /* the slowest modem sends as much in that time */
    /* and this part of the value's memory must come: so no value holds its memory for more than
     * some 8 s */
    VALUES_PACE_SHARE = 8,
    /* with so many that wait, their received bytes take half a MB if each keeps a whole receive */
    VALUES_CROWD = 32,
};

struct conn;
struct worker;
TAILQ_HEAD(conn_list, conn);

struct values {
    struct conn_list receiving, waiting;
    struct event     timer;
    struct worker   *worker;
    uint32_t         timeout_s;
    unsigned         waiting_count;
    uint64_t         late_look_us; /* when to look again for values that are late … */
    uint64_t         look_us;      /* … and for those that wait, at the latest */
    size_t           held_bytes;   /* bytes that drafts held at the last look at those that wait */
};

/* of a worker that has its event base */
void values_init(struct values *, struct worker *, uint32_t timeout_s);
/* To be called after a connection's turn: notes whether its value holds memory, and whether it
 * waits. */
void values_note(struct values *, struct conn *, bool waits);
void values_forget(struct values *, struct conn *);
/* Whether many connections wait. */
static inline bool values_crowd(const struct values *v) { return v->waiting_count >= VALUES_CROWD; }
/* Whether all bytes of its waiting value have come, and nobody has seen that before. */
bool values_arrived(struct conn *);
#endif
