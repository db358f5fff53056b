/* The address of a server and its endpoints, and lookups in a child process.
 *
 * A lookup of a name may take long, so slatetop itself never does one: numeric addresses and paths
 * are answered at once; a child looks names up, writes the answer to a pipe, and can be ended at
 * any time. One thread. */
#ifndef CONSOLE_LINK_ADDRESS_H
#define CONSOLE_LINK_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { ADDRESS_BYTES = 256, ENDPOINT_LIMIT = 128 };

struct address {
    char text[ADDRESS_BYTES + 32]; /* for the screen: host:port or the path */
    char host[ADDRESS_BYTES];      /* host, or path of a socket */
    char port[8];
    bool is_path;
    bool is_tls; /* the certificate must be for `host` */
};

struct endpoint {
    struct sockaddr_storage socket_address;
    socklen_t bytes;
};

struct endpoints {
    int count;
    char why[124]; /* when count is 0: the error */
    struct endpoint list[ENDPOINT_LIMIT];
};

/* The lookup of a name. pipe_fd is readable when the answer has come; -1: no lookup runs. */
struct lookup {
    pid_t child;
    int pipe_fd;
};
#define LOOKUP_NONE ((struct lookup){.child = -1, .pipe_fd = -1})

/* True when no lookup is needed: *found then holds the endpoint (or a reason, for a path that is
 * too long). */
bool address_is_numeric(const struct address *address, struct endpoints *found);

/* The child's function: writes the answer to the pipe, and may wait. */
typedef void lookup_answer(const void *of, int pipe_fd);
/* Starts a child that calls answer(of, pipe). False with errno when there is no child. */
bool lookup_begin(struct lookup *lookup, lookup_answer *answer, const void *of);
/* Starts a child that writes the endpoints of an address. */
bool lookup_begin_address(struct lookup *lookup, const struct address *address);
/* Reads the answer (count 0 and a reason when there is none) and ends the lookup. Call when pipe_fd
 * is readable. */
void lookup_end(struct lookup *lookup, struct endpoints *found);
/* Gives the lookup up; does nothing when none runs. */
void lookup_cancel(struct lookup *lookup);
#endif
