/* The cost of greedy or dumb clients for a server and its other clients: one server, one kind of abuse.
 *
 *     abuse [--clients N] [--times N] [--line TEXT] [--body BYTES] [--deaf | --leave | --rate BYTES] [--idle N] [--held BYTES]
 *           [--store BYTES | --ask TEXT] [--hold MS] [--settle MS] ADDRESS PID
 *
 * Opens `idle` connections that do nothing, or with --held send so many bytes of a value of 1 MB. Then `clients` connections each send
 * `times` times the line (`%c` stands for the client's number, \r\n follows) and then `body` bytes of `x`. They read the replies, or
 * nothing at all with --deaf; then they hold their connections for `hold` ms. With --leave they close when all is sent and read nothing.
 * With --rate they send so many bytes a second for `hold` ms, and begin anew on a new connection when the server answers, hangs up, or has
 * the whole value. Meanwhile another client gets one key, again and again, or with --store stores a value of so many bytes, or with --ask
 * sends that line, in which `%t` is 0 and 1 by turns, and gets one line. --line may be given up to LINES_MAX times: each client has one of
 * them. ADDRESS is a port of 127.0.0.1 or the path of a UNIX socket; PID is the server's process. Prints, a line each:
 *
 *     rss_before_kb rss_peak_kb rss_after_kb   the process's resident size; after: `settle` ms after the clients are gone
 *     gets                                     that the other client had answered (stores, with --store)
 *     refused                                  of its stores
 *     wait_median_us wait_p99_us wait_longest_us   of the other client's gets or stores
 *     wait_longest_cpu_us                      the most processor time that the server spent between a get and its reply
 *     received_bytes sent_bytes                by the abusing clients
 *     unfinished                               clients that had not all their replies at the end (at most GIVE_UP_S) */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { GIVE_UP_S = 60, STUCK_MS = 500, VICTIM_REST_US = 500, WAITS_MAX = 1 << 20, RECEIVE_BYTES = 1 << 16, RATE_TICK_MS = 50, HELD_MS = 300, LINES_MAX = 8 };

struct options {
    unsigned    clients, times, idle, hold_ms, settle_ms;
    size_t      body_bytes, rate, held_bytes, store_bytes;
    const char *lines[LINES_MAX], *ask, *address;
    unsigned    line_count;
    bool        deaf, leave;
    pid_t       pid;
};

struct client {
    int    fd; /* -1: the server hung up */
    char  *unit;
    size_t unit_bytes, sent, to_send; /* to_send: all units, and `mn` behind them unless the client is deaf */
    char   tail[4]; /* the last received bytes */
    bool   done;
};

struct victim {
    pthread_t       thread;
    const struct options *o;
    clockid_t       server_clock;
    _Atomic bool    stop;
    uint32_t       *waits_us;
    unsigned        gets, refused;
    uint64_t        longest_cpu_us;
};

static void die(const char *what) {
    fprintf(stderr, "abuse: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_us(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_ms(unsigned ms) { nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL); }

static int connect_to(const char *address) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool path = strchr(address, '/') != NULL;
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(un.sun_path, sizeof un.sun_path, "%s", address);
    in.sin_port = htons((uint16_t)atoi(address));
    if (fd < 0 || connect(fd, path ? (void *)&un : (void *)&in, path ? sizeof un : sizeof in) != 0) {
        die("cannot connect");
    }
    return fd;
}

static long rss_kb(pid_t pid, const char *what) {
    char path[64], line[256];
    long kb = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, what, strlen(what)) == 0) {
            kb = strtol(line + strlen(what), NULL, 10);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

/* From now on the peak counts from the present size. */
static void reset_peak(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1) {
        die(path);
    }
    close(fd);
}

/* --- the other client --- */

/* Reads until the bytes end with the text; returns their number, 0: the server hung up. */
static size_t receive_reply(int fd, char bytes[256], const char *end) {
    size_t n = 0, end_bytes = strlen(end);
    while (n < end_bytes || memcmp(bytes + n - end_bytes, end, end_bytes) != 0) {
        ssize_t got = recv(fd, bytes + n, 256 - n, 0);
        if (got <= 0) {
            return 0;
        }
        n += (size_t)got;
    }
    return n;
}

