/* Where the server is, and blocking conversations with it (version, stats).
 * Forms: host, host:port, [ipv6]:port, unix:/path, /path. The port defaults to 11211. */
#ifndef LOAD_ADDRESS_H
#define LOAD_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct tls;

struct address {
    struct sockaddr_storage socket;
    socklen_t bytes;
    char text[256]; /* as given, for messages */
    char host[256]; /* the host in text; "" for a UNIX socket */
    const struct tls *tls; /* borrowed; NULL: no TLS */
};

/* False with one sentence in `why`. Resolves names, which may take a while. */
bool address_parse(const char *text, struct address *out, char *why, size_t why_bytes);

/* A connected socket, Nagle off, blocking, or not and (for TCP) still connecting; -1 with errno
 * set. */
int address_connect(const struct address *a, bool blocking, int linger_s);

/* Sends one command line (without its end) and returns the reply, NUL-terminated, to be freed:
 * one line, or with `until_end` all lines up to END. NULL with one sentence in `why`. */
char *address_ask(const struct address *a, const char *command, bool until_end, double timeout_s,
                  char *why, size_t why_bytes);
#endif
