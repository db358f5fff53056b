/* The servers that a list stands for: "dns:name:port" or "file:path". They are looked
 * up by lua/slate/wire/lists.lua, by which slatectl goes, too, in a child process: a name server or
 * a file system may take as long as it likes, and a child can be given up at any time. No call
 * blocks. One thread. */
#ifndef CONSOLE_APP_DISCOVERY_H
#define CONSOLE_APP_DISCOVERY_H
#include "link/address.h"

enum { DISCOVERY_BYTES = 128 << 10 };

/* One that is under way; lookup.pipe_fd is readable when something has come. */
struct discovery {
    struct lookup lookup;
    char *text; /* DISCOVERY_BYTES of it, while one is under way */
    size_t bytes;
};
#define DISCOVERY_NONE ((struct discovery){.lookup = LOOKUP_NONE})

/* Starts a child; false when it can't. */
bool discovery_begin(struct discovery *discovery, const struct address *list);

/* Takes in what has come. True when that is all: text then holds the servers, one a line, or,
 * behind a '!', a sentence that says what is wrong. Valid until discovery_end. */
bool discovery_step(struct discovery *discovery);

/* Gives up what is under way, or gives back what it told. */
void discovery_end(struct discovery *discovery);
#endif
