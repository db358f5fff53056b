/* Each call of a serving server that can fail does so, in turn: for every kind of work, every call of the table and every
 * error of it the first, the second, … is failed, until the work is done without that one being reached. After each the
 * server lives, answers a new client, and says nothing wrong; at the end it stops cleanly.
 *
 * FAULTS=all fails each. Else the seed chooses: of a call's other errors than the first one in three, and of the calls behind
 * the FIRST of a row one in STRIDE.
 * FAULTS_ONLY="work call" runs one row. */
#include "client.h"

enum { FIRST = 1, STRIDE = 24, ENDLESS = 20000, ASKS_MOST = 10000 };

struct work {
    const char *name, *options;
    void (*run)(struct client *);
    enum { EVERY_CALL, MEMORY_ONLY /* takes long: only calls that give memory */, FRESH /* the same, each time in a new server */ } kind;
};

/* --- the kinds of work --- */

static void small_values(struct client *c) {
    client_set(c, "s1", 60);
    client_set(c, "s2", 900);
    client_get(c, "s1");
    client_get(c, "s2");
    client_command(c, "touch s1 0", "TOUCHED|NOT_FOUND");
    client_command(c, "incr absent 1", "NOT_FOUND");
    client_set(c, "s1", 61);
    client_get(c, "s1");
    client_delete(c, "s2");
    client_get(c, "s2");
}

static void large_values(struct client *c) {
    client_set(c, "l1", 40000);
    client_get(c, "l1");
    client_set(c, "l1", 300000);
    client_get(c, "l1");
    client_delete(c, "l1");
}

static void chained_values(struct client *c) {
    client_set(c, "c1", 700000);
    client_set(c, "c2", 1000000);
    client_get(c, "c1");
    client_get(c, "c2");
    client_set(c, "c1", 900000);
    client_get(c, "c1");
    client_delete(c, "c2");
}

static void many_keys(struct client *c) {
    char keys[LINE_ROOM] = "", key[KEY_ROOM];
    for (int i = 0; i < 24; i++) {
        snprintf(key, sizeof key, "m%d", i);
        if (client_known(c, key)->stored == 0) {
            client_set(c, key, i % 6 == 5 ? 30000 : 50 + 40 * (size_t)i);
        }
        strcat(strcat(keys, i ? " " : ""), key);
    }
    client_get(c, keys);
    client_get(c, keys);
}

/* Requests that are sent while the answers of others are not read: replies are kept for later. */
static void pipelined(struct client *c) {
    char all[40 * 40] = "";
    client_set(c, "p1", 20000);
    for (int i = 0; i < 40; i++) {
        strcat(all, i % 4 == 3 ? "mn\r\n" : "get p1\r\n");
    }
    if (client_send(c, all, strlen(all)) != HEARD) {
        return;
    }
    struct client other; /* whose answers say that the server has had turns for these */
    client_init(&other, c->server);
    for (int i = 0; i < 10; i++) {
        client_command(&other, "mn", "MN");
    }
    client_fini(&other);
    for (int i = 0; i < 40; i++) {
        if (client_answer(c, "pipelined get", i % 4 == 3 ? "MN" : "END") != HEARD) {
            return;
        }
    }
}

static void statistics(struct client *c) {
    static const char *const commands[] = {
        "stats", "stats items", "stats slabs", "stats sizes", "stats settings", "stats conns", "stats slated", "stats policies",
        "stats pages", "stats moves", "stats geometry", "stats curve", "stats whatif", "stats hotkeys", 
        "stats describe", "stats audit", "stats sizehist", "stats automove", "stats evictions", "stats config", "stats detail dump",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        client_command(c, commands[i], "END|RESET|OK");
    }
}

static void orders(struct client *c) {
    static const char *const commands[] = {
        "verbosity 0", "config set slab_automove_window 20", "config set slab_automove_window 10", "config undo", "config get slab*",
        "lru mode segmented", "lru tune 20 40 0.2 2.0", "slabs automove off", "slabs automove ratio", "slabs automove utility",
        "slabs automove 0", "lru_crawler enable", "lru_crawler sleep 100", "lru_crawler crawl all", "flush_all 3600", "stats reset",
        "stats detail on", "stats detail off", "slabs geometry factor 1.3 dry",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        client_command(c, commands[i], "OK|END|RESET|NOTHING|PREDICTED|BUSY|ERROR failed to start lru crawler thread");
    }
}

