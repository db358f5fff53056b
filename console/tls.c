#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls {
    SSL *ssl;
    char note[120];
};

/* The first reason that OpenSSL gives; the rest of its list is dropped. */
static const char *reason(void) {
    unsigned long code = ERR_get_error();
    const char *text = code != 0 ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text != NULL ? text : "no reason given";
}

static bool load(SSL_CTX *ssl, const struct tls_files *files, char *why, size_t why_bytes) {
    bool is_trusted = files->ca != NULL ? SSL_CTX_load_verify_locations(ssl, files->ca, NULL) == 1
                                        : SSL_CTX_set_default_verify_paths(ssl) == 1;
    if (!is_trusted) {
        snprintf(why, why_bytes, "cannot use the certificates in %.150s: %s", files->ca != NULL ? files->ca : "the system's folder",
                 reason());
        return false;
    }
    const char *key = files->key != NULL ? files->key : files->cert;
    if (files->cert != NULL && SSL_CTX_use_certificate_chain_file(ssl, files->cert) != 1) {
        snprintf(why, why_bytes, "cannot use the certificate in %.150s: %s", files->cert, reason());
        return false;
    }
    if (key != NULL && SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
        snprintf(why, why_bytes, "cannot use the key in %.150s: %s", key, reason());
        return false;
    }
    return true;
}

struct tls_context *tls_context_create(const struct tls_files *files, char *why, size_t why_bytes) {
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    if (ssl == NULL) {
        snprintf(why, why_bytes, "TLS cannot be used: %s", reason());
        return NULL;
    }
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (!load(ssl, files, why, why_bytes)) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    return (struct tls_context *)ssl;
}

void tls_context_destroy(struct tls_context **context) {
    SSL_CTX_free((SSL_CTX *)*context);
    *context = NULL;
}

static bool is_numeric(const char *name) {
    unsigned char bytes[16];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

struct tls *tls_create(struct tls_context *context, int fd, const char *name) {
    struct tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) {
        return NULL;
    }
    tls->ssl = SSL_new((SSL_CTX *)context);
    X509_VERIFY_PARAM *wanted = tls->ssl != NULL ? SSL_get0_param(tls->ssl) : NULL;
    bool is_ready = wanted != NULL && SSL_set_fd(tls->ssl, fd) == 1;
    if (is_ready && is_numeric(name)) {
        is_ready = X509_VERIFY_PARAM_set1_ip_asc(wanted, name) == 1;
    } else if (is_ready) {
        is_ready = X509_VERIFY_PARAM_set1_host(wanted, name, 0) == 1 && SSL_set_tlsext_host_name(tls->ssl, name) == 1;
    }
    if (!is_ready) {
        tls_destroy(&tls);
        return NULL;
    }
    SSL_set_connect_state(tls->ssl);
    return tls;
}

void tls_destroy(struct tls **tls) {
    if (*tls != NULL) {
        if ((*tls)->ssl != NULL && SSL_is_init_finished((*tls)->ssl)) {
            SSL_shutdown((*tls)->ssl); /* says goodbye, if that can be sent at once */
        }
        SSL_free((*tls)->ssl);
        free(*tls);
        *tls = NULL;
        ERR_clear_error();
    }
}

/* What a call that moved nothing says; a failure leaves its reason in the note. */
static enum tls_result result_of(struct tls *tls, int returned) {
    int is_errno = errno;
    switch (SSL_get_error(tls->ssl, returned)) {
    case SSL_ERROR_WANT_READ:
        return TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANTS_WRITE;
    case SSL_ERROR_SYSCALL:
        snprintf(tls->note, sizeof tls->note, "%s", is_errno != 0 ? strerror(is_errno) : "the server closed the connection");
        break;
    default: {
        long verified = SSL_get_verify_result(tls->ssl);
        bool is_untrusted = !SSL_is_init_finished(tls->ssl) && verified != X509_V_OK;
        snprintf(tls->note, sizeof tls->note, "%s%s", is_untrusted ? "the server's certificate: " : "",
                 is_untrusted ? X509_verify_cert_error_string(verified) : reason());
        break;
    }
    }
    ERR_clear_error();
    return TLS_FAILED;
}

enum tls_result tls_shake(struct tls *tls) {
    ERR_clear_error();
    errno = 0;
    int returned = SSL_do_handshake(tls->ssl);
    return returned == 1 ? TLS_DONE : result_of(tls, returned);
}

const char *tls_note(const struct tls *tls) {
    return tls->note;
}

/* errno of a read or write that moved nothing. */
static ssize_t stopped(struct tls *tls, int returned) {
    bool is_end = SSL_get_error(tls->ssl, returned) == SSL_ERROR_ZERO_RETURN;
    enum tls_result result = is_end ? TLS_DONE : result_of(tls, returned);
    errno = result == TLS_FAILED ? EPROTO : EAGAIN;
    return is_end ? 0 : -1;
}

ssize_t tls_read(struct tls *tls, void *to, size_t bytes) {
    size_t got = 0, once;
    ERR_clear_error();
    errno = 0;
    int returned = 1;
    while (got < bytes && (returned = SSL_read_ex(tls->ssl, (char *)to + got, bytes - got, &once)) == 1) {
        got += once; /* all that has come: the socket does not say when more waits inside */
    }
    return got > 0 ? (ssize_t)got : stopped(tls, returned);
}

ssize_t tls_write(struct tls *tls, const void *from, size_t bytes) {
    size_t sent = 0;
    ERR_clear_error();
    errno = 0;
    int returned = SSL_write_ex(tls->ssl, from, bytes, &sent);
    return returned == 1 ? (ssize_t)sent : stopped(tls, returned);
}
