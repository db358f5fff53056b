/* Each call of a server that starts, and of one that stops, is failed in turn. One that cannot start says why and exits with an
 * error; one that can serves, and stops cleanly. One that is told to stop ends in time, and cleanly.
 *
 * FAULTS=all fails each. Else the seed chooses: of a call's other errors than the first one in three, and of the calls behind
 * the FIRST of a row one in STRIDE.
 * FAULTS_ONLY="start" or "stop" runs these alone. */
#include "client.h"

enum { FIRST = 1, STRIDE = 32, ENDLESS = 100000, CLIENTS = 3 };

struct shape {
    const char *name, *options;
    bool on_tcp;
};
static const struct shape shapes[] = {
    {"slabs, on a UNIX socket", "-m 64 -t 2 -P @/pid -o automove_record=@/moves", false},
    {"a heap and the index that the seed chooses, on TCP", "-m 64 -t 2 -p -1 --store=heap --index=%", true},
    {"with a policy in Lua", "-m 64 -t 1 -o slab_automove=lua:ratio,policy_dir=lua/slate/policies", false},
};
/* The first mmap is jemalloc's, before main: when it fails, jemalloc 5.3 writes to the address that says so (pages_boot). */
static int64_t first_of(int call) { return call == FAULT_mmap ? 1 : 0; }
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct run {
    struct server server;
    struct client client;
    const struct shape *shape;
    bool     all;
    uint64_t random;
    char     index[CHOICE_BYTES];
    unsigned violations, refused, served, failed[FAULT_CALL_COUNT];
};

static uint32_t pick(struct run *r, uint32_t below) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->random >> 33) % below;
}

/* With @ for the folder and % for the kind of index. */
static void spawn(struct run *r) {
    char options[300] = "";
    for (const char *p = r->shape->options; *p; p++) {
        size_t n = strlen(options);
        snprintf(options + n, sizeof options - n, *p == '@' || *p == '%' ? "%s" : "%.1s",
                 *p == '@' ? r->server.folder : *p == '%' ? r->index : p);
    }
    client_drop(&r->client);
    r->server.on_tcp = r->shape->on_tcp;
    server_spawn(&r->server, options, -1);
}

/* Whether it serves where nobody finds it, and has said so. */
static bool is_hidden(const struct run *r) {
    return r->shape->on_tcp && server_has_said(&r->server, "cannot write the ports to");
}

/* Waits until the server serves, or has ended, or cannot be found. The call that fails may be that by which it says so, or one of
 * the first client's. */
static bool serves(struct run *r) {
    while (!r->server.is_ready && !server_has_said(&r->server, "cannot tell the service manager") && server_runs(&r->server) &&
           server_goes_on(&r->server)) {
    }
    for (int i = 0; i < CLIENTS && server_runs(&r->server) && !is_hidden(r); i++) {
        if (client_connect(&r->client) && client_command(&r->client, "version", "VERSION") == HEARD) {
            return true;
        }
    }
    return false;
}

static void blame(struct run *r, int call, int error, int64_t n, const char *why) {
    if (r->violations++ < 5) {
        printf("# %s: %s number %lld fails with %s: %s\n", r->shape->name, call_names[call], (long long)n, strerrorname_np(error), why);
        fault_show(&r->server);
        printf("#   stderr: %.600s\n", server_said(&r->server));
    }
}

static const char *outcome(struct run *r, bool ended) {
    static char why[100];
    if (!ended) {
        return "it did not end when it was told to";
    }
    snprintf(why, sizeof why, "it ended with status %#x", (unsigned)r->server.status);
    return why;
}

