/* A server with its own sockets and folder in this process, and its clients. A suite that includes own_clock.h first also owns the time of
 * the server's timers. */
#ifndef NET_FIXTURE_H
#define NET_FIXTURE_H
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/net.h"
#include "net/net_internal.h"
#include "session_fixture.h"

/* --- the turns of the server's loops --- */

static struct {
    pthread_mutex_t    mutex;
    pthread_cond_t     changed;
    struct event_base *held;  /* this loop begins only `turns` more turns; NULL: no loop is held */
    unsigned           turns; /* left for the held loop */
    bool               rests;
    int                fd; /* an eventfd, written to at the end of each turn of each loop */
} loops = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .fd = -1};

static inline void loop_turn_begins(struct event_base *base) {
    eventfd_write(loops.fd, 1);
    pthread_mutex_lock(&loops.mutex);
    while (base == loops.held && loops.turns == 0) {
        loops.rests = true;
        pthread_cond_broadcast(&loops.changed);
        pthread_cond_wait(&loops.changed, &loops.mutex);
    }
    loops.turns -= base == loops.held;
    pthread_mutex_unlock(&loops.mutex);
}

/* Replaces libevent's function. */
int event_base_loop(struct event_base *base, int flags) {
    int (*one_turn)(struct event_base *, int) = (int (*)(struct event_base *, int))dlsym(RTLD_NEXT, "event_base_loop"), result;
    do {
        loop_turn_begins(base);
        result = one_turn(base, flags | EVLOOP_ONCE);
    } while (!(flags & EVLOOP_ONCE) && result == 0 && !event_base_got_break(base));
    return result;
}

/* Holds a loop after so many turns more; `wake` causes the first of them. */
#define LOOP_REST(loop, wake, more) ({ \
        pthread_mutex_lock(&loops.mutex); \
        loops.held = (loop)->base; \
        loops.turns = (more); \
        loops.rests = false; \
        pthread_cond_broadcast(&loops.changed); \
        wake(loop); \
        while (!loops.rests) { \
            pthread_cond_wait(&loops.changed, &loops.mutex); \
        } \
        pthread_mutex_unlock(&loops.mutex); \
    })

static inline void worker_rest(struct worker *w, unsigned turns) { LOOP_REST(w, worker_wake, turns); }
static inline void main_rest(struct net *net) { LOOP_REST(net, net_wake, 0); }

/* Lets the held loop run its turns again. */
static inline void loop_go_on(void) {
    pthread_mutex_lock(&loops.mutex);
    loops.held = NULL;
    pthread_cond_broadcast(&loops.changed);
    pthread_mutex_unlock(&loops.mutex);
}

/* Waits until a condition holds; turns of the server make it true. */
#define SERVER_COMES_TO(condition) TAP_UNTIL(loops.fd, condition)
#define SETTLES(number, want) SERVER_COMES_TO(atomic_load(&(number)) == (want))

/* --- a server --- */

struct host {
    struct rig  rig; /* its cache, control and settings; the rig's own batch is not used */
    struct net *net;
    pthread_t   thread;
    char        folder[64], path[96], port_file[96];
    int         port;
};

static inline void *run_main(void *arg) {
    struct host *h = arg;
    net_run(h->net);
    return NULL;
}

static inline int read_port(const char *path, const char *family) {
    char line[64], head[32];
    int port = 0;
    FILE *f = fopen(path, "r");
    snprintf(head, sizeof head, "TCP %s: ", family);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, head, strlen(head)) == 0) {
            port = atoi(line + strlen(head));
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return port;
}

static inline struct net_config host_config(struct host *h) {
    return (struct net_config){.listen = "127.0.0.1", .port = -1, .backlog = 1024, .worker_count = 2,
                               .port_file = h->port_file, .unix_mode = 0700};
}

/* `options` as rig_open takes them. */
static inline bool host_prepare(struct host *h, char *options) {
    memset(h, 0, sizeof *h);
    loops.fd = loops.fd < 0 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : loops.fd;
    strcpy(h->folder, "/tmp/slate-test-net-XXXXXX");
    char why[SETTING_WHY_BYTES];
    if (mkdtemp(h->folder) == NULL || !rig_open(&h->rig, options) ||
        !server_memory_begin(&h->rig.server, why)) { /* net reads the memory limit every second */
        return false;
    }
    snprintf(h->path, sizeof h->path, "%s/socket", h->folder);
    snprintf(h->port_file, sizeof h->port_file, "%s/ports", h->folder);
    return true;
}

