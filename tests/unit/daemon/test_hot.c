/* Hot keys against exact counts. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "sample/hot.h"

enum { KEYS = 20000, REQUESTS = 300000 };

static uint64_t counts[KEYS + 1];
static struct hot hot;
static struct hot_key sorted[HOT_KEYS];
static struct hot_totals totals;
static uint64_t now_us;

static void begin(void) {
    memset(&hot, 0, sizeof hot);
    memset(counts, 0, sizeof counts);
    now_us = 1;
    hot_turn(&hot, now_us);
}

static void add(uint64_t n, uint32_t requests, uint32_t value_bytes) {
    char name[32];
    int len = snprintf(name, sizeof name, "key:%" PRIu64, n);
    hot_add(&hot, key_hash(name, (size_t)len), name, (uint8_t)len, requests, value_bytes);
}

static unsigned sort(void) { return hot_sorted(&hot, now_us, &totals, sorted, HOT_KEYS); }
static uint64_t number_of(const struct hot_key *k) { return strtoull(k->key + 4, NULL, 10); }
static double least_of(const struct hot_figure *f) { return fmax((double)f->count - (double)f->error - (double)f->doubt, 0); }
static double most_of(const struct hot_figure *f) { return (double)(f->count + f->doubt); }
static bool within(const struct hot_figure *f, double truth) { return least_of(f) <= truth && truth <= most_of(f); }

static double unit(uint64_t *x) {
    tap_random(x);
    return (double)(*x >> 11) / 9007199254740992.0;
}

/* Every request is noted. Popularity falls steeply with a key's number. */
static void test_counts_are_within_their_error(uint64_t x) {
    unsigned low = 0, high = 0, found = 0, frequent = 0;
    begin();
    for (unsigned i = 0; i < REQUESTS; i++) {
        uint64_t n = (uint64_t)(KEYS * pow(unit(&x), 9));
        add(n, 1, 100);
        counts[n]++;
        if (i % (REQUESTS / 8) == 0) { /* eight seconds */
            hot_end_part(&hot, i == 0 ? 1 : REQUESTS / 8, 0, false);
            hot_turn(&hot, now_us += HOT_SLOT_US);
        }
    }
    hot_end_part(&hot, REQUESTS / 8 - 1, 0, false);
    unsigned n = sort();
    for (unsigned i = 0; i < n; i++) {
        uint64_t truth = counts[number_of(&sorted[i])];
        const struct hot_figure *r = &sorted[i].requests, *b = &sorted[i].bytes;
        high += r->count < truth || b->count + 100 < 100 * truth;
        low += r->count - r->error > truth || b->count - b->error > 100 * truth + 100;
        found += truth > REQUESTS / HOT_KEYS;
    }
    for (uint64_t k = 0; k < KEYS; k++) {
        frequent += counts[k] > REQUESTS / HOT_KEYS;
    }
    is(totals.requests, REQUESTS, "all requests are counted");
    ok(high == 0 && low == 0, "no count is too low, nor too high by more than its error: %u, %u", high, low);
    ok(frequent >= 5 && found == frequent, "each of the %u keys with more than one in %d requests is there", frequent, HOT_KEYS);
    is_str(sorted[0].key, "key:0", "the hottest comes first, with its text");
}

/* --- a sample of one in EVERY, as slated takes it --- */

enum { EVERY = 16, A_SECOND = 20000, HOT_A_SECOND = 500, HOT_KEY = KEYS, ZIPF_KEYS = 10000, RUNS = 20, LARGE_BYTES = 20000, SMALL_BYTES = 200 };

static double zipf[ZIPF_KEYS];

static void make_zipf(void) {
    double sum = 0;
    for (unsigned i = 0; i < ZIPF_KEYS; i++) {
        zipf[i] = sum += 1 / pow(i + 1, 0.8);
    }
    for (unsigned i = 0; i < ZIPF_KEYS; i++) {
        zipf[i] /= sum;
    }
}

static unsigned zipf_key(double at) {
    unsigned low = 0, high = ZIPF_KEYS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        low = zipf[middle] < at ? middle + 1 : low;
        high = zipf[middle] < at ? high : middle;
    }
    return low;
}

