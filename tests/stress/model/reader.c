/* Readers of others' keys: a value must belong to its key, be complete, and be no older than one that was acknowledged, or seen by anybody,
 * before the request. They use get alone: a meta get may win a stale item, which its owner would not know. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors.h"
#include "rng.h"
#include "value.h"
#include "wire.h"

enum { ASKED_MAX = 24, SLOW_BUFFER_BYTES = 4096, SLOW_KEYS = 30, REST_OPS = 30 * 1000 };

struct asked {
    uint32_t key_id, floor;
    char     key[KEY_BYTES + 1];
};

static void check(struct world *w, const struct asked *a, const char *value, size_t n) {
    struct value_tale tale = value_read(a->key_id, value, n);
    world_count(w, OP_HIT);
    if (!tale.sound) {
        world_wrong(w, WRONG_VALUE, "a reader of %s got %zu bytes that are torn or another's", a->key, n);
    } else if (tale.version > atomic_load(&w->board[a->key_id].issued)) {
        world_wrong(w, WRONG_VALUE, "a reader of %s got version %u, which was never sent", a->key, tale.version);
    } else if (tale.version != 0 && tale.version < a->floor) {
        world_wrong(w, OLD_VALUE, "a reader of %s got version %u after %u", a->key, tale.version, a->floor);
    } else if (a->key_id < OWNERS * KEYS_AN_OWNER) {
        world_raise_floor(w, a->key_id, tale.version);
    }
}

static bool hear_values(struct world *w, struct wire *c, const struct asked *asked, unsigned n) {
    for (unsigned i = 0;; i++) {
        char *line = wire_line(c), key[KEY_BYTES + 1];
        unsigned flags;
        size_t bytes;
        if (line != NULL && strcmp(line, "END") == 0) {
            return true;
        }
        if (line == NULL || sscanf(line, "VALUE %250s %u %zu", key, &flags, &bytes) != 3) {
            return false;
        }
        while (i < n && strcmp(asked[i].key, key) != 0) {
            i++;
        }
        char *value = i < n ? wire_block(c, bytes) : NULL;
        if (value == NULL) {
            return false;
        }
        check(w, &asked[i], value, bytes);
    }
}

static unsigned ask(struct world *w, struct wire *c, uint64_t *random, struct asked *asked, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        uint32_t a = (uint32_t)rng_below(random, KEYS_AN_OWNER), b = (uint32_t)rng_below(random, KEYS_AN_OWNER);
        asked[i].key_id = rng_one_in(random, 20) ? OWNERS * KEYS_AN_OWNER + (uint32_t)rng_below(random, GUEST_KEYS)
                                                 : (uint32_t)rng_below(random, OWNERS) * KEYS_AN_OWNER + (a < b ? a : b);
        asked[i].floor = atomic_load(&w->board[asked[i].key_id].floor);
        key_name(asked[i].key_id, asked[i].key);
        wire_say(c, i == 0 ? "get %s" : " %s", asked[i].key);
    }
    wire_say(c, "\r\n");
    return n;
}

void *reader_main(void *arg) {
    struct actor *a = arg;
    struct world *w = a->world;
    struct asked asked[ASKED_MAX];
    struct wire c = {.fd = -1};
    bool good = wire_open(&c, w->port, 0);
    while (good && !atomic_load(&w->done)) {
        unsigned n = ask(w, &c, &a->random, asked, 1 + (unsigned)rng_below(&a->random, ASKED_MAX));
        good = wire_flush(&c) && hear_values(w, &c, asked, n);
        for (unsigned i = 0; i < n; i++) {
            world_count(w, OP_READ);
        }
    }
    if (!good) {
        world_wrong(w, OUT_OF_PLACE, "a reader's reply is not what it asked for");
    }
    wire_free(&c);
    return NULL;
}

void *slow_reader_main(void *arg) {
    struct actor *a = arg;
    struct world *w = a->world;
    struct asked asked[SLOW_KEYS];
    struct wire c = {.fd = -1};
    bool good = true;
    while (good && !atomic_load(&w->done)) {
        good = wire_open(&c, w->port, SLOW_BUFFER_BYTES);
        unsigned n = ask(w, &c, &a->random, asked, SLOW_KEYS);
        good = good && wire_flush(&c);
        world_rest(w, REST_OPS, &a->random, &w->done); /* values being sent stay borrowed */
        good = good && hear_values(w, &c, asked, n);
        world_count(w, OP_SLOW);
        wire_close(&c, rng_one_in(&a->random, 4));
    }
    if (!good) {
        world_wrong(w, OUT_OF_PLACE, "a slow reader's reply is not what it asked for");
    }
    wire_free(&c);
    return NULL;
}
