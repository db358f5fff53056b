/* The servers of a list: "dns:name:port" or "file:path". A child process looks them up with
 * lua/slate/wire/lists.lua, which slatectl uses, too. A name server or a file system may take long,
 * and a child can be ended at any time. No call blocks. One thread. */
#ifndef CONSOLE_APP_SERVERS_DISCOVERY_H
#define CONSOLE_APP_SERVERS_DISCOVERY_H
#include "link/address.h"

enum { DISCOVERY_BYTES = 128 << 10 };

/* A lookup under way; lookup.pipe_fd is readable when the child has sent something. */
struct discovery {
    struct lookup lookup;
    char *text; /* DISCOVERY_BYTES, while a lookup is under way */
    size_t bytes;
};
#define DISCOVERY_NONE ((struct discovery){.lookup = LOOKUP_NONE})

/* Starts a child; false when it can't. */
bool discovery_begin(struct discovery *discovery, const struct address *list);

/* Reads the child's output. True when it is complete: text then holds the servers, one a line, or,
 * after a '!', a sentence with the error. Valid until discovery_end. */
bool discovery_step(struct discovery *discovery);

/* Ends a lookup under way, or frees the text of a finished one. */
void discovery_end(struct discovery *discovery);
#endif