/* Seconds of 20,000 requests: 500 for HOT_KEY, the others by Zipf's law. Keys of small numbers have large values. */
static void play(uint64_t *x, unsigned seconds, bool is_hot) {
    unsigned wait = EVERY, due = EVERY;
    for (unsigned s = 0; s < seconds; s++) {
        for (unsigned i = 0; i < A_SECOND; i++) {
            bool is_it = is_hot && unit(x) * A_SECOND < HOT_A_SECOND;
            unsigned n = is_it ? HOT_KEY : zipf_key(unit(x));
            counts[n]++;
            if (--due == 0) {
                add(n, wait, n % 50 == 7 ? LARGE_BYTES : SMALL_BYTES);
                due = wait = EVERY / 2 + (unsigned)(unit(x) * (EVERY + 1));
            }
        }
        hot_end_part(&hot, A_SECOND, 0, false);
        hot_turn(&hot, now_us += HOT_SLOT_US);
    }
}

static const struct hot_key *key_of(unsigned number, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (number_of(&sorted[i]) == number) {
            return &sorted[i];
        }
    }
    return NULL;
}

static void test_a_hot_key_is_within_its_bound_after_ten_seconds(uint64_t x) {
    unsigned good = 0, bytes_good = 0, there = 0, rows = 0, rows_good = 0, rows_close = 0;
    double widest = 0, error_sum = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        begin();
        play(&x, 11, false); /* the others have counters before */
        memset(counts, 0, sizeof counts);
        play(&x, 10, true);
        unsigned n = sort();
        const struct hot_key *k = key_of(HOT_KEY, n);
        double truth = (double)counts[HOT_KEY];
        there += k != NULL;
        good += k != NULL && within(&k->requests, truth);
        bytes_good += k != NULL && within(&k->bytes, truth * SMALL_BYTES);
        widest = k != NULL ? fmax(widest, most_of(&k->requests) - least_of(&k->requests)) : widest;
        error_sum += k != NULL ? fabs((double)k->requests.count - (double)k->requests.error - truth) / truth : 1;
        for (unsigned i = 0; i < n; i++) {
            rows++;
            rows_good += within(&sorted[i].requests, (double)counts[number_of(&sorted[i])]);
            rows_close += counts[number_of(&sorted[i])] >= A_SECOND / 1000;
        }
    }
    is(there, RUNS, "a key of 500 in 20,000 gets a second is in the list after ten seconds");
    ok(good >= RUNS * 80 / 100, "its true count is between its bounds: %u times of %d", good, RUNS);
    ok(bytes_good >= RUNS * 80 / 100, "so are its bytes: %u times of %d", bytes_good, RUNS);
    ok(widest < 0.5 * 10 * HOT_A_SECOND, "which are at most %.0f of %d requests apart; the estimate is off by %.1f %% in the mean", widest, 10 * HOT_A_SECOND, 100 * error_sum / RUNS);
    ok(rows >= RUNS * 20 && rows_good >= rows * 90 / 100, "%u of %u rows have bounds that hold", rows_good, rows);
    ok(rows_close >= rows * 99 / 100, "hardly a row is noise: %u of %u keys had two requests a second or more", rows_close, rows);
}

static void test_large_values_are_found(uint64_t x) {
    unsigned good = 0, first = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        begin();
        play(&x, 5, false);
        memset(counts, 0, sizeof counts);
        play(&x, 10, false);
        unsigned n = sort();
        const struct hot_key *k = key_of(57, n);
        good += k != NULL && within(&k->bytes, (double)counts[57] * LARGE_BYTES);
        first += number_of(&sorted[0]) == 7 || number_of(&sorted[1]) == 7;
    }
    is(first, RUNS, "the key that sends most bytes comes first");
    ok(good >= RUNS * 75 / 100, "one of few requests and large values is there, its bytes between the bounds: %u times of %d", good, RUNS);
}

static void test_the_past_is_forgotten(uint64_t x) {
    begin();
    play(&x, 12, true);
    sort();
    ok(totals.requests == 10 * A_SECOND && totals.window_us == 10 * HOT_SLOT_US, "the window is of ten seconds");
    play(&x, 10, false);
    is_str(key_of(HOT_KEY, sort()) != NULL ? "there" : "gone", "gone", "ten seconds later a key that nobody asks for any more is gone");
    now_us += 11 * HOT_SLOT_US;
    ok(sort() == 0 && totals.requests == 0, "without requests, nothing is left");
}

