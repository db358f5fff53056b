#include "world.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rng.h"

enum { TELL_MOST = 12, OPS_A_BEAT = 64 };

#define OP_TEXT(name, text) text,
const char *const op_names[OP_KINDS] = {OPS(OP_TEXT) OTHERS(OP_TEXT)};

static pthread_mutex_t beat_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  beat = PTHREAD_COND_INITIALIZER;

static void wake_all(void) {
    pthread_mutex_lock(&beat_lock);
    pthread_cond_broadcast(&beat);
    pthread_mutex_unlock(&beat_lock);
}

void world_count(struct world *w, enum op op) {
    atomic_fetch_add_explicit(&w->ops[op], 1, memory_order_relaxed);
    if (atomic_fetch_add(&w->all_ops, 1) % OPS_A_BEAT == 0) {
        wake_all();
    }
}

void world_rest(struct world *w, uint64_t ops_most, uint64_t *random, const _Atomic bool *over) {
    uint64_t until = atomic_load(&w->all_ops) + rng_below(random, ops_most);
    pthread_mutex_lock(&beat_lock);
    while (atomic_load(&w->all_ops) < until && !atomic_load(over)) {
        pthread_cond_wait(&beat, &beat_lock);
    }
    pthread_mutex_unlock(&beat_lock);
}

void world_end(_Atomic bool *over) {
    atomic_store(over, true);
    wake_all();
}

void world_count_if(struct world *w, enum op op, bool so) {
    if (so) {
        world_count(w, op);
    }
}

void world_wrong(struct world *w, enum wrong what, const char *format, ...) {
    char text[600];
    va_list ap;
    if (atomic_fetch_add(&w->wrongs[what], 1) >= TELL_MOST) {
        return;
    }
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    printf("# wrong: %s\n", text);
    fflush(stdout);
}

void world_raise_floor(struct world *w, uint32_t key_id, uint32_t version) {
    _Atomic uint32_t *floor = &w->board[key_id].floor;
    uint32_t was = atomic_load(floor);
    while (was < version && !atomic_compare_exchange_weak(floor, &was, version)) {
    }
}

bool world_note_cas(struct world *w, uint32_t key_id, uint64_t cas) {
    _Atomic uint64_t *slot = &w->cas_seen[cas % (sizeof w->cas_seen / sizeof *w->cas_seen)];
    uint64_t mine = cas << 16 | (key_id & 0xffff), was = atomic_exchange(slot, mine);
    return was == mine || was >> 16 != mine >> 16;
}

unsigned key_name(uint32_t key_id, char to[KEY_BYTES + 1]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.:/%";
    uint64_t random = mix64(key_id + 1);
    unsigned n = (unsigned)snprintf(to, KEY_BYTES, "k%u:", key_id);
    unsigned length = rng_one_in(&random, 10) ? KEY_BYTES - (unsigned)rng_below(&random, 100) : 8 + (unsigned)rng_below(&random, 40);
    for (; n < length; n++) {
        to[n] = letters[rng_below(&random, sizeof letters - 1)];
    }
    to[n] = '\0';
    return n;
}

void world_pass(double seconds) { usleep((useconds_t)(seconds * 1e6)); }

double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
