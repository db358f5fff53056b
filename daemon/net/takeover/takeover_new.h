/* The side that comes in a takeover: what it has from the process before. */
#ifndef SLATE_NET_TAKEOVER_TAKEOVER_NEW_H
#define SLATE_NET_TAKEOVER_TAKEOVER_NEW_H
#include "net/takeover/handover.h"

struct arrival {
    int           fd, pid; /* the socket to the process before, -1: none, and that one's number */
    bool          ended;   /* the process before has ended since it made its offer */
    int           memory_fd, handover_fd; /* whoever takes one of them sets it to -1 */
    struct handed sockets;
};
#define ARRIVAL_NONE {.fd = -1, .memory_fd = -1, .handover_fd = -1}

/* Asks the process that listens at the path for what it has; that one goes on serving. False: no
 * process listens there, or it refuses; a line in the log says why. */
bool arrive_begin(struct arrival *, const char *path);
/* All that needs no items is built: waits until the process before has closed the memory file. From
 * then on this process serves soon, or ends. False: the other goes on, and this process has to end,
 * after a line in the log. */
bool arrive_take_over(struct arrival *);
/* Tells the process before that this one serves. */
void arrive_serves(const struct arrival *);
/* Closes what nobody took. */
void arrive_end(struct arrival *);
#endif
