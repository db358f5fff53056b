/* The servers that are watched: a session each, and the lists that stand for many. A name is looked
 * up again every LIST_AGAIN_MS, a file is read again every FILE_AGAIN_MS; every server found is
 * watched from then on. A server that has left the list it came from is watched no more: of a file
 * at once; of a name once it is down as well, for name servers tell of a long list now these, now
 * those. No call blocks. One thread. */
#ifndef CONSOLE_APP_FLEET_H
#define CONSOLE_APP_FLEET_H
#include "app/discovery.h"
#include "app/session.h"
#include "draw/fleet_table.h"

#include <poll.h>

enum {
    LIST_LIMIT = 8,
    LIST_AGAIN_MS = 60000,
    FILE_AGAIN_MS = 2000,
    LIST_RETRY_MS = 5000,
    LIST_LOOKUP_MS =
        20000, /* then it is given up: the system asks several name servers, 5 s each */
    TAPES_BYTES = 192 << 20 /* an hour of 40 busy classes of 32 servers */
};

struct server_list {
    struct address address;
    struct discovery discovery;
    uint64_t due_ms; /* of the next look, or when the one under way is given up */
    char note[NOTE_BYTES]; /* what is wrong with it; "" when nothing is */
};

/* Where a server was named. */
struct origin {
    const struct server_list *list; /* NULL: by itself */
    bool has_left;                  /* the list does not name it any more */
};

struct fleet {
    struct session *list[SERVER_LIMIT];
    struct origin origins[SERVER_LIMIT];
    unsigned count;
    struct server_list lists[LIST_LIMIT];
    unsigned list_count;
    uint64_t interval_ms;
    size_t tape_bytes;       /* for each server */
    const struct access *access; /* for all of them; borrowed */
};

/* Starts with no server; expected tells how many there will be,
 * to share the memory for the past. */
void fleet_init(struct fleet *fleet, uint64_t interval_ms, unsigned expected,
                const struct access *access);
void fleet_fini(struct fleet *fleet);

/* Adds a server, or a list of them. False when there are too many or memory is out. */
bool fleet_add(struct fleet *fleet, const struct address *address);

/* Looks lists up. True when servers came or a note changed. */
bool fleet_step_lists(struct fleet *fleet, uint64_t now_ms);

/* Ends the watch over one server that has left its list; its place, which those behind it move up
 * to, or -1: there is none. `kept`, which is on the screen, stays, and so does one that is being
 * changed. */
int fleet_drop_left(struct fleet *fleet, const struct session *kept);

/* Fills in what to poll for; returns how many. polled has room for FLEET_POLL_LIMIT. */
enum { FLEET_POLL_LIMIT = 2 * SERVER_LIMIT + LIST_LIMIT };
unsigned fleet_polled(const struct fleet *fleet, struct pollfd *polled);
uint64_t fleet_due_ms(const struct fleet *fleet);

/* The rows of all servers, in the order of list; returns how many. */
unsigned fleet_rows(const struct fleet *fleet, uint64_t now_ms, struct fleet_row *rows);
#endif
