/* Listeners, workers and connections over loopback and UNIX sockets, in one process: requests and replies, the start
 * and the end. Run under TSan too. */
#include "tap.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "own_clock.h"

#include "base/log.h"
#include "net/listen/startup_responder.h"
#include "net_fixture.h"

/* --- calls of the system that this suite takes the place of --- */

static _Atomic int refusals; /* failures of accept4 still to come */
static _Atomic bool was_refused;
static _Atomic int rests, spins; /* polls after a refusal that leave the listeners out for a while, and polls that do not */

int accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags) {
    if (atomic_load(&refusals) > 0) {
        atomic_fetch_sub(&refusals, 1);
        atomic_store(&was_refused, true);
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_accept4, fd, from, bytes, flags);
}

/* The pause after a refusal ends at once. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L}, now = {0};
    bool follows = atomic_exchange(&was_refused, false);
    if (follows) {
        atomic_fetch_add(count == 1 && timeout_ms > 0 ? &rests : &spins, 1);
    }
    return (int)syscall(SYS_ppoll, fds, count, follows ? &now : timeout_ms < 0 ? NULL : &t, NULL, 0);
}

/* --- claims --- */

TEST(test_serves_and_stops) {
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

TEST(test_a_signal_finds_a_loop_or_none) {
    struct host h;
    struct net_config cfg = host_begin(&h);
    ok(host_start(&h, &cfg), "a server");
    h.rig.server.on_stop = count_wake; /* the option's argument follows */
    server_request_reload(&h.rig.server);
    is(wakes, 1, "a signal wakes its loop");
    host_stop(&h, false);
    server_request_reload(&h.rig.server);
    server_request_stop(&h.rig.server, SERVER_STOP);
    is(wakes, 1, "once the loop is gone none does, though the function is there still");
    host_close(&h);
}

static void test_bytes_in_any_pieces(uint64_t seed) {
    enum { LINE = 300 * 1000, MANY = 3600, REPLY_BYTES = 27 }; /* a get line far longer than any buffer */
    static const char reply[REPLY_BYTES + 1] = "VALUE small 0 3\r\nabc\r\nEND\r\n";
    static char asks[LINE + 16], replies[MANY * REPLY_BYTES];
    struct host h;
    host_open(&h);
    int fd = connect_tcp(h.port), n = sprintf(asks, "set small 0 0 3\r\nabc\r\nset large 0 0 3000\r\n%03000d\r\nget small none\r\n", 0);
    for (int at = 0; at < n;) {
        int step = 1 + (int)(tap_random(&seed) % 97);
        step = step < n - at ? step : n - at;
        say(fd, asks + at, (size_t)step);
        at += step;
    }
    ok(answers(fd, "", "STORED\r\nSTORED\r\n") && answers(fd, "", reply), "requests may come in any pieces");
    memcpy(asks, "get", 3);
    for (n = 3; n < LINE; n += 10) {
        memcpy(asks + n, " nokey0000", 10);
    }
    memcpy(asks + n, " small\r\n", 8);
    ok(say(fd, asks, (size_t)n + 8) && answers(fd, "", reply), "a get line may be as long as it likes");
    for (int i = 0; i < MANY; i++) {
        memcpy(asks + i * 11, "get small\r\n", 11);
    }
    ok(say(fd, asks, MANY * 11) && hear(fd, replies, sizeof replies) == sizeof replies && memcmp(replies + sizeof replies - REPLY_BYTES, reply, REPLY_BYTES) == 0,
       "thousands of requests in a row are all answered");
    close(fd);
    host_end(&h);
}

TEST(test_large_values) {
    enum { BYTES = 900000, TOO_MANY = 2000000 };
    static char value[BYTES + 2], got[BYTES + 64], beyond[TOO_MANY + 2];
    struct host h;
    host_open(&h);
    int fd = connect_tcp(h.port);
    size_t head = strlen("VALUE big 0 900000\r\n"), all = head + BYTES + strlen("\r\nEND\r\n");
    fixture_value(value, BYTES, 1, 1);
    memcpy(value + BYTES, "\r\n", 2);
    say(fd, "set big 0 0 900000\r\n", 20);
    ok(say(fd, value, BYTES + 2) && answers(fd, "", "STORED\r\n"), "a value larger than any buffer is stored");
    say(fd, "get big\r\n", 9);
    ok(hear(fd, got, all) == all && memcmp(got + head, value, BYTES) == 0, "and read back whole");
    memcpy(beyond + TOO_MANY, "\r\n", 2);
    say(fd, "set big 0 0 2000000\r\n", 21);
    ok(say(fd, beyond, sizeof beyond) && answers(fd, "", "SERVER_ERROR object too large for cache\r\n") && answers(fd, "mn\r\n", "MN\r\n"),
       "one that is too large is read past");
    say(fd, "set half 0 0 900000\r\n", 21);
    say(fd, value, 1000);
    close(fd);
    ok(SETTLES(h.rig.server.conns.current, 0), "a client may leave in the middle of a value");
    fd = connect_tcp(h.port);
    ok(answers(fd, "get half\r\n", "END\r\n"), "which then is not stored");
    close(fd);
    host_end(&h);
}

TEST(test_unix_socket) {
    struct host h;
    struct stat st;
    struct net_config cfg = host_begin(&h);
    cfg.unix_path = h.path;
    cfg.unix_mode = 0750;
    cfg.port_file = NULL;
    ok(host_start(&h, &cfg), "listens on a UNIX socket");
    ok(stat(h.path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0750, "with the given permissions");
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

TEST(test_graceful_stop) {
    enum { CLIENTS = 20 };
    struct host h;
    int fds[CLIENTS];
    unsigned answered = 0;
    host_open(&h);
    for (int i = 0; i < CLIENTS; i++) { /* the first is idle */
        fds[i] = connect_tcp(h.port);
        answers(fds[i], "mn\r\n", "MN\r\n");
        say(fds[i], "set a 0 0 1\r\n1\r\nget a\r\n", i > 0 ? 23 : 0);
    }
    host_stop(&h, true);
    for (int i = 0; i < CLIENTS; i++) {
        answered += answers(fds[i], "", i > 0 ? "STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n" : "") && hung_up(fds[i]);
        close(fds[i]);
    }
    is(answered, CLIENTS, "a graceful stop answers earlier requests, then hangs up, at once where there were none");
    host_close(&h);
}

TEST(test_graceful_stop_beside_the_gone) {
    enum { CLIENTS = 4, UNREAD = 40000 };
    struct host h;
    int fds[CLIENTS];
    char *many = malloc(UNREAD * 4);
    for (int i = 0; i < UNREAD; i++) {
        memcpy(many + (size_t)i * 4, "mn\r\n", 4);
    }
    host_open_small(&h, true, 0);
    struct worker *w = &h.net->workers[0];
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = connect_unix(h.path);
        answers(fds[i], "mn\r\n", "MN\r\n");
    }
    int unread = 0, before;
    do { /* until the server reads no more from clients that take no replies */
        before = unread;
        for (int i = 0; i < CLIENTS; i++) {
            send(fds[i], many, UNREAD * 4, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        worker_rest(w, 2);
        ioctl(fds[0], SIOCOUTQ, &unread);
    } while (unread == 0 || unread != before);
    worker_stop(w, NET_GRACE_US);
    worker_rest(w, 1);
    for (int i = 0; i < CLIENTS; i++) {
        close(fds[i]);
    }
    loop_go_on();
    worker_join(w);
    host_stop(&h, true);
    ok(true, "a graceful stop ends, though no time passes, where clients have gone that left requests unread");
    host_close(&h);
    free(many);
}

/* --- before the server serves --- */

/* A server that listens during its start. */
static void open_early(struct host *h, bool tells) {
    struct net_config cfg = host_begin(h);
    cfg.answers_at_start = tells;
    h->net = net_find(&h->rig.server, &cfg);
    ok(h->net != NULL && net_open(h->net), "a server that is still starting listens%s", tells ? ", and tells so" : "");
    h->port = read_port(h->port_file, "INET");
}

TEST(test_early_clients_get_a_reply_or_wait) {
    enum { MANY = STARTUP_CLIENTS_MOST + 20 };
    struct host h;
    int many[MANY];
    unsigned served = 0;
    open_early(&h, false);
    int quiet = connect_tcp(h.port), asks = -1;
    ok(quiet >= 0 && say(quiet, "mn\r\n", 4), "a client may connect and send");
    ok(net_begin(h.net) && pthread_create(&h.thread, NULL, run_main, &h) == 0, "the server begins to serve");
    ok(answers(quiet, "", "MN\r\n"), "… and gets its answer then");
    close(quiet);
    host_end(&h);
    open_early(&h, true);
    quiet = connect_tcp(h.port);
    for (unsigned i = 0; i < 3; i++) {
        asks = connect_tcp(h.port);
        ok(answers(asks, "set a 0 0 1\r\nb\r\n", "SERVER_ERROR starting\r\n") && hung_up(asks), "a client with a request gets that reply, and is hung up on");
        close(asks);
    }
    asks = connect_tcp(h.port);
    ok(say(asks, "\x80\x0a\0\0", 4) && hung_up(asks), "a client of the binary protocol is hung up on");
    close(asks);
    for (unsigned i = 0; i < MANY; i++) {
        many[i] = connect_tcp(h.port);
    }
    ok(net_begin(h.net) && pthread_create(&h.thread, NULL, run_main, &h) == 0, "the server begins to serve");
    ok(answers(quiet, "mn\r\n", "MN\r\n"), "a client that sent nothing is served now");
    for (unsigned i = 0; i < MANY; i++) {
        served += answers(many[i], "mn\r\n", "MN\r\n");
        close(many[i]);
    }
    is(served, MANY, "… also when they are more than are accepted early");
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

TEST(test_early_clients_wait_while_there_is_no_descriptor) {
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

/* Sends more with each piece that the client reads. Returns whether the client reads up to `last` and the end. */
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

TEST(test_last_words_are_heard) {
    enum { VALUE_BYTES = 100000, GETS = 40, LITTLE = 65536 }; /* a window that holds a segment: with less each waits 200 ms */
    static char junk[1 << 16];
    static const char get[27] = "\x80\0\0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0big",
                      bad[28] = "\x80\0\0\0\4\0\0\0\0\0\0\4", /* a get with extras, and no key */
                      last[] = "Invalid arguments";
    struct host h;
    host_open_small(&h, false, 0);
    int good = connect_tcp(h.port), one = connect_tcp(h.port), little = LITTLE;
    ok(stores(good, "big", VALUE_BYTES), "a large value");
    setsockopt(one, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    for (int i = 0; i < GETS; i++) {
        say(one, get, sizeof get);
    }
    say(one, bad, sizeof bad);
    ok(hears_out(one, last), "a client that is hung up on reads the last words, though it sends on");
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
    ok(answers(good, "quit\r\n", "") && hung_up(good) && SETTLES(h.rig.server.conns.current, 0), "a quit is served at once");
    close(good);
    host_end(&h);
}

/* The client receives no more, so sending fails at once; this worker has no other client. */
TEST(test_clients_that_leave_hold_nothing) {
    struct host h;
    struct cache_facts facts;
    host_open_small(&h, true, 0);
    int fd = connect_unix(h.path);
    ok(stores(fd, "big", 300000) && shutdown(fd, SHUT_RD) == 0, "a client hears no more");
    say(fd, "get big\r\n", 9);
    ok(SETTLES(h.rig.server.conns.current, 0), "and is hung up on when it requests a large value");
    struct cache_thread *ct = cache_thread_create(h.rig.server.cache);
    struct key key = key_make("big", 3);
    cache_turn_begin(ct);
    is(cache_delete(ct, &key, &(struct cache_delete){0}), CACHE_OK, "the value is deleted by somebody else");
    cache_turn_end(ct);
    cache_facts(h.rig.server.cache, &facts);
    is(facts.pinned_bytes, 0, "and nobody holds its memory");
    cache_thread_destroy(&ct);
    close(fd);
    host_end(&h);
}

/* A worker that was stopped for 75 s within a piece paused the reply for 225 s. It polled all that time, because its timer takes less than
 * a second. */
TEST(test_answers_rest) {
    is(worker_answers_pause_us(50), 150, "a long answer rests three times as long as its piece took");
    is(worker_answers_pause_us(75 * 1000 * 1000), WORKER_ANSWERS_PAUSE_MOST_US, "but not as long as its worker was stopped");
    ok(worker_answers_pause_us(UINT32_MAX) < 1000 * 1000 && worker_answers_pause_us(3333) <= WORKER_ANSWERS_PAUSE_MOST_US,
       "and never for a second");
}

int main(void) {
    uint64_t seed = tap_seed();
    tap_run_tests();
    test_bytes_in_any_pieces(seed);
    return tap_done();
}
