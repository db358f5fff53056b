/* Each call of a serving server that can fail fails once: for every kind of work, every call of the table and every error of that call, the
 * first, the second, … call fails, until the work ends before the failing one. After each fault the server lives, serves a new client, and
 * gives no wrong reply; at the end the server stops cleanly.
 *
 * FAULTS_ONLY="work call" runs one row. */
#include "failing.h"

struct work {
    const char *name, *options;
    void (*run)(struct client *);
    enum { EVERY_CALL, MEMORY_ONLY /* takes long: only calls that give memory */, FRESH /* the same, each time in a new server */ } kind;
};

/* --- the kinds of work --- */

static void serving_small_values(struct client *c) {
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

static void serving_large_values(struct client *c) {
    client_set(c, "l1", 40000);
    client_get(c, "l1");
    client_set(c, "l1", 300000);
    client_get(c, "l1");
    client_delete(c, "l1");
}

static void serving_chained_values(struct client *c) {
    client_set(c, "c1", 700000);
    client_set(c, "c2", 1000000);
    client_get(c, "c1");
    client_get(c, "c2");
    client_set(c, "c1", 900000);
    client_get(c, "c1");
    client_delete(c, "c2");
}

static void serving_many_keys(struct client *c) {
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

/* Requests that are sent while other replies are unread: replies are held for later. */
static void serving_pipelined(struct client *c) {
    char all[40 * 40] = "";
    client_set(c, "p1", 20000);
    for (int i = 0; i < 40; i++) {
        strcat(all, i % 4 == 3 ? "mn\r\n" : "get p1\r\n");
    }
    if (client_send(c, all, strlen(all)) != HEARD) {
        return;
    }
    struct client other; /* their replies show that the server has had turns for these */
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

static void serving_statistics(struct client *c) {
    static const char *const commands[] = {
        "stats", "stats items", "stats slabs", "stats sizes", "stats settings", "stats conns", "stats slated", "stats policies",
        "stats pages", "stats moves", "stats geometry", "stats curve", "stats whatif", "stats hotkeys", 
        "stats describe", "stats audit", "stats sizehist", "stats automove", "stats evictions", "stats config", "stats detail dump",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        client_command(c, commands[i], "END|RESET|OK");
    }
}

static void serving_orders(struct client *c) {
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
static void serving_dump(struct client *c, const char *command, const char *end) {
    if (client_command(c, command, "OK|BUSY|ERROR") == HEARD && strcmp(c->line, "OK") == 0) {
        client_answer(c, command, end);
    }
}

static void serving_dumps(struct client *c) {
    client_set(c, "d1", 100);
    client_set(c, "d2", 500);
    serving_dump(c, "lru_crawler metadump all", "END");
    serving_dump(c, "lru_crawler mgdump all", "EN");
    client_command(c, "stats cachedump 1 10", "END");
}

static void serving_watchers(struct client *c) {
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

static void serving_fill(struct client *c, unsigned keys, size_t bytes) {
    char key[KEY_ROOM];
    for (unsigned i = 0; i < keys; i++) {
        snprintf(key, sizeof key, "f%u", i);
        client_set(c, key, bytes);
    }
}

/* The control thread works on the change beside requests. */
static void serving_geometry(struct client *c) {
    serving_fill(c, 20, 700);
    client_command(c, c->serial % 2 ? "slabs geometry factor 1.3 force" : "slabs geometry factor 1.25 force",
                   "OK|BUSY|SAME|SERVER_ERROR");
    for (int i = 0; i < 20; i++) {
        char key[KEY_ROOM];
        snprintf(key, sizeof key, "f%d", i);
        client_get(c, key);
        client_command(c, "stats geometry", "END");
    }
}

static void serving_policies(struct client *c) {
    static const char *const names[] = {"slru", "lru", "clock", "sieve", "tinylfu", "bag", "fifo", "clock3", "s3fifo"};
    serving_fill(c, 12, 300);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char command[60];
        snprintf(command, sizeof command, "evict policy %s", names[i]);
        client_command(c, command, "OK|BUSY|SERVER_ERROR");
        client_get(c, "f3");
    }
}

/* A page of the class of 50,000 bytes moves to another, and its live items move within their full class. A watcher sees the end of the
 * move. */
static void serving_page_moves(struct client *c) {
    struct client watcher;
    c->may_lose = true;
    serving_fill(c, 40, 50000);
    client_init(&watcher, c->server);
    bool watches = client_command(&watcher, "watch sysevents", "OK|WATCHER_FAILED failed to add log watcher") == HEARD && strcmp(watcher.line, "OK") == 0;
    client_command(c, "slabs reassign -1 10", "OK|BUSY|NOTFULL|BADCLASS|UNSAFE|SAME|NOSPARE|SERVER_ERROR");
    while (watches && strcmp(c->line, "OK") == 0 && client_line(&watcher) == HEARD && strstr(watcher.line, "state=done") == NULL &&
           strstr(watcher.line, "state=given_up") == NULL) {
    }
    client_get(c, "f1");
    client_fini(&watcher);
}

static void serving_limits(struct client *c) {
    serving_fill(c, 12, 2000);
    client_command(c, "cache_memlimit 32", "OK|BUSY|MEMLIMIT|SERVER_ERROR");
    client_get(c, "f1");
    client_command(c, "cache_memlimit 64", "OK|BUSY|MEMLIMIT|SERVER_ERROR");
    client_get(c, "f2");
}

/* Takes memory from the system. Items without room go, so any key may be missing. */
static void serving_filling(struct client *c) {
    char key[KEY_ROOM];
    c->may_lose = true;
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "g%d", i);
        client_set(c, key, (size_t)1000 << i % 8);
        client_get(c, key);
    }
}

static const struct work works[] = {
    {"large values", "", serving_large_values, EVERY_CALL},
    {"large values in the heap", "--store=heap", serving_large_values, EVERY_CALL},
    {"chained values", "", serving_chained_values, EVERY_CALL},
    {"chained values in blocks", "--store=blocks", serving_chained_values, EVERY_CALL},
    {"requests of many keys", "", serving_many_keys, EVERY_CALL},
    {"pipelined requests", "", serving_pipelined, EVERY_CALL},
    {"statistics", "", serving_statistics, EVERY_CALL},
    {"orders", "", serving_orders, EVERY_CALL},
    {"dumps", "", serving_dumps, EVERY_CALL},
    {"watchers", "", serving_watchers, EVERY_CALL},
    {"a change of the chunk sizes", "", serving_geometry, MEMORY_ONLY},
    {"changes of the policy", "", serving_policies, EVERY_CALL},
    {"moves of pages", "", serving_page_moves, EVERY_CALL},
    {"changes of the limit", "", serving_limits, EVERY_CALL},
};
enum { WORKS = sizeof works / sizeof *works };

/* Each piece of work with every kind of index, and in every store: the i-th kind in the i-th store, and so on in turn. */
static const struct work index_works[] = {
    {"small values", NULL, serving_small_values, EVERY_CALL},
    {"filling", NULL, serving_filling, FRESH},
};
enum { INDEX_WORKS = sizeof index_works / sizeof *index_works };
static const char *const stores[] = {"slab", "heap", "blocks"};
enum { STORES = sizeof stores / sizeof *stores };

/* --- the faults --- */

static const struct work *work;
static unsigned missed; /* sum over all requests */

static void start(void) {
    char options[200];
    client_fini(&run.client);
    client_init(&run.client, &run.server);
    snprintf(options, sizeof options, "-m 64 -t 1 -o no_slab_automove %s", work->options);
    fault_disarm(&run.server);
    server_spawn(&run.server, options, -1);
    server_comes_to(&run.server, NULL);
    if (work->kind != FRESH) {
        work->run(&run.client);
    }
    client_recheck(&run.client);
    if (run.client.why[0] != '\0' || !server_runs(&run.server)) {
        give_up("%s without any fault: %s; %s", work->name, run.client.why, server_said(&run.server));
    }
}

/* True: a clean end. */
static bool stop(void) {
    missed += run.client.misses;
    kill(run.server.pid, SIGTERM);
    return server_ends(&run.server) && server_ended_well(&run.server);
}

/* Fails the n-th call of the work. False: the work ended before it. */
static bool serving_fail_one(int call, int error, int64_t n) {
    char why[200];
    client_drop(&run.client);
    fault_arm(&run.server, call, error, n, 1);
    work->run(&run.client);
    bool reached = fault_disarm(&run.server) > 0, runs = (client_recheck(&run.client), server_runs(&run.server)), is_new = work->kind == FRESH;
    if (!runs || run.client.why[0] != '\0') { /* the server is gone or mute: another one, empty, takes its place */
        snprintf(why, sizeof why, "the server ended with status %#x", (unsigned)run.server.status);
        blame(call, error, n, runs ? run.client.why : why);
        if (runs) {
            kill(run.server.pid, SIGKILL);
            server_ends(&run.server);
        }
        start();
    } else if (is_new) {
        stop();
        start();
    }
    return reached;
}

static void serving_fail_work(const struct work *wanted) {
    const char *only = getenv("FAULTS_ONLY");
    size_t name_bytes = strlen(wanted->name);
    work = wanted;
    run.of = work->name;
    if (only != NULL && strncmp(only, work->name, strlen(only) < name_bytes ? strlen(only) : name_bytes) != 0) {
        return;
    }
    start();
    for (int call = 0; call < (work->kind == EVERY_CALL ? FAULT_CALL_COUNT : FAULT_MEMORY_END); call++) {
        char row[120];
        snprintf(row, sizeof row, "%s %s", work->name, call_names[call]);
        if (only == NULL || strncmp(row, only, strlen(only)) == 0) {
            fail_calls(call, 0, serving_fail_one);
        }
    }
    bool clean = stop();
    failing_report("every call that fails costs at most its request or its connection");
    ok(clean, "%s: and the server ends cleanly afterwards", work->name);
}

int main(void) {
    char kinds[CHOICES_MAX][CHOICE_BYTES], name[300], options[300];
    failing_begin();
    unsigned kind_count = server_choices(&run.server, "index", kinds);
    for (unsigned i = 0; i < kind_count * INDEX_WORKS; i++) {
        const struct work *w = &index_works[i % INDEX_WORKS];
        const char *store = stores[i / INDEX_WORKS % STORES], *kind = kinds[i / INDEX_WORKS];
        snprintf(options, sizeof options, "--store=%s --index=%s", store, kind);
        snprintf(name, sizeof name, "%s, %s, %s", w->name, store, kind);
        serving_fail_work(&(struct work){name, options, w->run, w->kind});
    }
    for (unsigned i = 0; i < WORKS; i++) {
        serving_fail_work(&works[i]);
    }
    printf("# %u values missed\n", missed);
    return failing_end();
}
