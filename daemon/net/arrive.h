/* The side that comes in a takeover: what the process before offers, before anything is built. */
#ifndef SLATE_NET_ARRIVE_H
#define SLATE_NET_ARRIVE_H
#include "base/succession.h"
#include "net/handed.h"
#include "net/handover.h"
#include "serve/server.h"

struct arrival {
    int           fd, pid; /* the socket to the process before, and that process's number */
    bool          ended;   /* the process before has ended since it made its offer */
    int           memory_fd, handover_fd; /* whoever takes one of them sets it to -1 */
    struct succession succession;
    struct handed sockets;
    struct cache_taken facts;
    unsigned char secret[KEY_SECRET_BYTES];
};

/* Asks the process that listens at the path. False: no process does, or it refuses; a line in the
 * log says why. */
bool arrive_begin(struct arrival *, const char *path);
/* To be called after net_arrive, or in its place. */
void arrive_end(struct arrival *);
#endif
