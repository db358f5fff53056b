/* Sockets that the process before handed over, until somebody who would open one of the same kind
 * and address takes it. */
#ifndef SLATE_NET_HANDED_H
#define SLATE_NET_HANDED_H
#include <stdbool.h>
#include <sys/socket.h>

struct handed {
    int     *fds;
    unsigned count, room;
};

/* For this process, whose only one it is; also when it fails the descriptors are taken. */
bool handed_add(struct handed *, const int *taken_fds, unsigned count);
/* A socket of this type at this address, or with any port if the address has none; -1: there is
 * none (any more). The caller's from now on. */
int  handed_take(struct handed *, int type, const struct sockaddr *);
/* Closes what nobody took. */
void handed_end(struct handed *);
#endif
