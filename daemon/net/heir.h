/* The next process, as the one that serves sees it: at the other end of a socket, and with the
 * succession that is between them. The next process may end, hang or stand still at any moment. So
 * every wait for it has an end, and one that has the items and does nothing with them is killed.
 *
 * Ownership: an heir owns its descriptors. Threading: the main thread's. */
#ifndef SLATE_NET_HEIR_H
#define SLATE_NET_HEIR_H
#include "base/succession.h"
#include "net/handover.h"
#include "serve/server.h"

struct heir {
    const struct server *server; /* whose end ends waits */
    int fd, pid;                 /* fd -1: nobody asks */
    int pidfd;                   /* -1: it cannot be had */
    struct succession succession; /* fd -1: nothing was offered */
};

/* A process has connected. The heir owns the socket, and limits how long a send may take. False: it
 * is another user's process. */
bool heir_meet(struct heir *, int taken_fd, const struct server *);
/* Hangs up. Unless this process has left, it takes the succession first, so that the other does not
 * take the end of the connection for a death. */
void heir_forget(struct heir *, bool left);
/* The next process was told everything: waits until it says that it serves, or until something else
 * ends the wait, which `why` tells. Who has the succession is another question. */
void heir_await_answer(const struct heir *, char why[HANDOVER_TEXT_BYTES]);
/* Of a process that has taken the succession: whether it has it for good. It serves at once, or it
 * ends, or is killed. */
bool heir_comes_to_serve(struct heir *);
#endif
