/* Limits of connections: bytes held, number, idle time; over loopback and UNIX sockets, in one process. Run under TSan too. */
#include "tap.h"

#include <sys/ioctl.h>
#include <sys/resource.h>

#include "own_clock.h"

#include "base/log.h"
#include "net/conn.h"
#include "net_fixture.h"

/* --- bytes that connections hold --- */

TEST(test_client_that_never_reads) {
    struct host h;
    host_open_small(&h, false, 0);
    int good = connect_tcp(h.port), bad = connect_tcp(h.port);
    stores(good, "big", 100000);
    size_t asked = 0, before = 1;
    while (asked < 64u << 20 && asked != before) { /* nothing more was taken, though the worker has had turns */
        before = asked;
        for (ssize_t n; asked < 64u << 20 && (n = send(bad, "get big\r\nget big\r\nget big\r\n", 27, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0;) {
            asked += (size_t)n;
        }
        answers(good, "mn\r\nmn\r\n", "MN\r\nMN\r\n");
    }
    ok(asked < 64u << 20, "the server stops reading from a client that reads no replies (%zu bytes of requests)", asked);
    ok(atomic_load(&h.rig.server.conns.buffer_bytes) < 1u << 20, "its memory is bounded");
    ok(answers(good, "mn\r\n", "MN\r\n"), "another client of the same worker is served");
    close(bad);
    ok(SETTLES(h.rig.server.conns.current, 1), "it may leave with replies unsent");
    ok(answers(good, "delete big\r\n", "DELETED\r\n"), "and nothing is held up by it");
    close(good);
    host_end(&h);
}

/* `counter`: its offset in the worker's counters. */
static bool counted(const struct host *h, size_t counter) {
    const char *counters = (const char *)h->rig.server.workers[0];
    return counter_get((const struct counter *)(const void *)(counters + counter)) == 1;
}

/* Unread bytes in `fd`. */
static int unread_bytes(int fd) {
    int n = 0;
    return ioctl(fd, FIONREAD, &n) == 0 ? n : -1;
}

/* Sends a request, and the next one when the reply is there, but reads nothing. So the worker receives one request a turn and sends its
 * reply at once: of a larger reply the kernel would take a part, and the worker might hold the remainder. The worker's counters come too
 * late: a reply is counted after the client has it. False: no request is refused, and nothing changes any more. */
static bool asks_until_refused(struct host *h, int fd, const char *question) {
    size_t oom = offsetof(struct serve_counters, response_obj_oom);
    for (bool goes_on = true; goes_on && !counted(h, oom);) {
        int before = unread_bytes(fd);
        goes_on = say(fd, question, strlen(question)) && SERVER_COMES_TO(unread_bytes(fd) != before || counted(h, oom));
    }
    return counted(h, oom);
}

/* Reads all available bytes. Returns whether they end with `last` and the words of a refusal. */
static bool hears_behind(int fd, const char *last) {
    static char all[8 << 20];
    char   words[64];
    size_t n = (size_t)snprintf(words, sizeof words, "%sSERVER_ERROR out of memory writing get response\r\n", last),
           got = hear(fd, all, sizeof all);
    return got > n && memcmp(all + got - n, words, n) == 0;
}

TEST(test_limits_the_bytes_that_connections_hold) {
    enum { HALVES = 3, VALUE_BYTES = 2000 };
    struct host h;
    host_open_small(&h, true, 1); /* a UNIX socket takes a send whole or not at all; least limit: BUFFER_RECEIVE_BYTES a worker */
    int half[HALVES + 1], good = connect_unix(h.path), bad = connect_unix(h.path);
    for (int i = 0; i <= HALVES; i++) {
        half[i] = connect_unix(h.path);
        say(half[i], "get half of ", 12);
    }
    ok(SERVER_COMES_TO(counted(&h, offsetof(struct serve_counters, read_buf_oom))), "of connections that sent half a request one is too many");
    ok(SETTLES(h.rig.server.conns.current, HALVES + 2), "and is closed");

    ok(stores(good, "v", VALUE_BYTES), "one that sends whole ones is served");
    for (int i = 0; i <= HALVES; i++) {
        close(half[i]);
    }
    ok(SETTLES(h.rig.server.conns.current, 2), "the others' bytes are released");
    int two[2] = {connect_unix(h.path), connect_unix(h.path)}; /* together more than half of the limit */
    say(two[0], "get half of ", 12);
    say(two[1], "get half of ", 12);
    /* Waits for the turns in which the worker accepts them, and reads their halves. */
    bool held = SETTLES(h.rig.server.conns.current, 4);
    for (int i = 0; i < 3; i++) {
        held = answers(good, "mn\r\n", "MN\r\n") && held;
    }
    ok(held, "two others hold more than half of the limit");
    ok(asks_until_refused(&h, bad, "get v v v v v\r\n"), "one that takes no replies is refused");
    ok(hears_behind(bad, "END\r\n"), "it gets that reply after a complete one, and is hung up on");
    ok(SETTLES(h.rig.server.conns.reply_count, 0) && atomic_load(&h.rig.server.conns.reply_bytes) == 0,
       "and nothing of it is held any longer");
    ok(answers(two[0], "x\r\n", "END\r\n") && answers(two[1], "x\r\n", "END\r\n"), "the others go on");
    close(two[0]);
    close(two[1]);
    close(bad);
    close(good);
    host_end(&h);
}

/* The limit has room for the client's replies, or for half a request, but not for both. */
TEST(test_refuses_requests_without_room_with_words) {
    struct host h;
    host_open_small(&h, true, 1);
    int deaf = connect_unix(h.path);
    ok(stores(deaf, "v", 2000), "a client stores a value");
    say(deaf, "get half of ", 12);
    ok(asks_until_refused(&h, deaf, "it\r\nget v v v v v\r\nget half of "), "sends requests, and takes no replies, until it is refused");
    ok(hears_behind(deaf, "END\r\n"), "gets that reply, though it was its next request that found no room");
    is(counter_get(&h.rig.server.workers[0]->read_buf_oom), 0, "and counts as one that takes no replies");
    close(deaf);
    host_end(&h);
}

/* --- how many there are, and how long --- */

TEST(test_limits_connections) {
    struct host h;
    struct net_config cfg = host_begin(&h);
    atomic_store(&h.rig.server.conns.maxconns, 3);
    host_start(&h, &cfg);
    int fds[4];
    for (int i = 0; i < 3; i++) {
        fds[i] = connect_tcp(h.port);
        answers(fds[i], "mn\r\n", "MN\r\n");
    }
    fds[3] = connect_tcp(h.port);
    ok(answers(fds[3], "", "ERROR Too many open connections\r\n") && hung_up(fds[3]), "one too many gets that reply and is closed");
    is(atomic_load(&h.rig.server.conns.rejected), 1, "and counted");
    close(fds[0]);
    close(fds[3]);
    SETTLES(h.rig.server.conns.current, 2);
    fds[3] = connect_tcp(h.port);
    ok(answers(fds[3], "mn\r\n", "MN\r\n"), "when one leaves, another may come");
    close(fds[1]), close(fds[2]), close(fds[3]);
    host_stop(&h, false);

    atomic_store(&h.rig.server.conns.maxconns_fast, false);
    atomic_store(&h.rig.server.conns.maxconns, 2);
    host_start(&h, &cfg);
    for (int i = 0; i < 3; i++) {
        fds[i] = connect_tcp(h.port);
    }
    ok(answers(fds[0], "mn\r\n", "MN\r\n") && answers(fds[1], "mn\r\n", "MN\r\n"), "without maxconns_fast the first are served");
    ok(SETTLES(h.rig.server.conns.listen_disabled_num, 1), "accepting stops");
    ok(!atomic_load(&h.rig.server.conns.accepting), "and says so");
    say(fds[2], "mn\r\n", 4);
    close(fds[0]);
    SETTLES(h.rig.server.conns.current, 1);
    host_pass_s(&h, 1);
    ok(answers(fds[2], "", "MN\r\n"), "the one that waited is served when another leaves");
    ok(atomic_load(&h.rig.server.conns.listen_disabled_us) > 0, "the time is counted");
    close(fds[1]), close(fds[2]);
    host_end(&h);
}

TEST(test_runs_out_of_descriptors) {
    struct host h;
    struct rlimit before, tight;
    host_open(&h);
    log_set_level(LOG_LEVEL_ERROR);
    int first = connect_tcp(h.port);
    answers(first, "mn\r\n", "MN\r\n");
    main_rest(h.net); /* accept4() takes a descriptor even where no connection waits */
    int held[16], held_count = 0; /* places left under a low limit, minus the client's own */
    int next = dup(first);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    tight = before;
    tight.rlim_cur = (rlim_t)next + 4;
    setrlimit(RLIMIT_NOFILE, &tight);
    while (held_count < 16 && (held[held_count] = dup(STDERR_FILENO)) >= 0) {
        held_count++;
    }
    close(held[--held_count]);
    int second = connect_tcp(h.port);
    loop_go_on();
    ok(second >= 0 && SERVER_COMES_TO(atomic_load(&h.rig.server.conns.listen_disabled_num) > 0), "with no descriptor left, accepting stops");
    ok(answers(first, "mn\r\n", "MN\r\n"), "present clients are served");
    say(second, "mn\r\n", 4);
    close(first);
    SETTLES(h.rig.server.conns.current, 0);
    host_pass_s(&h, 1);
    ok(answers(second, "", "MN\r\n"), "and when one leaves, the one that waited is too");
    setrlimit(RLIMIT_NOFILE, &before);
    log_set_level(LOG_LEVEL_WARN);
    while (held_count > 0) {
        close(held[--held_count]);
    }
    close(second);
    host_end(&h);
}

TEST(test_idle_timeout) {
    struct host h;
    struct net_config cfg = host_begin(&h);
    cfg.worker_count = 1;
    atomic_store(&h.rig.server.conns.idle_timeout_s, 1);
    host_start(&h, &cfg);
    int idle = connect_tcp(h.port);
    answers(idle, "mn\r\n", "MN\r\n");
    host_pass_s(&h, 1);
    int other = connect_tcp(h.port); /* the reply comes after a turn in which the worker looked for idle connections */
    ok(answers(other, "mn\r\n", "MN\r\n") && answers(idle, "mn\r\n", "MN\r\n"), "a connection may be idle for as long as the timeout is");
    close(other);
    host_pass_s(&h, 2);
    ok(hung_up(idle), "an idle connection is closed");
    close(idle);
    ok(SETTLES(h.rig.server.conns.current, 0), "and gone");
    struct serve_values v = {0};
    server_values(&h.rig.server, &v);
    is(v.idle_kicks, 1, "and counted");
    host_end(&h);
}

TEST(test_value_timeout) {
    enum { TIMEOUT_S = 3, LOOKS_A_SECOND = 4, LOOKS_MOST = 100 };
    static char some[100000];
    struct host h;
    struct net_config cfg = host_begin(&h);
    cfg.worker_count = 1;
    cfg.value_timeout_s = TIMEOUT_S;
    host_start(&h, &cfg);
    int slow = connect_tcp(h.port), other = connect_tcp(h.port);
    unsigned looks = 0;
    say(slow, "set big 0 0 900000\r\n", 20);
    say(slow, some, sizeof some);
    answers(other, "mn\r\n", "MN\r\n");
    host_pass_s(&h, 100 * TIMEOUT_S);
    ok(answers(other, "mn\r\n", "MN\r\n") && !counted(&h, offsetof(struct serve_counters, uploads_timed_out)), "of a worker that stood still nobody is late");
    while (answers(other, "mn\r\n", "MN\r\n") && !counted(&h, offsetof(struct serve_counters, uploads_timed_out)) && looks++ < LOOKS_MOST) {
        host_pass(&h, CLOCK_SECOND_US / LOOKS_A_SECOND); /* a whole jump at once would count as the worker's absence */
    }
    ok(looks >= TIMEOUT_S * LOOKS_A_SECOND && looks <= (TIMEOUT_S + 1) * LOOKS_A_SECOND, "a value that stops coming is refused after %u looks", looks);
    ok(answers(slow, "", "SERVER_ERROR out of memory storing object\r\n"), "and its client gets that reply");
    close(slow);
    close(other);
    host_end(&h);
}

TEST(test_many_idle_connections) {
    enum { WANTED = 2000, SPARE = 200 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    unsigned n = limit.rlim_cur / 2 > WANTED + SPARE ? WANTED : (unsigned)(limit.rlim_cur / 2 - SPARE);
    struct host h;
    struct net_config cfg = host_begin(&h);
    cfg.unix_path = h.path;
    cfg.port_file = NULL;
    atomic_store(&h.rig.server.conns.maxconns, WANTED + SPARE);
    host_start(&h, &cfg);
    int *fds = calloc(n, sizeof *fds);
    unsigned connected = 0;
    for (unsigned i = 0; i < n; i++) {
        fds[i] = connect_unix(h.path);
        connected += fds[i] >= 0;
    }
    is(connected, n, "%u connections are accepted", n);
    ok(answers(fds[0], "mn\r\n", "MN\r\n") && answers(fds[n - 1], "mn\r\n", "MN\r\n"), "the first and the last are served");
    ok(atomic_load(&h.rig.server.conns.buffer_bytes) < 4u << 20, "idle ones have no buffers");
    for (unsigned i = 0; i < n; i++) {
        close(fds[i]);
    }
    free(fds);
    ok(SETTLES(h.rig.server.conns.current, 0), "and all may leave");
    host_end(&h);
}

int main(void) { return tap_main(); }
