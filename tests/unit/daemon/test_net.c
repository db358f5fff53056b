/* Listeners, workers and connections over loopback and UNIX sockets, in one process: requests and replies, the start
 * and the end. Run under TSan too. */
#include "tap.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "own_clock.h"

#include "base/log.h"
#include "net/starting.h"
#include "net_fixture.h"

/* --- calls of the system that this suite takes the place of --- */

static _Atomic int refusals; /* of accept4, still to come */
static _Atomic bool was_refused;
static _Atomic int rests, spins; /* polls behind a refusal that leave the listeners out for a while, and that do not */

int accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags) {
    if (atomic_load(&refusals) > 0) {
        atomic_fetch_sub(&refusals, 1);
        atomic_store(&was_refused, true);
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_accept4, fd, from, bytes, flags);
}

/* A rest behind a refusal ends at once. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L}, now = {0};
    bool follows = atomic_exchange(&was_refused, false);
    if (follows) {
        atomic_fetch_add(count == 1 && timeout_ms > 0 ? &rests : &spins, 1);
    }
    return (int)syscall(SYS_ppoll, fds, count, follows ? &now : timeout_ms < 0 ? NULL : &t, NULL, 0);
}

/* --- claims --- */

static void test_serves_and_stops(void) {
    struct host h;
    struct net_config cfg = host_begin(&h);
    ok(host_start(&h, &cfg) && h.port > 0, "a free port is found and written to the port file");
    int a = connect_tcp(h.port), b = connect_tcp(h.port);
    ok(answers(a, "set k 0 0 5\r\nhello\r\n", "STORED\r\n"), "a client stores");
    ok(answers(b, "get k\r\n", "VALUE k 0 5\r\nhello\r\nEND\r\n"), "another worker's client reads it");
    ok(answers(a, "bad\r\nget none\r\nmn\r\n", "ERROR\r\nEND\r\nMN\r\n"), "replies come in order");
    is(atomic_load(&h.rig.server.conns.current), 2, "two connections are counted");
    ok(say(a, "quit\r\n", 6) && hung_up(a), "quit hangs up");
    ok(SETTLES(h.rig.server.conns.current, 1), "and is not counted any more");
    host_stop(&h, false);
    ok(hung_up(b), "stopping hangs up");
    is(atomic_load(&h.rig.server.conns.current), 0, "no connection is left");
    is(atomic_load(&h.rig.server.conns.structures), 0, "nor its memory");
    is(atomic_load(&h.rig.server.conns.buffer_bytes), 0, "nor a buffer");
    ok(h.rig.server.registry.first == NULL, "nor a record");
    close(a);
    close(b);
    host_close(&h);
}

static _Atomic unsigned wakes;

static void count_wake(void *arg) {
    (void)arg;
    atomic_fetch_add(&wakes, 1);
}

static void test_a_signal_finds_a_loop_or_none(void) {
    struct host h;
    struct net_config cfg = host_begin(&h);
    ok(host_start(&h, &cfg), "a server");
    h.rig.server.on_stop = count_wake; /* behind which its argument is */
    server_request_reload(&h.rig.server);
    is(wakes, 1, "a signal wakes its loop");
    host_stop(&h, false);
    server_request_reload(&h.rig.server);
    server_request_stop(&h.rig.server, SERVER_STOP);
    is(wakes, 1, "once the loop is gone none does, though the function is there still");
    host_close(&h);
}

