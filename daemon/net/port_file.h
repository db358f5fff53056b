/* The file of MEMCACHED_PORT_FILENAME: which ports the server got. */
#ifndef SLATE_NET_PORT_FILE_H
#define SLATE_NET_PORT_FILE_H
#include "net/listen.h"
#include "net/udp.h"

/* Writes a line "TCP INET: port" for each listener, TCP or UDP, INET or INET6; the file appears
 * complete or not at all. Of the sockets of the workers that share an address, one line. Returns 0,
 * or -1 and errno. */
int port_file_write(const struct listener *, const struct udp_socket *, const char *path);
#endif
