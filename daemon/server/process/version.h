/* The versions that the server reports. */
#ifndef SLATE_SERVER_VERSION_H
#define SLATE_SERVER_VERSION_H

/* Clients enable features by the version of a server. So the protocol reports the version of the
 * memcached whose protocol this is. SLATE_VERSION, our own, comes from the Makefile. */
#define SLATE_PROTOCOL_VERSION "1.6.45"

extern const char version_license[]; /* the text of LICENSE */
#endif
