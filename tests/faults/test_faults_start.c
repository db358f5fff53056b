/* Each call of a starting server, and of a stopping one, fails in turn. A server that cannot start prints the reason and exits with an
 * error; any other serves, and stops cleanly. A stopping server ends in time, and cleanly.
 *
 * FAULTS_ONLY="start" or "stop" runs these alone. */
#include "failing.h"

enum { CLIENTS = 3 };

struct shape {
    const char *name, *options;
    bool on_tcp;
};
static const struct shape shapes[] = {
    {"slabs, on a UNIX socket", "-m 64 -t 2 -P @/pid -o automove_record=@/moves", false},
    {"a heap and the index that the seed chooses, on TCP", "-m 64 -t 2 -p -1 --store=heap --index=%", true},
    {"with a policy in Lua", "-m 64 -t 1 -o slab_automove=lua:ratio,policy_dir=lua/slate/policies", false},
}, *shape;
enum { SHAPES = sizeof shapes / sizeof *shapes };

static char index_name[CHOICE_BYTES];

/* With @ for the folder and % for the kind of index. */
static void start_spawn(void) {
    char options[300] = "";
    for (const char *p = shape->options; *p; p++) {
        size_t n = strlen(options);
        snprintf(options + n, sizeof options - n, *p == '@' || *p == '%' ? "%s" : "%.1s",
                 *p == '@' ? run.server.folder : *p == '%' ? index_name : p);
    }
    client_drop(&run.client);
    run.server.on_tcp = shape->on_tcp;
    server_spawn(&run.server, options, -1);
}

/* The message of a server that serves without a way to be found. */
static const char hidden[] = "cannot write the ports to";

/* Waits until the server serves, has ended, or cannot be found. The failing call may be the server's report that it serves, or a call for
 * the first client. */
static bool start_serves(void) {
    while (!run.server.is_ready && !server_has_said(&run.server, "to the service manager") && server_runs(&run.server) &&
           server_goes_on(&run.server)) {
    }
    for (int i = 0; i < CLIENTS && server_runs(&run.server) && !server_has_said(&run.server, hidden); i++) {
        if (client_connect(&run.client) && client_command(&run.client, "version", "VERSION") == HEARD) {
            return true;
        }
    }
    return false;
}

static const char *start_outcome(bool ended) {
    static char why[100];
    snprintf(why, sizeof why, "it ended with status %#x", (unsigned)run.server.status);
    return ended ? why : "it did not end when it was told to";
}

/* Returns the fault of the server's start, or NULL; with a fault the server has ended. */
static const char *start_check(void) {
    bool found = start_serves();
    if (found || (shape->on_tcp && server_comes_to(&run.server, hidden))) {
        fault_disarm(&run.server);
        if (found) {
            client_recheck(&run.client);
        }
        if (run.client.why[0] == '\0') {
            kill(run.server.pid, SIGTERM);
            bool ended = server_ends(&run.server);
            return ended && server_ended_well(&run.server) ? NULL : start_outcome(ended);
        }
    }
    if (server_runs(&run.server)) {
        kill(run.server.pid, SIGKILL);
        server_ends(&run.server);
        return run.client.why[0] != '\0' ? run.client.why : "it neither serves nor ends";
    }
    if (!WIFEXITED(run.server.status) || WEXITSTATUS(run.server.status) == 0) {
        return start_outcome(true);
    }
    return server_said(&run.server)[0] == '\0' ? "it ended without a word" : NULL;
}

/* The result of the failed call. Returns whether it was reached. */
static bool start_judged(int call, int error, int64_t n, const char *why) {
    bool reached = fault_disarm(&run.server) > 0;
    if (why != NULL) {
        blame(call, error, n, why);
    }
    client_fini(&run.client);
    client_init(&run.client, &run.server);
    return reached;
}

static bool start_fail_at_start(int call, int error, int64_t n) {
    fault_arm(&run.server, call, error, n, 1);
    start_spawn();
    return start_judged(call, error, n, start_check());
}

static bool start_fail_at_stop(int call, int error, int64_t n) {
    start_spawn();
    if (!start_serves()) {
        give_up("%s does not start: %s", shape->name, server_said(&run.server));
    }
    client_set(&run.client, "a", 100);
    client_set(&run.client, "b", 700000);
    fault_arm(&run.server, call, error, n, 1);
    kill(run.server.pid, n % 2 ? SIGTERM : SIGINT);
    bool ended = server_ends(&run.server);
    return start_judged(call, error, n, ended && server_ended_well(&run.server) ? NULL : start_outcome(ended));
}

static void start_fail_each(const char *phase, bool (*fail_one)(int, int, int64_t), const char *claim) {
    const char *only = getenv("FAULTS_ONLY");
    static char of[200]; /* `run` outlives this call */
    snprintf(of, sizeof of, "%s, %s", phase, shape->name);
    run.of = of;
    if (only != NULL && strcmp(only, phase) != 0) {
        return;
    }
    for (int call = 0; call < FAULT_CALL_COUNT; call++) {
        /* The first mmap is jemalloc's, before main: when it fails, jemalloc 5.3 writes to the address that means failure (pages_boot). */
        fail_calls(call, call == FAULT_mmap ? 1 : 0, fail_one);
    }
    failing_report(claim);
}

int main(void) {
    failing_begin();
    server_choose_index(&run.server, run.random, index_name);
    for (shape = shapes; shape < shapes + SHAPES; shape++) {
        start_fail_each("start", start_fail_at_start, "whatever call fails, it serves, or says why not");
        start_fail_each("stop", start_fail_at_stop, "whatever call fails, it ends cleanly");
    }
    return failing_end();
}
