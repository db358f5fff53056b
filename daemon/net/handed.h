/* Sockets that the process before handed over. Each is kept until this process wants to open one of
 * the same kind and address, and takes it. */
#ifndef SLATE_NET_HANDED_H
#define SLATE_NET_HANDED_H
#include <stdbool.h>
#include <sys/socket.h>

struct handed {
    int     *fds;
    unsigned count, room;
};

/* Makes the only one of this process. The descriptors are taken, also when it fails. */
bool handed_add(struct handed *, const int *taken_fds, unsigned count);
/* Adds a second descriptor of the socket, so that the socket stays open when its owner closes it.
 * False: errno. */
bool handed_keep(struct handed *, int fd);
/* Takes a socket of this type at this address or, if the address has no port, with any port. It
 * belongs to the caller from then on. -1: there is none left. */
int  handed_take(struct handed *, int type, const struct sockaddr *);
/* Closes the sockets that nobody took. */
void handed_end(struct handed *);
#endif
