#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "server/config/listen_list.h"

enum { TLS_FILES = 3 };

/* Shows whether a file was replaced or rewritten. All zero: there is no file. */
struct file_state {
    uint64_t device, inode, bytes, written_s, written_ns, changed_s, changed_ns;
};

struct tls {
    struct tls_config  config;
    struct server_tls *facts;
    struct lock        lock;    /* over the next five members */
    SSL_CTX           *context; /* sessions hold references, too */
    struct file_state  tried[TLS_FILES]; /* the files at the last reload */
    bool               failed;           /* the last reload was refused */
    uint64_t           reloads, in_force; /* reloads begun; the reload that made the context */
    /* Only for tls_poll_files: the files at the last poll; when the next poll is due, and when
     * refused files are tried again; the reason of that refusal. */
    struct file_state  seen[TLS_FILES];
    uint64_t           poll_us, retry_us;
    char               refused[SERVER_TLS_WHY_BYTES];
};

enum { EXPIRES_SOON_DAYS = 14 };

static bool tls_refuse(char *why, const char *what, const char *file) {
    unsigned long code = ERR_get_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    snprintf(why, SERVER_TLS_WHY_BYTES, "%s%s%s: %s", what, file != NULL ? " : " : "",
             file != NULL ? file : "", reason != NULL ? reason : strerror(ERR_GET_REASON(code)));
    ERR_clear_error();
    return false;
}

/* OpenSSL calls this for the password of a key. A server has no user to type one: sets
 * *wants_password. */
static int tls_no_password(char *to, int room, int writes, void *wants_password) {
    (void)to, (void)room, (void)writes;
    *(bool *)wants_password = true;
    return 0;
}

static int tls_version_number(const char *name) {
    static const struct {
        const char *name;
        int         number;
    } versions[] = {
        {"tlsv1.0", TLS1_VERSION}, {"tlsv1.1", TLS1_1_VERSION}, {"tlsv1.3", TLS1_3_VERSION}};
    for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (strcmp(versions[i].name, name) == 0) {
            return versions[i].number;
        }
    }
    return TLS1_2_VERSION;
}

static int tls_count_session(SSL *ssl, SSL_SESSION *session) {
    struct server_tls *facts = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    (void)session;
    atomic_fetch_add_explicit(&facts->new_sessions, 1, memory_order_relaxed);
    return 0; /* OpenSSL still owns the session */
}

static int tls_verify_flags(unsigned mode) {
    return mode == 0                    ? SSL_VERIFY_NONE
           : mode < TLS_VERIFY_REQUIRED ? SSL_VERIFY_PEER
                                        : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

static void tls_set_behaviour(SSL_CTX *ssl, const struct tls_config *config,
                              struct server_tls *facts) {
    uint64_t options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                       SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF;
    SSL_CTX_set_options(ssl, options | (config->kernel ? SSL_OP_ENABLE_KTLS : 0));
    /* an idle connection holds no buffers of OpenSSL's */
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ssl, 1); /* one receive takes all records that have come */
    SSL_CTX_set_session_cache_mode(ssl, config->session_cache ? SSL_SESS_CACHE_SERVER
                                                              : SSL_SESS_CACHE_OFF);
    SSL_CTX_set_app_data(ssl, facts);
    SSL_CTX_sess_set_new_cb(ssl, tls_count_session);
    SSL_CTX_set_verify(ssl, tls_verify_flags(config->verify_mode), NULL);
}

static int tls_chain_count(SSL_CTX *ssl) {
    STACK_OF(X509) *others = NULL;
    return SSL_CTX_get0_chain_certs(ssl, &others) == 1 && others != NULL ? 1 + sk_X509_num(others)
                                                                         : 1;
}

/* Reports an error whose OpenSSL text would not say what to do. */
static bool tls_refuse_key(char *why, const char *file, const char *reason) {
    snprintf(why, SERVER_TLS_WHY_BYTES, "Error loading the key : %s: %s", file, reason);
    ERR_clear_error();
    return false;
}

static bool tls_load_key(SSL_CTX *ssl, const struct tls_config *config, char *why) {
    bool wants_password = false;
    bool is_named = config->key_file != NULL;
    const char *file = is_named ? config->key_file : config->chain_file;
    int format = is_named && config->key_is_der ? SSL_FILETYPE_ASN1 : SSL_FILETYPE_PEM;
    SSL_CTX_set_default_passwd_cb(ssl, tls_no_password);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, &wants_password);
    bool loaded = SSL_CTX_use_PrivateKey_file(ssl, file, format) == 1;
    SSL_CTX_set_default_passwd_cb(ssl, NULL);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
    if (!loaded && wants_password) {
        return tls_refuse_key(why, file, "it has a password, which slated cannot read");
    }
    if (!loaded && !is_named) {
        return tls_refuse_key(why, file,
                              "no key in it can be read; -o ssl_key names the key's file");
    }
    return loaded || tls_refuse(why, "Error loading the key", file);
}

