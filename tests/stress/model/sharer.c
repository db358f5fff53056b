/* Keys that all sharers change: counters, of which no increment may be lost in any life between two evictions, and logs, to which each
 * sharer appends its next number, so that a log shows every append that is missing, doubled or out of order. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors.h"
#include "rng.h"
#include "wire.h"

enum { LOG_BYTES_MAX = 60 * 1000 };

/* The next number of each sharer for each log: every sharer may check it, and only its own sharer writes it. */
static _Atomic uint64_t appended[SHARED_LOGS][SHARERS];

/* Tokens are "sharer.number;". Within one life of a log each sharer's numbers follow each other without a gap. */
static void check_log(struct world *w, unsigned log, const char *text, size_t n) {
    uint64_t last[SHARERS] = {0};
    const char *at = text, *end = text + n;
    while (at < end) {
        char *stop;
        unsigned long sharer = strtoul(at, &stop, 10);
        uint64_t number = *stop == '.' ? strtoull(stop + 1, &stop, 10) : 0;
        if (sharer >= SHARERS || number == 0 || *stop != ';') {
            world_wrong(w, WRONG_VALUE, "log %u holds what nobody appended at byte %zu of %zu", log, (size_t)(at - text), n);
            return;
        }
        if (last[sharer] != 0 && number != last[sharer] + 1) {
            world_wrong(w, LOST_UPDATE, "log %u has %" PRIu64 " of sharer %lu behind %" PRIu64, log, number, sharer, last[sharer]);
            return;
        }
        last[sharer] = number;
        at = stop + 1;
    }
}

/* Reads a log: false: the connection is gone. `bytes` is 0 when there is none. */
static bool read_log(struct world *w, struct wire *c, unsigned log, size_t *bytes) {
    *bytes = 0;
    wire_say(c, "get log%u\r\n", log);
    char *line = wire_flush(c) ? wire_line(c) : NULL;
    if (line == NULL || strcmp(line, "END") == 0) {
        return line != NULL;
    }
    char *value = sscanf(line, "VALUE %*s %*u %zu", bytes) == 1 ? wire_block(c, *bytes) : NULL;
    if (value == NULL) {
        return false;
    }
    char *text = calloc(1, *bytes + 1);
    memcpy(text, value, *bytes);
    check_log(w, log, text, *bytes);
    free(text);
    line = wire_line(c);
    return line != NULL && strcmp(line, "END") == 0;
}

/* One reply line; NULL: the connection is gone. */
static char *ask(struct wire *c) { return wire_flush(c) ? wire_line(c) : NULL; }

static bool append(struct actor *a, struct wire *c, unsigned log) {
    _Atomic uint64_t *mine = &appended[log][a->number];
    char token[40];
    int n = snprintf(token, sizeof token, "%u.%" PRIu64 ";", a->number, atomic_load(mine) + 1);
    char *line = NULL;
    switch (rng_below(&a->random, 3)) {
    case 0: wire_say(c, "append log%u 0 0 %d\r\n%s\r\n", log, n, token); break;
    case 1: wire_say(c, "ms log%u %d MA\r\n%s\r\n", log, n, token); break;
    case 2: wire_say(c, "ms log%u %d MA N0\r\n%s\r\n", log, n, token); break;
    }
    line = ask(c);
    if (line != NULL && (strcmp(line, "NOT_STORED") == 0 || strcmp(line, "NS") == 0)) {
        wire_say(c, "add log%u 0 0 %d\r\n%s\r\n", log, n, token);
        line = ask(c);
    }
    if (line != NULL && (strcmp(line, "STORED") == 0 || strcmp(line, "HD") == 0)) {
        atomic_fetch_add(mine, 1);
    }
    return line != NULL;
}

/* The number in a reply to ma or incr; false: none. *good: the reply is complete. */
static bool hear_number(struct wire *c, char *line, uint64_t *number, bool *good) {
    char *digits = line;
    if (line != NULL && strncmp(line, "VA ", 3) == 0) {
        digits = wire_block(c, strtoul(line + 3, NULL, 10));
    }
    *good = digits != NULL;
    if (digits == NULL || digits[0] < '0' || digits[0] > '9') {
        return false;
    }
    *number = strtoull(digits, NULL, 10);
    return true;
}

