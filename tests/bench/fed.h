/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions fed from memory, as a worker does, in a server without sockets; its tuner is stepped by hand. */
#ifndef FED_H
#define FED_H
#include <inttypes.h>
#include <time.h>

#include "session_fixture.h"

#define FED_KEY   "memtier-%010u-abcdefghijk"
#define FED_VALUE "0123456789abcdef0123456789abcdef"
enum { SESSIONS = 40, VALUE_BYTES = sizeof FED_VALUE - 1 };

struct fed {
    struct rig      rig;
    struct session *sessions[SESSIONS];
    char           *buffers[SESSIONS];
    uint32_t        keys;
    uint64_t        random;
};

static inline uint64_t fed_random(struct fed *f) { return f->random = f->random * 6364136223846793005u + 1442695040888963407u; }

/* With every key stored; `options` as for rig_open. False: bad options, or no memory. */
static inline bool fed_open(struct fed *f, char *options, size_t buffer_bytes) {
    f->random = 88172645463325252u;
    if (f->keys == 0 || !rig_open(&f->rig, options)) {
        return false;
    }
    cache_turn_begin(f->rig.ct);
    for (uint32_t k = 0; k < f->keys; k++) {
        char line[128];
        struct key key = key_make(line, (size_t)sprintf(line, FED_KEY, k));
        cache_store(f->rig.ct, &key, &(struct cache_store){.mode = CACHE_SET, .value = FED_VALUE, .value_bytes = VALUE_BYTES}, NULL);
    }
    cache_turn_end(f->rig.ct);
    for (int s = 0; s < SESSIONS; s++) {
        f->sessions[s] = session_create();
        f->buffers[s] = malloc(buffer_bytes + PARSE_SLACK);
    }
    return true;
}
#endif
