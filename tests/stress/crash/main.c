#include "crash.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { KILLS = 6, LOAD_LEAST = 100, LOAD_MOST = 2000, OPERATOR_REST = 32, CAS_SLOTS = 1 << 20 }; /* LOAD_, OPERATOR_: in batches */

#ifdef SLATE_DEBUG
#define PROGRAM "build-debug/bin/slated"
#else
#define PROGRAM "build/bin/slated"
#endif

struct tally tally;
static struct place place;

/* --- CAS values that were ever given --- */

static uint64_t      *cas_seen;
static uint64_t       cas_count;
static pthread_mutex_t cas_lock = PTHREAD_MUTEX_INITIALIZER;

bool cas_is_new(uint64_t cas) {
    bool is_new = true;
    pthread_mutex_lock(&cas_lock);
    if (cas_count < CAS_SLOTS / 4 * 3) {
        uint64_t i = cas * 0x9e3779b97f4a7c15u >> 44;
        while (cas_seen[i] != 0 && cas_seen[i] != cas) {
            i = (i + 1) % CAS_SLOTS;
        }
        is_new = cas_seen[i] == 0;
        cas_count += is_new;
        cas_seen[i] = cas;
    }
    pthread_mutex_unlock(&cas_lock);
    return is_new;
}

/* A new file counts CAS values from the start. */
static void forget_cas(void) {
    memset(cas_seen, 0, CAS_SLOTS * sizeof *cas_seen);
    cas_count = 0;
}

/* --- the operator --- */

void operator_work(const struct place *p, uint64_t seed, _Atomic bool *stop) {
    static const char *const policies[] = {"slru", "lru", "s3fifo", "sieve", "clock", "fifo", "tinylfu", "bag"};
    static const char *const modes[] = {"off", "ratio", "eviction", "random", "lra", "lrc", "utility"};
    struct wire w = {.fd = -1};
    uint64_t random = seed | 1;
    bool goes_on = wire_open_path(&w, p->socket);
    while (goes_on && !atomic_load(stop)) {
        unsigned n = (unsigned)(next_random(&random) >> 20);
        switch (next_random(&random) % 8) {
        case 0: wire_say(&w, "evict policy %s\r\n", policies[n % 8]); COUNT(policies); break;
        case 1: wire_say(&w, "slabs automove %s\r\n", modes[n % 7]); COUNT(policies); break;
        case 2: wire_say(&w, "slabs geometry factor %u.%02u force\r\n", 1, 10 + n % 60); COUNT(geometries); break;
        case 3: wire_say(&w, "slabs geometry revert\r\n"); COUNT(geometries); break;
        default: wire_say(&w, "slabs reassign %d %u\r\n", n % 3 == 0 ? (int)(n / 3 % 20) + 1 : -1, 1 + n / 64 % 20); COUNT(moves); break;
        }
        goes_on = wire_flush(&w) && wire_line(&w) != NULL;
        place_work(p, OPERATOR_WAITS, 1 + n % OPERATOR_REST);
    }
    wire_free(&w);
}

/* --- lives --- */

struct worker {
    struct owner  *owner;
    void         (*work)(struct worker *);
    _Atomic bool  *stop;
    uint64_t       seed;
    pthread_t      thread;
};

static void work(struct worker *w) { owner_work(w->owner, &place, w->stop); }
static void verify(struct worker *w) { owner_verify(w->owner, &place); }
static void operate(struct worker *w) { operator_work(&place, w->seed, w->stop); }

static void *worker_main(void *arg) {
    struct worker *w = arg;
    w->work(w);
    return NULL;
}