/* Prepares a server without options; returns the configuration to start the server with. */
static inline struct net_config host_begin(struct host *h) {
    host_prepare(h, NULL);
    return host_config(h);
}

static inline bool host_start(struct host *h, const struct net_config *cfg) {
    h->net = net_start(&h->rig.server, cfg);
    if (h->net == NULL) {
        return false;
    }
    h->port = read_port(h->port_file, "INET");
    pthread_create(&h->thread, NULL, run_main, h);
    return true;
}

/* Stops the server as main does on a signal. */
static inline void host_stop(struct host *h, bool graceful) {
    atomic_store(&h->rig.server.stop, graceful ? SERVER_STOP_GRACEFUL : SERVER_STOP);
    net_wake(h->net);
    pthread_join(h->thread, NULL);
    net_stop(h->net, graceful ? NET_GRACE_US : 0);
    net_destroy(&h->net);
    atomic_store(&h->rig.server.stop, SERVER_RUN);
}

static inline void host_close(struct host *h) {
    unlink(h->port_file);
    rmdir(h->folder);
    rig_close(&h->rig);
}

/* A server with host_config. */
static inline void host_open(struct host *h) {
    struct net_config cfg = host_begin(h);
    host_start(h, &cfg);
}

/* The same with one worker, on request on a UNIX socket. */
static inline void host_open_small(struct host *h, bool on_path, size_t held_bytes_most) {
    struct net_config cfg = host_begin(h);
    cfg.worker_count = 1;
    cfg.held_bytes_most = held_bytes_most;
    if (on_path) {
        cfg.unix_path = h->path;
        cfg.port_file = NULL;
    }
    host_start(h, &cfg);
}

static inline void host_end(struct host *h) {
    host_stop(h, false);
    host_close(h);
}

#ifdef OWN_CLOCK_H
/* libevent's timers use this function. */
int clock_gettime(clockid_t which, struct timespec *now) {
    *now = clock_system(which);
    return 0;
}

/* Lets time pass, then each loop runs its timers. */
static inline void host_pass(struct host *h, int64_t us) {
    own_clock_pass(us);
    net_wake(h->net);
    for (unsigned i = 0; i < h->net->worker_count; i++) {
        worker_wake(&h->net->workers[i]);
    }
}
static inline void host_pass_s(struct host *h, int64_t s) { host_pass(h, s * (int64_t)CLOCK_SECOND_US); }
#endif

/* --- clients --- */

static inline int connect_client(int family, const void *to, socklen_t bytes) {
    struct timeval patience = {.tv_sec = TAP_HANG_MS / 1000};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, to, bytes) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static inline int connect_tcp(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = connect_client(AF_INET, &to, sizeof to), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static inline int connect_unix(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, path);
    return connect_client(AF_UNIX, &to, sizeof to);
}

static inline bool say(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Reads exactly n bytes, or up to the end. */
static inline size_t hear(int fd, char *to, size_t n) {
    size_t got = 0;
    while (got < n) {
        ssize_t r = recv(fd, to + got, n - got, 0);
        if (r <= 0) {
            break;
        }
        got += (size_t)r;
    }
    return got;
}

/* Whether the server answers `question` with exactly `answer`. */
static inline bool answers(int fd, const char *question, const char *answer) {
    char got[512];
    size_t n = strlen(answer);
    return say(fd, question, strlen(question)) && hear(fd, got, n) == n && memcmp(got, answer, n) == 0;
}

/* Stores so many zeros. The request goes out as a whole: a UNIX socket takes a small one so. */
static inline bool stores(int fd, const char *key, size_t bytes) {
    char *request = calloc(1, bytes + 64);
    size_t head = (size_t)sprintf(request, "set %s 0 0 %zu\r\n", key, bytes);
    memcpy(request + head + bytes, "\r\n", 2);
    bool stored = say(fd, request, head + bytes + 2) && answers(fd, "", "STORED\r\n");
    free(request);
    return stored;
}

static inline bool hung_up(int fd) {
    char byte;
    return recv(fd, &byte, 1, 0) == 0 || errno == ECONNRESET;
}
#endif
