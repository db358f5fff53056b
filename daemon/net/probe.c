#include "net/probe.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "net/address.h"

enum { LINE_BYTES = 256 };

static const char option[] = "--probe", scheme[] = "tls://", question[] = "version\r\n";

bool probe_is_wanted(int argc, char **argv) {
    size_t n = strlen(option);
    return argc > 1 && strncmp(argv[1], option, n) == 0 &&
           (argv[1][n] == '\0' || argv[1][n] == '=');
}

/* The word behind the option; NULL: there is not exactly one. */
static const char *address_of(int argc, char **argv) {
    const char *equals = strchr(argv[1], '=');
    if (equals != NULL) {
        return argc == 2 && equals[1] != '\0' ? equals + 1 : NULL;
    }
    return argc == 3 && argv[2][0] != '\0' ? argv[2] : NULL;
}

/* Returns a socket on which no call waits for longer than the timeout, or -1 and errno. */
static int open_socket(const struct sockaddr *to, socklen_t to_bytes) {
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

static int open_unix(const char *path, const char **why) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path) {
        *why = "the path of a UNIX socket is shorter";
        return -1;
    }
    strcpy(to.sun_path, path);
    int fd = open_socket((struct sockaddr *)&to, sizeof to);
    *why = fd < 0 ? strerror(errno) : NULL;
    return fd;
}

static int open_tcp(const char *text, const char **why) {
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
        fd = open_socket(ai->ai_addr, ai->ai_addrlen);
    }
    *why = fd < 0 ? strerror(errno) : NULL;
    freeaddrinfo(found);
    return fd;
}

/* Bytes of the answer, 0 or less: none came. */
static ssize_t ask_plain(int fd, char *line, size_t room) {
    return send(fd, question, sizeof question - 1, MSG_NOSIGNAL) < 0 ? -1 : recv(fd, line, room, 0);
}

static ssize_t ask_tls(int fd, char *line, size_t room) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL     *ssl = ctx != NULL ? SSL_new(ctx) : NULL;
    ssize_t  n = -1;
    if (ssl != NULL && SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1 &&
        SSL_write(ssl, question, sizeof question - 1) > 0) {
        n = SSL_read(ssl, line, (int)room);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return n;
}

/* What only a server that lives says. */
static bool lives(const char *line) {
    static const char *const begins[] = {"VERSION ", "CLIENT_ERROR unauthenticated",
                                         "ERROR Too many open connections"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (strncmp(line, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return false;
}

static int fail(const char *address, const char *why) {
    fprintf(stderr, "slated: no answer from %s: %s\n", address, why);
    return EXIT_FAILURE;
}

int probe_run(int argc, char **argv, FILE *out) {
    const char *address = address_of(argc, argv), *why = NULL;
    char        line[LINE_BYTES] = "";
    if (address == NULL) {
        fprintf(stderr, "slated: --probe wants one address, and nothing else\n");
        return EX_USAGE;
    }
    bool        tls = strncmp(address, scheme, strlen(scheme)) == 0;
    const char *at = tls ? address + strlen(scheme) : address;
    bool        is_path = strchr(at, '/') != NULL && !tls; /* no host name holds a slash */
    int         fd = is_path ? open_unix(at, &why) : open_tcp(at, &why);
    if (fd < 0) {
        return fail(address, why);
    }
    errno = 0;
    ssize_t n = tls ? ask_tls(fd, line, sizeof line - 1) : ask_plain(fd, line, sizeof line - 1);
    int     error = errno;
    close(fd);
    if (n <= 0) {
        return fail(address, error == EAGAIN ? "it says nothing"
                             : tls           ? "it does not speak TLS with us, or hangs up"
                                             : "it hangs up");
    }
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; *p != '\0'; p++) {
        *p = *p < ' ' || *p > '~' ? '?' : *p;
    }
    if (!lives(line)) {
        return fail(address, line);
    }
    fprintf(out, "%s answers: %s\n", address, line);
    return EXIT_SUCCESS;
}