/* A missing counter is made anew with the start of its next life. The reply to an increment shows its life. */
static bool count(struct actor *a, struct wire *c, unsigned counter) {
    struct world *w = a->world;
    uint64_t number;
    bool good;
    wire_say(c, rng_one_in(&a->random, 2) ? "ma num%u v\r\n" : "incr num%u 1\r\n", counter);
    char *line = ask(c);
    bool counted = hear_number(c, line, &number, &good);
    if (!counted && good && (strcmp(line, "NOT_FOUND") == 0 || strcmp(line, "NF") == 0)) {
        uint32_t life = atomic_fetch_add(&w->lives, 1);
        if (life >= LIVES_MAX) {
            return true;
        }
        uint64_t begin = (uint64_t)life << LIFE_BITS;
        if (rng_one_in(&a->random, 2)) {
            wire_say(c, "ma num%u N0 J%" PRIu64 " v\r\n", counter, begin);
            counted = hear_number(c, ask(c), &number, &good) && number != begin;
        } else {
            char text[24];
            int n = snprintf(text, sizeof text, "%" PRIu64, begin);
            wire_say(c, "add num%u 0 0 %d\r\n%s\r\n", counter, n, text);
            good = ask(c) != NULL;
        }
    }
    if (counted && number >> LIFE_BITS < LIVES_MAX) {
        struct life *life = &w->life[number >> LIFE_BITS];
        uint64_t place = number & ((UINT64_C(1) << LIFE_BITS) - 1), highest = atomic_load(&life->highest);
        atomic_fetch_add(&life->increments, 1);
        while (place > highest && !atomic_compare_exchange_weak(&life->highest, &highest, place)) {
        }
    } else if (counted) {
        world_wrong(w, WRONG_VALUE, "counter %u is %" PRIu64 ", which nobody made", counter, number);
    }
    return good;
}

void *sharer_main(void *arg) {
    struct actor *a = arg;
    struct wire c = {.fd = -1};
    bool good = wire_open(&c, a->world->port, 0);
    while (good && !atomic_load(&a->world->done)) {
        unsigned log = (unsigned)rng_below(&a->random, SHARED_LOGS);
        size_t bytes;
        switch (rng_below(&a->random, 8)) {
        case 0:
            good = read_log(a->world, &c, log, &bytes);
            if (good && bytes > LOG_BYTES_MAX) {
                wire_say(&c, "delete log%u\r\n", log);
                good = ask(&c) != NULL;
            }
            break;
        case 1:
        case 2:
        case 3: good = append(a, &c, log); break;
        default: good = count(a, &c, (unsigned)rng_below(&a->random, SHARED_COUNTERS)); break;
        }
        world_count(a->world, OP_SHARED);
    }
    if (!good) {
        world_wrong(a->world, OUT_OF_PLACE, "a sharer's reply is not what it asked for");
    }
    wire_free(&c);
    return NULL;
}

void sharers_check(struct world *w) {
    struct wire c = {.fd = -1};
    size_t bytes;
    bool good = wire_open(&c, w->port, 0);
    for (unsigned i = 0; good && i < SHARED_LOGS; i++) {
        good = read_log(w, &c, i, &bytes);
    }
    for (unsigned i = 0; i < LIVES_MAX; i++) {
        uint64_t increments = atomic_load(&w->life[i].increments), highest = atomic_load(&w->life[i].highest);
        if (increments != highest) {
            world_wrong(w, LOST_UPDATE, "a counter came to %" PRIu64 " by %" PRIu64 " increments", highest, increments);
        }
    }
    for (unsigned i = 0; good && w->roomy && i < SHARED_COUNTERS; i++) {
        uint64_t number;
        wire_say(&c, "ma num%u D0 v\r\n", i);
        bool there = hear_number(&c, ask(&c), &number, &good) && number >> LIFE_BITS < LIVES_MAX;
        uint64_t want = there ? atomic_load(&w->life[number >> LIFE_BITS].highest) : 0, got = there ? number & ((UINT64_C(1) << LIFE_BITS) - 1) : 0;
        if (good && (!there || got != want)) {
            world_wrong(w, LOST_UPDATE, "counter %u is %" PRIu64 " at the end, and was %" PRIu64, i, got, want);
        }
    }
    if (!good) {
        world_wrong(w, OUT_OF_PLACE, "what is shared can't be read");
    }
    wire_free(&c);
}
