/* An owner: several connections, batches of requests on any of them, every reply held against the model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors.h"
#include "request.h"
#include "rng.h"

enum { CONNECTIONS = 4, BATCH_MAX = 40, BATCH_REPLY_BYTES = 4 << 20 };

struct owner {
    struct world *world;
    uint64_t      random;
    struct entry *entries;
    struct wire   wires[CONNECTIONS];
};

/* Keys with requests on their way on a lost connection may hold anything until the next set. */
static void forget(struct request *requests, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < requests[i].keys; k++) {
            entry_broken(requests[i].e[k]);
            requests[i].e[k]->pending = 0;
        }
    }
}

static void reconnect(struct owner *o, struct wire *c) {
    wire_close(c, false);
    if (!wire_open(c, o->world->port, 0)) {
        world_wrong(o->world, OUT_OF_PLACE, "no connection");
    }
}

static void run_batch(struct owner *o, struct wire *c) {
    struct request requests[BATCH_MAX];
    unsigned n = 1 + (unsigned)rng_below(&o->random, rng_one_in(&o->random, 4) ? BATCH_MAX : 6), said = 0;
    size_t reply_bytes = 0;
    for (; said < n && reply_bytes < BATCH_REPLY_BYTES && c->out_bytes < BATCH_REPLY_BYTES; said++) {
        request_choose(&requests[said], o->world, &o->random, o->entries);
        request_say(&requests[said], c);
        reply_bytes += request_reply_bytes(&requests[said]);
    }
    unsigned heard = 0;
    bool good = wire_flush(c);
    for (; good && heard < said; heard++) {
        good = request_hear(&requests[heard], o->world, c);
    }
    if (!good) {
        if (heard == 0) {
            world_wrong(o->world, OUT_OF_PLACE, "a batch could not be sent");
        }
        forget(requests, said);
        reconnect(o, c);
    }
}

/* Sends only a part of a value. Afterwards the old value is there, or none; never the new one. */
static void send_half(struct owner *o, struct wire *c) {
    struct entry *e = &o->entries[rng_below(&o->random, KEYS_AN_OWNER)];
    struct segment s = {.kind = SEGMENT_GENERATED, .version = ++e->version, .bytes = 100 + (uint32_t)rng_below(&o->random, 300 * 1000)};
    char *value = malloc(s.bytes);
    size_t part = rng_below(&o->random, s.bytes);
    segment_write(&s, e->key_id, value);
    wire_say(c, rng_one_in(&o->random, 2) ? "set %s 0 0 %u\r\n" : "append %s 0 0 %u\r\n", e->key, s.bytes);
    memcpy(wire_room(c, part), value, part);
    free(value);
    if (wire_flush(c)) {
        wire_half_close(c);
        if (!wire_ended(c)) {
            world_wrong(o->world, OUT_OF_PLACE, "the server does not close after a half-sent value");
        }
    }
    e->excused = true;
    world_count(o->world, OP_HALF);
    reconnect(o, c);
}

/* At the end every key is read once more, and present items get no expiry time, so that the following counts do not change. */
static void read_all(struct owner *o) {
    struct wire *c = &o->wires[0];
    for (unsigned i = 0; i < KEYS_AN_OWNER; i++) {
        struct request r = {.op = OP_GATS, .keys = 1, .e = {&o->entries[i]}, .version = ++o->entries[i].version, .sent_s = now_s(),
                            .flushes_over = atomic_load(&o->world->flushes_over)};
        o->entries[i].pending++;
        request_say(&r, c);
        if (!wire_flush(c) || !request_hear(&r, o->world, c)) {
            world_wrong(o->world, OUT_OF_PLACE, "a key can't be read at the end");
            reconnect(o, c);
        }
    }
}

void *owner_main(void *arg) {
    struct actor *a = arg;
    struct owner o = {.world = a->world, .random = a->random, .entries = calloc(KEYS_AN_OWNER, sizeof *o.entries)};
    for (unsigned i = 0; i < KEYS_AN_OWNER; i++) {
        o.entries[i].key_id = a->number * KEYS_AN_OWNER + i;
        o.entries[i].key_bytes = key_name(o.entries[i].key_id, o.entries[i].key);
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        o.wires[i].fd = -1;
        reconnect(&o, &o.wires[i]);
    }
    while (!atomic_load(&a->world->done)) {
        struct wire *c = &o.wires[rng_below(&o.random, CONNECTIONS)];
        if (rng_one_in(&o.random, 200)) {
            send_half(&o, c);
        } else {
            run_batch(&o, c);
        }
    }
    read_all(&o);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        wire_free(&o.wires[i]);
    }
    free(o.entries);
    return NULL;
}
