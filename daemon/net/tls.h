/* What all TLS connections of a server share: its certificate, and what is asked of clients
 * (OpenSSL).
 *
 * Ownership: a struct tls owns its context; sessions that were begun keep the one they began with,
 * so that a reload drops no connection. Threading: tls_create and tls_destroy by the thread that
 * owns the server's sockets, the rest by any. */
#ifndef SLATE_NET_TLS_H
#define SLATE_NET_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/server.h"

struct ssl_st; /* OpenSSL's SSL */

enum {
    TLS_VERIFY_REQUIRED = 2,
    /* of each file: whoever waits for a reload waits for all of it to be read */
    TLS_FILE_BYTES = 256 * 1024,
    TLS_CHAIN_MOST = 16, /* certificates, which each client is sent */
    /* Between two looks at the files: three calls of stat, some microseconds. Files that are put in
     * one after the other are read together when they are put in within it. */
    TLS_LOOK_US = 1000 * 1000,
    /* Files that were refused are tried again, for the reason may pass: no descriptor is free, or a
     * file system does not answer. */
    TLS_RETRY_US = 60 * 1000 * 1000,
};

struct tls_config {
    /* key_file NULL: the key is in chain_file; ca_file NULL: there is none */
    const char *chain_file, *key_file, *ca_file;
    bool        key_is_der;
    unsigned    verify_mode; /* 0 to 3, as ssl_verify_mode; 2 and more: clients must show one */
    const char *ciphers;     /* NULL: OpenSSL's */
    const char *min_version; /* tlsv1.0 to tlsv1.3 */
    bool        session_cache, kernel;
    size_t      write_bytes;  /* of a worker's buffer in which replies are put together */
    uint32_t    handshake_s;  /* a handshake ends by then */
};

struct tls;

/* Texts of the config outlive the result; `facts` is written, and outlives it too. NULL: `why`
 * holds a sentence. */
struct tls *tls_create(const struct tls_config *, struct server_tls *facts,
                       char why[SERVER_TLS_WHY_BYTES]);
void tls_destroy(struct tls **);

/* Reads all files again; each must be a regular one, of TLS_FILE_BYTES at most. False: all stays as
 * it is, and `why` holds a sentence. Cost: some milliseconds, for the longest files a tenth of a
 * second. `tls` is a struct tls: for server_tls.reload. */
bool tls_reload(void *tls, char why[SERVER_TLS_WHY_BYTES]);

/* Reads the files again once they differ from those that were read, or refused, last, and did not
 * change between two looks; and files that were refused each TLS_RETRY_US. Logs what came of it, a
 * reason that stays the same once. Returns whether it read them. One thread calls it, as often as
 * it likes. */
bool tls_look(struct tls *, uint64_t now_us);

const struct tls_config *tls_settings(const struct tls *);
struct server_tls       *tls_facts(const struct tls *);

/* A session that waits for its client's first bytes on this socket; NULL: out of memory. */
struct ssl_st *tls_session(struct tls *, int fd, unsigned listen_tls);
#endif
