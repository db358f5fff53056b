/* What two servers say to each other while one takes over from the other, over a UNIX socket that
 * keeps messages whole.
 *
 *     next                            the one that serves
 *     HELLO                         ->
 *                                   <- OFFER     memory file; the socket that this is said on
 *                                   <- SOCKETS   listeners and UDP, as often as it takes
 *     READY     all else is built   ->
 *                                      … answers what clients have asked, hangs up on them, and
 *                                        closes the memory file: nobody is answered from here …
 *                                   <- GO
 *     SERVES    has the items       ->
 *
 * Instead of each message REFUSED may come, with a sentence, or the end. Before GO the memory file
 * is the first process's, and after it the next one's. A process that has ended has nothing any
 * more: where the first ends without having refused, it was killed, and the next one goes on with
 * what is in the memory file, as after any kill. Where the next one ends before SERVES, the first
 * takes the items up again. One that does neither in time is killed first. */
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
enum { HANDOVER_OFFER_FDS = 2 }; /* memory file, the socket that this is said on */
#define HANDOVER_OTHER_VERSION \
    "it speaks another version of takeovers; stop the server and start the next one, which with " \
    "-e has the items"
#define HANDOVER_MAGIC UINT32_C(0x736c6f76)
/* To be raised with each change of what is said; the first four fields stay as they are. */
enum { HANDOVER_VERSION = 3 };

struct handover_message {
    uint32_t magic, version, kind; /* set by handover_send */
    uint32_t fd_count;
    uint32_t socket_count;              /* OFFER */
    char     text[HANDOVER_TEXT_BYTES]; /* REFUSED: a sentence */
};

/* Sends a message, whose first fields it sets. False: errno. */
bool handover_send(int fd, struct handover_message *, enum handover_kind, const int *fds,
                   unsigned fd_count);
bool handover_refuse(int fd, const char *why);
/* Receives a message. 1: it is here, and its descriptors are the caller's. 0: the other has ended.
 * -1: errno, EBADMSG if the bytes are no message, EPROTO if they are a message of another version;
 * descriptors that came with such bytes are closed. */
int handover_receive(int fd, struct handover_message *, int fds[HANDOVER_FDS_MOST]);
/* Whether the process at the other end belongs to this user, or to root; *pid gets its number. */
bool handover_is_ours(int fd, int *pid);
/* A socket that listens at the path, for this user alone. A socket there that nobody listens on is
 * replaced. -1 and errno. */
int handover_listen(const char *path);
/* -1 and errno: EAGAIN if whoever listens accepts nobody for 5 seconds. */
int handover_connect(const char *path);

/* Sockets that the process before handed over. Each is kept until this process wants to open one of
 * the same kind and address, and takes it. */
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
