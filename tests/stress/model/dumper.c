/* Clients that request dumps, statistics of every kind, and events. Some leave in the middle, some are slow, some send more requests behind
 * a long reply. Every line must be complete, and no counter may ever fall. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "actors.h"
#include "rng.h"
#include "wire.h"

enum { SLOW_BUFFER_BYTES = 4096, LOOK_OPS = 20 * 1000, REST_OPS = 2000, CLASSES = 40 };

struct question {
    const char *line, *starts, *end; /* how each line of the reply starts, and its last line */
};
static const struct question dumps[] = {
    {"lru_crawler metadump all", "key=", "END"}, {"lru_crawler metadump hash", "key=", "END"}, {"lru_crawler mgdump all", "mg ", "EN"},
    {"lru_crawler mgdump hash", "mg ", "EN"},
};
static const char *const kinds[] = {"", " items", " slabs", " sizes", " conns", " settings", " slated", " moves", " pages", " geometry",
                                    " audit", " sample", " sizehist", " describe"};
static const char *const counters[] = {"cmd_get", "cmd_set", "cmd_touch", "cmd_flush", "get_hits", "get_misses", "get_expired", "get_flushed",
                                       "delete_hits", "delete_misses", "incr_hits", "cas_hits", "touch_hits", "bytes_read",
                                       "bytes_written", "total_connections", "total_items", "evictions", "reclaimed", "expired_unfetched",
                                       "evicted_unfetched", "slabs_moved", "slab_reassign_rescues", "slab_reassign_evictions_nomem",
                                       "slab_reassign_inline_reclaim", "lru_crawler_starts", "crawler_reclaimed", "direct_reclaims"};
enum { COUNTERS = sizeof counters / sizeof *counters };

static bool starts_with(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

static bool is_refusal(const char *line) {
    return starts_with(line, "ERROR") || starts_with(line, "CLIENT_ERROR") || starts_with(line, "SERVER_ERROR") || starts_with(line, "BUSY");
}

static void hold_against(struct world *w, const char *line, uint64_t seen[COUNTERS]) {
    char name[60];
    uint64_t n;
    if (sscanf(line, "STAT %59s %" SCNu64, name, &n) != 2) {
        return;
    }
    for (unsigned i = 0; i < COUNTERS; i++) {
        if (strcmp(counters[i], name) == 0) {
            if (n < seen[i]) {
                world_wrong(w, BAD_REPORT, "%s was %" PRIu64 " and is %" PRIu64, name, seen[i], n);
            }
            seen[i] = n;
        }
    }
}

/* False: the connection is gone. */
static bool hear(struct world *w, struct wire *c, const struct question *q, uint64_t seen[COUNTERS]) {
    for (char *line = wire_line(c); line != NULL; line = wire_line(c)) {
        if (strcmp(line, q->end) == 0 || is_refusal(line)) {
            return true;
        }
        if (!starts_with(line, q->starts) && strcmp(line, "OK") != 0) {
            world_wrong(w, BAD_REPORT, "%s answers: %.100s", q->line, line);
        } else if (seen != NULL) {
            hold_against(w, line, seen);
        }
    }
    return false;
}

static struct question choose(uint64_t *random, char room[60]) {
    uint64_t dice = rng_below(random, 10);
    if (dice < 4) {
        return dumps[rng_below(random, sizeof dumps / sizeof *dumps)];
    }
    if (dice < 5) {
        snprintf(room, 60, "stats cachedump %u %u", 1 + (unsigned)rng_below(random, CLASSES), (unsigned)rng_below(random, 200));
        return (struct question){room, "ITEM ", "END"};
    }
    snprintf(room, 60, "stats%s", kinds[dice < 7 ? 0 : rng_below(random, sizeof kinds / sizeof *kinds)]);
    return (struct question){room, "STAT ", "END"};
}

/* One connection; false: no reply. */
static bool visit(struct actor *a, struct wire *c, uint64_t seen[COUNTERS]) {
    while (!atomic_load(&a->world->done)) {
        char room[60];
        struct question q = choose(&a->random, room);
        bool leaves = rng_one_in(&a->random, 8), goes_on = rng_one_in(&a->random, 5);
        wire_say(c, "%s\r\n%s", q.line, goes_on ? "mn\r\n" : "");
        if (!wire_flush(c)) {
            return false;
        }
        world_count(a->world, OP_REPORT);
        if (leaves || rng_one_in(&a->random, 8)) {
            world_rest(a->world, REST_OPS, &a->random, &a->world->done);
        }
        if (leaves) {
            return true;
        }
        if (!hear(a->world, c, &q, strcmp(q.line, "stats") == 0 ? seen : NULL)) {
            return false;
        }
        if (goes_on) {
            const char *line = wire_line(c);
            if (line == NULL || strcmp(line, "MN") != 0) {
                world_wrong(a->world, OUT_OF_PLACE, "behind %s stands: %.100s", q.line, line != NULL ? line : "nothing");
                return line != NULL;
            }
        }
    }
    return true;
}

void *dumper_main(void *arg) {
    struct actor *a = arg;
    struct wire c = {.fd = -1};
    uint64_t seen[COUNTERS] = {0};
    while (!atomic_load(&a->world->done)) {
        if (!wire_open(&c, a->world->port, rng_one_in(&a->random, 3) ? SLOW_BUFFER_BYTES : 0) || !visit(a, &c, seen)) {
            world_wrong(a->world, OUT_OF_PLACE, "who asks for a dump is not answered");
            break;
        }
        wire_close(&c, rng_one_in(&a->random, 2));
    }
    wire_free(&c);
    return NULL;
}

/* Events come at any time, so only their form is checked. */
void *watcher_main(void *arg) {
    static const char *const what[] = {"fetchers mutations evictions", "connevents sysevents", "deletions evictions", "rawcmds"};
    struct actor *a = arg;
    struct wire c = {.fd = -1};
    while (!atomic_load(&a->world->done)) {
        if (!wire_open(&c, a->world->port, rng_one_in(&a->random, 2) ? SLOW_BUFFER_BYTES : 0)) {
            world_wrong(a->world, OUT_OF_PLACE, "no connection for who watches");
            break;
        }
        wire_say(&c, "watch %s\r\n", what[rng_below(&a->random, sizeof what / sizeof *what)]);
        bool good = wire_flush(&c);
        const char *line = good ? wire_line(&c) : NULL;
        if (line == NULL || (strcmp(line, "OK") != 0 && !is_refusal(line))) {
            world_wrong(a->world, BAD_REPORT, "watch answers: %.100s", line != NULL ? line : "nothing");
        }
        world_rest(a->world, LOOK_OPS, &a->random, &a->world->done);
        wire_close(&c, rng_one_in(&a->random, 2));
        world_count(a->world, OP_REPORT);
    }
    wire_free(&c);
    return NULL;
}
