#include "net/listen/probe.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "net/listen/address.h"

enum { LINE_BYTES = 256 };

static const char option[] = "--probe", scheme[] = "tls://", request[] = "version\r\n";

bool probe_is_wanted(int argc, char **argv) {
    size_t n = strlen(option);
    return argc > 1 && strncmp(argv[1], option, n) == 0 &&
           (argv[1][n] == '\0' || argv[1][n] == '=');
}

/* Values of the command line or, where it has none, of the environment. */
struct probe {
    const char *address, *cert, *key; /* cert, key: NULL: none */
};

static const char *probe_env(const char *variable) {
    const char *file = getenv(variable);
    return file != NULL && file[0] != '\0' ? file : NULL;
}

/* False: there is not exactly one address, or there is an unknown option. */
static bool probe_parse_options(struct probe *p, int argc, char **argv) {
    static const struct option options[] = {{"probe", optional_argument, NULL, 'p'},
                                            {"tls-cert", required_argument, NULL, 'c'},
                                            {"tls-key", required_argument, NULL, 'k'},
                                            {0}};
    *p = (struct probe){.cert = probe_env("SLATE_TLS_CERT"), .key = probe_env("SLATE_TLS_KEY")};
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'p': p->address = optarg; break;
        case 'c': p->cert = optarg; break;
        case 'k': p->key = optarg; break;
        default: return false;
        }
    }
    if (p->address == NULL && optind < argc) {
        p->address = argv[optind++];
    }
    return p->address != NULL && p->address[0] != '\0' && optind == argc;
}

/* Returns a socket on which no call waits longer than the timeout, or -1 and errno. */
static int probe_open_socket(const struct sockaddr *to, socklen_t to_bytes) {
    const struct timeval most = {.tv_sec = PROBE_TIMEOUT_S};
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
        connect(fd, to, to_bytes) == 0) {
        return fd;
    }
    int saved = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    errno = saved;
    return -1;
}

static int probe_open_unix(const char *path, const char **why) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path) {
        *why = "the path of a UNIX socket is shorter";
        return -1;
    }
    strcpy(to.sun_path, path);
    int fd = probe_open_socket((struct sockaddr *)&to, sizeof to);
    *why = fd < 0 ? strerror(errno) : NULL;
    return fd;
}

static int probe_open_tcp(const char *text, const char **why) {
    static char wrong[LINE_BYTES];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct address  a;
    char            service[12];
    if (strchr(text, ',') != NULL ||
        address_next(&text, PROBE_DEFAULT_PORT, &a, wrong, sizeof wrong) != 1) {
        *why = wrong[0] != '\0' ? wrong : "it is not one address";
        return -1;
    }
    snprintf(service, sizeof service, "%d", a.port);
    int error = getaddrinfo(a.host[0] != '\0' ? a.host : NULL, service, &hints, &found);
    if (error != 0) {
        *why = gai_strerror(error);
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *ai = found; ai != NULL && fd < 0; ai = ai->ai_next) {
        fd = probe_open_socket(ai->ai_addr, ai->ai_addrlen);
    }
    *why = fd < 0 ? strerror(errno) : NULL;
    freeaddrinfo(found);
    return fd;
}

/* Returns the bytes of the answer; 0 or less: no answer came. */
static ssize_t probe_plain(int fd, char *line, size_t room) {
    return send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0 ? -1 : recv(fd, line, room, 0);
}

/* Returns the reason of OpenSSL's last failure, such as a missing certificate. */
static const char *probe_tls_reason(void) {
    unsigned long code = ERR_peek_error();
    const char *text = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                       : code != 0            ? ERR_reason_error_string(code)
                                              : NULL;
    return text != NULL ? text : "it hangs up";
}

/* Loads our certificate and its key. False: *why has the file and the reason. */
static bool probe_load_certificate(SSL_CTX *ctx, const struct probe *p, const char **why) {
    static char words[LINE_BYTES];
    const char *key = p->key != NULL ? p->key : p->cert;
    bool        has_cert = p->cert == NULL || SSL_CTX_use_certificate_chain_file(ctx, p->cert) == 1;
    if (has_cert && (key == NULL || SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) == 1)) {
        return true;
    }
    snprintf(words, sizeof words, "our %s in %.150s cannot be used: %.60s",
             has_cert ? "key" : "certificate", has_cert ? key : p->cert, probe_tls_reason());
    *why = words;
    return false;
}

/* As probe_plain. If no answer came, but not because time ran out, *why has the reason. */
static ssize_t probe_tls(int fd, const struct probe *p, char *line, size_t room, const char **why) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL     *ssl = NULL;
    ssize_t  n = -1;
    bool is_ready = ctx != NULL && probe_load_certificate(ctx, p, why) &&
                    (ssl = SSL_new(ctx)) != NULL && SSL_set_fd(ssl, fd) == 1;
    if (is_ready && SSL_connect(ssl) == 1) {
        /* a server that refuses us may have hung up by now; its reason can still be read */
        SSL_write(ssl, request, sizeof request - 1);
        ERR_clear_error();
        n = SSL_read(ssl, line, (int)room);
    }
    if (is_ready && n <= 0) {
        static char words[LINE_BYTES];
        snprintf(words, sizeof words, "no TLS with it: %s", probe_tls_reason());
        *why = words;
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return n;
}

/* True: only a living server sends such a line. */
static bool probe_reply_is_from_server(const char *line) {
    static const char *const begins[] = {"VERSION ", "CLIENT_ERROR unauthenticated",
                                         "ERROR Too many open connections"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (strncmp(line, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return false;
}

static int probe_fail(const char *address, const char *why) {
    fprintf(stderr, "slated: no answer from %s: %s\n", address, why);
    return EXIT_FAILURE;
}

int probe_run(int argc, char **argv, FILE *out) {
    const char  *why = NULL;
    char         line[LINE_BYTES] = "";
    struct probe probe;
    if (!probe_parse_options(&probe, argc, argv)) {
        fprintf(stderr, "slated: --probe wants one address, and nothing else but --tls-cert FILE "
                        "and --tls-key FILE\n");
        return EX_USAGE;
    }
    const char *address = probe.address;
    bool        tls = strncmp(address, scheme, strlen(scheme)) == 0;
    const char *at = tls ? address + strlen(scheme) : address;
    bool        is_path = strchr(at, '/') != NULL && !tls; /* host names have no slash */
    int         fd = is_path ? probe_open_unix(at, &why) : probe_open_tcp(at, &why);
    if (fd < 0) {
        return probe_fail(address, why);
    }
    errno = 0;
    ssize_t n = tls ? probe_tls(fd, &probe, line, sizeof line - 1, &why)
                    : probe_plain(fd, line, sizeof line - 1);
    int     error = errno;
    close(fd);
    if (n <= 0) {
        return probe_fail(address, error == EAGAIN ? "it says nothing"
                                   : why != NULL   ? why
                                                   : "it hangs up");
    }
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; *p != '\0'; p++) {
        *p = *p < ' ' || *p > '~' ? '?' : *p;
    }
    if (!probe_reply_is_from_server(line)) {
        return probe_fail(address, line);
    }
    fprintf(out, "%s answers: %s\n", address, line);
    return EXIT_SUCCESS;
}
