/* A message to a name server and its answer, by UDP or TCP. These calls wait, EXCHANGE_MS at most
 * and for as long as the look-up of the name server's own name takes: they are for the child in
 * which names are looked up. */
#ifndef CONSOLE_LINK_EXCHANGE_H
#define CONSOLE_LINK_EXCHANGE_H
#include <stddef.h>
#include <sys/types.h>

enum { EXCHANGE_MS = 2000, EXCHANGE_MOST = 65535 };

/* Bytes of the answer, room at most; -1: none came in time. By UDP answers that do not begin with
 * the message's first two bytes are passed over. By TCP two bytes of length stand before the
 * message and before the answer, which are not counted. */
ssize_t exchange_udp(const char *host, unsigned port, const void *message, size_t bytes,
                     void *answer, size_t room);
ssize_t exchange_tcp(const char *host, unsigned port, const void *message, size_t bytes,
                     void *answer, size_t room);
#endif