/* The walk is another thread's: its lines follow an OK. */
static void dump(struct client *c, const char *command, const char *end) {
    if (client_command(c, command, "OK|BUSY|ERROR") == HEARD && strcmp(c->line, "OK") == 0) {
        client_answer(c, command, end);
    }
}

static void dumps(struct client *c) {
    client_set(c, "d1", 100);
    client_set(c, "d2", 500);
    dump(c, "lru_crawler metadump all", "END");
    dump(c, "lru_crawler mgdump all", "EN");
    client_command(c, "stats cachedump 1 10", "END");
}

static void watchers(struct client *c) {
    struct client other;
    client_init(&other, c->server);
    client_command(&other, "watch mutations fetchers connevents", "OK|WATCHER_FAILED failed to add log watcher");
    client_set(c, "w1", 100);
    client_get(c, "w1");
    client_delete(c, "w1");
    if (other.why[0] != '\0') {
        client_blame(c, "%s", other.why);
    }
    client_fini(&other);
}

/* Asks until the answer has the text, or has been asked for often enough: a change may be given up for the fault. */
static void ask_until(struct client *c, const char *command, const char *text) {
    for (int i = 0; i < ASKS_MOST; i++) {
        char line[LINE_ROOM];
        int n = snprintf(line, sizeof line, "%s\r\n", command);
        bool there = false;
        if (client_send(c, line, (size_t)n) != HEARD) {
            return;
        }
        do {
            if (client_line(c) != HEARD) {
                return;
            }
            there = there || strstr(c->line, text) != NULL;
        } while (strncmp(c->line, "STAT ", 5) == 0);
        if (there || is_refusal(c->line)) {
            return;
        }
    }
}

static void fill(struct client *c, unsigned keys, size_t bytes) {
    char key[KEY_ROOM];
    for (unsigned i = 0; i < keys; i++) {
        snprintf(key, sizeof key, "f%u", i);
        client_set(c, key, bytes);
    }
}

static void geometry(struct client *c) {
    fill(c, 20, 700);
    client_command(c, c->serial % 2 ? "slabs geometry factor 1.3 force" : "slabs geometry factor 1.25 force",
                   "OK|BUSY|SAME|SERVER_ERROR");
    ask_until(c, "stats geometry", "state steady");
    for (int i = 0; i < 20; i++) {
        char key[KEY_ROOM];
        snprintf(key, sizeof key, "f%d", i);
        client_get(c, key);
    }
}

static void policies(struct client *c) {
    static const char *const names[] = {"slru", "lru", "clock", "sieve", "tinylfu", "bag", "fifo", "clock3", "s3fifo"};
    fill(c, 12, 300);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char command[60];
        snprintf(command, sizeof command, "evict policy %s", names[i]);
        client_command(c, command, "OK|BUSY|SERVER_ERROR");
        client_get(c, "f3");
    }
}

static void page_moves(struct client *c) {
    fill(c, 20, 700);
    client_command(c, "slabs reassign 10 20", "OK|BUSY|NOTFULL|BADCLASS|UNSAFE|SAME|NOSPARE|SERVER_ERROR");
    client_command(c, "slabs reassign -1 0", "OK|BUSY|NOTFULL|BADCLASS|UNSAFE|SAME|NOSPARE|SERVER_ERROR");
    ask_until(c, "stats", "slab_reassign_running 0");
    client_get(c, "f1");
}

static void limits(struct client *c) {
    fill(c, 12, 2000);
    client_command(c, "cache_memlimit 32", "OK|BUSY|MEMLIMIT|SERVER_ERROR");
    client_get(c, "f1");
    client_command(c, "cache_memlimit 64", "OK|BUSY|MEMLIMIT|SERVER_ERROR");
    client_get(c, "f2");
}