/* Loads the files, and checks that they match each other. */
static bool tls_load_files(SSL_CTX *ssl, const struct tls_config *config, char *why) {
    if (SSL_CTX_set_min_proto_version(ssl, tls_version_number(config->min_version)) != 1) {
        return tls_refuse(why, "Error setting the oldest version", config->min_version);
    }
    if (config->ciphers != NULL && SSL_CTX_set_cipher_list(ssl, config->ciphers) != 1) {
        return tls_refuse(why, "Error setting the provided cipher(s)", config->ciphers);
    }
    if (SSL_CTX_use_certificate_chain_file(ssl, config->chain_file) != 1) {
        return tls_refuse(why, "Error loading the certificate chain", config->chain_file);
    }
    if (tls_chain_count(ssl) > TLS_CHAIN_MOST) {
        snprintf(why, SERVER_TLS_WHY_BYTES,
                 "Error loading the certificate chain : %s: it has %d certificates, more than %d",
                 config->chain_file, tls_chain_count(ssl), TLS_CHAIN_MOST);
        return false;
    }
    if (!tls_load_key(ssl, config, why)) {
        return false;
    }
    if (SSL_CTX_check_private_key(ssl) != 1) {
        return tls_refuse(why, "Error validating the certificate", NULL);
    }
    if (config->ca_file == NULL) {
        return true;
    }
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(config->ca_file);
    if (names == NULL || SSL_CTX_load_verify_locations(ssl, config->ca_file, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return tls_refuse(why, "Error loading the CA certificate", config->ca_file);
    }
    SSL_CTX_set_client_CA_list(ssl, names);
    return true;
}

/* Logs how long the certificate is valid. An expired one is served, as other servers do, because
 * clients may accept it. */
static void tls_log_expiry(const SSL_CTX *ssl, const char *file) {
    const X509 *certificate = SSL_CTX_get0_certificate(ssl);
    int days = 0, seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate)) != 1) {
        return;
    }
    if (days < 0 || seconds < 0) {
        log_warn("the certificate in %s has expired", file);
    } else if (days < EXPIRES_SOON_DAYS) {
        log_warn("the certificate in %s expires in %d days", file, days);
    } else {
        log_info("the certificate in %s is good for %d days", file, days);
    }
}

static SSL_CTX *tls_make_context(const struct tls *t, char *why) {
    ERR_clear_error();
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    if (ssl == NULL) {
        tls_refuse(why, "Error starting TLS", NULL);
        return NULL;
    }
    tls_set_behaviour(ssl, &t->config, t->facts);
    if (!tls_load_files(ssl, &t->config, why)) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    tls_log_expiry(ssl, t->config.chain_file);
    return ssl;
}

/* True: the file may be read. A pipe would block the thread, and so all its clients, until somebody
 * writes to the pipe; a long file would block them while it is read. OpenSSL reports missing
 * files. */
static bool tls_file_is_regular_and_short(const char *file, bool at_start, char *why) {
    struct stat facts;
    if (file == NULL || stat(file, &facts) != 0) {
        return true;
    }
    if (!S_ISREG(facts.st_mode) && !at_start) {
        snprintf(why, SERVER_TLS_WHY_BYTES, "Error loading %s: it is not a regular file", file);
        return false;
    }
    if (facts.st_size > TLS_FILE_BYTES) {
        snprintf(why, SERVER_TLS_WHY_BYTES, "Error loading %s: it has more than %d KiB", file,
                 TLS_FILE_BYTES >> 10);
        return false;
    }
    return true;
}

static bool tls_files_are_regular_and_short(const struct tls_config *config, bool at_start,
                                            char *why) {
    return tls_file_is_regular_and_short(config->chain_file, at_start, why) &&
           tls_file_is_regular_and_short(config->key_file, at_start, why) &&
           tls_file_is_regular_and_short(config->ca_file, at_start, why);
}

