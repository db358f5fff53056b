/* The whole program: against a real memcached where there is one, and against servers that break
 * every promise. Servers listen on UNIX sockets in a folder of the test's own. */
#include "tap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app.h"
#include "value.h"

static char folder[] = "/tmp/slate-app-XXXXXX";
static char *output, *messages; /* texts of the last run */

/* ---------------------------------------------------------------- running the program */

/* The clock is ahead by so much, for the program, too: this function comes before the C library's. Servers share it. */
static _Atomic time_t *ahead_s;

int clock_gettime(clockid_t clock, struct timespec *t) {
    int result = (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += ahead_s != NULL ? *ahead_s : 0;
    return result;
}

/* Runs the command line in this process; returns the exit code. */
static int run(const char *format, ...) {
    static char line[1024];
    static char *argv[64];
    int argc = 1;
    size_t n;
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    argv[0] = (char *)"slate-load";
    for (char *p = strtok(line, " "); p != NULL; p = strtok(NULL, " ")) {
        argv[argc++] = p;
    }
    argv[argc] = NULL;
    free(output);
    free(messages);
    FILE *out = open_memstream(&output, &n), *err = open_memstream(&messages, &n);
    int code = app_run(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return code;
}

static unsigned lines_of(const char *text) {
    unsigned n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

/* The number after "name": in the last phase of a JSON report; -1 when absent. */
static double json_number(const char *name) {
    char wanted[64];
    const char *found = NULL;
    snprintf(wanted, sizeof(wanted), "\"%s\":", name);
    for (const char *p = output; (p = strstr(p, wanted)) != NULL; p++) {
        found = p;
    }
    return found ? strtod(found + strlen(wanted), NULL) : -1;
}

/* ---------------------------------------------------------------- servers */

static pid_t server;
static char socket_path[80];

static int listen_here(const char *name) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(socket_path, sizeof(socket_path), "%s/%s", folder, name);
    unlink(socket_path);
    memcpy(a.sun_path, socket_path, strlen(socket_path) + 1);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 128) != 0) {
        printf("Bail out! cannot listen: %s\n", strerror(errno));
        exit(1);
    }
    return fd;
}

