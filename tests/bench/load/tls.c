#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls {
    SSL_CTX *context;
    bool verify, resume;
};

/* Set by a failed handshake whose reason is the server's certificate. */
static _Thread_local long certificate_problem;

static bool refuse(char *why, size_t why_bytes, const char *what, const char *file) {
    unsigned long code = ERR_peek_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    if (reason == NULL) {
        reason = code != 0 ? strerror(ERR_GET_REASON(code)) : "out of memory";
    }
    snprintf(why, why_bytes, "%s %s: %s", what, file, reason);
    ERR_clear_error();
    return false;
}

static bool load_files(SSL_CTX *context, const struct options *o, char *why, size_t why_bytes) {
    const char *key = o->tls_key != NULL ? o->tls_key : o->tls_cert;
    if (o->tls_ca != NULL && SSL_CTX_load_verify_locations(context, o->tls_ca, NULL) != 1) {
        return refuse(why, why_bytes, "cannot read the certificates in", o->tls_ca);
    }
    if (o->tls_ca == NULL && o->tls_verify && SSL_CTX_set_default_verify_paths(context) != 1) {
        return refuse(why, why_bytes, "cannot read the certificates of", "this system");
    }
    if (o->tls_cert == NULL) {
        return true;
    }
    if (SSL_CTX_use_certificate_chain_file(context, o->tls_cert) != 1) {
        return refuse(why, why_bytes, "cannot read the certificate in", o->tls_cert);
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return refuse(why, why_bytes, "cannot use the key in", key);
    }
    return true;
}

/* No person is there to type a key's password. */
static int no_password(char *to, int room, int writes, void *unused) {
    (void)to, (void)room, (void)writes, (void)unused;
    return 0;
}

struct tls *tls_create(const struct options *o, char *why, size_t why_bytes) {
    struct tls *t = calloc(1, sizeof(*t));
    ERR_clear_error();
    SSL_CTX *context = t != NULL ? SSL_CTX_new(TLS_client_method()) : NULL;
    if (context == NULL) {
        free(t);
        snprintf(why, why_bytes, "cannot start TLS: out of memory");
        return NULL;
    }
    t->context = context;
    t->verify = o->tls_verify;
    t->resume = o->tls_resume;
    /* A server that closes without an alert is detected by its missing replies. */
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1); /* one system call for a record, or for several */
    SSL_CTX_set_verify(context, t->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    if (!load_files(context, o, why, why_bytes)) {
        tls_destroy(&t);
    }
    return t;
}

void tls_destroy(struct tls **taken) {
    struct tls *t = *taken;
    *taken = NULL;
    if (t != NULL) {
        SSL_CTX_free(t->context);
        free(t);
    }
}

/* The name is sent to the server (SNI) and, when the certificate is verified, must be in the certificate. */
static bool set_host(SSL *ssl, const char *host, bool verify) {
    unsigned char address[16];
    bool is_address = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    if (*host == '\0') {
        return true;
    }
    if (is_address) {
        return !verify || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    return SSL_set_tlsext_host_name(ssl, host) == 1 && (!verify || SSL_set1_host(ssl, host) == 1);
}

struct ssl_st *tls_open(const struct tls *t, int fd, const char *host,
                        struct ssl_session_st **resume) {
    SSL *ssl = SSL_new(t->context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || !set_host(ssl, host, t->verify)) {
        ERR_clear_error();
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_connect_state(ssl);
    if (t->resume && resume != NULL && *resume != NULL) {
        SSL_set_session(ssl, *resume);
    }
    return ssl;
}

void tls_forget(struct ssl_session_st **taken) {
    SSL_SESSION_free(*taken);
    *taken = NULL;
}

void tls_close(struct ssl_st **taken, struct ssl_session_st **resume) {
    SSL *ssl = *taken;
    *taken = NULL;
    if (ssl == NULL) {
        return;
    }
    if (SSL_is_init_finished(ssl)) {
        SSL_shutdown(ssl); /* the answer is not waited for */
        if (resume != NULL) {
            tls_forget(resume);
            *resume = SSL_get1_session(ssl);
        }
    }
    ERR_clear_error();
    SSL_free(ssl);
}

/* Sets errno as a socket's call would for a call that did nothing; 0: the server has ended the session. */
static void set_error(const SSL *ssl, int result) {
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return;
    case SSL_ERROR_ZERO_RETURN: errno = 0; return;
    case SSL_ERROR_SYSCALL: return;
    default: errno = EPROTO;
    }
}

static void begin_call(void) {
    ERR_clear_error();
    certificate_problem = X509_V_OK;
    errno = 0;
}

enum tls_shaken tls_shake(struct ssl_st *ssl) {
    begin_call();
    int result = SSL_connect(ssl);
    if (result == 1) {
        return TLS_DONE;
    }
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ: return TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return TLS_WANTS_WRITE;
    default: set_error(ssl, result);
    }
    if (errno == EPROTO) {
        certificate_problem = SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE
                                  ? X509_V_OK
                                  : SSL_get_verify_result(ssl);
    }
    return TLS_FAILED;
}

bool tls_is_resumed(const struct ssl_st *ssl) { return SSL_session_reused(ssl) == 1; }

ssize_t tls_send(struct ssl_st *ssl, const void *bytes, size_t n) {
    size_t sent = 0;
    begin_call();
    int result = SSL_write_ex(ssl, bytes, n, &sent);
    if (result == 1) {
        return (ssize_t)sent;
    }
    set_error(ssl, result);
    errno = errno == 0 ? EPIPE : errno;
    return -1;
}

ssize_t tls_recv(struct ssl_st *ssl, void *to, size_t n) {
    size_t got = 0, more = 0;
    do {
        begin_call();
        int result = SSL_read_ex(ssl, (char *)to + got, n - got, &more);
        if (result != 1) {
            set_error(ssl, result);
            return got > 0 ? (ssize_t)got : errno == 0 ? 0 : -1;
        }
        got += more;
    } while (got < n && SSL_has_pending(ssl) == 1);
    return (ssize_t)got;
}

bool tls_has_more(const struct ssl_st *ssl) { return SSL_has_pending(ssl) == 1; }

const char *tls_why(int error) {
    unsigned long code = ERR_peek_last_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    if (error == EPROTO && certificate_problem != X509_V_OK) {
        return X509_verify_cert_error_string(certificate_problem);
    }
    if (error == EPROTO && reason != NULL) {
        return reason;
    }
    return error == 0 ? "the server closed the connection" : strerror(error);
}
