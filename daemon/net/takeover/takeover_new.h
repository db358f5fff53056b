/* The side that starts in a takeover: connects to the previous process, takes its sockets and
 * memory file. Threading: the main thread. */
#ifndef SLATE_NET_TAKEOVER_TAKEOVER_NEW_H
#define SLATE_NET_TAKEOVER_TAKEOVER_NEW_H
#include "net/takeover/handover.h"

struct takeover_new {
    int           fd, pid; /* the socket to the previous process (-1: none), and its pid */
    bool          ended;   /* the previous process ended after its offer */
    int           memory_fd, handover_fd; /* set to -1 when taken */
    struct handover_fds sockets;
};
#define TAKEOVER_NEW_NONE {.fd = -1, .memory_fd = -1, .handover_fd = -1}

/* Requests sockets and memory file from the process that listens at the path. That process
 * continues to serve. False, after a log line: no process listens there, or it refuses. */
bool takeover_new_begin(struct takeover_new *, const char *path);
/* Called when all that needs no items is built. Waits until the previous process has closed the
 * memory file. From then on this process must serve soon, or end. False, after a log line: the
 * other process continues, and this one has to end. */
bool takeover_new_take_over(struct takeover_new *);
/* Reports to the previous process that this one serves. */
void takeover_new_report_serving(const struct takeover_new *);
/* Closes the descriptors that were not taken. */
void takeover_new_end(struct takeover_new *);
#endif
