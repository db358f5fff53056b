/* Listeners, workers and connections over loopback and UNIX sockets, in one process. Run under TSan too. */
#include "tap.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"
#include "net/starting.h"
#include "base/clock.h"
#include "net/conn.h"
#include "net_fixture.h"

/* --- claims --- */

static void test_serves_and_stops(void) {
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    ok(host_start(&h, &cfg) && h.port > 0, "a free port is found and written to the port file");
    int a = connect_tcp(h.port), b = connect_tcp(h.port);
    ok(answers(a, "set k 0 0 5\r\nhello\r\n", "STORED\r\n"), "a client stores");
    ok(answers(b, "get k\r\n", "VALUE k 0 5\r\nhello\r\nEND\r\n"), "another worker's client reads it");
    ok(answers(a, "bad\r\nget none\r\nmn\r\n", "ERROR\r\nEND\r\nMN\r\n"), "replies come in order");
    is(atomic_load(&h.rig.server.conns.current), 2, "two connections are counted");
    ok(say(a, "quit\r\n", 6) && hung_up(a), "quit hangs up");
    ok(settles(&h.rig.server.conns.current, 1), "and is not counted any more");
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

static void test_bytes_in_any_pieces(uint64_t seed) {
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    host_start(&h, &cfg);
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
    host_stop(&h, false);
    host_close(&h);
}

static void test_large_values(void) {
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    host_start(&h, &cfg);
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
    ok(settles(&h.rig.server.conns.current, 0), "a client may leave in the middle of a value");
    fd = connect_tcp(h.port);
    ok(answers(fd, "get half\r\n", "END\r\n"), "which then is not stored");
    close(fd);
    free(value);
    free(got);
    host_stop(&h, false);
    host_close(&h);
}

static void test_client_that_never_reads(void) {
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.worker_count = 1;
    host_start(&h, &cfg);
    int good = connect_tcp(h.port), bad = connect_tcp(h.port);
    char *value = calloc(1, 100002);
    memset(value, 'x', 100000);
    memcpy(value + 100000, "\r\n", 2);
    say(good, "set big 0 0 100000\r\n", 20);
    say(good, value, 100002);
    answers(good, "", "STORED\r\n");
    free(value);
    size_t asked = 0;
    struct timeval soon = {.tv_usec = 300000};
    setsockopt(bad, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    while (asked < 64u << 20 && send(bad, "get big\r\nget big\r\nget big\r\n", 27, MSG_NOSIGNAL) == 27) {
        asked += 27;
    }
    ok(asked < 64u << 20, "the server stops reading from a client that reads no replies (%zu bytes asked)", asked);
    ok(atomic_load(&h.rig.server.conns.buffer_bytes) < 1u << 20, "its memory is bounded");
    ok(answers(good, "mn\r\n", "MN\r\n"), "another client of the same worker is served");
    close(bad);
    ok(settles(&h.rig.server.conns.current, 1), "it may leave with replies unsent");
    ok(answers(good, "delete big\r\n", "DELETED\r\n"), "and nothing is held up by it");
    close(good);
    host_stop(&h, false);
    host_close(&h);
}

/* `counter`: its offset in the worker's. */
static bool counted_yet(const struct host *h, size_t counter) {
    const char *counters = (const char *)h->rig.server.workers[0];
    return counter_get((const struct counter *)(const void *)(counters + counter)) == 1;
}

static bool counted(const struct host *h, size_t counter) {
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (counted_yet(h, counter)) {
            return true;
        }
        usleep(1000);
    }
    return false;
}

/* Asks and reads nothing, a question a turn: its reply is then one send. False: nothing is refused, and nothing happens any more. */
static bool asks_until_refused(struct host *h, int fd, const char *question) {
    const struct serve_counters *counters = h->rig.server.workers[0];
    size_t oom = offsetof(struct serve_counters, response_obj_oom);
    bool goes_on = true;
    while (goes_on && !counted_yet(h, oom)) {
        uint64_t sent = counter_get(&counters->bytes_written);
        goes_on = false;
        bool said = say(fd, question, strlen(question));
        for (int i = 0; said && !goes_on && i < PATIENCE_MS * 100; i++) {
            usleep(10);
            goes_on = counter_get(&counters->bytes_written) != sent || counted_yet(h, oom);
        }
    }
    return counted(h, oom);
}

/* Reads all there is. Whether it ends with `last` and the words of one that is refused. */
static bool hears_behind(int fd, const char *last) {
    static char all[8 << 20];
    char   words[64];
    size_t n = (size_t)snprintf(words, sizeof words, "%sSERVER_ERROR out of memory writing get response\r\n", last),
           got = hear(fd, all, sizeof all);
    return got > n && memcmp(all + got - n, words, n) == 0;
}

static void test_limits_what_connections_hold(void) {
    enum { HALVES = 3, VALUE_BYTES = 2000 };
    static const char question[] = "get v v v v v\r\n";
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.worker_count = 1;
    cfg.unix_path = h.path; /* of a UNIX socket a send is taken whole or not at all */
    cfg.held_bytes_most = 1; /* as little as may be: BUFFER_RECEIVE_BYTES a worker */
    host_start(&h, &cfg);
    int half[HALVES + 1], good = connect_unix(h.path), bad = connect_unix(h.path);
    for (int i = 0; i <= HALVES; i++) {
        half[i] = connect_unix(h.path);
        say(half[i], "get half of ", 12);
    }
    ok(counted(&h, offsetof(struct serve_counters, read_buf_oom)), "of connections that sent half a request one is too many");
    ok(settles(&h.rig.server.conns.current, HALVES + 2), "and is closed");

    char value[VALUE_BYTES + 64];
    int  n = snprintf(value, sizeof value, "set v 0 0 %d\r\n%0*d\r\n", VALUE_BYTES, VALUE_BYTES, 0);
    say(good, value, (size_t)n);
    ok(answers(good, "", "STORED\r\n"), "one that asks for whole ones is served");
    for (int i = 0; i <= HALVES; i++) {
        close(half[i]);
    }
    ok(settles(&h.rig.server.conns.current, 2), "what the others held they may hold no longer");
    int two[2] = {connect_unix(h.path), connect_unix(h.path)}; /* more than half of it */
    say(two[0], "get half of ", 12);
    say(two[1], "get half of ", 12);
    /* Turns in which the worker takes them over, and then their halves. */
    bool held = settles(&h.rig.server.conns.current, 4);
    for (int i = 0; i < 3; i++) {
        held = answers(good, "mn\r\n", "MN\r\n") && held;
    }
    ok(held, "two others hold more than half of what may be held");
    ok(asks_until_refused(&h, bad, question), "one that takes no replies is refused");
    ok(hears_behind(bad, "END\r\n"), "it is told so behind a whole reply, and hung up on");
    ok(settles(&h.rig.server.conns.reply_count, 0) && atomic_load(&h.rig.server.conns.reply_bytes) == 0,
       "and nothing of it is held any longer");
    ok(answers(two[0], "x\r\n", "END\r\n") && answers(two[1], "x\r\n", "END\r\n"), "the others go on");
    close(two[0]);
    close(two[1]);
    close(bad);
    close(good);
    host_stop(&h, false);
    host_close(&h);
}

/* Its replies alone could be held, and half a request alone, but not both. */
static void test_refuses_with_words_whose_requests_find_no_room(void) {
    enum { VALUE_BYTES = 2000 };
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.worker_count = 1;
    cfg.unix_path = h.path;
    cfg.held_bytes_most = 1;
    host_start(&h, &cfg);
    char value[VALUE_BYTES + 64];
    int  n = snprintf(value, sizeof value, "set v 0 0 %d\r\n%0*d\r\n", VALUE_BYTES, VALUE_BYTES, 0);
    int  deaf = connect_unix(h.path);
    say(deaf, value, (size_t)n);
    ok(answers(deaf, "", "STORED\r\n"), "a client stores a value");
    say(deaf, "get half of ", 12);
    ok(asks_until_refused(&h, deaf, "it\r\nget v v v v v\r\nget half of "), "asks, and takes no replies, until it is refused");
    ok(hears_behind(deaf, "END\r\n"), "is told so, though it was its next request that found no room");
    is(counter_get(&h.rig.server.workers[0]->read_buf_oom), 0, "and counts as one that takes no replies");
    close(deaf);
    host_stop(&h, false);
    host_close(&h);
}

static void test_limits_connections(void) {
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    atomic_store(&h.rig.server.conns.most, 3);
    host_start(&h, &cfg);
    int fds[4];
    for (int i = 0; i < 3; i++) {
        fds[i] = connect_tcp(h.port);
        answers(fds[i], "mn\r\n", "MN\r\n");
    }
    fds[3] = connect_tcp(h.port);
    ok(answers(fds[3], "", "ERROR Too many open connections\r\n") && hung_up(fds[3]), "one too many is told so and closed");
    is(atomic_load(&h.rig.server.conns.rejected), 1, "and counted");
    close(fds[0]);
    close(fds[3]);
    settles(&h.rig.server.conns.current, 2);
    fds[3] = connect_tcp(h.port);
    ok(answers(fds[3], "mn\r\n", "MN\r\n"), "when one leaves, another may come");
    close(fds[1]), close(fds[2]), close(fds[3]);
    host_stop(&h, false);

    atomic_store(&h.rig.server.conns.most_fast, false);
    atomic_store(&h.rig.server.conns.most, 2);
    host_start(&h, &cfg);
    for (int i = 0; i < 3; i++) {
        fds[i] = connect_tcp(h.port);
    }
    ok(answers(fds[0], "mn\r\n", "MN\r\n") && answers(fds[1], "mn\r\n", "MN\r\n"), "without maxconns_fast the first are served");
    ok(settles(&h.rig.server.conns.listen_disabled_num, 1), "accepting stops");
    ok(!atomic_load(&h.rig.server.conns.accepting), "and says so");
    say(fds[2], "mn\r\n", 4);
    close(fds[0]);
    ok(answers(fds[2], "", "MN\r\n"), "the one that waited is served when another leaves");
    ok(atomic_load(&h.rig.server.conns.listen_disabled_us) > 0, "the time is counted");
    close(fds[1]), close(fds[2]);
    host_stop(&h, false);
    host_close(&h);
}

static void test_runs_out_of_descriptors(void) {
    struct host h;
    struct rlimit before, tight;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    host_start(&h, &cfg);
    log_set_level(LOG_LEVEL_ERROR);
    int first = connect_tcp(h.port);
    answers(first, "mn\r\n", "MN\r\n");
    int held[16], held_count = 0; /* what is left under a low limit, but for one: the client's */
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
    ok(second >= 0 && comes_to(&h.rig.server.conns.listen_disabled_num, 1, UINT64_MAX), "with no descriptor left, accepting stops");
    ok(answers(first, "mn\r\n", "MN\r\n"), "who is there is served");
    say(second, "mn\r\n", 4);
    close(first);
    ok(answers(second, "", "MN\r\n"), "and when one leaves, the one that waited is too");
    setrlimit(RLIMIT_NOFILE, &before);
    log_set_level(LOG_LEVEL_WARN);
    while (held_count > 0) {
        close(held[--held_count]);
    }
    close(second);
    host_stop(&h, false);
    host_close(&h);
}

static void test_idle_timeout(void) {
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.worker_count = 1;
    atomic_store(&h.rig.server.conns.idle_timeout_s, 1);
    host_start(&h, &cfg);
    int idle = connect_tcp(h.port);
    answers(idle, "mn\r\n", "MN\r\n");
    ok(hung_up(idle), "an idle connection is closed");
    close(idle);
    ok(settles(&h.rig.server.conns.current, 0), "and gone");
    struct serve_values v = {0};
    server_values(&h.rig.server, &v);
    is(v.idle_kicks, 1, "and counted");
    host_stop(&h, false);
    host_close(&h);
}

static void test_unix_socket(void) {
    struct host h;
    struct stat st;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.unix_path = h.path;
    cfg.unix_mode = 0750;
    cfg.port_file = NULL;
    ok(host_start(&h, &cfg), "listens on a UNIX socket");
    ok(stat(h.path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0750, "with the permissions asked for");
    int fd = connect_unix(h.path);
    ok(answers(fd, "mn\r\n", "MN\r\n"), "and serves it");
    struct server other = {.settings = h.rig.server.settings, .cache = h.rig.server.cache, .tuner = h.rig.server.tuner};
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
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    host_start(&h, &cfg);
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

static void test_many_idle_connections(void) {
    enum { WANTED = 10000, SPARE = 200 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    unsigned n = limit.rlim_cur / 2 > WANTED + SPARE ? WANTED : (unsigned)(limit.rlim_cur / 2 - SPARE);
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.unix_path = h.path;
    cfg.port_file = NULL;
    atomic_store(&h.rig.server.conns.most, WANTED + SPARE);
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
    ok(settles(&h.rig.server.conns.current, 0), "and all may leave");
    host_stop(&h, false);
    host_close(&h);
}

/* --- before it serves --- */

static void test_early_clients_wait(void) {
    struct host h;
    ok(host_prepare(&h, ""), "a server that is still starting");
    struct net_config cfg = host_config(&h);
    h.net = net_find(&h.rig.server, &cfg);
    ok(h.net != NULL && net_open(h.net), "it listens");
    h.port = read_port(h.port_file, "INET");
    int fd = connect_tcp(h.port);
    ok(fd >= 0 && say(fd, "mn\r\n", 4), "a client may come and ask");
    ok(net_begin(h.net), "the server begins to serve");
    pthread_create(&h.thread, NULL, run_main, &h);
    char got[4];
    ok(hear(fd, got, 4) == 4 && memcmp(got, "MN\r\n", 4) == 0, "… and gets its answer then");
    close(fd);
    host_stop(&h, false);
    host_close(&h);
}

static void test_early_clients_are_told(void) {
    struct host h;
    ok(host_prepare(&h, ""), "a server that tells that it is still starting");
    struct net_config cfg = host_config(&h);
    cfg.tell_starting = true;
    h.net = net_find(&h.rig.server, &cfg);
    ok(h.net != NULL && net_open(h.net), "it listens");
    h.port = read_port(h.port_file, "INET");
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
    ok(settles(&h.rig.server.conns.current, 0), "all are counted in and out");
    host_stop(&h, false);
    cfg.tell_starting = true;
    h.net = net_find(&h.rig.server, &cfg);
    ok(h.net != NULL && net_open(h.net), "it listens");
    h.port = read_port(h.port_file, "INET");
    quiet = connect_tcp(h.port);
    net_destroy(&h.net);
    ok(hung_up(quiet), "a start that fails hangs up on all");
    close(quiet);
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
    enum { VALUE_BYTES = 100000, GETS = 40, LITTLE = 4096 };
    static char value[VALUE_BYTES + 2], junk[1 << 16];
    static const char get[27] = "\x80\0\0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0big",
                      bad[28] = "\x80\0\0\0\4\0\0\0\0\0\0\4", /* a get with extras, and no key */
                      last[] = "Invalid arguments";
    struct host h;
    host_prepare(&h, NULL);
    struct net_config cfg = host_config(&h);
    cfg.worker_count = 1;
    clock_pause(); /* however long this machine takes, it is no time */
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
    ok(settles(&h.rig.server.conns.current, 1), "and is forgotten once it closes its side");

    one = connect_tcp(h.port);
    ok(say(one, bad, sizeof bad) && hears_out(one, last), "another has read all");
    is((long)atomic_load(&h.rig.server.conns.current), 2, "as long as it might send it is there");
    clock_shift(LINGER_S + 1);
    ok(settles(&h.rig.server.conns.current, 1), "but no longer than a while");
    close(one);

    size_t sent = 0;
    one = connect_tcp(h.port);
    ok(say(one, bad, sizeof bad) && hears_out(one, last), "and one that sends without end");
    for (ssize_t n; (n = send(one, junk, sizeof junk, MSG_NOSIGNAL)) > 0 && sent < 8 * (size_t)LINGER_BYTES;) {
        sent += (size_t)n;
    }
    ok(sent >= LINGER_BYTES && sent < 8 * (size_t)LINGER_BYTES, "is listened to for so many bytes only (%zu)", sent);
    ok(settles(&h.rig.server.conns.current, 1), "and then forgotten, too");
    close(one);
    ok(answers(good, "quit\r\n", "") && hung_up(good) && settles(&h.rig.server.conns.current, 0), "who wants to go goes at once");
    close(good);
    clock_resume();
    host_stop(&h, false);
    host_close(&h);
}

int main(void) {
    uint64_t seed = tap_seed();
    test_serves_and_stops();
    test_bytes_in_any_pieces(seed);
    test_large_values();
    test_client_that_never_reads();
    test_limits_what_connections_hold();
    test_refuses_with_words_whose_requests_find_no_room();
    test_limits_connections();
    test_runs_out_of_descriptors();
    test_idle_timeout();
    test_last_words_are_heard();
    test_unix_socket();
    test_graceful_stop();
    test_many_idle_connections();
    test_early_clients_wait();
    test_early_clients_are_told();
    return tap_done();
}