static void test_what_chance_may_do_is_no_row(uint64_t x) {
    unsigned rows = 0;
    begin();
    for (unsigned s = 0; s < 10; s++) {
        for (unsigned i = 0; i < A_SECOND / EVERY; i++) {
            add((uint64_t)(unit(&x) * KEYS), EVERY, 100);
        }
        hot_end_part(&hot, A_SECOND, 0, false);
        hot_turn(&hot, now_us += HOT_SLOT_US);
    }
    rows = sort();
    ok(rows <= 4, "of 20,000 keys that are asked for alike, %u are in the list", rows);
    begin();
    hot_add(&hot, 1, "one", 3, EVERY, 0);
    ok(sort() == 0 || sorted[0].requests.doubt == 0, "a key that has all requests leaves no doubt");
    hot_add(&hot, 2, "two", 3, EVERY, 0);
    hot_end_part(&hot, 2 * EVERY, 0, false);
    is(sort(), 0, "one that was noted once may have had none but that");
}

enum { TENTH = 10 };

/* A burst with a tenth of its requests noted, and then as many notes without a miss. */
static void test_missed_requests_go_to_keys_noted_then(void) {
    begin();
    for (unsigned i = 0; i < TENTH; i++) {
        hot_add(&hot, 1, "burst", 5, EVERY, 0);
    }
    hot_end_part(&hot, TENTH * TENTH * EVERY, 0, true);
    for (unsigned i = 0; i < TENTH; i++) {
        hot_add(&hot, 2, "calm", 4, EVERY, 0);
    }
    hot_end_part(&hot, TENTH * EVERY, 0, false);
    hot_end_part(&hot, 0, 0, true); /* no request was noted in this second */
    ok(sort() == 2 && sorted[0].requests.count == TENTH * TENTH * EVERY && sorted[1].requests.count == TENTH * EVERY, "misses in the burst count for the burst's key alone");
    is(totals.requests, TENTH * TENTH * EVERY + TENTH * EVERY, "and for all requests");
    ok(sorted[0].requests.doubt > sorted[1].requests.doubt, "whose count is less sure by that");
}

/* Notes are taken while requests go on: some are of requests that were counted only later. */
static void test_requests_that_came_meanwhile_count_once(void) {
    begin();
    for (unsigned i = 0; i < 3 * TENTH; i++) {
        hot_add(&hot, 1, "burst", 5, EVERY, 0);
    }
    hot_end_part(&hot, TENTH * EVERY, 2 * TENTH * EVERY, false); /* by then only a third was counted */
    hot_add(&hot, 1, "burst", 5, EVERY, 0);
    hot_end_part(&hot, 9 * TENTH * EVERY, 0, true);
    ok(sort() == 1 && totals.requests == TENTH * TENTH * EVERY && sorted[0].requests.count == totals.requests,
       "requests are as many as were asked, though most were missed, and all the one key's");
}

/* The lightest come first, so their texts are retained and then have to go. */
static void test_the_hottest_of_long_keys_have_their_texts(void) {
    char name[HOT_KEY_BYTES_MAX + 1];
    unsigned right = 0;
    begin();
    for (unsigned i = 0; i < 50 * HOT_KEYS; i++) {
        unsigned number = HOT_KEYS - 1 - i % HOT_KEYS;
        snprintf(name, sizeof name, "key:%0*u", HOT_KEY_BYTES_MAX - 4, number);
        hot_add(&hot, key_hash(name, HOT_KEY_BYTES_MAX), name, HOT_KEY_BYTES_MAX, HOT_KEYS - number, 0);
    }
    hot_end_part(&hot, 50 * HOT_KEYS * (HOT_KEYS + 1) / 2, 0, false);
    unsigned n = sort();
    for (unsigned i = 0; i < n; i++) {
        right += sorted[i].key_bytes == HOT_KEY_BYTES_MAX && strlen(sorted[i].key) == HOT_KEY_BYTES_MAX && number_of(&sorted[i]) == i;
    }
    ok(right == n && n == HOT_TEXT_BYTES / HOT_KEY_BYTES_MAX, "of %d keys of 250 bytes the %u hottest are there with their texts: %u", HOT_KEYS, n, right);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    make_zipf();
    test_counts_are_within_their_error(seed);
    test_a_hot_key_is_within_its_bound_after_ten_seconds(seed);
    test_large_values_are_found(seed);
    test_the_past_is_forgotten(seed);
    test_what_chance_may_do_is_no_row(seed);
    test_missed_requests_go_to_keys_noted_then();
    test_requests_that_came_meanwhile_count_once();
    test_the_hottest_of_long_keys_have_their_texts();
    return tap_done();
}