/* Says what is wrong with how the server came up, or NULL; it has ended then. */
static const char *check_start(struct run *r) {
    bool found = serves(r);
    if (found || (server_runs(&r->server) && is_hidden(r))) {
        fault_disarm(&r->server);
        if (found) {
            client_recheck(&r->client);
        }
        r->served++;
        if (r->client.why[0] == '\0') {
            kill(r->server.pid, SIGTERM);
            bool ended = server_ends(&r->server);
            return ended && server_ended_well(&r->server) ? NULL : outcome(r, ended);
        }
    }
    if (server_runs(&r->server)) {
        kill(r->server.pid, SIGKILL);
        server_ends(&r->server);
        return r->client.why[0] != '\0' ? r->client.why : "it neither serves nor ends";
    }
    r->refused++;
    if (!WIFEXITED(r->server.status) || WEXITSTATUS(r->server.status) == 0) {
        return outcome(r, true);
    }
    return server_said(&r->server)[0] == '\0' ? "it ended without a word" : NULL;
}

static void forget(struct run *r) {
    client_fini(&r->client);
    client_init(&r->client, &r->server);
}

static bool fail_at_start(struct run *r, int call, int error, int64_t n) {
    fault_arm(&r->server, call, error, n, 1);
    spawn(r);
    const char *why = check_start(r);
    bool reached = fault_disarm(&r->server) > 0;
    if (why != NULL) {
        blame(r, call, error, n, why);
    }
    forget(r);
    return reached;
}

static bool fail_at_stop(struct run *r, int call, int error, int64_t n) {
    spawn(r);
    if (!serves(r)) {
        give_up("%s does not start: %s", r->shape->name, server_said(&r->server));
    }
    client_set(&r->client, "a", 100);
    client_set(&r->client, "b", 700000);
    fault_arm(&r->server, call, error, n, 1);
    kill(r->server.pid, n % 2 ? SIGTERM : SIGINT);
    bool ended = server_ends(&r->server);
    bool reached = fault_disarm(&r->server) > 0;
    if (!ended || !server_ended_well(&r->server)) {
        blame(r, call, error, n, outcome(r, ended));
    }
    forget(r);
    return reached;
}

static void fail_each(struct run *r, const char *phase, bool fail_one(struct run *, int, int, int64_t)) {
    char text[1500] = "";
    unsigned sum = 0;
    memset(r->failed, 0, sizeof r->failed);
    r->violations = r->refused = r->served = 0;
    for (int call = 0; call < FAULT_CALL_COUNT; call++) {
        for (int e = 0; e < FAULT_ERRORS && call_errors[call][e] != 0; e++) {
            if (!r->all && e > 0 && pick(r, FAULT_ERRORS) != 0) {
                continue;
            }
            int64_t n = first_of(call);
            for (; n < ENDLESS && fail_one(r, call, call_errors[call][e], n); r->failed[call]++) {
                n += r->all || n < FIRST ? 1 : 1 + pick(r, 2 * STRIDE);
            }
        }
        sum += r->failed[call];
        if (r->failed[call] > 0) {
            snprintf(text + strlen(text), sizeof text - strlen(text), " %s %u", call_names[call], r->failed[call]);
        }
    }
    ok(r->violations == 0, "%s, %s: whatever call fails, it %s", phase, r->shape->name,
       fail_one == fail_at_start ? "serves, or says why not" : "ends cleanly");
    printf("# %u failed:%s; %u starts refused, %u served\n", sum, text, r->refused, r->served);
}

int main(void) {
    static struct run run;
    const char *how = getenv("FAULTS"), *only = getenv("FAULTS_ONLY");
    run.all = how != NULL && strcmp(how, "all") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.random = tap_seed();
    server_prepare(&run.server);
    server_choose_index(&run.server, run.random, run.index);
    client_init(&run.client, &run.server);
    for (unsigned i = 0; i < SHAPES; i++) {
        run.shape = &shapes[i];
        if (only == NULL || strcmp(only, "start") == 0) {
            fail_each(&run, "start", fail_at_start);
        }
        if (only == NULL || strcmp(only, "stop") == 0) {
            fail_each(&run, "stop", fail_at_stop);
        }
    }
    client_fini(&run.client);
    server_finish(&run.server);
    return tap_done();
}