static void test_bytes_in_any_pieces(uint64_t seed) {
    struct host h;
    host_open(&h);
    int fd = connect_tcp(h.port);
    char text[6000], value[3001];
    memset(value, 'v', 3000);
    value[3000] = '\0';
    int n = snprintf(text, sizeof text, "set small 0 0 3\r\nabc\r\nset large 0 0 3000\r\n%s\r\nget small none large\r\n", value);
    h.rig.random = seed;
    for (int at = 0; at < n;) {
        int step = 1 + (int)rig_random(&h.rig, 97);
        step = step < n - at ? step : n - at;
        say(fd, text + at, (size_t)step);
        at += step;
    }
    char want[6000], got[6000];
    int m = snprintf(want, sizeof want, "STORED\r\nSTORED\r\nVALUE small 0 3\r\nabc\r\nVALUE large 0 3000\r\n%s\r\nEND\r\n", value);
    ok(hear(fd, got, (size_t)m) == (size_t)m && memcmp(got, want, (size_t)m) == 0, "requests may come in any pieces");

    enum { LINE = 300 * 1000 }; /* a get line far longer than any buffer */
    char *line = malloc(LINE + 16);
    memcpy(line, "get", 3);
    for (int i = 3; i < LINE; i += 10) {
        memcpy(line + i, " nokey0000", 10);
    }
    int end = 3 + (LINE - 3 + 9) / 10 * 10;
    memcpy(line + end, " small\r\n", 8);
    ok(say(fd, line, (size_t)end + 8) && answers(fd, "", "VALUE small 0 3\r\nabc\r\nEND\r\n"), "a get line may be as long as it likes");
    free(line);

    enum { MANY = 20000 };
    char *asks = malloc(MANY * 12), *replies = malloc(MANY * 40);
    size_t want_bytes = strlen("VALUE small 0 3\r\nabc\r\nEND\r\n");
    for (int i = 0; i < MANY; i++) {
        memcpy(asks + i * 11, "get small\r\n", 11);
    }
    bool all = say(fd, asks, 40000 / 11 * 11) && hear(fd, replies, 40000 / 11 * want_bytes) == 40000 / 11 * want_bytes;
    ok(all && memcmp(replies + 40000 / 11 * want_bytes - 5, "END\r\n", 5) == 0, "thousands of requests in a row are all answered");
    free(asks);
    free(replies);
    close(fd);
    host_end(&h);
}

static void test_large_values(void) {
    struct host h;
    host_open(&h);
    int fd = connect_tcp(h.port);
    enum { BYTES = 900000 };
    char *value = malloc(BYTES + 2), *got = malloc(BYTES + 64), head[64];
    fixture_value(value, BYTES, 1, 1);
    memcpy(value + BYTES, "\r\n", 2);
    say(fd, "set big 0 0 900000\r\n", 20);
    say(fd, value, BYTES + 2);
    ok(answers(fd, "", "STORED\r\n"), "a value larger than any buffer is stored");
    say(fd, "get big\r\nget big\r\n", 18);
    unsigned good = 0;
    for (int i = 0; i < 2; i++) {
        int n = snprintf(head, sizeof head, "VALUE big 0 %d\r\n", BYTES);
        size_t all = (size_t)n + BYTES + strlen("\r\nEND\r\n");
        good += hear(fd, got, all) == all && memcmp(got + n, value, BYTES) == 0;
    }
    is(good, 2, "and read back whole");
    say(fd, "set big 0 0 2000000\r\n", 21);
    for (int i = 0; i < 2000000; i += 500000) {
        say(fd, value, 500000);
    }
    say(fd, "\r\n", 2);
    ok(answers(fd, "", "SERVER_ERROR object too large for cache\r\n") && answers(fd, "mn\r\n", "MN\r\n"),
       "one that is too large is read past");
    say(fd, "set half 0 0 900000\r\n", 21);
    say(fd, value, 1000);
    close(fd);
    ok(SETTLES(h.rig.server.conns.current, 0), "a client may leave in the middle of a value");
    fd = connect_tcp(h.port);
    ok(answers(fd, "get half\r\n", "END\r\n"), "which then is not stored");
    close(fd);
    free(value);
    free(got);
    host_end(&h);
}

