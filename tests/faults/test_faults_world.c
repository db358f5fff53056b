/* What the world does to a server that runs: descriptors end, disks are full, transfers come short and interrupted, processes
 * are stopped and go on, nobody reads the log, the calendar jumps. */
#include "client.h"

#include <dirent.h>
#include <sys/resource.h>

enum { ROUNDS = 12 };

static struct server server;
static struct client client;

static void start(const char *options, int stderr_fd) {
    fault_disarm(&server);
    atomic_store(&server.control->passed_s, 0);
    client_init(&client, &server);
    server_spawn(&server, options, stderr_fd);
    server_comes_to(&server, NULL);
    client_command(&client, "version", "VERSION");
    if (client.why[0] != '\0' || !server_runs(&server)) {
        give_up("the server does not start: %s %s", client.why, server_said(&server));
    }
}

static void well(const char *claim) {
    if (!ok(client.why[0] == '\0', "%s", claim)) {
        printf("# %s\n", client.why);
    }
}

static void stop(void) {
    kill(server.pid, SIGTERM);
    ok(server_ends(&server) && server_ended_well(&server), "and it ends cleanly");
    client_fini(&client);
}

static const size_t sizes[] = {50, 1000, 3000, 20000, 100000, 700000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Values of every kind, stored and read, one by one and together. */
static void all_sizes(void) {
    char key[KEY_ROOM], keys[LINE_ROOM] = "";
    for (unsigned i = 0; i < SIZES; i++) {
        snprintf(key, sizeof key, "k%u", i);
        client_set(&client, key, sizes[i] + client.serial % 7);
        client_get(&client, key);
        strcat(strcat(keys, i ? " " : ""), key);
    }
    client_get(&client, keys);
    client_command(&client, "stats", "END");
    client_command(&client, "mn", "MN");
}

/* --- short and interrupted transfers --- */

static void test_short_transfers(const char *options, const char *claim) {
    start(options, -1);
    atomic_store(&server.control->dribble, (uint32_t)tap_seed() | 1);
    for (int i = 0; i < ROUNDS; i++) {
        all_sizes();
    }
    uint64_t dribbled = atomic_exchange(&server.control->dribbled, 0);
    client_recheck(&client);
    atomic_store(&server.control->dribble, 0);
    ok(client.closed == 0 && client.refused == 0 && client.misses == 0, "%s: short and interrupted transfers cost nothing", claim);
    well("and every value comes whole");
    ok(dribbled > 1000, "%" PRIu64 " transfers were short or interrupted", dribbled);
    stop();
}

/* --- descriptors --- */

static unsigned open_descriptors(pid_t pid) {
    char path[64];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    while (dir && readdir(dir)) {
        n++;
    }
    if (dir) {
        closedir(dir);
    }
    return n - 2;
}

static void limit_descriptors(rlim_t most) {
    struct rlimit limit;
    prlimit(server.pid, RLIMIT_NOFILE, NULL, &limit);
    limit.rlim_cur = most;
    if (prlimit(server.pid, RLIMIT_NOFILE, &limit, NULL) != 0) {
        give_up("cannot limit the server's descriptors");
    }
}

static bool answers(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char line[100];
    return poll(&p, 1, HANG_MS) == 1 && recv(fd, line, sizeof line, 0) > 0;
}

static void test_descriptors_end(void) {
    enum { CLIENTS = 12, MORE = 3 };
    int fds[CLIENTS];
    bool served = true;
    start("-m 64 -t 2", -1);
    client_set(&client, "a", 100);
    limit_descriptors(open_descriptors(server.pid) + MORE);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = server_connect(&server);
        served = fds[i] >= 0 && send(fds[i], "mn\r\n", 4, MSG_NOSIGNAL) == 4 && served;
    }
    ok(served, "clients connect while the server has no descriptor left");
    client_get(&client, "a");
    client_set(&client, "b", 700000);
    client_get(&client, "b");
    well("who was served before is served on");
    /* Each that goes makes room for the next that waits. */
    for (int i = 0; i < CLIENTS; i++) {
        served = answers(fds[i]) && served;
        close(fds[i]);
    }
    ok(served, "and each who waits is served when another goes");
    client_drop(&client);
    limit_descriptors(1024);
    client_recheck(&client);
    well("afterwards all is as before");
    stop();
}

