/* The side that serves in a takeover: finds the next process, hands its sockets over, and stops.
 *
 * Threading: the main thread. Until the next process reports that it is built, no client notices
 * anything. Then this process stops as at any stop, but the sockets and the memory file stay open:
 * a client that connects meanwhile waits. If the next process does not come to serve, main starts
 * anew with the sockets and the file. */
#ifndef SLATE_NET_TAKEOVER_TAKEOVER_OLD_H
#define SLATE_NET_TAKEOVER_TAKEOVER_OLD_H
#include <stdbool.h>

struct net;
struct takeover_new;
struct takeover_old;

/* Listens for the next process. False and errno, after one log line: the socket cannot be made. */
bool takeover_old_begin(struct net *);
void takeover_old_end(struct takeover_old **);
/* Starts the next process, if an administrator has requested that. */
void takeover_old_start_next(struct net *);
/* Called about ten times a second: checks whether a process that was started has ended. */
void takeover_old_tick(struct takeover_old *);

/* Once net_run has returned SERVER_HAND_OVER and net_stop was called: takes the next process out of
 * the net, with the sockets and the memory file that were offered to it. These stay open. */
struct takeover_old *takeover_old_detach(struct net *);
/* Once all else is destroyed: lets the next process have the memory file, and waits until that
 * process serves. Returns its pid. 0: it has ended, or hung and was killed; `back` has the sockets
 * and the file, for a start anew. */
int takeover_old_hand_over(struct takeover_old **taken, struct takeover_new *back);
#endif