static void test_unix_socket(void) {
    struct host h;
    struct stat st;
    struct net_config cfg = host_begin(&h);
    cfg.unix_path = h.path;
    cfg.unix_mode = 0750;
    cfg.port_file = NULL;
    ok(host_start(&h, &cfg), "listens on a UNIX socket");
    ok(stat(h.path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0750, "with the permissions asked for");
    int fd = connect_unix(h.path);
    ok(answers(fd, "mn\r\n", "MN\r\n"), "and serves it");
    struct server other = {.at_start = h.rig.server.at_start, .cache = h.rig.server.cache, .tuner = h.rig.server.tuner};
    ok(net_start(&other, &cfg) == NULL && errno == EADDRINUSE, "a socket in use is left alone");
    ok(answers(fd, "mn\r\n", "MN\r\n"), "and still served");
    close(fd);
    host_stop(&h, false);
    ok(stat(h.path, &st) != 0, "it is removed at the end");

    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, h.path);
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    ok(bind(stale, (struct sockaddr *)&at, sizeof at) == 0 && close(stale) == 0 && host_start(&h, &cfg),
       "a socket that a dead server left is replaced");
    host_stop(&h, false);
    FILE *f = fopen(h.path, "w");
    fputs("precious", f);
    fclose(f);
    ok(net_start(&h.rig.server, &cfg) == NULL && stat(h.path, &st) == 0 && st.st_size == 8, "another file is left alone");
    unlink(h.path);
    cfg.unix_path = NULL;
    cfg.listen = "127.0.0.1:99999";
    ok(net_start(&h.rig.server, &cfg) == NULL && errno == EINVAL, "an address that makes no sense is refused");
    log_set_level(LOG_LEVEL_WARN);
    host_close(&h);
}

static void test_graceful_stop(void) {
    struct host h;
    host_open(&h);
    enum { CLIENTS = 20 };
    int fds[CLIENTS], idle = connect_tcp(h.port);
    answers(idle, "mn\r\n", "MN\r\n");
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = connect_tcp(h.port);
        answers(fds[i], "mn\r\n", "MN\r\n");
        say(fds[i], "set a 0 0 1\r\n1\r\nget a\r\n", 23); /* asked before the stop */
    }
    host_stop(&h, true);
    unsigned answered = 0;
    for (int i = 0; i < CLIENTS; i++) {
        answered += answers(fds[i], "", "STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n") && hung_up(fds[i]);
        close(fds[i]);
    }
    is(answered, CLIENTS, "a graceful stop answers what was asked before, then hangs up");
    ok(hung_up(idle), "idle connections are closed at once");
    close(idle);
    host_close(&h);
}

/* --- before it serves --- */

/* A server that listens while it is still starting. */
static void open_early(struct host *h, bool tells) {
    struct net_config cfg = host_begin(h);
    cfg.tell_starting = tells;
    h->net = net_find(&h->rig.server, &cfg);
    ok(h->net != NULL && net_open(h->net), "a server that is still starting listens%s", tells ? ", and tells so" : "");
    h->port = read_port(h->port_file, "INET");
}

static void test_early_clients_wait(void) {
    struct host h;
    open_early(&h, false);
    int fd = connect_tcp(h.port);
    ok(fd >= 0 && say(fd, "mn\r\n", 4), "a client may come and ask");
    ok(net_begin(h.net), "the server begins to serve");
    pthread_create(&h.thread, NULL, run_main, &h);
    char got[4];
    ok(hear(fd, got, 4) == 4 && memcmp(got, "MN\r\n", 4) == 0, "… and gets its answer then");
    close(fd);
    host_end(&h);
}

