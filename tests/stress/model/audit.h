/* The counts of a server at rest, by its replies: those that must agree. */
#ifndef MODEL_AUDIT_H
#define MODEL_AUDIT_H
#include "server.h"
#include "world.h"

/* One number of `stats WHAT`; 0 when it is missing. */
uint64_t audit_stat(int port, const char *what, const char *name);
/* Prints the reply to a command, for a person who looks for a cause. */
void audit_tell(int port, const char *command);
/* Waits until nothing moves by itself any more, and expired items are gone. False: that never happens. */
bool audit_rest(int port);

struct audit_counts {
    uint64_t items, bytes;       /* by stats */
    uint64_t dumped, in_classes, in_sizes; /* items, by other ways */
    uint64_t class_bytes, size_bytes; /* the sums over classes, and over sizes of stats sizehist */
    bool     all_sizes;          /* sizehist covered all pages */
    unsigned classes_unlike_dump, classes_astray; /* astray: used and free chunks do not sum up */
};
void audit_counts(int port, struct audit_counts *);

/* Flushes all and waits until no item is left; returns the number left if that never happens. */
struct audit_left {
    uint64_t items, bytes, chunks;
};
void audit_flush(int port, struct audit_left *);
/* Waits until the server has no more connections than at the start; returns their number. */
unsigned audit_descriptors(const struct server *, unsigned at_start);
#endif
