/* The client's side of TLS, from 1.2 on, over a connected, non-blocking socket, by OpenSSL, which
 * is loaded when needed. The server's certificate is verified, and must be for the name that
 * tls_create gets.
 *
 * A tls_context holds the data that all connections share; a tls belongs to one connection and does
 * not own its socket. No call blocks: the result says if the socket must be readable or writable.
 * SIGPIPE must be ignored. One thread. */
#ifndef CONSOLE_LINK_CLIENT_TLS_H
#define CONSOLE_LINK_CLIENT_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Paths; NULL: the system's certificates are trusted, and slatetop has none. */
struct tls_files {
    const char *ca, *cert, *key; /* key NULL: the key is in cert */
};
struct tls_context;
/* Keeps the paths, which are borrowed, and reads no file yet. NULL when out of memory. */
struct tls_context *tls_context_create(const struct tls_files *files);
/* Loads OpenSSL and reads the files, once. False with a sentence in why when a file can't be used;
 * the next call tries again. */
bool tls_context_load(struct tls_context *context, char *why, size_t why_bytes);
void tls_context_destroy(struct tls_context **context);

enum tls_result { TLS_DONE, TLS_WANTS_READ, TLS_WANTS_WRITE, TLS_FAILED };
struct tls;

/* name: a host name, or an address as text. The first call for a context loads it. NULL with a few
 * words in why when a file can't be used or memory is out. */
struct tls *tls_create(struct tls_context *context, int fd, const char *name, char *why,
                       size_t why_bytes);
void tls_destroy(struct tls **tls);

/* Goes on with the handshake as far as the socket allows; call until it is done. */
enum tls_result tls_shake(struct tls *tls);
/* Why a call failed, as a few words. */
const char *tls_note(const struct tls *tls);

/* As recv and send: the bytes moved, 0 when the other side has ended, -1 with errno EAGAIN when the
 * socket is not ready, or EPROTO when the connection is broken. */
ssize_t tls_read(struct tls *tls, void *to, size_t bytes);
ssize_t tls_write(struct tls *tls, const void *from, size_t bytes);
#endif