static void test_early_clients_are_told(void) {
    struct host h;
    open_early(&h, true);
    int quiet = connect_tcp(h.port), asks, binary;
    for (unsigned i = 0; i < 3; i++) {
        asks = connect_tcp(h.port);
        ok(answers(asks, "set a 0 0 1\r\nb\r\n", "SERVER_ERROR starting\r\n") && hung_up(asks), "whoever asks is told so, and hung up on");
        close(asks);
    }
    binary = connect_tcp(h.port);
    ok(say(binary, "\x80\x0a\0\0", 4) && hung_up(binary), "a client of the binary protocol is hung up on");
    close(binary);
    int many[STARTING_GUESTS + 20];
    for (unsigned i = 0; i < STARTING_GUESTS + 20; i++) {
        many[i] = connect_tcp(h.port);
    }
    ok(net_begin(h.net), "the server begins to serve");
    pthread_create(&h.thread, NULL, run_main, &h);
    ok(answers(quiet, "mn\r\n", "MN\r\n"), "whoever said nothing is served now");
    unsigned served = 0;
    for (unsigned i = 0; i < STARTING_GUESTS + 20; i++) {
        served += answers(many[i], "mn\r\n", "MN\r\n");
        close(many[i]);
    }
    is(served, STARTING_GUESTS + 20, "… also when they are more than are accepted early");
    close(quiet);
    ok(SETTLES(h.rig.server.conns.current, 0), "all are counted in and out");
    host_end(&h);
    open_early(&h, true);
    quiet = connect_tcp(h.port);
    net_destroy(&h.net);
    ok(hung_up(quiet), "a start that fails hangs up on all");
    close(quiet);
    host_close(&h);
}

static void test_early_clients_wait_while_there_is_no_descriptor(void) {
    struct host h;
    open_early(&h, true);
    atomic_store(&refusals, 3);
    int fd = connect_tcp(h.port);
    ok(answers(fd, "mn\r\n", "SERVER_ERROR starting\r\n"), "a client is answered once there is a descriptor for it");
    is(atomic_load(&rests), 3, "after each refusal the thread leaves the listeners out for a while");
    is(atomic_load(&spins), 0, "so it does not turn without a pause");
    close(fd);
    net_destroy(&h.net);
    host_close(&h);
}

/* --- last words --- */

