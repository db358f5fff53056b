/* Addresses as options write them, and as statistics show them. No I/O. */
#ifndef SLATE_NET_LISTEN_ADDRESS_H
#define SLATE_NET_LISTEN_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { ADDRESS_HOST_MAX = 256 };

/* One entry of a listen list. */
struct address {
    char host[ADDRESS_HOST_MAX]; /* empty: every interface */
    /* 1..65535; -1: any free one; 0: the entry names none and there is no default */
    int  port;
};

/* Takes the next entry off a comma-separated list; `*rest` moves behind it. Entries: host,
 * host:port, [v6], [v6]:port, *, *:port. An IPv6 address without brackets has no port. Empty
 * entries are skipped. Returns 1, 0 at the end of the list, or -1 when the entry makes no sense:
 * then `error` says why. */
int address_next(const char **rest, int default_port, struct address *, char *error,
                 size_t error_bytes);

/* The port of an IPv4 or IPv6 address; 0: it has none. */
int  address_port(const struct sockaddr *);
void address_set_port(struct sockaddr *, int port);

/* Whether only this machine reaches it: 127.0.0.0/8, ::1 and UNIX sockets. */
bool address_is_local(const struct sockaddr *);

/* tcp:1.2.3.4:5, tcp6:[::1]:5, unix:path; `path` is used for UNIX sockets, whose peers have no
 * name. */
void address_show(const struct sockaddr *, const char *path, char *text, size_t text_bytes);
#endif