static void test_accept_fails_for_long(void) {
    start("-m 64 -t 1", -1);
    client_set(&client, "a", 100);
    fault_arm(&server, FAULT_accept4, EMFILE, 0, 1 << 20);
    int fd = server_connect(&server);
    ok(fd >= 0 && send(fd, "mn\r\n", 4, MSG_NOSIGNAL) == 4, "a client comes while no connection can be accepted");
    while (atomic_load(&server.control->failed) < 3 && client.why[0] == '\0') {
        atomic_fetch_add(&server.control->passed_s, 1); /* after a second it tries again in any case */
        client_get(&client, "a");
    }
    uint64_t failed = fault_disarm(&server);
    fault_arm(&server, FAULT_epoll_ctl, ENOMEM, 0, 2); /* the event loop cannot take the listener back at once */
    ok(answers(fd), "and is served once one can, however late the event loop takes the listener back");
    fault_disarm(&server);
    close(fd);
    well("others are served meanwhile");
    printf("# accept4 failed %" PRIu64 " times\n", failed);
    stop();
}

/* --- memory --- */

static void test_no_memory_at_all(void) {
    start("-m 64 -t 1", -1);
    for (int i = 0; i < ROUNDS; i++) {
        fault_arm(&server, FAULT_ANY_MEMORY, ENOMEM, i, 1 << 30);
        for (int j = 0; j < 3; j++) {
            all_sizes();
        }
        fault_disarm(&server);
        client_recheck(&client);
    }
    well("without any memory requests are refused or hung up on, and all is well when there is some again");
    printf("# %u requests refused, %u hung up on\n", client.refused, client.closed);
    stop();
}

/* --- disks --- */

static void test_full_disk(void) {
    char options[300];
    start("-m 64 -t 1 -o slab_automove=lua:ratio,policy_dir=lua/slate/policies,automove_record=/dev/full", -1);
    ok(server_comes_to(&server, "automove_record cannot be written and ends"), "a full disk ends the record of what policies saw, with a word");
    all_sizes();
    well("and nothing else");
    stop();

    /* No file may grow; the signal for it is ignored, as the server inherits. */
    struct rlimit none = {0, RLIM_INFINITY}, was;
    int log[2];
    getrlimit(RLIMIT_FSIZE, &was);
    signal(SIGXFSZ, SIG_IGN);
    snprintf(options, sizeof options, "-m 64 -t 1 -P %s/pid", server.folder);
    if (pipe(log) != 0) {
        give_up("no pipe");
    }
    setrlimit(RLIMIT_FSIZE, &none);
    start(options, log[1]);
    setrlimit(RLIMIT_FSIZE, &was);
    signal(SIGXFSZ, SIG_DFL);
    close(log[1]);
    all_sizes();
    well("a server whose pidfile finds no room serves");
    stop();
    char said[1000] = "";
    ssize_t n = read(log[0], said, sizeof said - 1);
    close(log[0]);
    said[n > 0 ? n : 0] = '\0';
    ok(strstr(said, "cannot write the pidfile") != NULL, "and says that it has none");
    printf("# it said: %s", said);
    snprintf(options, sizeof options, "%s/pid", server.folder);
    ok(access(options, F_OK) != 0, "and leaves no half of it");
    snprintf(options, sizeof options, "%s/pid.tmp", server.folder);
    ok(access(options, F_OK) != 0, "nor the draft of it");
}

/* --- stopping and going on --- */

