/* The certificate that all TLS connections of a server share, and the rules for clients (OpenSSL).
 *
 * Ownership: a struct tls owns its context. A session holds the context that it began with, so a
 * reload drops no connection. Threading: the thread that owns the server's sockets calls tls_create
 * and tls_destroy; any thread may call the other functions. */
#ifndef SLATE_NET_TLS_H
#define SLATE_NET_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/server.h"

struct ssl_st; /* OpenSSL's SSL */

enum {
    TLS_VERIFY_REQUIRED = 2,
    /* most bytes of a file: clients wait while a reload reads it */
    TLS_FILE_BYTES = 256 * 1024,
    TLS_CHAIN_MOST = 16, /* certificates, which are sent to each client */
    /* Time between two polls of the files (three calls of stat, some microseconds). Files that are
     * replaced one after the other within this time are read together. */
    TLS_POLL_US = 1000 * 1000,
    /* Refused files are tried again, because the reason may pass: no free descriptor, or a file
     * system that does not answer. */
    TLS_RETRY_US = 60 * 1000 * 1000,
};

struct tls_config {
    /* key_file NULL: the key is in chain_file; ca_file NULL: no such file */
    const char *chain_file, *key_file, *ca_file;
    bool        key_is_der;
    unsigned    verify_mode; /* 0 to 3, as ssl_verify_mode; from 2: clients need a certificate */
    const char *ciphers;     /* NULL: OpenSSL's default */
    const char *min_version; /* tlsv1.0 to tlsv1.3 */
    bool        session_cache, kernel;
    size_t      write_bytes;  /* size of a worker's buffer that joins replies */
    uint32_t    handshake_s;  /* time limit of a handshake */
};

struct tls;

/* Borrows the texts of the config and `facts`; all outlive the result. NULL: `why` has the
 * reason. */
struct tls *tls_create(const struct tls_config *, struct server_tls *facts,
                       char why[SERVER_TLS_WHY_BYTES]);
void tls_destroy(struct tls **);

/* Reads all files again. Each must be a regular file of at most TLS_FILE_BYTES. False: nothing has
 * changed, and `why` has the reason. Cost: some milliseconds, for the longest files a tenth of a
 * second. `tls` is a struct tls: for server_tls.reload. */
bool tls_reload(void *tls, char why[SERVER_TLS_WHY_BYTES]);

/* Reads the files again when they differ from those of the last reload and have not changed between
 * two polls. Reads refused files again each TLS_RETRY_US. Logs the result; a repeated reason is
 * logged once. True: the files were read. One thread calls it, as often as it likes. */
bool tls_poll_files(struct tls *, uint64_t now_us);

const struct tls_config *tls_settings(const struct tls *);
struct server_tls       *tls_facts(const struct tls *);

/* Returns a session that waits for its client's first bytes on this socket. NULL: out of memory. */
struct ssl_st *tls_session(struct tls *, int fd, unsigned listen_tls);
#endif