static bool send_all(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0) {
            return false;
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* The bytes that a client sends again and again; *n bytes, to be freed. */
static char *victim_request(const struct options *o, size_t *n) {
    char *text = calloc(1, o->store_bytes + (o->ask != NULL ? strlen(o->ask) : 0) + 64);
    if (text == NULL) {
        die("the other client");
    }
    if (o->ask != NULL) {
        *n = (size_t)sprintf(text, "%s\r\n", o->ask);
    } else if (o->store_bytes == 0) {
        *n = (size_t)sprintf(text, "get victim\r\n");
    } else {
        *n = (size_t)sprintf(text, "set victim 0 0 %zu\r\n", o->store_bytes);
        memset(text + *n, 'v', o->store_bytes);
        memcpy(text + *n + o->store_bytes, "\r\n", 2);
        *n += o->store_bytes + 2;
    }
    return text;
}

static void *victim_main(void *arg) {
    struct victim *v = arg;
    int fd = connect_to(v->o->address);
    size_t request_bytes;
    char *request = victim_request(v->o, &request_bytes), *turn = strstr(request, "%t"), reply[256];
    const char *end = v->o->store_bytes > 0 || v->o->ask != NULL ? "\r\n" : "END\r\n";
    if (turn != NULL) {
        memmove(turn, turn + 1, strlen(turn)); /* the digit replaces the two characters %t */
        request_bytes--;
    }
    while (!atomic_load(&v->stop) && v->gets < WAITS_MAX) {
        if (turn != NULL) {
            *turn = (char)('0' + v->gets % 2);
        }
        uint64_t begun_us = clock_us(CLOCK_MONOTONIC), begun_cpu_us = clock_us(v->server_clock);
        if (!send_all(fd, request, request_bytes) || receive_reply(fd, reply, end) == 0) {
            die("the server hung up on the other client");
        }
        v->refused += v->o->store_bytes > 0 && memcmp(reply, "STORED", 6) != 0;
        uint64_t cpu_us = clock_us(v->server_clock) - begun_cpu_us;
        v->longest_cpu_us = cpu_us > v->longest_cpu_us ? cpu_us : v->longest_cpu_us;
        v->waits_us[v->gets++] = (uint32_t)(clock_us(CLOCK_MONOTONIC) - begun_us);
        nanosleep(&(struct timespec){.tv_nsec = VICTIM_REST_US * 1000}, NULL);
    }
    close(fd);
    free(request);
    return NULL;
}

static void victim_start(struct victim *v, const struct options *o) {
    *v = (struct victim){.o = o, .waits_us = malloc(WAITS_MAX * sizeof *v->waits_us)};
    int fd = connect_to(o->address);
    static const char set[] = "set victim 0 0 6\r\nvictim\r\n";
    char reply[64];
    if (send(fd, set, sizeof set - 1, MSG_NOSIGNAL) < 0 || recv(fd, reply, sizeof reply, 0) < 6 || memcmp(reply, "STORED", 6) != 0) {
        die("the other client's key cannot be stored");
    }
    close(fd);
    if (v->waits_us == NULL || clock_getcpuclockid(o->pid, &v->server_clock) != 0 ||
        pthread_create(&v->thread, NULL, victim_main, v) != 0) {
        die("the other client");
    }
}

static int by_size(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void victim_end(struct victim *v) {
    atomic_store(&v->stop, true);
    pthread_join(v->thread, NULL);
    qsort(v->waits_us, v->gets, sizeof *v->waits_us, by_size);
    printf("gets %u\nrefused %u\nwait_median_us %u\nwait_p99_us %u\nwait_longest_us %u\nwait_longest_cpu_us %llu\n", v->gets, v->refused,
           v->gets ? v->waits_us[v->gets / 2] : 0, v->gets ? v->waits_us[(size_t)v->gets * 99 / 100] : 0, v->gets ? v->waits_us[v->gets - 1] : 0, (unsigned long long)v->longest_cpu_us);
    free(v->waits_us);
}

/* --- the abusing clients --- */

static void client_connect(struct client *c, const struct options *o) {
    c->sent = 0;
    c->fd = connect_to(o->address);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

static void client_open(struct client *c, const struct options *o, unsigned number) {
    const char *line = o->line_count > 0 ? o->lines[number % o->line_count] : "", *mark = strstr(line, "%c");
    int before = mark != NULL ? (int)(mark - line) : (int)strlen(line);
    *c = (struct client){.unit = malloc(strlen(line) + o->body_bytes + 64)};
    int n = sprintf(c->unit, "%.*s", before, line);
    n += mark != NULL ? sprintf(c->unit + n, "%u%s", number, mark + 2) : 0;
    n += line[0] != 0 ? sprintf(c->unit + n, "\r\n") : 0;
    memset(c->unit + n, 'x', o->body_bytes);
    c->unit_bytes = (size_t)n + o->body_bytes;
    c->to_send = c->unit_bytes * o->times + (o->deaf || o->leave ? 0 : 4);
    client_connect(c, o);
}

/* Sends as much as the socket takes, up to a bound, so that each client has its turn. Returns the number of bytes. */
static size_t client_send(struct client *c) {
    size_t before = c->sent, units_end = c->to_send / c->unit_bytes * c->unit_bytes;
    while (c->sent < c->to_send && c->sent - before < RECEIVE_BYTES) {
        bool last = c->sent >= units_end && c->to_send > units_end;
        const char *at = last ? "mn\r\n" + (c->sent - units_end) : c->unit + c->sent % c->unit_bytes;
        size_t n = last ? c->to_send - c->sent : c->unit_bytes - c->sent % c->unit_bytes;
        ssize_t sent = send(c->fd, at, n, MSG_NOSIGNAL);
        if (sent < 0) {
            c->done = c->done || (errno != EAGAIN && errno != EINTR);
            break;
        }
        c->sent += (size_t)sent;
    }
    return c->sent - before;
}

static size_t client_receive(struct client *c) {
    static char bytes[RECEIVE_BYTES];
    ssize_t got = recv(c->fd, bytes, sizeof bytes, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        c->done = true;
        return 0;
    }
    size_t n = got > 0 ? (size_t)got : 0, keep = n < 4 ? n : 4;
    memmove(c->tail, c->tail + keep, 4 - keep);
    memcpy(c->tail + 4 - keep, bytes + n - keep, keep);
    c->done = c->done || (c->sent == c->to_send && memcmp(c->tail, "MN\r\n", 4) == 0);
    return n;
}

/* Until all clients have their replies; with clients that do not read, until no more can be sent. */
static void run_clients(const struct options *o, struct client *clients) {
    struct pollfd *polls = calloc(o->clients, sizeof *polls);
    uint64_t sent = 0, received = 0, give_up_us = clock_us(CLOCK_MONOTONIC) + (uint64_t)GIVE_UP_S * 1000000;
    unsigned left = o->clients;
    while (left > 0 && clock_us(CLOCK_MONOTONIC) < give_up_us) {
        for (unsigned i = 0; i < o->clients; i++) {
            const struct client *c = &clients[i];
            short events = (short)((o->deaf || o->leave ? 0 : POLLIN) | (c->sent < c->to_send ? POLLOUT : 0));
            polls[i] = (struct pollfd){.fd = c->done || events == 0 ? -1 : c->fd, .events = events};
        }
        if (poll(polls, o->clients, STUCK_MS) == 0 && o->deaf) {
            break; /* the server takes no more of them */
        }
        left = 0;
        for (unsigned i = 0; i < o->clients; i++) {
            struct client *c = &clients[i];
            if (!c->done && polls[i].revents & POLLIN) {
                received += client_receive(c);
            }
            if (!c->done && polls[i].revents & POLLOUT) {
                sent += client_send(c);
            }
            c->done = c->done || (polls[i].revents & (POLLERR | POLLHUP) && o->deaf);
            if (o->leave && !c->done && c->sent == c->to_send) {
                close(c->fd);
                c->fd = -1;
                c->done = true;
            }
            left += !c->done && !(o->deaf && c->sent == c->to_send);
        }
    }
    printf("received_bytes %llu\nsent_bytes %llu\nunfinished %u\n", (unsigned long long)received, (unsigned long long)sent, o->deaf ? 0 : left);
    free(polls);
}

/* Each client at its rate, for `hold` ms. */
static void run_tricklers(const struct options *o, struct client *clients) {
    uint64_t sent = 0, end_us = clock_us(CLOCK_MONOTONIC) + (uint64_t)o->hold_ms * 1000;
    while (clock_us(CLOCK_MONOTONIC) < end_us) {
        sleep_ms(RATE_TICK_MS);
        for (unsigned i = 0; i < o->clients; i++) {
            struct client *c = &clients[i];
            char reply[256];
            size_t left = c->to_send - c->sent, n = o->rate * RATE_TICK_MS / 1000;
            bool answered = recv(c->fd, reply, sizeof reply, 0) >= 0 || (errno != EAGAIN && errno != EINTR);
            if (answered || left == 0) {
                close(c->fd);
                client_connect(c, o);
                left = c->to_send;
            }
            ssize_t took = send(c->fd, c->unit + c->sent, n < left ? n : left, MSG_NOSIGNAL);
            c->sent += took > 0 ? (size_t)took : 0;
            sent += took > 0 ? (uint64_t)took : 0;
        }
    }
    printf("received_bytes 0\nsent_bytes %llu\nunfinished 0\n", (unsigned long long)sent);
}

/* A connection that does nothing, or holds memory for the first bytes of a value. */
static int idle_open(const struct options *o, unsigned number) {
    int fd = connect_to(o->address);
    char *bytes = calloc(1, o->held_bytes + 64);
    int n = bytes != NULL ? sprintf(bytes, "set held%u 0 0 1000000\r\n", number) : 0;
    if (o->held_bytes > 0 && (bytes == NULL || !send_all(fd, bytes, (size_t)n + o->held_bytes))) {
        die("a value that is held");
    }
    free(bytes);
    return fd;
}

static void abuse(const struct options *o) {
    int *idle = calloc(o->idle + 1, sizeof *idle);
    struct client *clients = calloc(o->clients + 1, sizeof *clients);
    struct victim victim;
    for (unsigned i = 0; i < o->idle; i++) {
        idle[i] = idle_open(o, i);
    }
    sleep_ms(o->held_bytes > 0 ? HELD_MS : 0); /* for the server to receive as much as it does */
    for (unsigned i = 0; i < o->clients; i++) {
        client_open(&clients[i], o, i);
    }
    victim_start(&victim, o);
    reset_peak(o->pid);
    printf("rss_before_kb %ld\n", rss_kb(o->pid, "VmRSS:"));
    if (o->rate > 0) {
        run_tricklers(o, clients);
    } else {
        run_clients(o, clients);
        sleep_ms(o->hold_ms);
    }
    victim_end(&victim);
    printf("rss_peak_kb %ld\n", rss_kb(o->pid, "VmHWM:"));
    for (unsigned i = 0; i < o->clients; i++) {
        close(clients[i].fd);
        free(clients[i].unit);
    }
    for (unsigned i = 0; i < o->idle; i++) {
        close(idle[i]);
    }
    sleep_ms(o->settle_ms);
    printf("rss_after_kb %ld\n", rss_kb(o->pid, "VmRSS:"));
    free(clients);
    free(idle);
}

int main(int argc, char **argv) {
    static const struct option names[] = {{"clients", 1, 0, 'c'}, {"times", 1, 0, 't'}, {"line", 1, 0, 'l'}, {"body", 1, 0, 'b'},
                                          {"deaf", 0, 0, 'd'},    {"idle", 1, 0, 'i'},  {"hold", 1, 0, 'h'}, {"settle", 1, 0, 's'},
                                          {"leave", 0, 0, 'L'},   {"rate", 1, 0, 'r'},  {"held", 1, 0, 'H'}, {"store", 1, 0, 'S'},
                                          {"ask", 1, 0, 'a'},     {0}};
    struct options o = {.clients = 1, .times = 1, .settle_ms = 1500};
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        unsigned long n = optarg != NULL ? strtoul(optarg, NULL, 10) : 0;
        switch (c) {
        case 'c': o.clients = (unsigned)n; break;
        case 't': o.times = (unsigned)n; break;
        case 'l': o.lines[o.line_count++ % LINES_MAX] = optarg; break;
        case 'a': o.ask = optarg; break;
        case 'b': o.body_bytes = n; break;
        case 'd': o.deaf = true; break;
        case 'i': o.idle = (unsigned)n; break;
        case 'h': o.hold_ms = (unsigned)n; break;
        case 's': o.settle_ms = (unsigned)n; break;
        case 'L': o.leave = true; break;
        case 'r': o.rate = n; break;
        case 'H': o.held_bytes = n; break;
        case 'S': o.store_bytes = n; break;
        default: return 2;
        }
    }
    if (argc - optind != 2 || o.line_count > LINES_MAX || (o.line_count == 0 && o.body_bytes == 0)) {
        fprintf(stderr, "usage: abuse [--clients N] [--times N] [--line TEXT] [--body BYTES] [--deaf | --leave | --rate BYTES] [--idle N]"
                        " [--held BYTES] [--store BYTES | --ask TEXT] [--hold MS] [--settle MS] ADDRESS PID\n");
        return 2;
    }
    o.address = argv[optind];
    o.pid = (pid_t)atoi(argv[optind + 1]);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    abuse(&o);
    return 0;
}
