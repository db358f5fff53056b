/* Where to listen, found before the first port is opened. Each address of -l is read and resolved,
 * and checked: may its clients be served without a password? So --check-config finds the same
 * errors as a start, and a start that fails for one address has opened no port. */
#ifndef SLATE_NET_LISTEN_BIND_ADDRESSES_H
#define SLATE_NET_LISTEN_BIND_ADDRESSES_H
#include <stdbool.h>

#include "net/listen/address.h"
#include "net/listen/listen.h"

struct net_config;

struct bind_address {
    struct listen_place at; /* the host points into `address` */
    struct address      address;
    struct listen_entry as; /* protocol, TLS and role */
    struct addrinfo    *found;
    struct bind_address       *next;
};

/* Finds all addresses, in the order of the list, an address's UDP behind its TCP. With a UNIX
 * socket there are none, and its path is checked. `with_login`: clients have to log in. False and
 * errno, after a log line; *list is to be freed then, too. */
bool bind_addresses_find(const struct net_config *, bool with_login, struct bind_address **list);
void bind_addresses_free(struct bind_address **list);

/* True: this machine has at least one address of each entry. The check binds to the address and any
 * free port. False: after a log line. A start needs no check, because opening fails. */
bool bind_addresses_exist(const struct bind_address *);

/* True: a UNIX socket may be made at the path: the path is short enough, and there is no file of
 * that name, or a socket. False and errno, after a log line. `is_for` goes into the log line: the
 * socket's use, behind a blank. */
bool bind_path_is_usable(const char *path, const char *is_for);
#endif
