/* The messages of two servers while one takes over from the other, over a UNIX socket of type
 * SOCK_SEQPACKET.
 *
 *     next                            the one that serves
 *     HELLO                         ->
 *                                   <- OFFER     memory file; the listening takeover socket
 *                                   <- SOCKETS   listeners and UDP, in as many messages as needed
 *     READY     all else is built   ->
 *                                      … answers open requests, closes connections and the memory
 *                                        file: from here on no client is answered …
 *                                   <- GO
 *     SERVES    has the items       ->
 *
 * REFUSED with a sentence, or the end of the connection, may come in place of any message. The
 * memory file belongs to the first process before GO, and to the next process after GO. When the
 * first process ends without REFUSED, it was killed: the next process continues with the memory
 * file, as after any kill. When the next process ends before SERVES, the first recovers the items.
 * A next process that neither serves nor ends in time is killed before that. */
#ifndef SLATE_NET_TAKEOVER_HANDOVER_H
#define SLATE_NET_TAKEOVER_HANDOVER_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum handover_kind {
    HANDOVER_HELLO = 1,
    HANDOVER_REFUSED,
    HANDOVER_OFFER,
    HANDOVER_SOCKETS,
    HANDOVER_READY,
    HANDOVER_GO,
    HANDOVER_SERVES,
};
enum { HANDOVER_FDS_MOST = 200, HANDOVER_TEXT_BYTES = 512 };
enum { HANDOVER_WAITING_MOST = 4 }; /* clients that wait to be accepted */
enum { HANDOVER_OFFER_FDS = 2 }; /* memory file, listening takeover socket */
#define HANDOVER_OTHER_VERSION \
    "it speaks another version of takeovers; stop the server and start the next one, which with " \
    "-e has the items"
#define HANDOVER_MAGIC UINT32_C(0x736c6f76)
/* To be raised with each change of the messages. The first four fields never change. */
enum { HANDOVER_VERSION = 3 };

struct handover_message {
    uint32_t magic, version, kind; /* set by handover_send */
    uint32_t fd_count;
    uint32_t socket_count;              /* OFFER */
    char     text[HANDOVER_TEXT_BYTES]; /* REFUSED: a sentence */
};

/* Sends a message, and sets its first fields. False: errno. */
bool handover_send(int fd, struct handover_message *, enum handover_kind, const int *fds,
                   unsigned fd_count);
bool handover_refuse(int fd, const char *why);
/* Receives a message. 1: the message and its descriptors are the caller's. 0: the other process has
 * ended. -1: errno; EBADMSG if the bytes are no message, EPROTO if the message has another version;
 * descriptors that came with such bytes are closed. */
int handover_receive(int fd, struct handover_message *, int fds[HANDOVER_FDS_MOST]);
/* True: the other process belongs to this user, or to root. *pid gets its pid. */
bool handover_is_ours(int fd, int *pid);
/* Returns a socket that listens at the path, for this user alone. A socket file without a server is
 * replaced. -1 and errno. */
int handover_listen(const char *path);
/* Returns a connected socket. -1 and errno: EAGAIN if nothing is accepted for 5 seconds. */
int handover_connect(const char *path);

/* Sockets that the previous process handed over. Each stays here until this process needs a
 * socket of the same type and address, and takes it. */
struct handover_fds {
    int     *fds;
    unsigned count, room;
};

/* Owns the descriptors from now on, and closes them on failure. False: out of memory. */
bool handover_fds_add(struct handover_fds *, const int *taken_fds, unsigned count);
/* Adds a duplicate of the descriptor, so that the socket stays open when its owner closes it.
 * False: errno. */
bool handover_fds_add_dup(struct handover_fds *, int fd);
/* Takes a socket of this type and address; an address without a port matches any port. The socket
 * then belongs to the caller. -1: no such socket. */
int  handover_fds_take(struct handover_fds *, int type, const struct sockaddr *);
/* Closes the sockets that were not taken. */
void handover_fds_close(struct handover_fds *);
#endif
