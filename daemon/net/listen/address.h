/* Addresses as options have them, and as statistics show them. No I/O. */
#ifndef SLATE_NET_LISTEN_ADDRESS_H
#define SLATE_NET_LISTEN_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { ADDRESS_HOST_MAX = 256 };

/* One entry of a listen list. */
struct address {
    char host[ADDRESS_HOST_MAX]; /* empty: every interface */
    /* 1..65535; -1: any free port; 0: the entry has no port, and there is no default */
    int  port;
};

/* Takes the next entry off a comma-separated list; `*rest` moves behind it. Entries: host,
 * host:port, [v6], [v6]:port, *, *:port. An IPv6 address without brackets has no port. Empty
 * entries are skipped. Returns 1, or 0 at the end of the list. Returns -1 for a bad entry: then
 * `error` has the reason. */
int address_next(const char **list, int default_port, struct address *, char *error,
                 size_t error_bytes);

/* Returns the port of an IPv4 or IPv6 address; 0: the address has no port. */
int  address_port(const struct sockaddr *);
void address_set_port(struct sockaddr *, int port);

/* True: only this machine reaches the address: 127.0.0.0/8, ::1 and UNIX sockets. */
bool address_is_local(const struct sockaddr *);

/* Writes tcp:1.2.3.4:5, tcp6:[::1]:5 or unix:path. `path` is for UNIX sockets, whose peers have no
 * name. */
void address_show(const struct sockaddr *, const char *path, char *text, size_t text_bytes);
#endif
