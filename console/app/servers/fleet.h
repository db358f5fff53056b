/* The servers that slatetop watches, a session each, and the lists that name several. A name is
 * looked up again every LIST_AGAIN_MS, a file is read again every FILE_AGAIN_MS; every server found
 * is watched from then on. The watch ends when a server has left its list: for a file at once; for
 * a name once the server is down as well, because name servers return changing parts of a long
 * list. No call blocks. One thread. */
#ifndef CONSOLE_APP_SERVERS_FLEET_H
#define CONSOLE_APP_SERVERS_FLEET_H
#include "app/servers/discovery.h"
#include "app/servers/server_session.h"
#include "draw/fleet_table.h"

#include <poll.h>

enum {
    LIST_LIMIT = 8,
    LIST_AGAIN_MS = 60000,
    FILE_AGAIN_MS = 2000,
    LIST_RETRY_MS = 5000,
    LIST_LOOKUP_MS =
        20000, /* then the lookup is given up: the system tries several name servers, 5 s each */
    TAPES_BYTES = 192 << 20 /* an hour of 40 busy classes of 32 servers */
};

struct server_list {
    struct address address;
    struct discovery discovery;
    uint64_t due_ms; /* time of the next lookup, or of giving up the one under way */
    char note[NOTE_BYTES]; /* the error of the last lookup; "" for none */
};

/* The source that named a server. */
struct origin {
    const struct server_list *list; /* NULL: the operator named it */
    bool has_left;                  /* the list no longer has it */
};

struct fleet {
    struct session *list[SERVER_LIMIT];
    struct origin origins[SERVER_LIMIT];
    unsigned count;
    struct server_list lists[LIST_LIMIT];
    unsigned list_count;
    uint64_t interval_ms;
    size_t tape_bytes;       /* each server's share of memory for the past */
    const struct access *access; /* for all servers; borrowed */
};

/* Starts with no server. The memory for the past is divided by `expected`, the number of servers to
 * come. */
void fleet_init(struct fleet *fleet, uint64_t interval_ms, unsigned expected,
                const struct access *access);
void fleet_fini(struct fleet *fleet);

/* Adds a server or a list of servers. False when there are too many, or no memory. */
bool fleet_add(struct fleet *fleet, const struct address *address);

/* Looks lists up. True when servers came or a note changed. */
bool fleet_step_lists(struct fleet *fleet, uint64_t now_ms);

/* Ends the watch of one server that has left its list. Returns its index, to which the next ones
 * move up, or -1: there is none. `shown`, the server on the screen, stays, and so does one with a
 * change under way. */
int fleet_drop_left(struct fleet *fleet, const struct session *shown);

/* Fills in the descriptors to poll; returns how many. polled has room for FLEET_POLL_LIMIT. */
enum { FLEET_POLL_LIMIT = 2 * SERVER_LIMIT + LIST_LIMIT };
unsigned fleet_polled(const struct fleet *fleet, struct pollfd *polled);
uint64_t fleet_due_ms(const struct fleet *fleet);

/* Writes the rows of all servers, in the order of `list`; returns how many. */
unsigned fleet_rows(const struct fleet *fleet, uint64_t now_ms, struct fleet_row *rows);
#endif