/* Takes memory from the system. What has no room goes, so any of it may. */
static void filling(struct client *c) {
    char key[KEY_ROOM];
    c->may_lose = true;
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "g%d", i);
        client_set(c, key, (size_t)1000 << i % 8);
        client_get(c, key);
    }
}

static const struct work works[] = {
    {"large values", "", large_values, EVERY_CALL},
    {"large values in the heap", "--store=heap", large_values, EVERY_CALL},
    {"chained values", "", chained_values, EVERY_CALL},
    {"chained values in blocks", "--store=blocks", chained_values, EVERY_CALL},
    {"requests of many keys", "", many_keys, EVERY_CALL},
    {"pipelined requests", "", pipelined, EVERY_CALL},
    {"statistics", "", statistics, EVERY_CALL},
    {"orders", "", orders, EVERY_CALL},
    {"dumps", "", dumps, EVERY_CALL},
    {"watchers", "", watchers, EVERY_CALL},
    {"a change of the chunk sizes", "", geometry, MEMORY_ONLY},
    {"changes of the policy", "", policies, EVERY_CALL},
    {"moves of pages", "", page_moves, EVERY_CALL},
    {"changes of the limit", "", limits, EVERY_CALL},
};
enum { WORKS = sizeof works / sizeof *works };

/* These with every kind of index there is, and in every store: the i-th kind in the i-th store, and so on in turn. */
static const struct work index_works[] = {
    {"small values", NULL, small_values, EVERY_CALL},
    {"filling", NULL, filling, FRESH},
};
enum { INDEX_WORKS = sizeof index_works / sizeof *index_works };
static const char *const stores[] = {"slab", "heap", "blocks"};
enum { STORES = sizeof stores / sizeof *stores };

/* --- the faults --- */

struct run {
    struct server  server;
    struct client  client;
    const struct work *work;
    bool     all;
    uint64_t random;
    unsigned violations;
    unsigned failed[FAULT_CALL_COUNT], failed_in_all, refused, closed, missed;
};

/* What the client counted, before another takes its place. */
static void fold(struct run *r) {
    r->refused += r->client.refused;
    r->closed += r->client.closed;
    r->missed += r->client.misses;
    r->client.refused = r->client.closed = r->client.misses = 0;
}

static uint32_t pick(struct run *r, uint32_t below) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->random >> 33) % below;
}

static void start(struct run *r) {
    char options[200];
    client_fini(&r->client);
    client_init(&r->client, &r->server);
    snprintf(options, sizeof options, "-m 64 -t 1 -o no_slab_automove %s", r->work->options);
    fault_disarm(&r->server);
    server_spawn(&r->server, options, -1);
    server_comes_to(&r->server, NULL);
    if (r->work->kind != FRESH) {
        r->work->run(&r->client);
    }
    client_recheck(&r->client);
    if (r->client.why[0] != '\0' || !server_runs(&r->server)) {
        give_up("%s without any fault: %s; %s", r->work->name, r->client.why, server_said(&r->server));
    }
}

/* True: cleanly. */
static bool stop(struct run *r) {
    fold(r);
    kill(r->server.pid, SIGTERM);
    return server_ends(&r->server) && server_ended_well(&r->server);
}

static void blame(struct run *r, int call, int error, int64_t n, const char *why) {
    if (r->violations++ < 5) {
        printf("# %s: %s number %lld fails with %s: %s\n", r->work->name, call_names[call], (long long)n, strerrorname_np(error), why);
        fault_show(&r->server);
        printf("#   stderr: %.600s\n", server_said(&r->server));
    }
}

/* The server is gone or mute: another one takes its place, with nothing in it. */
static void restart(struct run *r) {
    fold(r);
    if (server_runs(&r->server)) {
        kill(r->server.pid, SIGKILL);
        server_ends(&r->server);
    }
    start(r);
}

