/* A non-blocking text-protocol connection to one server, over TCP, TLS or a UNIX socket, that
 * reconnects by itself.
 *
 * The owner polls client_fd() for client_events(), calls client_step() when the fd is ready or
 * client_due_ms() has come, queues requests with client_send(), and takes complete replies in order
 * with client_take_reply(). No call blocks. Limits: a reply of more than REPLY_LIMIT bytes, a line
 * that is not an answer, or SILENCE_MS without a byte while an answer is due ends the connection
 * with the reason in its note; the next try comes after a pause that doubles from BACKOFF_FIRST_MS
 * to BACKOFF_MOST_MS. One thread; all times are monotonic milliseconds. */
#ifndef CONSOLE_LINK_CLIENT_H
#define CONSOLE_LINK_CLIENT_H
#include "link/address.h"
#include "link/client_tls.h"

#include <stdint.h>

enum {
    REPLY_LIMIT = 1 << 20,
    REQUEST_LIMIT = 64, /* requests under way at once */
    CONNECT_MS = 5000,
    LOOKUP_MS = 5000,
    SILENCE_MS = 10000,
    BACKOFF_FIRST_MS = 250,
    BACKOFF_MOST_MS = 8000
};

enum client_state { CLIENT_LOOKUP, CLIENT_CONNECTING, CLIENT_UP, CLIENT_DOWN };

/* The form of a reply, by which its end is known. */
enum reply_form {
    REPLY_LINE,
    REPLY_STATS, /* STAT lines and END, or one line */
    REPLY_STREAM /* every line is a reply, for as long as the connection lasts; silence is fine */
};

struct reply {
    int tag;          /* as given to client_send */
    const char *text; /* not terminated; valid until the next call of any client function */
    size_t text_bytes;
    bool is_stats; /* the reply ended with END */
};

struct client;

/* The login and TLS for servers. All zero: none. */
struct access {
    const char *credentials; /* "user password", sent first; NULL or "": none */
    struct tls_context *tls; /* for addresses that speak TLS; NULL: out of memory */
};

/* Begins to connect at the first client_step. access is borrowed for as long as the client lives.
 * NULL when out of memory. */
struct client *client_create(const struct address *address, const struct access *access);
void client_destroy(struct client **client);

int client_fd(const struct client *client); /* -1: nothing to poll */
short client_events(const struct client *client);
uint64_t client_due_ms(const struct client *client); /* UINT64_MAX: nothing is due */
void client_step(struct client *client, uint64_t now_ms);

/* Queues one command line (without its line end). False when the connection is not up or
 * REQUEST_LIMIT is reached. The next client_flush sends all queued lines in one write. */
bool client_send(struct client *client, const char *line, enum reply_form form, int tag,
                 uint64_t now_ms);
void client_flush(struct client *client, uint64_t now_ms);

bool client_take_reply(struct client *client, struct reply *reply, uint64_t now_ms);

enum client_state client_state(const struct client *client);
/* Counts connections made: a change means that every answer under way on the old one is lost. */
unsigned client_generation(const struct client *client);
/* Why the connection is not up, as a sentence; empty before the first failure. */
const char *client_note(const struct client *client);
/* When CLIENT_DOWN: the time of the next try. */
uint64_t client_retry_ms(const struct client *client);
/* When CLIENT_DOWN: makes the next try due now. */
void client_hurry(struct client *client, uint64_t now_ms);
#endif
