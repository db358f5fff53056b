/* The side that comes: what the process before offers, before anything is built. */
#ifndef SLATE_NET_ARRIVE_H
#define SLATE_NET_ARRIVE_H
#include "base/succession.h"
#include "net/handed.h"
#include "net/handover.h"
#include "serve/server.h"

struct arrival {
    int           fd, pid; /* to the process before; which it is */
    bool          ended;   /* it has, after it made its offer */
    int           memory_fd, handover_fd; /* whoever takes them makes them -1 */
    struct succession succession;
    struct handed sockets;
    struct cache_taken facts;
    unsigned char secret[KEY_SECRET_BYTES];
};

/* Asks the process that listens there. False: nobody does, or it refuses; a line in the log says
 * why. */
bool arrive_begin(struct arrival *, const char *path);
/* After net_arrive, or instead of it. */
void arrive_end(struct arrival *);
#endif