static int connect_here(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(a.sun_path, socket_path, strlen(socket_path) + 1);
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void end_server(void) {
    if (server > 0) {
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
        server = 0;
    }
    unlink(socket_path);
}

/* With -vv memcached prints a line once it listens, and after the line below no more. */
static bool start_memcached(const char *options) {
    char command[256], line[256] = "";
    int ends[2];
    if (access("/usr/bin/memcached", X_OK) != 0 || pipe(ends) != 0) {
        return false;
    }
    snprintf(socket_path, sizeof(socket_path), "%s/memcached", folder);
    snprintf(command, sizeof(command), "exec /usr/bin/memcached -vv -u root -s %s %s 2>&%d", socket_path, options, ends[1]);
    server = fork();
    if (server == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    while (strstr(line, "server listening") == NULL && fgets(line, sizeof(line), said) != NULL) {
    }
    int fd = strstr(line, "server listening") != NULL ? connect_here() : -1;
    bool serves = fd >= 0 && write(fd, "verbosity 0\r\n", 13) == 13 && read(fd, line, sizeof(line)) > 0;
    close(fd);
    if (!serves) {
        end_server();
    }
    return serves; /* `said` stays open: a line without a reader would end memcached */
}

/* A server that replies properly to `version`, and to every other line as set here. */
struct behaviour {
    const char *says, *once; /* the reply to each line, and to the line counted `once_at` */
    unsigned    once_at, lines_most; /* afterwards it hangs up; 0: never */
    void      (*behave)(int fd, const char *line); /* called in place of a reply */
};

static void say(int fd, const char *text) {
    (void)!write(fd, text, strlen(text));
}

/* False: the server hangs up. */
static bool answer(const struct behaviour *b, int fd, const char *line) {
    static unsigned lines;
    if (strncmp(line, "version", 7) == 0) {
        say(fd, "VERSION 0.0-test\r\n");
        return true;
    }
    if (b->behave != NULL) {
        b->behave(fd, line);
    } else {
        say(fd, b->once != NULL && lines == b->once_at ? b->once : b->says);
    }
    return ++lines != b->lines_most;
}

static void serve(int listener, const struct behaviour *b) {
    static char kept[64][65536];
    static size_t have[64];
    struct pollfd fds[64] = {{.fd = listener, .events = POLLIN}};
    nfds_t count = 1;
    for (;;) {
        poll(fds, count, -1);
        if ((fds[0].revents & POLLIN) && count < 64) {
            have[count] = 0;
            fds[count++] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
        }
        for (nfds_t i = 1; i < count; i++) {
            if (fds[i].fd < 0 || fds[i].revents == 0) {
                continue;
            }
            ssize_t n = read(fds[i].fd, kept[i] + have[i], sizeof(kept[i]) - have[i] - 1);
            bool stay = n > 0;
            have[i] += n > 0 ? (size_t)n : 0;
            for (char *end; stay && (end = memchr(kept[i], '\n', have[i])) != NULL;) {
                *end = '\0';
                stay = answer(b, fds[i].fd, kept[i]);
                have[i] -= (size_t)(end + 1 - kept[i]);
                memmove(kept[i], end + 1, have[i]);
            }
            if (!stay) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
        }
    }
}

static void start_server(const struct behaviour *b) {
    int listener = listen_here("fake");
    server = fork();
    if (server == 0) {
        signal(SIGPIPE, SIG_IGN);
        serve(listener, b);
    }
    close(listener);
}

/* Fails commands but not the lines of data that follow them. */
static void fails_commands(int fd, const char *line) {
    static const char *const commands[] = {"get ", "set ", "mg ", "ms "};
    if (strncmp(line, "mn", 2) == 0) {
        say(fd, "MN\r\n");
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        if (strncmp(line, commands[i], strlen(commands[i])) == 0) {
            say(fd, "SERVER_ERROR out of paper\r\n");
        }
    }
}

/* Answers "get KEY" with a value whose bytes are right for another key. */
static void mixes_up(int fd, const char *line) {
    char reply[300];
    char key[251] = "";
    sscanf(line, "get %250s", key);
    int n = snprintf(reply, sizeof(reply), "VALUE %s 0 20\r\n", key);
    value_fill(reply + n, 20, value_key_hash("another", 7), 1);
    memcpy(reply + n + 20, "\r\nEND\r\n", 8);
    (void)!write(fd, reply, (size_t)n + 27);
}

/* Sends a right value that is larger than the socket holds, so that elements come split. */
static void dribbles(int fd, const char *line) {
    enum { BYTES = 30000, LEAST = 1 };
    static char reply[BYTES + 300];
    char key[251] = "";
    int least = LEAST;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
    sscanf(line, "get %250s", key);
    size_t n = (size_t)snprintf(reply, sizeof(reply), "VALUE %s 0 %d\r\n", key, BYTES);
    value_fill(reply + n, BYTES, value_key_hash(key, strlen(key)), 9);
    memcpy(reply + n + BYTES, "\r\nEND\r\n", 8);
    (void)!write(fd, reply, n + BYTES + 7);
}

/* Ends the test's own run as a user does. */
static void interrupts(int fd, const char *line) {
    static int count;
    (void)line;
    say(fd, "END\r\n");
    if (++count == 20) {
        kill(getppid(), SIGINT);
    }
}

/* Longer than a reply is waited for passes, without one. */
static void is_silent(int fd, const char *line) {
    (void)fd, (void)line;
    *ahead_s += 10000;
}

static void misbehaving_servers(void) {
    static const char end[] = "END\r\n", error[] = "SERVER_ERROR out of \"paper\"\r\n";
    static const struct {
        struct behaviour server;
        const char *words;
        int         code;
        const char *in_messages, *in_output, *claim;
        double      errors, misses; /* counts of a JSON report */
    } rows[] = {
        {{.says = end, .lines_most = 20}, "--requests 1000 --conns 2", 74, "closed a connection", "requests",
         "a server that dies midway ends the run, and what was measured is reported", 0, 0},
        {{.says = "ERROR Too many open connections\r\n", .lines_most = 1}, "--requests 10 --conns 1", 74, "Too many open connections", "",
         "so does one that refuses connections, whose last words are passed on", 0, 0},
        {{.says = end, .once = error, .once_at = 3, .lines_most = 20}, "--requests 1000 --conns 1", 74, "closed a connection",
         "1 x SERVER_ERROR out of \"paper\"", "and one that dies long after an error, which is in the report with how often it came", 0, 0},
        {{.behave = is_silent}, "--requests 10", 74, "no reply", "", "a silent server does not hang the run", 0, 0},
        {{.says = "HTTP/1.1 200 OK\r\n"}, "--requests 10", 74, "HTTP/1.1 200 OK", "", "another protocol ends the run, and is shown", 0, 0},
        {{.says = error}, "--requests 10 --json", 1, "", "SERVER_ERROR out of \\\"paper\\\"", "a run in which every request got an error exits 1", 10, 0},
        {{.behave = fails_commands}, "--requests 10 --conns 2 --sizes 0 --method set", 1, "", "", "so it does with sets", 0, 0},
        {{.behave = fails_commands}, "--requests 10 --conns 2 --sizes 0 --mget 5", 1, "", "", "with multi-gets", 0, 0},
        {{.behave = fails_commands}, "--requests 10 --conns 2 --sizes 0 --protocol meta --mget 5 --fill-on-miss", 1, "", "", "with those of meta", 0, 0},
        {{.behave = fails_commands}, "--requests 10 --conns 2 --sizes 0 --method set --noreply", 1, "", "", "with quiet sets", 0, 0},
        {{.behave = fails_commands}, "--requests 10 --conns 2 --sizes 0 --insert --keys 10", 1, "", "", "and while keys are inserted", 0, 0},
        {{.says = end, .once = error}, "--requests 10 --conns 1 --json", 0, "", "", "some errors are counted, not fatal, among requests that succeed", 1, 9},
        {{.says = end, .once = error}, "--requests 10 --conns 1 --fail-on-errors", 1, "", "", "--fail-on-errors makes a single one fatal at the end", 0, 0},
        {{.behave = mixes_up}, "--requests 10 --json", 1, "", "\"wrong\":10", "wrong values exit 1, and each is counted", 0, 0},
        {{.behave = mixes_up}, "--requests 10 --verify none", 0, "", "", "unless nobody was to look", 0, 0},
        {{.behave = dribbles}, "--requests 60 --conns 3 --pipeline 4 --json", 0, "", "\"verified\":60", "replies in pieces are put together and checked", 0, 0},
        {{.behave = interrupts}, "--duration 60 --rate 10000 --json", 130, "", "\"interrupted\":true", "an interrupt ends the run, and the report so far is printed", 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start_server(&rows[i].server);
        is(run("--server unix:%s --timeout 600 %s", socket_path, rows[i].words), rows[i].code, "%s", rows[i].claim);
        ok(strstr(messages, rows[i].in_messages) != NULL && lines_of(messages) <= 1 && strstr(output, rows[i].in_output) != NULL,
           "it says so in one sentence: %s", messages);
        ok((rows[i].errors <= 0 || json_number("errors") == rows[i].errors) && (rows[i].misses <= 0 || json_number("misses") == rows[i].misses),
           "errors and misses are told apart");
        end_server();
    }
}

static void no_server(void) {
    is(run("--server unix:%s/none", folder), 69, "no server: 69");
    ok(lines_of(messages) == 1 && strstr(messages, "cannot connect to unix:"), "one sentence: %s", messages);
    is(run("--server 127.0.0.1:1 --timeout 2"), 69, "a closed port: 69");
    is(run("--server unix:/%0200d", 0), 64, "a socket path that cannot be is bad usage: %s", messages);
    is(run("--server host:port"), 64, "so is a port that is none");
    is(run("--bad"), 64, "and an unknown option");
    ok(lines_of(messages) == 1, "one sentence: %s", messages);
    is(run("--help"), 0, "--help succeeds");
    ok(strstr(output, "--pipeline") && messages[0] == '\0', "and prints the options");
}

/* ---------------------------------------------------------------- against memcached */

static void loads(void) {
    static const char *const shapes[] = {"",
                                         "--pipeline 32",
                                         "--mget 50",
                                         "--pipeline 5 --mget 7 --protocol meta",
                                         "--threads 3 --conns 7 --pipeline 4",
                                         "--reads 50 --pipeline 8 --noreply",
                                         "--reads 50 --pipeline 8 --noreply --protocol meta",
                                         "--reads 90 --sizes l2000,2 --pipeline 16",
                                         "--reads 50 --sizes u0,40 --size-by request --ttl 100",
                                         "--reads 50 --sizes u0,3000 --send-bytes 700",
                                         "--conns 9 --calls 100 --reconnect --linger 0",
                                         "--rate 100000 --pipeline 10"};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        int code = run("--server unix:%s --insert --keys 2000 --requests 10000 --json %s", socket_path, shapes[i]);
        ok(code == 0 && json_number("requests") == 10000 && json_number("errors") == 0 &&
               json_number("wrong") == 0 && json_number("gets") == json_number("verified") &&
               json_number("hits") == json_number("gets"), "10,000 requests, all found and right: %s", shapes[i]);
        if (code != 0) {
            printf("# %d %s%s\n", code, messages, output);
        }
    }
    is(run("--server unix:%s --requests 0 --insert --keys 10 --json", socket_path), 0, "no requests after an insert loads only");
    ok(strstr(output, "\"run\"") == NULL && json_number("stored") == 10, "all keys");
    is(run("--server unix:%s --conns 10 --calls 5 --conn-rate 1000 --json", socket_path), 0,
       "connections open at a rate and close after their calls");
    ok(json_number("requests") == 50 && json_number("connections") == 10, "each made its calls");
}

/* The sums over the intervals of a JSON report, and their number. */
static double interval_sum(const char *name, unsigned *count) {
    char wanted[64];
    double sum = 0;
    const char *p = strstr(output, "\"intervals\":");
    snprintf(wanted, sizeof(wanted), "\"%s\":", name);
    for (*count = 0; p != NULL && (p = strstr(p, wanted)) != NULL; p++, (*count)++) {
        sum += strtod(p + strlen(wanted), NULL);
    }
    return sum;
}

static void intervals(void) {
    unsigned count;
    run("--server unix:%s --insert --keys 500 --requests 0", socket_path);
    is(run("--server unix:%s --keys 500 --requests 400 --rate 2000 --interval 0.05 --json", socket_path), 0, "a run in intervals");
    ok(interval_sum("requests", &count) == 400 && count >= 1, "they hold every request");
    ok(interval_sum("hits", &count) == 400, "and every hit");
    unsigned medians;
    ok(interval_sum("count", &count) == 400 && interval_sum("p99", &medians) > 0 && medians == count,
       "and the latency of every read");
    ok(strstr(output, "\"hit_bytes\":40000,") != NULL, "the bytes that came back are counted");
    is(run("--server unix:%s --requests 400 --json", socket_path), 0, "a run without");
    ok(strstr(output, "intervals") == NULL, "has none");
}

static void damaged_store(void) {
    char reply[16] = "";
    run("--server unix:%s --requests 0 --insert --keys 100 --key-bytes 10", socket_path);
    int fd = connect_here();
    say(fd, "set key-000042 0 0 5\r\nother\r\n");
    (void)!read(fd, reply, sizeof(reply) - 1);
    close(fd);
    is_str(reply, "STORED\r\n", "somebody else writes to one key");
    is(run("--server unix:%s --requests 100 --dist sequential --keys 100 --key-bytes 10 --json --conns 1", socket_path),
           1, "the run exits 1");
    ok(json_number("wrong") == 1 && strstr(output, "key-000042") != NULL, "and names the one wrong key");
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

/* The keys of each trace begin with a letter of its own. */
static void write_trace(const char *path, char letter) {
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 3000; i++) {
        fprintf(f, "%c%d %d\n", letter, i * i % 401, 10 + i * i % 401);
    }
    fclose(f);
}

static void replays(void) {
    char path[100];
    snprintf(path, sizeof(path), "%s/trace", folder);
    /* In a cache with room for all, exactly the first request of a key misses. */
    unsigned distinct = 0;
    static bool seen[401];
    for (int i = 0; i < 3000; i++) {
        distinct += !seen[i * i % 401];
        seen[i * i % 401] = true;
    }
    static const char *const shapes[] = {"",
                                         "--pipeline 64",
                                         "--pipeline 7 --mget 5",
                                         "--pipeline 50 --protocol meta",
                                         "--pipeline 50 --mget 9 --protocol meta",
                                         "--pipeline 50 --noreply"};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        write_trace(path, (char)('a' + i));
        is(run("--server unix:%s --replay %s --json %s", socket_path, path, shapes[i]), 0, "a trace is replayed: %s", shapes[i]);
        is((long long)json_number("misses"), distinct, "and only first requests miss");
        is((long long)json_number("fills"), distinct, "each miss is filled once");
        is((long long)json_number("wrong"), 0, "all that comes back is right");
    }
    is(run("--server unix:%s --replay %s/nothing", socket_path, folder), 74, "a missing trace: 74");
    ok(output[0] == '\0' && lines_of(messages) == 1, "no report, one sentence: %s", messages);
    write_text(path, "a b c\n");
    is(run("--server unix:%s --replay %s --json", socket_path, path), 74, "a bad line: 74");
    ok(output[0] == '\0' && lines_of(messages) == 1 && strstr(messages, "line 1:") != NULL,
       "no report when it is the first, one sentence: %s", messages);
    write_text(path, "a 5\nb 5\nc d e\n");
    is(run("--server unix:%s --replay %s --json", socket_path, path), 74, "a later bad line: 74");
    ok(json_number("requests") >= 1 && strstr(messages, "line 3:") != NULL, "earlier requests are reported: %s", output);
    unlink(path);
}

static void calcify(void) {
    is(run("calcify --server unix:%s --phase-bytes 1m --conns 10 --json", socket_path), 0, "the rebalancing experiment runs");
    ok(strstr(output, "\"value_bytes\":100000,\"sets\":10,") != NULL, "all four phases: %s", output);
    is(run("calcify --server unix:%s --phase-bytes 1m --conns 10", socket_path), 0, "as a table too");
    ok(strstr(output, "pages of the class of") != NULL && lines_of(output) == 8, "of four rows");
    ok(strstr(output, "phase 1: 10000 of 10000 found, 0 wrong; phase 2: 1000 of 1000") != NULL,
       "and what is still there is read back and right");
}

static void progress_and_shift(void) {
    is(run("--server unix:%s --duration 1 --rate 1000 --interval 0.05", socket_path), 0, "a run of a given time ends");
    ok(lines_of(messages) >= 2 && strstr(messages, "requests/s") != NULL, "and prints its progress on the way");
    ok(strstr(messages, "  reads p50 ") != NULL, "with the latencies of its reads");
    is(run("--server unix:%s --shift 100,2000 --shift-every 500 --requests 1000 --keys 50 --fill-on-miss --json", socket_path),
           0, "sizes shift");
    ok(strstr(output, "\"value_bytes\":100,\"gets\":") && strstr(output, "\"value_bytes\":2000,"), "and are reported apart");
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    ahead_s = mmap(NULL, sizeof *ahead_s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mkdtemp(folder) == NULL || ahead_s == MAP_FAILED) {
        return 1;
    }
    value_init(); /* the fake servers make values too */
    no_server();
    misbehaving_servers();
    if (start_memcached("-m 256 -t 1")) {
        loads();
        intervals();
        damaged_store();
        replays();
        calcify();
        progress_and_shift();
        end_server();
    } else {
        tap_skip("no /usr/bin/memcached to run against");
    }
    free(output);
    free(messages);
    rmdir(folder);
    return tap_done();
}
