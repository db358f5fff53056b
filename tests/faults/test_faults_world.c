/* Faults around a running server: descriptors run out, disks are full, transfers come short and interrupted, the calendar
 * jumps. */
#include "client.h"

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

static bool answers(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char line[100];
    return poll(&p, 1, HANG_MS) == 1 && recv(fd, line, sizeof line, 0) > 0;
}

static void test_accept_fails_for_long(void) {
    start("-m 64 -t 1", -1);
    client_set(&client, "a", 100);
    fault_arm(&server, FAULT_accept4, EMFILE, 0, 1 << 20);
    int fd = server_connect(&server);
    ok(fd >= 0 && send(fd, "mn\r\n", 4, MSG_NOSIGNAL) == 4, "a client comes while no connection can be accepted");
    while (atomic_load(&server.control->failed) < 3 && client.why[0] == '\0') {
        atomic_fetch_add(&server.control->passed_s, 1); /* after a second the server tries again in any case */
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
    ok(server_comes_to(&server, "automove_record cannot be written and ends"), "a full disk ends the record of policies' snapshots, with a message");
    all_sizes();
    well("and nothing else");
    stop();

    /* No file may grow; the signal for this is ignored, which the server inherits. */
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
    test_accept_fails_for_long();
    test_no_memory_at_all();
    test_full_disk();
    test_calendar_jumps();
    server_finish(&server);
    return tap_done();
}
