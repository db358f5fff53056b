/* The sockets of the server, listeners too, one record each in the order of their arrival: what
 * `stats conns` shows.
 *
 * Threading: any thread, at the cost of one lock. Readers of records hold the registry's lock. A
 * cursor stays valid while records come and go. */
#ifndef SLATE_SERVER_CONN_REGISTRY_H
#define SLATE_SERVER_CONN_REGISTRY_H
#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"

/* One socket. net registers the record and writes its fields. */
struct conn_record {
    struct conn_record *next, **link; /* the registry's */
    uint64_t    number;           /* grows with each record */
    int         fd;
    char        addr[128];        /* tcp:1.2.3.4:5, tcp6:[..]:p, unix:path */
    char        listen_addr[128]; /* empty on listeners */
    _Atomic(const char *) state;  /* conn_listening, conn_read, ... : a constant string */
    _Atomic uint32_t last_cmd_s;
};
/* A reader's position among the records. */
struct conn_cursor {
    const struct conn_record *at;  /* the next record; NULL: the end */
    uint64_t                  end; /* records with this number or a higher one are not shown */
    struct conn_cursor       *next, **link; /* the registry's */
};
struct conn_registry {
    struct lock         lock;
    struct conn_record *first, **last; /* last: where the next record is linked */
    uint64_t            number;        /* of the next record */
    struct conn_cursor *cursors;
};
void conn_registry_init(struct conn_registry *);
void conn_registry_fini(struct conn_registry *);
void conn_registry_add(struct conn_registry *, struct conn_record *);
void conn_registry_remove(struct conn_registry *, struct conn_record *);

void conn_cursor_begin(struct conn_registry *, struct conn_cursor *);
void conn_cursor_end(struct conn_registry *, struct conn_cursor *);
/* Returns the next record and advances the cursor. NULL: there are no more. Caller holds the
 * registry's lock. */
const struct conn_record *conn_cursor_next_locked(struct conn_cursor *);
#endif
