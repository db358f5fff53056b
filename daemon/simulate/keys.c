#include "simulate/keys.h"

#include <stdlib.h>

/* Open addressing with steps of one, filled to three quarters; 0 is an empty place, so a hash of 0
 * is kept as 1. */
struct simulate_keys {
    uint64_t *places;
    uint64_t  mask, count;
};

enum { PLACES_AT_FIRST = 1 << 12 };

struct simulate_keys *simulate_keys_create(void) {
    struct simulate_keys *k = calloc(1, sizeof *k);
    if (k != NULL) {
        k->places = calloc(PLACES_AT_FIRST, sizeof *k->places);
        k->mask = PLACES_AT_FIRST - 1;
        if (k->places == NULL) {
            simulate_keys_destroy(&k);
        }
    }
    return k;
}

void simulate_keys_destroy(struct simulate_keys **taken) {
    if (*taken != NULL) {
        free((*taken)->places);
        free(*taken);
        *taken = NULL;
    }
}

/* The place that holds the hash, or the empty one where it belongs. */
static uint64_t *place_of(const struct simulate_keys *k, uint64_t hash) {
    uint64_t at = (hash ^ hash >> 32) & k->mask;
    while (k->places[at] != 0 && k->places[at] != hash) {
        at = (at + 1) & k->mask;
    }
    return &k->places[at];
}

static bool grow(struct simulate_keys *k) {
    uint64_t room = k->mask + 1;
    struct simulate_keys larger = {
        .places = calloc(2 * room, sizeof *k->places), .mask = 2 * room - 1, .count = k->count};
    if (larger.places == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < room; i++) {
        if (k->places[i] != 0) {
            *place_of(&larger, k->places[i]) = k->places[i];
        }
    }
    free(k->places);
    *k = larger;
    return true;
}

bool simulate_keys_add(struct simulate_keys *k, uint64_t hash) {
    hash += hash == 0;
    uint64_t *place = place_of(k, hash);
    if (*place != 0) {
        return true;
    }
    if (k->count == SIMULATE_KEYS_MAX) {
        return false;
    }
    if (4 * (k->count + 1) > 3 * (k->mask + 1)) {
        if (!grow(k)) {
            return false;
        }
        place = place_of(k, hash);
    }
    *place = hash;
    k->count++;
    return true;
}

uint64_t simulate_keys_count(const struct simulate_keys *k) { return k->count; }
