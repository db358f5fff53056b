/* A worker's connections whose values are still coming: those that hold memory, in the order of their last bytes, and those that wait
 * for memory that others hold.
 *
 * Who waits is looked at again every few milliseconds. A value whose bytes do not come gives its memory back after
 * VALUES_GIVE_WAY_MS while anybody waits, at this worker or another, and after `timeout_s` in any case. Threading: the worker's. */
#ifndef SLATE_NET_VALUES_H
#define SLATE_NET_VALUES_H
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum { VALUES_GIVE_WAY_MS = 1000 };

struct conn;
struct worker;
TAILQ_HEAD(conn_list, conn);

struct values {
    struct conn_list receiving, waiting;
    struct event     timer;
    struct worker   *worker;
    uint32_t         timeout_s;
};

void values_init(struct values *, struct worker *, uint32_t timeout_s); /* of a worker that has its event base */
/* After a connection's turn: whether its value holds memory, and whether it waits. */
void values_note(struct values *, struct conn *, bool waits);
void values_forget(struct values *, struct conn *);
#endif
