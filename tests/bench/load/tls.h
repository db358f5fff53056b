/* TLS to the server, by OpenSSL: one context for all connections, a session for each.
 * A context may be shared by threads; a session belongs to one. */
#ifndef LOAD_TLS_H
#define LOAD_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "options.h"

struct tls;
struct ssl_st;
struct ssl_session_st;

/* Reads the files that the options name; NULL with one sentence in `why`. */
struct tls *tls_create(const struct options *o, char *why, size_t why_bytes);
void tls_destroy(struct tls **taken);

/* A session over a connected socket, which the caller still owns; `host` is the dialled name, or "" for an address. With --tls-resume the
 * server is asked to resume `*resume`, which tls_close left; NULL or a pointer to NULL: no resumption. Returns NULL: out of memory. */
struct ssl_st *tls_open(const struct tls *t, int fd, const char *host,
                        struct ssl_session_st **resume);
/* Sends the server the end of the session, if possible, and leaves in `resume`, unless that is NULL, the data for a later resumption. */
void tls_close(struct ssl_st **taken, struct ssl_session_st **resume);
void tls_forget(struct ssl_session_st **taken);

enum tls_shaken { TLS_DONE, TLS_WANTS_READ, TLS_WANTS_WRITE, TLS_FAILED };

/* Goes on with the handshake. TLS_FAILED: tls_why(errno) says why. */
enum tls_shaken tls_shake(struct ssl_st *ssl);
/* For an established session: whether it resumed an earlier one. */
bool tls_is_resumed(const struct ssl_st *ssl);

/* As send and recv of a socket: -1 with errno, EAGAIN when the socket must be waited for. */
ssize_t tls_send(struct ssl_st *ssl, const void *bytes, size_t n);
ssize_t tls_recv(struct ssl_st *ssl, void *to, size_t n);
/* Whether bytes were received for which no event will come. They may be less than a record: then
 * tls_recv finds nothing. */
bool tls_has_more(const struct ssl_st *ssl);

/* The error of this thread's last call, in words; `error` is its errno. */
const char *tls_why(int error);
#endif