static void tls_stat_files(const struct tls_config *config, struct file_state states[TLS_FILES]) {
    const char *const files[TLS_FILES] = {config->chain_file, config->key_file, config->ca_file};
    for (int i = 0; i < TLS_FILES; i++) {
        struct stat now;
        states[i] = (struct file_state){0};
        if (files[i] != NULL && stat(files[i], &now) == 0) {
            states[i] = (struct file_state){
                (uint64_t)now.st_dev,          (uint64_t)now.st_ino,
                (uint64_t)now.st_size,         (uint64_t)now.st_mtim.tv_sec,
                (uint64_t)now.st_mtim.tv_nsec, (uint64_t)now.st_ctim.tv_sec,
                (uint64_t)now.st_ctim.tv_nsec};
        }
    }
}

bool tls_poll_files(struct tls *t, uint64_t now_us) {
    struct file_state now[TLS_FILES];
    char why[SERVER_TLS_WHY_BYTES];
    if (now_us < t->poll_us) {
        return false;
    }
    t->poll_us = now_us + TLS_POLL_US;
    tls_stat_files(&t->config, now);
    bool is_still = memcmp(now, t->seen, sizeof now) == 0;
    memcpy(t->seen, now, sizeof now);
    lock_take(&t->lock);
    bool is_tried = memcmp(now, t->tried, sizeof now) == 0;
    bool is_due = t->failed && now_us >= t->retry_us;
    lock_release(&t->lock);
    if (!is_still || (is_tried && !is_due)) {
        return false;
    }
    if (tls_reload(t, why)) {
        log_info("the certificates were read again");
        t->refused[0] = '\0';
    } else if (!is_tried || strcmp(why, t->refused) != 0) {
        log_warn("the certificates stay as they are: %s", why);
        snprintf(t->refused, sizeof t->refused, "%s", why);
    }
    t->retry_us = now_us + TLS_RETRY_US;
    return true;
}

bool tls_reload(void *arg, char why[SERVER_TLS_WHY_BYTES]) {
    struct tls *t = arg;
    struct file_state now[TLS_FILES];
    tls_stat_files(&t->config,
                   now); /* before reading: tls_poll_files notices a change meanwhile */
    lock_take(&t->lock);
    bool at_start = t->context == NULL; /* at the start no client waits */
    uint64_t reload = ++t->reloads;
    memcpy(t->tried, now, sizeof now);
    t->failed = true;
    lock_release(&t->lock);
    if (!tls_files_are_regular_and_short(&t->config, at_start, why)) {
        return false;
    }
    SSL_CTX *made = tls_make_context(t, why);
    if (made == NULL) {
        return false;
    }
    lock_take(&t->lock);
    SSL_CTX *unused = made; /* true if a later reload, with newer files, is in force */
    if (reload > t->in_force) {
        unused = t->context;
        t->context = made;
        t->in_force = reload;
        t->failed = t->reloads != reload; /* a later reload runs, or was refused */
    }
    lock_release(&t->lock);
    SSL_CTX_free(unused);
    atomic_store_explicit(&t->facts->loaded_s, clock_now_s(), memory_order_relaxed);
    return true;
}

struct tls *tls_create(const struct tls_config *config, struct server_tls *facts,
                       char why[SERVER_TLS_WHY_BYTES]) {
    struct tls *t = calloc(1, sizeof *t);
    if (t == NULL) {
        snprintf(why, SERVER_TLS_WHY_BYTES, "out of memory");
        return NULL;
    }
    t->config = *config;
    t->facts = facts;
    lock_init(&t->lock);
    if (!tls_reload(t, why)) {
        tls_destroy(&t);
    }
    return t;
}

void tls_destroy(struct tls **taken) {
    struct tls *t = *taken;
    *taken = NULL;
    if (t != NULL) {
        SSL_CTX_free(t->context);
        lock_fini(&t->lock);
        free(t);
    }
}

const struct tls_config *tls_settings(const struct tls *t) { return &t->config; }

struct server_tls *tls_facts(const struct tls *t) { return t->facts; }

struct ssl_st *tls_session(struct tls *t, int fd, unsigned listen_tls) {
    lock_take(&t->lock);
    SSL *ssl = SSL_new(t->context);
    lock_release(&t->lock);
    /* A client that resumes a session shows no certificate, so a session of a listener with other
     * rules must not be resumed here. */
    const unsigned char id[] = {'s', 'l', 'a', 't', 'e', 'd', (unsigned char)listen_tls};
    if (ssl == NULL || SSL_set_session_id_context(ssl, id, sizeof id) != 1 ||
        SSL_set_fd(ssl, fd) != 1) {
        ERR_clear_error();
        SSL_free(ssl);
        return NULL;
    }
    if (listen_tls == LISTEN_TLS_NO_PEER) {
        SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
    } else if (listen_tls == LISTEN_TLS_PEER) {
        SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    SSL_set_accept_state(ssl);
    return ssl;
}
