#include "simulate/trace_recall.h"

#include <stdlib.h>

/* Open addressing with steps of one, filled to three quarters. Hash 0 marks an empty place, so a
 * hash of 0 is stored as 1. */
struct place {
    uint64_t hash;
    struct simulate_value value;
};
struct simulate_recall {
    struct place *places;
    uint64_t      mask, count;
};

enum { PLACES_AT_FIRST = 1 << 12 };

struct simulate_recall *simulate_recall_create(void) {
    struct simulate_recall *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->places = calloc(PLACES_AT_FIRST, sizeof *r->places);
        r->mask = PLACES_AT_FIRST - 1;
        if (r->places == NULL) {
            simulate_recall_destroy(&r);
        }
    }
    return r;
}

void simulate_recall_destroy(struct simulate_recall **taken) {
    if (*taken != NULL) {
        free((*taken)->places);
        free(*taken);
        *taken = NULL;
    }
}

/* The place with the hash, or the empty place for it. */
static struct place *recall_place(const struct simulate_recall *r, uint64_t hash) {
    uint64_t at = (hash ^ hash >> 32) & r->mask;
    while (r->places[at].hash != 0 && r->places[at].hash != hash) {
        at = (at + 1) & r->mask;
    }
    return &r->places[at];
}

static bool recall_grow(struct simulate_recall *r) {
    uint64_t room = r->mask + 1;
    struct simulate_recall larger = {
        .places = calloc(2 * room, sizeof *r->places), .mask = 2 * room - 1, .count = r->count};
    if (larger.places == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < room; i++) {
        if (r->places[i].hash != 0) {
            *recall_place(&larger, r->places[i].hash) = r->places[i];
        }
    }
    free(r->places);
    *r = larger;
    return true;
}

bool simulate_recall_put(struct simulate_recall *r, uint64_t hash, struct simulate_value value) {
    hash += hash == 0;
    struct place *place = recall_place(r, hash);
    if (place->hash == 0) {
        if (r->count == SIMULATE_RECALL_MAX ||
            (4 * (r->count + 1) > 3 * (r->mask + 1) && !recall_grow(r))) {
            return false;
        }
        place = recall_place(r, hash);
        r->count++;
    }
    *place = (struct place){hash, value};
    return true;
}

bool simulate_recall_get(const struct simulate_recall *r, uint64_t hash,
                         struct simulate_value *value) {
    const struct place *place = recall_place(r, hash + (hash == 0));
    if (place->hash != 0) {
        *value = place->value;
    }
    return place->hash != 0;
}

uint64_t simulate_recall_count(const struct simulate_recall *r) { return r->count; }
