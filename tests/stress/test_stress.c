/* Many clients, bad clients and an operator at once on one small server: no wrong value, no refused set, no reply out of
 * place, nobody left waiting, nothing left behind. STRESS_ROUNDS= rounds of 400 requests a client (50); SEED= repeats the
 * clients' choices, though not the threads' timing. Run under the sanitizers too. */
#include "tap.h"

#include "net_fixture.h"

enum {
    CLIENTS = 6,
    KEYS = 4000,
    REQUESTS_A_ROUND = 400,
    BATCH_MAX = 40,        /* requests sent before replies are read */
    VALUE_MAX = 600 * 1000,
    LINE_MAX_BYTES = 2048,
};

static _Atomic bool clients_done;

static uint64_t below(uint64_t *x, uint64_t n) { return tap_random(x) % n; }

/* --- a client that checks every reply --- */

enum question { ASKED_SET, ASKED_GET, ASKED_DELETE, ASKED_ADD, ASKED_TOUCH };

struct client_job {
    int      fd;
    uint64_t random;
    unsigned rounds;
    unsigned requests, hits, wrong, refused, out_of_place;
    char     in[1 << 16]; /* received, from `at` to `end` not yet used */
    size_t   at, end;
    char    *value, *expected;
};

static bool fill_in(struct client_job *c) {
    if (c->at > 0) {
        memmove(c->in, c->in + c->at, c->end - c->at);
        c->end -= c->at;
        c->at = 0;
    }
    ssize_t got = recv(c->fd, c->in + c->end, sizeof c->in - c->end, 0);
    c->end += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* The next line, without its end, in `line`; false: there is none. */
static bool next_line(struct client_job *c, char *line) {
    for (;;) {
        char *start = c->in + c->at, *stop = memmem(start, c->end - c->at, "\r\n", 2);
        if (stop != NULL && stop - start < LINE_MAX_BYTES) {
            memcpy(line, start, (size_t)(stop - start));
            line[stop - start] = '\0';
            c->at += (size_t)(stop - start) + 2;
            return true;
        }
        if (stop != NULL || c->end - c->at >= LINE_MAX_BYTES || !fill_in(c)) {
            return false;
        }
    }
}

static bool next_bytes(struct client_job *c, char *to, size_t n) {
    while (n > 0) {
        if (c->at == c->end && !fill_in(c)) {
            return false;
        }
        size_t step = c->end - c->at < n ? c->end - c->at : n;
        memcpy(to, c->in + c->at, step);
        c->at += step;
        to += step;
        n -= step;
    }
    return true;
}

/* Sizes shift from round to round, so that pages must follow. */
static size_t some_bytes(struct client_job *c, unsigned round) {
    static const size_t mean[] = {60, 900, 9000, 200, 40000};
    uint64_t dice = below(&c->random, 500);
    if (dice == 0) {
        return 1 + below(&c->random, VALUE_MAX);
    }
    return 1 + below(&c->random, 2 * (dice < 50 ? 100 : mean[round / 8 % 5]));
}

static void say_request(struct client_job *c, enum question what, uint64_t n, unsigned round) {
    char head[LINE_MAX_BYTES], name[64];
    struct key key = fixture_key(name, n);
    int len = (int)key.len;
    switch (what) {
    case ASKED_SET:
    case ASKED_ADD: {
        size_t bytes = some_bytes(c, round);
        fixture_value(c->value, bytes, n, bytes);
        memcpy(c->value + bytes, "\r\n", 2);
        len = snprintf(head, sizeof head, "%s %.*s 0 %u %zu\r\n", what == ASKED_SET ? "set" : "add", len, name,
                       below(&c->random, 10) == 0 ? 1u : 0u, bytes);
        say(c->fd, head, (size_t)len);
        say(c->fd, c->value, bytes + 2);
        return;
    }
    case ASKED_GET: len = snprintf(head, sizeof head, "get %.*s\r\n", len, name); break;
    case ASKED_DELETE: len = snprintf(head, sizeof head, "delete %.*s\r\n", len, name); break;
    case ASKED_TOUCH: len = snprintf(head, sizeof head, "touch %.*s 100\r\n", len, name); break;
    }
    say(c->fd, head, (size_t)len);
}

static bool one_of(const char *line, const char *a, const char *b) { return strcmp(line, a) == 0 || strcmp(line, b) == 0; }

/* False: what came is no answer to what was asked. */
static bool hear_get(struct client_job *c, uint64_t n) {
    char line[LINE_MAX_BYTES], name[64], key_text[300], ends[3] = "";
    struct key key = fixture_key(name, n);
    unsigned flags;
    size_t bytes;
    name[key.len] = '\0';
    if (!next_line(c, line)) {
        return false;
    }
    if (strcmp(line, "END") == 0) {
        return true;
    }
    if (sscanf(line, "VALUE %256s %u %zu", key_text, &flags, &bytes) != 3 || strcmp(key_text, name) != 0 ||
        bytes > 2 * VALUE_MAX || !next_bytes(c, c->value, bytes) || !next_bytes(c, ends, 2) || strcmp(ends, "\r\n") != 0) {
        return false;
    }
    fixture_value(c->expected, bytes, n, bytes);
    c->hits++;
    c->wrong += memcmp(c->value, c->expected, bytes) != 0;
    return next_line(c, line) && strcmp(line, "END") == 0;
}

static bool hear_reply(struct client_job *c, enum question what, uint64_t n) {
    char line[LINE_MAX_BYTES];
    if (what == ASKED_GET) {
        return hear_get(c, n);
    }
    if (!next_line(c, line)) {
        return false;
    }
    if (strncmp(line, "SERVER_ERROR", 12) == 0) {
        c->refused++;
        return true;
    }
    switch (what) {
    case ASKED_SET: return strcmp(line, "STORED") == 0;
    case ASKED_ADD: return one_of(line, "STORED", "NOT_STORED");
    case ASKED_DELETE: return one_of(line, "DELETED", "NOT_FOUND");
    case ASKED_TOUCH: return one_of(line, "TOUCHED", "NOT_FOUND");
    case ASKED_GET: break;
    }
    return false;
}

/* A batch is sent whole before its replies are read, so what it may bring back must fit the sockets' buffers. */
static bool run_batch(struct client_job *c, unsigned round) {
    enum question asked[BATCH_MAX];
    uint64_t keys[BATCH_MAX];
    unsigned n = 1 + (unsigned)below(&c->random, round / 8 % 5 == 4 ? 3 : BATCH_MAX - 1);
    for (unsigned i = 0; i < n; i++) {
        uint64_t dice = below(&c->random, 20);
        asked[i] = dice < 7 ? ASKED_SET : dice < 17 ? ASKED_GET : dice == 17 ? ASKED_DELETE : dice == 18 ? ASKED_ADD : ASKED_TOUCH;
        keys[i] = below(&c->random, KEYS);
        say_request(c, asked[i], keys[i], round);
        if (asked[i] == ASKED_GET) { /* its value may be large: read it before asking for more */
            n = i + 1;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (!hear_reply(c, asked[i], keys[i])) {
            return false;
        }
    }
    c->requests += n;
    return true;
}

static void *client_main(void *arg) {
    struct client_job *c = arg;
    c->value = malloc(2 * VALUE_MAX + 16);
    c->expected = malloc(2 * VALUE_MAX + 16);
    for (unsigned round = 0; round < c->rounds && c->out_of_place == 0; round++) {
        unsigned stop = c->requests + REQUESTS_A_ROUND;
        while (c->requests < stop && c->out_of_place == 0) {
            c->out_of_place += !run_batch(c, round);
        }
    }
    free(c->value);
    free(c->expected);
    return NULL;
}

/* --- clients one would rather not have --- */

struct guest {
    int      port;
    uint64_t random;
    unsigned visits;
};

/* Its memory is held until the server has seen the end. Without the wait for that, uploads that were given up while a worker was
 * busy would hold all memory at once, and a store, which here has patience for ever, would wait for what only its own worker lets go. */
static void give_up_an_upload(int fd) {
    char byte;
    say(fd, "set key:1:a 0 0 500000\r\nabc", 27);
    shutdown(fd, SHUT_WR);
    while (recv(fd, &byte, 1, 0) > 0) {
    }
}

static void misbehave(int fd, uint64_t *x) {
    char junk[3000];
    struct timeval soon = {.tv_usec = 20000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    switch (below(x, 6)) {
    case 0: say(fd, "get half-a-line", 15); break;
    case 1: give_up_an_upload(fd); break;
    case 2: say(fd, "set key:2:ab 0 0 3\r\nabcdef\r\n", 28); break;
    case 3: /* asks and never reads */
        for (int i = 0; i < 2000 && say(fd, "get key:4:abcd key:5:abcde\r\n", 28); i++) {
        }
        break;
    case 4:
        for (size_t i = 0; i < sizeof junk; i++) {
            junk[i] = (char)tap_random(x);
        }
        say(fd, junk, sizeof junk);
        break;
    case 5: say(fd, "set key:3:abc 0 0 99999999\r\n", 28); break;
    }
}

static void *guest_main(void *arg) {
    struct guest *g = arg;
    while (!atomic_load(&clients_done)) {
        int fd = connect_tcp(g->port);
        if (fd >= 0) {
            misbehave(fd, &g->random);
            usleep((useconds_t)below(&g->random, 3000));
            close(fd);
            g->visits++;
        }
    }
    return NULL;
}

/* --- an operator --- */

struct operator {
    int      fd;
    uint64_t random;
    unsigned orders;
};

/* Any mode that needs no argument, by its name. */
static const char *any_mode(uint64_t *random) {
    unsigned modes = 0;
    while (automove_modes[modes] != NULL) {
        modes++;
    }
    const char *name;
    do {
        name = automove_modes[below(random, modes)]->name;
    } while (strchr(name, ':') != NULL);
    return name;
}

static void *operator_main(void *arg) {
    struct operator *o = arg;
    static const char *const orders[] = {"cache_memlimit 56", "cache_memlimit 48", "slabs reassign cancel", "slabs reassign -1 0 5",
                                         "lru mode flat", "lru mode segmented", "lru_crawler crawl all", "stats reset",
                                         "evict policy s3fifo", "evict policy sieve", "evict policy clock2", "evict policy slru",
                                         "slabs geometry auto force", "slabs geometry factor 1.1 force", "slabs geometry revert",
                                         "slabs geometry sizes 104,312,1000,10000,60000,200000 force",
                                         "slabs geometry pause", "slabs geometry resume"};
    char line[100];
    while (!atomic_load(&clients_done)) {
        uint64_t kind = below(&o->random, 3);
        if (kind == 0) {
            snprintf(line, sizeof line, "slabs automove %s\r\n", any_mode(&o->random));
        } else if (kind == 1) {
            snprintf(line, sizeof line, "slabs reassign %d %u\r\n", (int)below(&o->random, 40) - 1,
                     (unsigned)below(&o->random, 39));
        } else {
            snprintf(line, sizeof line, "%s\r\n", orders[below(&o->random, sizeof orders / sizeof *orders)]);
        }
        say(o->fd, line, strlen(line));
        for (char byte = 0; byte != '\n' && hear(o->fd, &byte, 1) == 1;) {
        }
        o->orders++;
        usleep((useconds_t)below(&o->random, 4000));
    }
    return NULL;
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    const char *given = getenv("STRESS_ROUNDS");
    unsigned rounds = given != NULL ? (unsigned)atoi(given) : 50;
    struct host h;
    static struct client_job clients[CLIENTS];
    pthread_t threads[CLIENTS], guest_threads[2], operator_thread;
    /* Each client and guest may have one large value on its way in and one on its way out, each holding up to two pages:
     * with 48 there are always others, so no set has a reason to be refused. */
    char options[] = "-m 48";
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    if (!host_prepare(&h, options)) {
        return 1;
    }
    if (!tuner_set_automove(h.rig.server.tuner, "eviction")) {
        return 1;
    }
    struct net_config cfg = host_config(&h);
    if (!host_start(&h, &cfg)) {
        return 1;
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client_job){.fd = connect_tcp(h.port), .random = seed + i * 7919, .rounds = rounds};
        pthread_create(&threads[i], NULL, client_main, &clients[i]);
    }
    struct guest guests[2] = {{.port = h.port, .random = seed ^ 0x5555}, {.port = h.port, .random = seed ^ 0xaaaa}};
    for (unsigned i = 0; i < 2; i++) {
        pthread_create(&guest_threads[i], NULL, guest_main, &guests[i]);
    }
    struct operator o = {.fd = connect_tcp(h.port), .random = seed ^ 0xffff};
    pthread_create(&operator_thread, NULL, operator_main, &o);

    unsigned requests = 0, hits = 0, wrong = 0, refused = 0, out_of_place = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        requests += clients[i].requests, hits += clients[i].hits, wrong += clients[i].wrong;
        refused += clients[i].refused, out_of_place += clients[i].out_of_place;
    }
    atomic_store(&clients_done, true);
    pthread_join(guest_threads[0], NULL);
    pthread_join(guest_threads[1], NULL);
    pthread_join(operator_thread, NULL);
    struct tune_facts f;
    struct geometry_facts g;
    tuner_facts(h.rig.server.tuner, &f);
    tuner_geometry(h.rig.server.tuner, &g);
    printf("# %u requests, %u hits; %u bad guests, %u orders, %" PRIu64 " pages moved, %" PRIu64 " moves given up, %" PRIu64
           " geometries\n", requests,
           hits, guests[0].visits + guests[1].visits, o.orders, f.moved.pages, f.moved.given_up, g.generation);
    is(out_of_place, 0, "every reply answers what was asked");
    is(requests >= CLIENTS * rounds * REQUESTS_A_ROUND, 1, "nobody is left waiting");
    is(wrong, 0, "no value is wrong");
    is(refused, 0, "no set is refused");
    ok(hits > 0 && f.moved.pages > 0 && g.generation > 0, "values were read, pages moved and classes changed");
    ok(answers(o.fd, "mn\r\n", "MN\r\n"), "the server still serves");
    for (unsigned i = 0; i < CLIENTS; i++) {
        close(clients[i].fd);
    }
    close(o.fd);
    bool gone = settles(&h.rig.server.conns.current, 0);
    host_stop(&h, true);
    ok(gone && atomic_load(&h.rig.server.conns.structures) == 0 && atomic_load(&h.rig.server.conns.buffer_bytes) == 0,
       "no connection and no buffer is left");
    host_close(&h);
    return tap_done();
}
