/* Where to listen, found before the first port is opened: each address of -l is read, resolved and
 * looked at, whether clients there may be served without a password. So --check-config sees what a
 * start would, and a start that ends for one address has opened none. */
#ifndef SLATE_NET_LISTEN_BIND_ADDRESSES_H
#define SLATE_NET_LISTEN_BIND_ADDRESSES_H
#include <stdbool.h>

#include "net/listen/address.h"
#include "net/listen/listen.h"
#include "net/net.h"

struct place {
    struct listen_place at; /* its host is in `address` */
    struct address      address;
    struct listen_entry as; /* what is to be spoken, and the role */
    struct addrinfo    *found;
    struct place       *next;
};

/* All of them, in the order of the list, an address's UDP behind its TCP. None where a UNIX socket
 * is to be listened on: then its path is looked at. `with_login`: clients have to log in. False and
 * errno, after a log line; *list is to be freed then, too. */
bool places_find(const struct net_config *, bool with_login, struct place **list);
void places_free(struct place **list);

/* Whether this machine has an address of each place: binds to it, and to no port that anybody
 * knows. False: after a log line. A start finds it by opening. */
bool places_are_here(const struct place *);

/* Whether a UNIX socket may be made at the path: it fits, and in its folder is no such file, or a
 * socket. False and errno, after a log line that says what it `is_for`, behind a blank. */
bool places_take_socket(const char *path, const char *is_for);
#endif
