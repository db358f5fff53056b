/* When the files of TLS are read again: by a clock of this suite's own. */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/tls.h"
#include "server/config/listen_list.h"
#include "tap.h"

enum { LOOKS = 20 };

static char folder[] = "/tmp/test_tls.XXXXXX";
static struct server_tls facts;
static struct tls *tls;
static uint64_t now_us;

/* A certificate and its key: NAME.crt and NAME.key. */
static void make_pair(const char *name) {
    char path[100];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_gmtime_adj(X509_getm_notBefore(x), 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 100 * 24 * 3600);
    X509_set_pubkey(x, key);
    X509_sign(x, key, EVP_sha256());
    snprintf(path, sizeof path, "%s/%s.crt", folder, name);
    FILE *f = fopen(path, "w");
    PEM_write_X509(f, x);
    fclose(f);
    snprintf(path, sizeof path, "%s/%s.key", folder, name);
    f = fopen(path, "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    X509_free(x);
    EVP_PKEY_free(key);
}

/* Runs a line of the shell in the folder. `put` copies a file over another and makes it newer than any before, because two writes within a
 * tick of the clock have the same time. */
static void run(const char *line) {
    static int newer;
    char all[400];
    snprintf(all, sizeof all, "cd %s && put() { cp $1 $2 && touch -d @%d $2; } && %s", folder, ++newer, line);
    if (system(all) != 0) {
        printf("Bail out! cannot run %s\n", all);
        exit(1);
    }
}

/* Runs the next due check of the files; whether they were read. */
static bool look(void) {
    now_us += TLS_POLL_US;
    return tls_poll_files(tls, now_us);
}

/* The number of the next checks that read the files. */
static int reads(void) {
    int count = 0;
    for (int i = 0; i < LOOKS; i++) {
        count += look();
    }
    return count;
}

/* The name in the certificate that a new client gets. */
static const char *shown(void) {
    static char name[40];
    SSL *ssl = tls_session(tls, 0, 0);
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get_certificate(ssl)), NID_commonName, name, sizeof name);
    SSL_free(ssl);
    return name;
}

TEST(test_files_that_stay_are_not_read) {
    is(reads(), 0, "files that do not change are not read again");
    run("touch unrelated");
    is(reads(), 0, "whatever else changes beside them");
    ok(!tls_poll_files(tls, now_us), "a look that is not due yet looks at nothing");
}

TEST(test_a_pair_may_be_put_in_in_two_steps) {
    run("put two.key key");
    ok(!look(), "a file that has just changed is not read yet");
    run("put two.crt crt");
    ok(!look(), "nor is it when another changes behind it");
    ok(look(), "once all are still they are read");
    is_str(shown(), "two", "and the new pair is shown");
    run("put one.crt crt");
    is(reads(), 1, "a certificate without its key is read once");
    is_str(shown(), "two", "and refused: the old pair stays");
    run("put one.key key");
    is(reads(), 1, "when its key comes it is read again");
    is_str(shown(), "one", "and taken");
}

TEST(test_a_link_that_is_replaced_is_a_change) {
    run("mkdir 1 2 && put two.crt 1/crt && put two.key 1/key && put one.crt 2/crt && put one.key 2/key");
    run("ln -s 1 data && ln -sf data/crt crt && ln -sf data/key key");
    is(reads(), 1, "files behind links are read");
    is_str(shown(), "two", "and taken");
    run("ln -s 2 new && mv -T new data");
    is(reads(), 1, "when one link of their path is replaced they are read");
    is_str(shown(), "one", "and taken");
}

TEST(test_bad_files_are_refused_once) {
    static const char *const bad[] = {"rm crt", "echo nonsense >key", "put two.key key", "rm -f key; mkfifo key",
                                      "rm -f ca", "echo nonsense >ca"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        run(bad[i]);
        is(reads(), 1, "it is read once after: %s", bad[i]);
        is_str(shown(), "one", "and the old pair stays");
        run("rm -f crt key ca; put one.crt crt; put one.key key; put one.crt ca");
        is(reads(), 1, "a repaired file is read");
    }
    char why[SERVER_TLS_WHY_BYTES];
    run("put two.crt crt");
    ok(!tls_reload(tls, why), "an order to read them is refused: %s", why);
    is(reads(), 0, "and a refused file is not read, and logged, again");
    run("put two.key key");
    ok(tls_reload(tls, why), "an order takes a pair");
    is(reads(), 0, "and an accepted file is not read again");
    is_str(shown(), "two", "for it is in use");
}

