/* The counts of a server at rest, as the wire tells them: those that must agree. */
#ifndef MODEL_AUDIT_H
#define MODEL_AUDIT_H
#include "server.h"
#include "world.h"

/* One number of `stats WHAT`; 0 when it is not told. */
uint64_t audit_stat(int port, const char *what, const char *name);
/* Prints the answer to a command, for who looks for a cause. */
void audit_tell(int port, const char *command);
/* Waits until nothing moves by itself any more, and what expired is gone. False: it never does. */
bool audit_rest(int port);

struct audit_counts {
    uint64_t items, bytes;       /* of stats */
    uint64_t dumped, in_classes, in_sizes; /* items, by other ways */
    uint64_t class_bytes, size_bytes; /* what classes, and sizes of stats sizehist, sum up to */
    bool     all_sizes;          /* it looked at all pages */
    unsigned classes_unlike_dump, classes_astray; /* astray: used and free chunks are not all */
};
void audit_counts(int port, struct audit_counts *);

/* Flushes all and waits until nothing is left; what is, if it never comes to that. */
struct audit_left {
    uint64_t items, bytes, chunks;
};
void audit_flush(int port, struct audit_left *);
/* Waits until the server has no more of them than at the start; how many it has. */
unsigned audit_descriptors(const struct server *, unsigned at_start);
#endif
