/* A few hot keys, each with one writer, read as fast as possible: values of nearly the largest size that readers copy without a lock, so
 * that a value often changes in the middle of a read. Requests go many at a time. */
#include <stdio.h>
#include <string.h>

#include "actors.h"
#include "rng.h"
#include "value.h"
#include "wire.h"

enum { BATCH = 50, BYTES_LEAST = 1500, BYTES_MOST = 1900 };

static uint32_t hot_key(uint64_t *random, char key[KEY_BYTES + 1]) {
    uint32_t key_id = KEYS_ALL - 1 - (uint32_t)rng_below(random, HOT_KEYS);
    key_name(key_id, key);
    return key_id;
}

static bool write_some(struct actor *a, struct wire *c) {
    char key[KEY_BYTES + 1];
    uint32_t ids[BATCH], versions[BATCH];
    for (unsigned i = 0; i < BATCH; i++) {
        ids[i] = hot_key(&a->random, key);
        versions[i] = atomic_fetch_add(&a->world->board[ids[i]].issued, 1) + 1;
        struct segment s = {.version = versions[i], .bytes = BYTES_LEAST + (uint32_t)rng_below(&a->random, BYTES_MOST - BYTES_LEAST)};
        wire_say(c, "set %s 0 0 %u\r\n", key, s.bytes);
        char *to = wire_room(c, s.bytes + 2);
        segment_write(&s, ids[i], to);
        memcpy(to + s.bytes, "\r\n", 2);
    }
    if (!wire_flush(c)) {
        return false;
    }
    for (unsigned i = 0; i < BATCH; i++) {
        const char *line = wire_line(c);
        if (line == NULL || (strcmp(line, "STORED") != 0 && strncmp(line, "SERVER_ERROR", 12) != 0)) {
            return false;
        }
        world_raise_floor(a->world, ids[i], versions[i]);
        world_count(a->world, OP_HAMMER);
    }
    return true;
}

static bool read_some(struct actor *a, struct wire *c) {
    char key[KEY_BYTES + 1];
    uint32_t ids[BATCH], floors[BATCH];
    for (unsigned i = 0; i < BATCH; i++) {
        ids[i] = hot_key(&a->random, key);
        floors[i] = atomic_load(&a->world->board[ids[i]].floor);
        wire_say(c, "get %s\r\n", key);
    }
    bool good = wire_flush(c);
    for (unsigned i = 0; good && i < BATCH; i++) {
        const char *line = wire_line(c);
        size_t bytes = 0;
        world_count(a->world, OP_HAMMER);
        if (line == NULL || strcmp(line, "END") == 0) {
            good = line != NULL;
            continue;
        }
        const char *value = sscanf(line, "VALUE %*s %*u %zu", &bytes) == 1 ? wire_block(c, bytes) : NULL;
        if (value != NULL) {
            struct value_tale tale = value_read(ids[i], value, bytes);
            if (!tale.sound) {
                world_wrong(a->world, WRONG_VALUE, "a hot key's value of %zu bytes is torn or another's", bytes);
            } else if (tale.version < floors[i]) {
                world_wrong(a->world, OLD_VALUE, "a hot key has version %u after %u", tale.version, floors[i]);
            }
        }
        line = value != NULL ? wire_line(c) : NULL;
        good = line != NULL && strcmp(line, "END") == 0;
    }
    return good;
}

/* The first writes, the others read. */
void *hammer_main(void *arg) {
    struct actor *a = arg;
    struct wire c = {.fd = -1};
    bool good = wire_open(&c, a->world->port, 0);
    while (good && !atomic_load(&a->world->done)) {
        good = a->number == 0 ? write_some(a, &c) : read_some(a, &c);
    }
    if (!good) {
        world_wrong(a->world, OUT_OF_PLACE, "a reply about a hot key is not what was asked for");
    }
    wire_free(&c);
    return NULL;
}
