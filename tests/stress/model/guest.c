/* Unwelcome clients: half values, broken connections, unread replies, nonsense. Their keys are theirs alone; readers check that the values
 * are complete. */
#include <string.h>

#include "actors.h"
#include "rng.h"
#include "value.h"
#include "wire.h"

enum { REST_OPS = 500 };

static void store(struct actor *a, struct wire *c, bool half) {
    struct world *w = a->world;
    uint32_t key_id = OWNERS * KEYS_AN_OWNER + (uint32_t)rng_below(&a->random, GUEST_KEYS);
    char key[KEY_BYTES + 1];
    struct segment s = {.kind = SEGMENT_GENERATED, .version = atomic_fetch_add(&w->board[key_id].issued, 1) + 1,
                        .bytes = SEGMENT_HEAD_BYTES + (uint32_t)rng_below(&a->random, rng_one_in(&a->random, 4) ? 900 * 1000 : 5000)};
    key_name(key_id, key);
    wire_say(c, "set %s 0 0 %u\r\n", key, s.bytes);
    char *value = wire_room(c, s.bytes);
    segment_write(&s, key_id, value);
    wire_say(c, "\r\n");
    if (half) {
        c->out_bytes -= 2 + rng_below(&a->random, s.bytes);
    }
    wire_flush(c);
}

static void ask_and_leave(struct actor *a, struct wire *c) {
    char key[KEY_BYTES + 1];
    key_name((uint32_t)rng_below(&a->random, KEYS_ALL), key);
    for (unsigned i = 0; i < 50; i++) {
        wire_say(c, "get %s\r\n", key);
    }
    wire_flush(c);
}

static void talk_nonsense(struct actor *a, struct wire *c) {
    char *junk = wire_room(c, 3000);
    for (unsigned i = 0; i < 3000; i++) {
        junk[i] = (char)rng_next(&a->random);
    }
    wire_flush(c);
}

void *guest_main(void *arg) {
    struct actor *a = arg;
    struct wire c = {.fd = -1};
    while (!atomic_load(&a->world->done)) {
        if (!wire_open(&c, a->world->port, 0)) {
            world_wrong(a->world, OUT_OF_PLACE, "no connection for a guest");
            break;
        }
        switch (rng_below(&a->random, 6)) {
        case 0:
        case 1: store(a, &c, true); break;
        case 2: store(a, &c, false); break;
        case 3: ask_and_leave(a, &c); break;
        case 4: talk_nonsense(a, &c); break;
        case 5:
            wire_say(&c, "get half-a-li");
            wire_flush(&c);
            break;
        }
        world_rest(a->world, REST_OPS, &a->random, &a->world->done);
        wire_close(&c, rng_one_in(&a->random, 2));
        world_count(a->world, OP_GUEST);
    }
    wire_free(&c);
    return NULL;
}