/* Sends on with each piece that it reads. Whether it reads up to `last` and the end. */
static bool hears_out(int fd, const char *last) {
    static char piece[16384];
    char   tail[64] = "";
    size_t n = strlen(last);
    ssize_t got;
    while ((got = recv(fd, piece, sizeof piece, 0)) > 0) {
        size_t keep = (size_t)got < n ? n - (size_t)got : 0, more = n - keep;
        memmove(tail, tail + n - keep, keep);
        memcpy(tail + keep, piece + (size_t)got - more, more);
        send(fd, "mn\r\n", 4, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return got == 0 && memcmp(tail, last, n) == 0;
}

static void test_last_words_are_heard(void) {
    enum { VALUE_BYTES = 100000, GETS = 40, LITTLE = 65536 }; /* a window that holds a segment: with less each waits 200 ms */
    static char value[VALUE_BYTES + 2], junk[1 << 16];
    static const char get[27] = "\x80\0\0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0big",
                      bad[28] = "\x80\0\0\0\4\0\0\0\0\0\0\4", /* a get with extras, and no key */
                      last[] = "Invalid arguments";
    struct host h;
    struct net_config cfg = host_begin(&h);
    cfg.worker_count = 1;
    host_start(&h, &cfg);
    int good = connect_tcp(h.port), one = connect_tcp(h.port), little = LITTLE;
    memset(value, 'x', VALUE_BYTES);
    memcpy(value + VALUE_BYTES, "\r\n", 2);
    ok(say(good, "set big 0 0 100000\r\n", 20) && say(good, value, sizeof value) && answers(good, "", "STORED\r\n"), "a large value");
    setsockopt(one, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    for (int i = 0; i < GETS; i++) {
        say(one, get, sizeof get);
    }
    say(one, bad, sizeof bad);
    ok(hears_out(one, last), "who is hung up on reads the last words, though it sends on");
    close(one);
    ok(SETTLES(h.rig.server.conns.current, 1), "and is forgotten once it closes its side");

    one = connect_tcp(h.port);
    ok(say(one, bad, sizeof bad) && hears_out(one, last), "another has read all");
    is((long)atomic_load(&h.rig.server.conns.current), 2, "as long as it might send it is there");
    host_pass_s(&h, LINGER_S + 1);
    ok(SETTLES(h.rig.server.conns.current, 1), "but no longer than a while");
    close(one);

    size_t sent = 0;
    one = connect_tcp(h.port);
    ok(say(one, bad, sizeof bad) && hears_out(one, last), "and one that sends without end");
    for (ssize_t n; (n = send(one, junk, sizeof junk, MSG_NOSIGNAL)) > 0 && sent < 8 * (size_t)LINGER_BYTES;) {
        sent += (size_t)n;
    }
    ok(sent >= LINGER_BYTES && sent < 8 * (size_t)LINGER_BYTES, "is listened to for so many bytes only (%zu)", sent);
    ok(SETTLES(h.rig.server.conns.current, 1), "and then forgotten, too");
    close(one);
    ok(answers(good, "quit\r\n", "") && hung_up(good) && SETTLES(h.rig.server.conns.current, 0), "who wants to go goes at once");
    close(good);
    host_end(&h);
}

/* The client takes nothing more, so that sending fails at once; nobody asks this worker for anything else. */
static void test_who_leaves_holds_nothing(void) {
    struct host h;
    struct net_config cfg = host_begin(&h);
    cfg.unix_path = h.path;
    cfg.port_file = NULL;
    cfg.worker_count = 1;
    host_start(&h, &cfg);
    enum { BYTES = 300000 };
    char *value = calloc(1, BYTES + 2);
    memcpy(value + BYTES, "\r\n", 2);
    int fd = connect_unix(h.path);
    say(fd, "set big 0 0 300000\r\n", 20);
    say(fd, value, BYTES + 2);
    ok(answers(fd, "", "STORED\r\n") && shutdown(fd, SHUT_RD) == 0, "a client hears no more");
    say(fd, "get big\r\n", 9);
    ok(SETTLES(h.rig.server.conns.current, 0), "and is hung up on when it asks for a large value");
    struct cache_thread *ct = cache_thread_create(h.rig.server.cache);
    struct key key = {.ptr = "big", .len = 3};
    struct cache_facts facts;
    key.hash = key_hash(key.ptr, key.len);
    cache_turn_begin(ct);
    is(cache_delete(ct, &key, &(struct cache_delete){0}), CACHE_OK, "the value is deleted by somebody else");
    cache_turn_end(ct);
    cache_facts(h.rig.server.cache, &facts);
    is(facts.pinned_bytes, 0, "and nobody holds its memory");
    cache_thread_destroy(&ct);
    close(fd);
    free(value);
    host_end(&h);
}

/* A worker that was stopped for 75 s amid a piece let the answer rest for 225 s. It looked for work
 * all that time, because its timer takes less than a second. */
static void test_answers_rest(void) {
    is(worker_answers_rest_us(50), 150, "a long answer rests three times as long as its piece took");
    is(worker_answers_rest_us(75 * 1000 * 1000), WORKER_ANSWERS_REST_MOST_US, "but not as long as its worker was stopped");
    ok(worker_answers_rest_us(UINT32_MAX) < 1000 * 1000 && worker_answers_rest_us(3333) <= WORKER_ANSWERS_REST_MOST_US,
       "and never for a second");
}

int main(void) {
    uint64_t seed = tap_seed();
    test_answers_rest();
    test_who_leaves_holds_nothing();
    test_serves_and_stops();
    test_a_signal_finds_a_loop_or_none();
    test_bytes_in_any_pieces(seed);
    test_large_values();
    test_last_words_are_heard();
    test_unix_socket();
    test_graceful_stop();
    test_early_clients_wait();
    test_early_clients_are_told();
    test_early_clients_wait_while_there_is_no_descriptor();
    return tap_done();
}
