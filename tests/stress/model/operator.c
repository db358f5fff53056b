/* An operator: one order after the other, of every change that a running server permits. A server without such a command answers with an
 * error, which is fine. */
#include <stdio.h>
#include <string.h>

#include "actors.h"
#include "rng.h"
#include "wire.h"

enum { REST_OPS = 800, CLOCK_S = 2, FLUSH_REST_OPS = 200 * 1000 };

static const char *const harmless[] = {
    "evict policy s3fifo", "evict policy sieve", "evict policy clock2", "evict policy slru", "evict policy lru", "evict policy tinylfu",
    "evict policy s3skip", "evict policy s3wide", "evict policy s3loop",
    "evict policy bag", "evict policy fifo", "lru mode flat", "lru mode segmented", "slabs automove off", "slabs automove ratio",
    "slabs automove eviction", "slabs automove random", "slabs automove lra", "slabs automove lrc", "slabs automove utility",
    "slabs reassign cancel", "lru_crawler crawl all", "slabs geometry auto force", "slabs geometry factor 1.1 force",
    "slabs geometry revert", "slabs geometry sizes 104,312,1000,10000,60000,200000 force", "slabs geometry pause",
    "slabs geometry resume", "lru tune 10 30 0.1 1.5", "lru tune 20 40 0.2 2.0", "lru_crawler sleep 0", "lru_crawler sleep 100"};
static const char *const with_evictions[] = {"cache_memlimit 56", "cache_memlimit 64", "cache_memlimit 80", "slabs reassign -1 0 3"};

/* The server's reply to a line; NULL: the server is gone. */
static const char *order(struct world *w, struct wire *c, const char *line) {
    wire_say(c, "%s\r\n", line);
    world_count(w, OP_ORDER);
    return wire_flush(c) ? wire_line(c) : NULL;
}

/* All items stored before the call are gone when this returns; those stored meanwhile may be. */
static bool flush(struct world *w, struct wire *c, uint64_t *random) {
    char line[40];
    unsigned delay_s = rng_one_in(random, 4) ? 1 : 0, times = delay_s == 0 ? 1 + (unsigned)rng_below(random, 4) : 1;
    atomic_fetch_add(&w->flushes_begun, 1);
    for (unsigned i = 0; i < times; i++) {
        snprintf(line, sizeof line, delay_s != 0 ? "flush_all %u" : "flush_all", delay_s);
        const char *answer = order(w, c, line);
        if (answer == NULL || strcmp(answer, "OK") != 0) {
            return false;
        }
        world_count(w, OP_FLUSH);
    }
    if (delay_s != 0) {
        world_pass(delay_s + CLOCK_S);
    }
    atomic_fetch_add(&w->flushes_over, 1);
    return true;
}

void *operator_main(void *arg) {
    struct actor *a = arg;
    struct world *w = a->world;
    struct wire c = {.fd = -1};
    char line[100];
    bool good = wire_open(&c, w->port, 0);
    while (good && !atomic_load(&w->done)) {
        uint64_t dice = rng_below(&a->random, 100);
        if (dice < 35) {
            snprintf(line, sizeof line, "slabs reassign %d %u", (int)rng_below(&a->random, 40) - 1, 1 + (unsigned)rng_below(&a->random, 39));
        } else if (dice < 45 && !w->roomy) {
            snprintf(line, sizeof line, "%s", with_evictions[rng_below(&a->random, sizeof with_evictions / sizeof *with_evictions)]);
        } else {
            snprintf(line, sizeof line, "%s", harmless[rng_below(&a->random, sizeof harmless / sizeof *harmless)]);
        }
        good = order(w, &c, line) != NULL;
        world_rest(w, REST_OPS, &a->random, &w->done);
    }
    if (!good) {
        world_wrong(w, OUT_OF_PLACE, "the operator is not answered");
    }
    wire_free(&c);
    return NULL;
}

void *flusher_main(void *arg) {
    struct actor *a = arg;
    struct world *w = a->world;
    struct wire c = {.fd = -1};
    bool good = wire_open(&c, w->port, 0);
    while (good && !w->roomy && !atomic_load(&w->no_flush)) {
        world_rest(w, FLUSH_REST_OPS, &a->random, &w->no_flush);
        good = flush(w, &c, &a->random);
    }
    if (!good) {
        world_wrong(w, OUT_OF_PLACE, "a flush is not answered");
    }
    wire_free(&c);
    return NULL;
}

void operator_calm(struct world *w) {
    static const char *const orders[] = {"slabs automove off", "slabs reassign cancel", "slabs geometry resume", "lru_crawler sleep 0"};
    struct wire c = {.fd = -1};
    bool good = wire_open(&c, w->port, 0);
    for (unsigned i = 0; good && i < sizeof orders / sizeof *orders; i++) {
        good = order(w, &c, orders[i]) != NULL;
    }
    wire_free(&c);
}
