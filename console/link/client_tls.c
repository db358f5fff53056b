#include "link/client_tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* OpenSSL is loaded for the first server with TLS: it takes as much memory as the rest of slatetop,
 * and most operators never need it. */
/* clang-format off */
#define OPENSSL(X) \
    X(SSL_CTX_new) X(SSL_CTX_free) X(TLS_client_method) \
    X(SSL_CTX_ctrl) X(SSL_CTX_set_verify) X(SSL_CTX_set_options) \
    X(SSL_CTX_load_verify_locations) X(SSL_CTX_set_default_verify_paths) \
    X(SSL_CTX_use_certificate_chain_file) X(SSL_CTX_use_PrivateKey_file) X(SSL_new) X(SSL_free) \
    X(SSL_get0_param) X(SSL_set_fd) X(SSL_ctrl) \
    X(SSL_set_connect_state) X(SSL_is_init_finished) X(SSL_shutdown) \
    X(SSL_get_error) X(SSL_get_verify_result) X(SSL_do_handshake) \
    X(SSL_read_ex) X(SSL_write_ex) X(X509_VERIFY_PARAM_set1_ip_asc) \
    X(X509_VERIFY_PARAM_set1_host) X(X509_verify_cert_error_string) X(ERR_get_error) \
    X(ERR_reason_error_string) X(ERR_clear_error)
/* clang-format on */
#define OPENSSL_POINTER(name) __typeof__(&name) name;
static struct {
    void *library;
    OPENSSL(OPENSSL_POINTER)
} openssl;

#define OPENSSL_FIND(name) \
    is_complete = (*(void **)&openssl.name = dlsym(openssl.library, #name)) != NULL && is_complete;

static bool tls_load_openssl(char *why, size_t why_bytes) {
    char file[40];
    bool is_complete = true;
    if (openssl.library != NULL) {
        return true;
    }
    snprintf(file, sizeof file, "libssl.so.%d", OPENSSL_SHLIB_VERSION);
    openssl.library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (openssl.library == NULL) {
        snprintf(why, why_bytes, "TLS needs OpenSSL: %.150s", dlerror());
        return false;
    }
    OPENSSL(OPENSSL_FIND)
    if (!is_complete) {
        snprintf(why, why_bytes, "TLS needs OpenSSL 3, and %s is another", file);
        openssl.library = NULL;
    }
    return is_complete;
}

struct tls_context {
    struct tls_files files;
    SSL_CTX *ssl; /* NULL: not loaded */
};

struct tls {
    SSL *ssl;
    char note[120];
};

/* The first error of OpenSSL, in words. OpenSSL has no words for errors of the system. Its other
 * errors are dropped. */
static const char *tls_take_reason(void) {
    unsigned long code = openssl.ERR_get_error();
    const char *text = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                       : code != 0            ? openssl.ERR_reason_error_string(code)
                                              : NULL;
    openssl.ERR_clear_error();
    return text != NULL ? text : "no reason given";
}

/* True for a named FIFO: OpenSSL would wait for a writer. A shell's <(command) has a writer. */
static bool tls_is_named_fifo(const char *path) {
    struct stat facts;
    return path != NULL && strncmp(path, "/dev/fd/", 8) != 0 &&
           strncmp(path, "/proc/self/fd/", 14) != 0 && stat(path, &facts) == 0 &&
           S_ISFIFO(facts.st_mode);
}

static bool tls_load(SSL_CTX *ssl, const struct tls_files *files, char *why, size_t why_bytes) {
    const char *named[] = {files->ca, files->cert, files->key};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (tls_is_named_fifo(named[i])) {
            snprintf(why, why_bytes, "cannot read %.150s: not a regular file", named[i]);
            return false;
        }
    }
    int taken = files->ca != NULL ? openssl.SSL_CTX_load_verify_locations(ssl, files->ca, NULL)
                                  : openssl.SSL_CTX_set_default_verify_paths(ssl);
    bool is_trusted = taken == 1;
    if (!is_trusted) {
        snprintf(why, why_bytes, "cannot use the certificates in %.150s: %s",
                 files->ca != NULL ? files->ca : "the system's folder", tls_take_reason());
        return false;
    }
    const char *key = files->key != NULL ? files->key : files->cert;
    if (files->cert != NULL && openssl.SSL_CTX_use_certificate_chain_file(ssl, files->cert) != 1) {
        snprintf(why, why_bytes, "cannot use the certificate in %.150s: %s", files->cert,
                 tls_take_reason());
        return false;
    }
    if (key != NULL && openssl.SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
        snprintf(why, why_bytes, "cannot use the key in %.150s: %s", key, tls_take_reason());
        return false;
    }
    return true;
}

struct tls_context *tls_context_create(const struct tls_files *files) {
    struct tls_context *context = calloc(1, sizeof *context);
    if (context != NULL) {
        context->files = *files;
    }
    return context;
}

bool tls_context_load(struct tls_context *context, char *why, size_t why_bytes) {
    if (context->ssl != NULL) {
        return true;
    }
    if (!tls_load_openssl(why, why_bytes)) {
        return false;
    }
    SSL_CTX *ssl = openssl.SSL_CTX_new(openssl.TLS_client_method());
    if (ssl == NULL) {
        snprintf(why, why_bytes, "TLS cannot be used: %s", tls_take_reason());
        return false;
    }
    openssl.SSL_CTX_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    openssl.SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    openssl.SSL_CTX_ctrl(ssl, SSL_CTRL_MODE,
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                             SSL_MODE_RELEASE_BUFFERS,
                         NULL);
    openssl.SSL_CTX_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (!tls_load(ssl, &context->files, why, why_bytes)) {
        openssl.SSL_CTX_free(ssl);
        return false;
    }
    context->ssl = ssl;
    return true;
}

void tls_context_destroy(struct tls_context **context) {
    if (*context != NULL && (*context)->ssl != NULL) {
        openssl.SSL_CTX_free((*context)->ssl);
    }
    free(*context);
    *context = NULL;
}

struct tls *tls_create(struct tls_context *context, int fd, const char *name, char *why,
                       size_t why_bytes) {
    if (!tls_context_load(context, why, why_bytes)) {
        return NULL;
    }
    snprintf(why, why_bytes, "out of memory");
    struct tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) {
        return NULL;
    }
    tls->ssl = openssl.SSL_new(context->ssl);
    char sni[256]; /* OpenSSL wants a writable name, and copies it */
    snprintf(sni, sizeof sni, "%s", name);
    X509_VERIFY_PARAM *wanted = tls->ssl != NULL ? openssl.SSL_get0_param(tls->ssl) : NULL;
    unsigned char bytes[16];
    bool is_numeric = inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
    bool is_ready = wanted != NULL && openssl.SSL_set_fd(tls->ssl, fd) == 1;
    if (is_ready && is_numeric) {
        is_ready = openssl.X509_VERIFY_PARAM_set1_ip_asc(wanted, name) == 1;
    } else if (is_ready) {
        is_ready = openssl.X509_VERIFY_PARAM_set1_host(wanted, name, 0) == 1 &&
                   openssl.SSL_ctrl(tls->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
                                    TLSEXT_NAMETYPE_host_name, sni) == 1;
    }
    if (!is_ready) {
        tls_destroy(&tls);
        return NULL;
    }
    openssl.SSL_set_connect_state(tls->ssl);
    return tls;
}