/* Fails the n-th call of the work. False: it was not reached. */
static bool fail_one(struct run *r, int call, int error, int64_t n) {
    client_drop(&r->client);
    fault_arm(&r->server, call, error, n, 1);
    r->work->run(&r->client);
    bool reached = fault_disarm(&r->server) > 0;
    client_recheck(&r->client);
    char why[200];
    if (!server_runs(&r->server)) {
        snprintf(why, sizeof why, "the server ended with status %#x", (unsigned)r->server.status);
        blame(r, call, error, n, why);
        restart(r);
    } else if (r->client.why[0] != '\0') {
        blame(r, call, error, n, r->client.why);
        restart(r);
    }
    r->failed[call] += reached;
    if (r->work->kind == FRESH) {
        stop(r);
        start(r);
    }
    return reached;
}

static void fail_each(struct run *r, int call, int error) {
    int64_t n = 0;
    while (n < ENDLESS && fail_one(r, call, error, n)) {
        n += r->all || n < FIRST ? 1 : 1 + pick(r, 2 * STRIDE);
    }
    if (n >= ENDLESS) {
        blame(r, call, error, n, "there is no end of such calls");
    }
}

static bool wanted(const struct run *r, int call) {
    const char *only = getenv("FAULTS_ONLY");
    char row[120];
    snprintf(row, sizeof row, "%s %s", r->work->name, call_names[call]);
    return only == NULL || strncmp(row, only, strlen(only)) == 0;
}

static void report(struct run *r) {
    unsigned sum = 0;
    char text[1500] = "";
    for (int call = 0; call < FAULT_CALL_COUNT; call++) {
        sum += r->failed[call];
        if (r->failed[call] > 0) {
            snprintf(text + strlen(text), sizeof text - strlen(text), " %s %u", call_names[call], r->failed[call]);
        }
    }
    printf("# %u failed:%s; of requests %u refused, %u hung up on, %u missed\n", sum, text, r->refused, r->closed,
           r->missed);
    r->refused = r->closed = r->missed = 0;
    r->failed_in_all += sum;
    memset(r->failed, 0, sizeof r->failed);
}

static void fail_work(struct run *r) {
    int end = r->work->kind == EVERY_CALL ? FAULT_CALL_COUNT : FAULT_MEMORY_END;
    start(r);
    for (int call = 0; call < end; call++) {
        for (int e = 0; e < FAULT_ERRORS && call_errors[call][e] != 0 && wanted(r, call); e++) {
            if (!r->all && e > 0 && pick(r, FAULT_ERRORS) != 0) {
                continue;
            }
            fail_each(r, call, call_errors[call][e]);
        }
    }
    ok(r->violations == 0, "%s: every call that fails costs at most its request or its connection", r->work->name);
    bool clean = stop(r);
    report(r);
    ok(clean, "%s: and the server ends cleanly afterwards", r->work->name);
    r->violations = 0;
}

static void fail_wanted_work(struct run *r, const struct work *work) {
    const char *only = getenv("FAULTS_ONLY");
    size_t name_bytes = strlen(work->name);
    r->work = work;
    if (only == NULL || strncmp(only, work->name, strlen(only) < name_bytes ? strlen(only) : name_bytes) == 0) {
        fail_work(r);
    }
}

static void fail_index_works(struct run *r) {
    char kinds[CHOICES_MAX][CHOICE_BYTES], name[300], options[300];
    unsigned kind_count = server_choices(&r->server, "index", kinds);
    for (unsigned i = 0; i < kind_count; i++) {
        snprintf(options, sizeof options, "--store=%s --index=%s", stores[i % STORES], kinds[i]);
        for (unsigned j = 0; j < INDEX_WORKS; j++) {
            snprintf(name, sizeof name, "%s, %s, %s", index_works[j].name, stores[i % STORES], kinds[i]);
            fail_wanted_work(r, &(struct work){name, options, index_works[j].run, index_works[j].kind});
        }
    }
}

int main(void) {
    static struct run run;
    const char *how = getenv("FAULTS");
    run.all = how != NULL && strcmp(how, "all") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.random = tap_seed();
    server_prepare(&run.server);
    client_init(&run.client, &run.server);
    fail_index_works(&run);
    for (unsigned i = 0; i < WORKS; i++) {
        fail_wanted_work(&run, &works[i]);
    }
    printf("# %u calls failed in all\n", run.failed_in_all);
    client_fini(&run.client);
    server_finish(&run.server);
    return tap_done();
}
