#include "facts/number_coder.h"
#include "tap.h"

enum { NUMBERS = 20000 };

static uint64_t any_number(unsigned *seed) {
    uint64_t bits = (uint64_t)(unsigned)rand_r(seed) << 33 ^ (uint64_t)(unsigned)rand_r(seed) << 12 ^
                    (unsigned)rand_r(seed);
    return bits >> (unsigned)rand_r(seed) % 64;
}

/* All three kinds in turn, edges among them. */
static void test_all_is_read_as_it_was_written(unsigned seed) {
    static uint64_t numbers[NUMBERS];
    static const uint64_t edges[] = {0, 1, 2, 3, UINT64_MAX, UINT64_MAX - 1, 1ULL << 63, 1ULL << 32};
    struct odds_of_any any;
    struct odds_of_few few;
    struct odds odds = ODDS_EVEN;
    struct number_writer writer;
    struct number_reader reader;
    size_t bytes = 0, same = 0;
    number_writer_init(&writer);
    odds_of_any_init(&any);
    odds_of_few_init(&few, NUMBER_BITS);
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = i < 80 ? edges[i / 3 % 8] : any_number(&seed);
        if (i % 3 == 0) {
            put_any(&writer, &any, numbers[i]);
        } else if (i % 3 == 1) {
            put_few(&writer, &few, numbers[i]);
        } else {
            put_bit(&writer, &odds, numbers[i] & 1);
        }
    }
    uint8_t *packed = number_writer_end(&writer, &bytes);
    ok(packed != NULL, "%d numbers in %zu bytes", NUMBERS, bytes);
    odds = (struct odds)ODDS_EVEN;
    odds_of_any_init(&any);
    odds_of_few_init(&few, NUMBER_BITS);
    number_reader_init(&reader, packed);
    for (int i = 0; i < NUMBERS; i++) {
        same += i % 3 == 0   ? take_any(&reader, &any) == numbers[i]
                : i % 3 == 1 ? take_few(&reader, &few) == numbers[i]
                             : take_bit(&reader, &odds) == (numbers[i] & 1);
    }
    is(same, NUMBERS, "all are read as they were written");
    free(packed);
}

/* Numbers drawn evenly below a limit, each 0 but for one of `zeroes`, in bytes. */
static size_t size_of(unsigned seed, uint64_t below, unsigned zeroes) {
    struct odds_of_few few;
    struct number_writer writer;
    size_t bytes = 0;
    number_writer_init(&writer);
    odds_of_few_init(&few, number_bits(below - 1));
    for (int i = 0; i < NUMBERS; i++) {
        bool is_none = zeroes > 0 && (unsigned)i % zeroes > 0;
        put_few(&writer, &few, is_none ? 0 : (unsigned)rand_r(&seed) % below);
    }
    free(number_writer_end(&writer, &bytes));
    return bytes;
}

static void test_numbers_take_the_bits_that_they_need(unsigned seed) {
    size_t even = size_of(seed, 1000, 0), full = size_of(seed, 1024, 0), rare = size_of(seed, 1024, 100);
    ok(even < NUMBERS * 10.0 / 8 * 1.02, "of 1,000 values: %.2f bits each, of 9.97", 8.0 * even / NUMBERS);
    ok(full < NUMBERS * 10.0 / 8 * 1.02, "of 1,024: %.2f, of 10", 8.0 * full / NUMBERS);
    ok(rare < NUMBERS * 0.2 / 8, "one of a hundred that is not 0: %.3f, of 0.181", 8.0 * rare / NUMBERS);
    is(number_bits(0), 0, "0 has no bits");
    is(number_bits(UINT64_MAX), NUMBER_BITS, "the largest has all");
}

int main(void) {
    unsigned seed = (unsigned)tap_seed();
    test_all_is_read_as_it_was_written(seed);
    test_numbers_take_the_bits_that_they_need(seed);
    return tap_done();
}