TEST(test_a_reason_that_passes_is_got_over) {
    struct rlimit files, none;
    run("put one.crt crt; put one.key key");
    is(reads(), 1, "a pair is taken");
    run("put two.crt crt; put two.key key");
    getrlimit(RLIMIT_NOFILE, &files);
    none = files;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    int refused = reads();
    setrlimit(RLIMIT_NOFILE, &files);
    is(refused, 1, "while no descriptor is free the next pair is refused, and not tried at each look");
    is_str(shown(), "one", "and the old one stays");
    now_us += TLS_RETRY_US;
    ok(look(), "later the files are tried again, as they are");
    is_str(shown(), "two", "and taken");
    now_us += TLS_RETRY_US;
    is(reads(), 0, "then there is nothing to try");
}

/* A TLS 1.2 handshake with a listener of a kind. Returns the client's session, or NULL after a refusal. *resumed: whether the session
 * `before` (may be NULL) was resumed. */
static SSL_SESSION *shaken(unsigned listener, SSL_SESSION *before, bool *resumed) {
    int pair[2];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *client = SSL_new(ctx);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    SSL *ours = tls_session(tls, pair[0], listener);
    SSL_set_max_proto_version(client, TLS1_2_VERSION);
    SSL_set_fd(client, pair[1]);
    if (before != NULL) {
        SSL_set_session(client, before);
    }
    for (int i = 0; i < LOOKS; i++) { /* by turns: neither blocks */
        SSL_connect(client);
        SSL_accept(ours);
    }
    bool is_done = SSL_is_init_finished(client) && SSL_is_init_finished(ours);
    SSL_SESSION *session = is_done ? SSL_get1_session(client) : NULL;
    *resumed = is_done && SSL_session_reused(ours);
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN); /* or the session could not be resumed */
    SSL_set_shutdown(ours, SSL_SENT_SHUTDOWN);
    SSL_free(client);
    SSL_free(ours);
    SSL_CTX_free(ctx);
    close(pair[0]);
    close(pair[1]);
    return session;
}

TEST(test_a_session_of_another_listener_is_no_certificate) {
    bool resumed;
    SSL_SESSION *session = shaken(LISTEN_TLS_NO_PEER, NULL, &resumed);
    ok(session != NULL && !resumed, "a client without a certificate is let in by btls:");
    SSL_SESSION *again = shaken(LISTEN_TLS_NO_PEER, session, &resumed);
    ok(again != NULL && resumed, "and resumes its session there");
    ok(shaken(LISTEN_TLS_PEER, NULL, &resumed) == NULL, "mtls: refuses it");
    ok(shaken(LISTEN_TLS_PEER, session, &resumed) == NULL, "also with the session of btls:");
    SSL_SESSION_free(session);
    SSL_SESSION_free(again);
}

int main(void) {
    char crt[60], key[60], ca[60], why[SERVER_TLS_WHY_BYTES];
    if (mkdtemp(folder) == NULL) {
        printf("Bail out! no temporary folder\n");
        return 1;
    }
    clock_start();
    make_pair("one");
    make_pair("two");
    run("put one.crt crt; put one.key key; put one.crt ca");
    snprintf(crt, sizeof crt, "%s/crt", folder);
    snprintf(key, sizeof key, "%s/key", folder);
    snprintf(ca, sizeof ca, "%s/ca", folder);
    const struct tls_config config = {
        .chain_file = crt, .key_file = key, .ca_file = ca, .min_version = "tlsv1.2", .write_bytes = 1024, .session_cache = true};
    tls = tls_create(&config, &facts, why);
    ok(tls != NULL, "a pair and an authority are taken");
    tap_run_tests();
    tls_destroy(&tls);
    run("cd .. && rm -rf \"$OLDPWD\"");
    return tap_done();
}