static void test_stop_and_continue(void) {
    char keys[LINE_ROOM] = "";
    start("-m 64 -t 2", -1);
    for (int i = 0; i < ROUNDS; i++) {
        all_sizes();
        /* The first half of a value is on its way, a page moves, and the rest comes while the server stands still.
         * The page goes to a class: one that goes to the pool takes what lives in it along, where its class is full. */
        enum { VALUE = 900000, HALF = 300000 };
        struct known *k = client_known(&client, "half");
        char *request = malloc(VALUE + 100);
        uint32_t serial = ++client.serial;
        int n = snprintf(request, 100, "set half 0 0 %d\r\n", VALUE);
        value_make(request + n, VALUE, "half", serial);
        memcpy(request + n + VALUE, "\r\n", 2);
        client_command(&client, "slabs reassign -1 1", "OK|BUSY|NOSPARE|BADCLASS|NOTFULL|SAME");
        client_send(&client, request, HALF);
        kill(server.pid, SIGSTOP);
        waitpid(server.pid, NULL, WUNTRACED);
        ssize_t sent = send(client.fd, request + HALF, (size_t)(n + VALUE + 2 - HALF), MSG_DONTWAIT | MSG_NOSIGNAL);
        size_t done = HALF + (sent > 0 ? (size_t)sent : 0);
        int late = server_connect(&server);
        bool asked = late >= 0 && send(late, "mn\r\n", 4, MSG_NOSIGNAL) == 4;
        kill(server.pid, SIGCONT);
        client_send(&client, request + done, (size_t)n + VALUE + 2 - done);
        client_answer(&client, "set half", "STORED");
        k->stored = serial;
        k->bytes = VALUE;
        client_get(&client, "half");
        if (!asked || !answers(late)) {
            client_blame(&client, "a client that came while the server stood still got no answer");
        }
        close(late);
        free(request);
    }
    for (unsigned i = 0; i < SIZES; i++) {
        sprintf(keys + strlen(keys), "%sk%u", i ? " " : "", i);
    }
    client_get(&client, keys);
    client_recheck(&client);
    well("a server that is stopped and goes on in the midst of requests answers them all");
    ok(client.closed == 0 && client.refused == 0 && client.misses == 0, "and loses nothing");
    stop();
}

/* --- the log --- */

static void test_blocked_log(void) {
    int log[2];
    char junk[4096] = "";
    if (pipe(log) != 0) {
        give_up("no pipe");
    }
    fcntl(log[1], F_SETFL, O_NONBLOCK);
    while (write(log[1], junk, sizeof junk) > 0) {
    }
    fcntl(log[1], F_SETFL, 0);
    start("-m 64 -t 1 -vv", log[1]);
    for (int i = 0; i < ROUNDS; i++) {
        all_sizes();
        client_drop(&client); /* connections come and go: each is told */
    }
    for (int i = 0; i < 300; i++) {
        client_command(&client, i % 2 ? "verbosity 2" : "verbosity 1", "OK");
    }
    well("nobody waits for a log that nobody reads");
    stop();
    close(log[0]);
    close(log[1]);
}

/* --- the calendar --- */

static long stat_of(const char *name) {
    char line[LINE_ROOM];
    long value = -1;
    client_send(&client, "stats\r\n", 7);
    snprintf(line, sizeof line, "STAT %s ", name);
    while (client_line(&client) == HEARD && strcmp(client.line, "END") != 0) {
        if (strncmp(client.line, line, strlen(line)) == 0) {
            value = atol(client.line + strlen(line));
        }
    }
    return value;
}

static void test_calendar_jumps(void) {
    static const int64_t steps_s[] = {3600, -3600, 400 * 86400, -400 * 86400, 0};
    start("-m 64 -t 1", -1);
    static const char stores[] = "ms lives 2 T1000\r\nab\r\nms dies 2 T1\r\nab\r\n";
    client_send(&client, stores, sizeof stores - 1);
    client_answer(&client, "ms", "HD");
    client_answer(&client, "ms", "HD");
    bool lives = true, ages = true;
    for (size_t i = 0; i < sizeof steps_s / sizeof *steps_s; i++) {
        atomic_store(&server.control->calendar_step_s, steps_s[i]);
        client_set(&client, "now", 100);
        client_get(&client, "now");
        client_command(&client, "mg lives t", "HD t");
        lives = lives && atol(client.line + 4) > 900 && atol(client.line + 4) <= 1000;
        ages = ages && stat_of("uptime") < 900;
    }
    ok(lives, "a calendar that jumps takes nothing from a value's life and adds nothing");
    ok(ages, "nor to the server's age");
    atomic_store(&server.control->passed_s, 2);
    client_command(&client, "mg dies", "EN");
    well("and what is to expire does");
    atomic_store(&server.control->calendar_step_s, 0);
    stop();
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    server_prepare(&server);
    test_short_transfers("-m 64 -t 2", "slabs");
    char options[100], index[CHOICE_BYTES];
    server_choose_index(&server, tap_seed(), index);
    snprintf(options, sizeof options, "-m 64 -t 1 --store=heap --index=%s", index);
    test_short_transfers(options, "a heap");
    test_descriptors_end();
    test_accept_fails_for_long();
    test_no_memory_at_all();
    test_full_disk();
    test_stop_and_continue();
    test_blocked_log();
    test_calendar_jumps();
    server_finish(&server);
    return tap_done();
}
