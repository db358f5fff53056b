/* What the server says it is. */
#ifndef SLATE_SERVER_VERSION_H
#define SLATE_SERVER_VERSION_H

/* Clients switch features on by the version a server names, so the protocol's answer is that of the
 * memcached whose protocol this is. SLATE_VERSION, our own, comes from the Makefile. */
#define SLATE_PROTOCOL_VERSION "1.6.45"

extern const char version_license[]; /* the text of LICENSE */
#endif
