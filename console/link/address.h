/* Where a server is, or where many are, as app/address_word.h reads it; and their numbers.
 *
 * Looking up a name may take as long as a name server likes, so it never happens in this process:
 * numeric addresses and paths are answered at once, names are looked up in a child that writes the
 * answer to a pipe and can be given up at any time. One thread. */
#ifndef CONSOLE_LINK_ADDRESS_H
#define CONSOLE_LINK_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { ADDRESS_BYTES = 256, ENDPOINT_LIMIT = 128 };

enum address_list {
    NO_LIST,
    LIST_OF_NAME,    /* "dns:name:port": every address of the name is a server */
    LIST_OF_FILE     /* "file:path": every line of the file */
};

struct address {
    char text[ADDRESS_BYTES + 32]; /* to show: host:port or the path */
    char host[ADDRESS_BYTES];      /* or the path of a socket or a file */
    char port[8];
    bool is_path;
    enum address_list list; /* many servers, and where they are told */
    bool is_tls;  /* "tls://host:port" */
    char tls_name[ADDRESS_BYTES]; /* whom the server's certificate must be for */
};

struct endpoint {
    struct sockaddr_storage socket_address;
    socklen_t bytes;
};

struct endpoints {
    int count;
    char why[124]; /* when count is 0: what was wrong */
    struct endpoint list[ENDPOINT_LIMIT];
};

/* A name being looked up. pipe_fd is readable when the answer is there; -1 when nothing runs. */
struct lookup {
    pid_t child;
    int pipe_fd;
};
#define LOOKUP_NONE ((struct lookup){.child = -1, .pipe_fd = -1})

/* A list as lua/slate/wire/lists.lua takes it: without "tls://". */
const char *address_list_word(const struct address *address);

/* The same over TLS; false with a sentence in why for the path of a socket. */
bool address_make_tls(struct address *address, char *why, size_t why_bytes);

/* True when no lookup is needed: *found then holds the endpoint (or a reason, for a path that is
 * too long). */
bool address_is_numeric(const struct address *address, struct endpoints *found);

/* What the child does: writes to the pipe, which may wait. */
typedef void lookup_answer(const struct address *address, int pipe_fd);
/* Starts a child that answers about an address: its endpoints, or what another `answer` than NULL
 * writes. False with errno when it can't. */
bool lookup_begin(struct lookup *lookup, const struct address *address, lookup_answer *answer);
/* Reads the answer (count 0 and a reason when there is none) and ends the lookup. Call when pipe_fd
 * is readable. */
void lookup_end(struct lookup *lookup, struct endpoints *found);
/* Gives the lookup up; does nothing when none runs. */
void lookup_cancel(struct lookup *lookup);
#endif