void tls_destroy(struct tls **tls) {
    if (*tls != NULL) {
        if ((*tls)->ssl != NULL && openssl.SSL_is_init_finished((*tls)->ssl)) {
            openssl.SSL_shutdown((*tls)->ssl); /* ends TLS, if the socket takes that at once */
        }
        openssl.SSL_free((*tls)->ssl);
        free(*tls);
        *tls = NULL;
        openssl.ERR_clear_error();
    }
}

/* The result of a call that moved no bytes; a failure leaves its reason in the note. */
static enum tls_result tls_result_of(struct tls *tls, int returned) {
    int is_errno = errno;
    switch (openssl.SSL_get_error(tls->ssl, returned)) {
    case SSL_ERROR_WANT_READ:
        return TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANTS_WRITE;
    case SSL_ERROR_SYSCALL:
        snprintf(tls->note, sizeof tls->note, "%s",
                 is_errno != 0 ? strerror(is_errno) : "the server closed the connection");
        break;
    default: {
        long verified = openssl.SSL_get_verify_result(tls->ssl);
        bool is_untrusted = !openssl.SSL_is_init_finished(tls->ssl) && verified != X509_V_OK;
        snprintf(
            tls->note, sizeof tls->note, "%s%s", is_untrusted ? "the server's certificate: " : "",
            is_untrusted ? openssl.X509_verify_cert_error_string(verified) : tls_take_reason());
        break;
    }
    }
    openssl.ERR_clear_error();
    return TLS_FAILED;
}

enum tls_result tls_shake(struct tls *tls) {
    openssl.ERR_clear_error();
    errno = 0;
    int returned = openssl.SSL_do_handshake(tls->ssl);
    return returned == 1 ? TLS_DONE : tls_result_of(tls, returned);
}

const char *tls_note(const struct tls *tls) {
    return tls->note;
}

/* Sets errno after a read or write that moved no bytes. */
static ssize_t tls_set_errno(struct tls *tls, int returned) {
    bool is_end = openssl.SSL_get_error(tls->ssl, returned) == SSL_ERROR_ZERO_RETURN;
    enum tls_result result = is_end ? TLS_DONE : tls_result_of(tls, returned);
    errno = result == TLS_FAILED ? EPROTO : EAGAIN;
    return is_end ? 0 : -1;
}

ssize_t tls_read(struct tls *tls, void *to, size_t bytes) {
    size_t got = 0, once;
    openssl.ERR_clear_error();
    errno = 0;
    int returned = 1;
    while (got < bytes &&
           (returned = openssl.SSL_read_ex(tls->ssl, (char *)to + got, bytes - got, &once)) == 1) {
        got += once; /* read all: the socket does not show bytes that wait in OpenSSL */
    }
    return got > 0 ? (ssize_t)got : tls_set_errno(tls, returned);
}

ssize_t tls_write(struct tls *tls, const void *from, size_t bytes) {
    size_t sent = 0;
    openssl.ERR_clear_error();
    errno = 0;
    int returned = openssl.SSL_write_ex(tls->ssl, from, bytes, &sent);
    return returned == 1 ? (ssize_t)sent : tls_set_errno(tls, returned);
}