static void begin_all(struct worker *workers, void (*what)(struct worker *), _Atomic bool *stop) {
    for (unsigned i = 0; i < OWNERS; i++) {
        workers[i].work = what;
        workers[i].stop = stop;
        pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
    }
}
static void join_all(struct worker *workers) {
    for (unsigned i = 0; i < OWNERS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

static uint64_t statistic(const char *group, const char *name) {
    struct wire w = {.fd = -1};
    char wanted[64];
    uint64_t value = UINT64_MAX;
    size_t n = (size_t)snprintf(wanted, sizeof wanted, "STAT %s ", name);
    wire_open_path(&w, place.socket);
    wire_say(&w, "stats%s\r\n", group);
    const char *line = wire_flush(&w) ? wire_line(&w) : NULL;
    for (; line != NULL && strcmp(line, "END") != 0; line = wire_line(&w)) {
        value = strncmp(line, wanted, n) == 0 ? strtoull(line + n, NULL, 10) : value;
    }
    wire_free(&w);
    return value;
}

/* All owners are quiet. */
static void flush(struct worker *workers) {
    struct wire w = {.fd = -1};
    wire_open_path(&w, place.socket);
    wire_say(&w, "flush_all\r\n");
    const char *line = wire_flush(&w) ? wire_line(&w) : NULL;
    if (line != NULL && strcmp(line, "OK") == 0) {
        COUNT(flushes);
        for (unsigned i = 0; i < OWNERS; i++) {
            owner_forget(workers[i].owner);
        }
    }
    wire_free(&w);
}

/* Reads every key, and compares the number of items with the number of known ones. */
static void verify_all(struct worker *workers) {
    begin_all(workers, verify, NULL);
    join_all(workers);
    uint64_t present = 0, items = statistic("", "curr_items");
    if (items == UINT64_MAX && place.crash_at != NULL) {
        return; /* the server was to end meanwhile */
    }
    for (unsigned i = 0; i < OWNERS; i++) {
        present += owner_present(workers[i].owner);
    }
    if (items != present) {
        atomic_fetch_add(&tally.unknown_items, 1);
        printf("# %" PRIu64 " items, of which %" PRIu64 " are known\n", items, present);
    }
    atomic_fetch_add(&tally.torn, statistic(" slated", "adopted_torn"));
}

#ifndef SLATE_DEBUG
static bool life(struct worker *workers, unsigned number, uint64_t *random) {
    _Atomic bool stop = false;
    struct worker operator= {.work = operate, .stop = &stop, .seed = next_random(random)};
    if (!place_start(&place)) {
        return false;
    }
    verify_all(workers);
    if (number % 7 == 3) {
        flush(workers);
    }
    begin_all(workers, work, &stop);
    pthread_create(&operator.thread, NULL, worker_main, &operator);
    place_work(&place, MAIN_WAITS, LOAD_LEAST + next_random(random) % (LOAD_MOST - LOAD_LEAST));
    if (number % 7 == 5) { /* a flush, and a kill at its reply */
        atomic_store(&stop, true);
        join_all(workers);
        flush(workers);
    }
    place_kill(&place, SIGKILL);
    if (number % 7 != 5) {
        join_all(workers);
    }
    atomic_store(&stop, true);
    pthread_join(operator.thread, NULL);
    COUNT(kills);
    return true;
}

static void lives(const char *program, bool roomy, unsigned kills, uint64_t seed) {
    struct worker workers[OWNERS] = {{0}};
    uint64_t random = seed * 2862933555777941757u | 1;
    bool up = true;
    place_make(&place, program, roomy);
    for (unsigned i = 0; i < OWNERS; i++) {
        workers[i].owner = owner_create(i, seed);
    }
    forget_cas();
    for (unsigned i = 0; i < kills && up; i++) {
        up = life(workers, i, &random);
    }
    if (up && place_start(&place)) {
        verify_all(workers);
        place_kill(&place, SIGTERM);
    } else {
        up = false;
    }
    ok(up, "a %s server comes up after each kill", roomy ? "roomy" : "tight");
    if (!up) {
        char line[512];
        FILE *log = fopen(place.log, "r");
        while (log != NULL && fgets(line, sizeof line, log) != NULL) {
            printf("# %s", line);
        }
        if (log != NULL) {
            fclose(log);
        }
    }
    for (unsigned i = 0; i < OWNERS; i++) {
        free(workers[i].owner);
    }
    place_clear(&place);
}

#endif

static void clear(void) {
    place_kill(&place, SIGKILL);
    place_clear(&place);
}

#ifdef SLATE_DEBUG
/* --- each point at which a crash could fall: a debug build ends there by itself --- */

enum where { MADE, BEGUN, SERVED, FLUSHED, ENDED }; /* when the server reaches the point */
/* A start at one point recovers from the crash at the point before; so a point reached at a start follows another one. */
static const struct {
    const char *at;
    enum where  where;
} points[] = {
    {"file_sized", MADE},        {"page_taken", SERVED},     {"head_made", MADE},           {"page_carved", SERVED},
    {"about_to_serve", MADE},    {"old_loose:50", SERVED},   {"file_opened", BEGUN},        {"item_loose:50", SERVED},
    {"cas_noted", BEGUN},        {"page_half_owned", SERVED}, {"cas_half_counted", BEGUN},  {"page_owned", SERVED},
    {"pool_filled", BEGUN},      {"class_noted:3", SERVED},  {"page_draining", SERVED},     {"page_recalled:5", BEGUN},
    {"half_overwritten:50", SERVED}, {"twins:50", SERVED},   {"page_looked_at:3", BEGUN},   {"page_half_withdrawn", SERVED},
    {"item_adopted:1000", BEGUN}, {"page_withdrawn", SERVED}, {"chunk_freed:2000", BEGUN},  {"page_given", SERVED},
    {"about_to_serve", BEGUN},   {"half_copied:9", SERVED},  {"copied:9", SERVED},          {"note_half_written", BEGUN},
    {"piece_adopted", SERVED},   {"note_written", BEGUN},    {"piece_moved", SERVED},       {"pieces_linked", SERVED},
    {"stopping", ENDED},         {"pieces_to_free", SERVED}, {"flush_half_noted:2", FLUSHED}, {"note_half_written:4", SERVED},
    {"about_to_be_stopped", ENDED}, {"note_written:4", SERVED}, {"stopped", ENDED},
};
enum { POINTS = sizeof points / sizeof *points, LOAD = 300 };

static void load(struct worker *workers, uint64_t batches, uint64_t *random) {
    _Atomic bool stop = false;
    struct worker operator= {.work = operate, .stop = &stop, .seed = next_random(random)};
    begin_all(workers, work, &stop);
    pthread_create(&operator.thread, NULL, worker_main, &operator);
    place_work(&place, MAIN_WAITS, batches);
    atomic_store(&stop, true);
    join_all(workers);
    place_answered(OPERATOR_REST); /* no load waits any more */
    pthread_join(operator.thread, NULL);
}

static void crash_at(struct worker *workers, const char *at, enum where where, uint64_t *random) {
    if (where == MADE) {
        place_clear(&place);
        forget_cas();
        for (unsigned i = 0; i < OWNERS; i++) {
            owner_forget(workers[i].owner);
        }
    }
    place.crash_at = at;
    if (place_start(&place)) {
        verify_all(workers);
        if (where == FLUSHED) {
            flush(workers);
        }
        load(workers, where == SERVED ? UINT64_MAX : LOAD, random);
        if (where == ENDED) {
            kill(place.pid, SIGTERM);
        }
    }
    ok(place_has_crashed(&place, TAP_HANG_MS), "it comes to %s, and ends there", at);
    place_kill(&place, SIGKILL);
    COUNT(kills);
}

static void storm(unsigned kills, uint64_t seed) {
    struct worker workers[OWNERS] = {{0}};
    uint64_t random = seed * 2862933555777941757u | 1;
    (void)kills;
    place_make(&place, place.program, true);
    for (unsigned i = 0; i < OWNERS; i++) {
        workers[i].owner = owner_create(i, seed);
    }
    for (unsigned i = 0; i < POINTS; i++) {
        crash_at(workers, points[i].at, points[i].where, &random);
    }
    place.crash_at = NULL;
    ok(place_start(&place), "it comes up after all");
    verify_all(workers);
    place_kill(&place, SIGKILL);
    for (unsigned i = 0; i < OWNERS; i++) {
        free(workers[i].owner);
    }
    place_clear(&place);
}
#else
static void storm(unsigned kills, uint64_t seed) {
    lives(place.program, true, kills - kills / 4, seed);
    lives(place.program, false, kills / 4, seed + 1);
}
#endif

int main(int argc, char **argv) {
    const char *given = getenv("CRASHES"), *program = argc > 1 ? argv[1] : PROGRAM;
    unsigned kills = given != NULL ? (unsigned)strtoul(given, NULL, 10) : KILLS;
    uint64_t seed = tap_seed();
    cas_seen = calloc(CAS_SLOTS, sizeof *cas_seen);
    atexit(clear);
    place.program = program;
    storm(kills, seed);
    printf("#");
#define TELL(name) printf(" " #name "=%" PRIu64, (uint64_t)tally.name);
    TALLIES(TELL)
    printf("\n");
    is(tally.corrupt, 0, "no value is corrupt");
    is(tally.resurrected, 0, "nothing that was deleted or flushed is back");
    is(tally.old_value, 0, "no key has a value from before the one that was answered");
    is(tally.cas_repeated, 0, "no CAS is given twice");
    is(tally.cas_changed, 0, "returned items have their CAS");
    is(tally.wrong_time, 0, "… and its time to live");
    is(tally.unknown_items, 0, "there is no item but the known");
    is(tally.lost, 0, "stored keys without an overwrite under way are there");
    ok((tally.lost + tally.lost_in_flight) * 1000 <= tally.stored, "of stored keys at least 99.9 %% come back (%.4f %%)",
       tally.stored > 0 ? 100.0 - 100.0 * (double)(tally.lost + tally.lost_in_flight) / (double)tally.stored : 0);
    free(cas_seen);
    return tap_done();
}
