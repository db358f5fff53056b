/* The servers that are watched: a session each, and the lists of names that stand for many. A list
 * "dns:name:port" is looked up in a child, again every LIST_AGAIN_MS; every address found becomes a
 * server, and stays one when it leaves the list: a dead server is a row. No call blocks. One
 * thread. */
#ifndef CONSOLE_APP_FLEET_H
#define CONSOLE_APP_FLEET_H
#include "app/session.h"
#include "draw/fleet_table.h"

#include <poll.h>

enum { LIST_LIMIT = 8, LIST_AGAIN_MS = 60000, LIST_RETRY_MS = 5000, TAPES_BYTES = 64 << 20 };

struct server_list {
    struct address address;
    struct lookup lookup;
    uint64_t due_ms;  /* of the next lookup, or when the one under way is given up */
    char note[150];   /* what is wrong with it; "" when nothing is */
};

struct fleet {
    struct session *list[SERVER_LIMIT];
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

/* Fills in what to poll for; returns how many. polled has room for FLEET_POLL_LIMIT. */
enum { FLEET_POLL_LIMIT = 2 * SERVER_LIMIT + LIST_LIMIT };
unsigned fleet_polled(const struct fleet *fleet, struct pollfd *polled);
uint64_t fleet_due_ms(const struct fleet *fleet);

/* The rows of all servers, in the order of list; returns how many. */
unsigned fleet_rows(const struct fleet *fleet, uint64_t now_ms, struct fleet_row *rows);
#endif
