/* The ring between a thread that has events and the one that reads them. Run under TSan too. */
#include "tap.h"

#include <pthread.h>

#include "watch/ring.h"

enum { RECORDS = 200000, TEXT_MAX = 200 };

struct record {
    uint64_t number;
    uint32_t bytes;
    char     text[];
};

static uint64_t next_random(uint64_t *state) { return (*state = *state * 6364136223846793005u + 1442695040888963407u) >> 33; }

/* False: there was no room. */
static bool put(struct ring *r, uint64_t number, uint32_t bytes) {
    struct record *to = ring_reserve(r, sizeof *to + bytes);
    if (to == NULL) {
        return false;
    }
    to->number = number;
    to->bytes = bytes;
    memset(to->text, (int)(number & 0xff), bytes);
    ring_publish(r);
    return true;
}

static bool whole(const struct record *got) {
    for (uint32_t i = 0; i < got->bytes; i++) {
        if ((uint8_t)got->text[i] != (uint8_t)got->number) {
            return false;
        }
    }
    return (uintptr_t)got % 8 == 0;
}

static void test_one_thread(uint64_t seed) {
    struct ring *r = ring_create(1);
    ok(r != NULL && r->bytes == RING_BYTES_MIN, "a ring has at least %d bytes", RING_BYTES_MIN);
    ok(ring_peek(r) == NULL, "a new ring is empty");
    ok(ring_reserve(r, 8) != NULL && ring_peek(r) == NULL, "unpublished events are not there");
    uint64_t put_next = 0, got_next = 0, lost = 0;
    bool good = true, filled = false;
    for (int round = 0; round < 20000; round++) {
        for (uint64_t n = next_random(&seed) % 6; n > 0; n--) {
            if (put(r, put_next, (uint32_t)next_random(&seed) % TEXT_MAX)) {
                put_next++;
            } else {
                filled = true;
                lost++;
            }
        }
        const struct record *got;
        for (uint64_t n = next_random(&seed) % 6; n > 0 && (got = ring_peek(r)) != NULL; n--) {
            good = good && got == ring_peek(r) && got->number == got_next++ && whole(got);
            ring_pop(r);
        }
    }
    ok(good, "records come whole and in order, over the end of the memory too");
    ok(filled, "a full ring takes none");
    is(counter_get(&r->dropped), lost, "refused events are counted");
    is(counter_get(&r->written), put_next, "and so are taken ones");
    while (ring_peek(r) != NULL) {
        ring_pop(r);
        got_next++;
    }
    is(got_next, put_next, "none is lost once it is in");
    ok(put(r, 0, 400), "an emptied ring has room again");
    ring_destroy(&r);
    ok(r == NULL, "destroying takes the pointer");
}

static void *write_records(void *arg) {
    struct ring *r = arg;
    uint64_t state = 7;
    for (uint64_t i = 0; i < RECORDS; i++) {
        put(r, i, (uint32_t)next_random(&state) % TEXT_MAX);
    }
    return NULL;
}

static void test_two_threads(void) {
    struct ring *r = ring_create(4000);
    pthread_t writer;
    uint64_t got_count = 0, last = 0, settled = 0;
    bool good = true;
    pthread_create(&writer, NULL, write_records, r);
    while (settled < RECORDS || ring_peek(r) != NULL) {
        const struct record *got = ring_peek(r);
        if (got == NULL) {
            settled = counter_get(&r->written) + counter_get(&r->dropped);
            continue;
        }
        good = good && whole(got) && (got_count == 0 || got->number > last);
        last = got->number;
        got_count++;
        ring_pop(r);
    }
    pthread_join(writer, NULL);
    while (ring_peek(r) != NULL) { /* counted before publication */
        ring_pop(r);
        got_count++;
    }
    ok(good, "while one writes and one reads, records come whole and in order");
    is(got_count, counter_get(&r->written), "all that were written");
    is(counter_get(&r->written) + counter_get(&r->dropped), RECORDS, "and every other one is counted as dropped");
    ring_destroy(&r);
}

int main(void) {
    test_one_thread(tap_seed());
    test_two_threads();
    return tap_done();
}
