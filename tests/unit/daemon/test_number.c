#include "tap.h"

#include "base/number.h"

static bool u64_is(const char *s, uint64_t want) {
    uint64_t v = ~want;
    return number_u64(s, strlen(s), &v) && v == want;
}

static bool u64_refuses(const char *s) {
    uint64_t v = 77;
    return !number_u64(s, strlen(s), &v) && v == 77;
}

static bool i32_is(const char *s, int32_t want) {
    int32_t v = ~want;
    return number_i32(s, strlen(s), &v) && v == want;
}

static bool i32_refuses(const char *s) {
    int32_t v = 77;
    return !number_i32(s, strlen(s), &v) && v == 77;
}

static bool flags_are(const char *s, uint32_t want) {
    uint32_t v = ~want;
    return number_client_flags(s, strlen(s), &v) && v == want;
}

static bool exptime_is(const char *s, int32_t want) {
    int32_t v = ~want;
    return number_exptime(s, strlen(s), &v) && v == want;
}

TEST(test_strict_numbers) {
    uint32_t u32;
    ok(u64_is("0", 0) && u64_is("18446744073709551615", UINT64_MAX), "a u64 holds 0 to 2^64-1");
    ok(u64_is("0000000000000000000001", 1) && u64_refuses("00000000000000000000001"), "a u64 has at most 22 characters");
    ok(u64_refuses("18446744073709551616") && u64_refuses("99999999999999999999"), "a u64 beyond 2^64-1 is refused");
    ok(u64_refuses("-1") && u64_refuses("+1") && u64_refuses("1a") && u64_refuses(" 1"), "a u64 is digits only");
    ok(i32_is("2147483647", INT32_MAX) && i32_is("-2147483648", INT32_MIN), "an i32 holds its whole range");
    ok(i32_refuses("2147483648") && i32_refuses("-2147483649"), "an i32 out of range is refused");
    ok(i32_is("-", 0) && i32_refuses("--1") && i32_refuses("+1"), "a lone minus is zero, as memcached has it; other signs fail");
    ok(number_u32("4294967295", 10, &u32) && u32 == UINT32_MAX && !number_u32("4294967296", 10, &u32),
       "a u32 ends at 4294967295");
}

TEST(test_loose_numbers) {
    uint32_t flags;
    int32_t exptime;
    ok(flags_are("4294967296", 0) && flags_are("4294967297", 1), "client flags are cut to 32 bits");
    ok(flags_are("+5", 5) && flags_are("5\tx", 5), "client flags may have a plus, and white space ends them");
    ok(!number_client_flags("-1", 2, &flags) && !number_client_flags("x", 1, &flags) &&
           !number_client_flags("1x", 2, &flags) && !number_client_flags("", 0, &flags),
       "client flags are no other text and not negative");
    ok(exptime_is("-1", -1) && exptime_is("+60", 60) && exptime_is("4294967296", 0), "exptime is signed and cut to 32 bits");
    ok(!number_exptime("99999999999999999999", 20, &exptime) && !number_exptime("9223372036854775808", 19, &exptime),
       "exptime beyond 64 bits is refused");
}

TEST(test_stored_numbers) {
    uint64_t v = 7;
    ok(number_stored(" +42 x", 6, &v) && v == 42, "a stored number may have blanks and a plus before, and a blank behind");
    ok(number_stored("5", 2, &v) && v == 5 && number_stored("7\0junk", 6, &v) && v == 7 && !number_stored("\0", 1, &v),
       "or the zero byte that ends it in C, with anything behind");
    int32_t exptime;
    uint32_t flags;
    ok(number_exptime("60\0x", 4, &exptime) && exptime == 60 && number_client_flags("7", 2, &flags) && flags == 7,
       "so may the numbers of a command");
    ok(number_stored("18446744073709551615", 20, &v) && v == UINT64_MAX, "it has 64 bits");
    ok(!number_stored("18446744073709551616", 20, &v) && !number_stored("-1", 2, &v) && !number_stored("-0", 2, &v) &&
           !number_stored("", 0, &v) && !number_stored("4a", 2, &v) && v == UINT64_MAX,
       "and is no more than these, not negative, and no other text");
}

TEST(test_real_numbers) {
    double d = 7;
    ok(number_real("1.25", &d) && d == 1.25, "a fraction is a real number");
    ok(number_real("-3e2", &d) && d == -300, "so is one with a sign and a power of ten");
    ok(!number_real("", &d) && !number_real("x", &d) && !number_real("1x", &d) && !number_real("1 ", &d),
       "no digits, or anything behind them, is none");
    ok(!number_real("inf", &d) && !number_real("nan", &d) && !number_real("1e999", &d), "nor is a number without a finite value");
    ok(!number_real("0x10", &d) && !number_real("-0X1p3", &d) && !number_real("1e-999", &d), "or is hexadecimal, or too small");
    ok(d == -300, "and a refused one changes nothing");
}

TEST(test_numbers_of_options) {
    uint64_t v = 7;
    ok(number_digits("0123-4", 10, &v) == 4 && v == 123, "digits end at the first other character");
    ok(number_digits("778", 8, &v) == 2 && v == 63, "8 is no octal digit");
    ok(number_digits("-1", 10, &v) == 0 && v == 0 && number_digits("", 10, &v) == 0 && v == 0, "a sign is no digit, nor is nothing");
    ok(number_digits("18446744073709551615", 10, &v) == 20 && v == UINT64_MAX && number_digits("18446744073709551616x", 10, &v) == 20 &&
           v == UINT64_MAX && number_digits("999999999999999999999", 10, &v) == 21 && v == UINT64_MAX,
       "a number of more than 64 bits is the highest of 64 bits");
    int64_t n = 7;
    ok(number_integer(" \t+12", 10, &n) && n == 12 && number_integer("-12", 10, &n) && n == -12 &&
           number_integer("-0", 10, &n) && n == 0,
       "blanks and a sign may stand before a whole number");
    ok(number_integer("0777", 8, &n) && n == 511, "it may be octal");
    ok(!number_integer("12 ", 10, &n) && !number_integer("1x", 10, &n) &&
           !number_integer("", 10, &n) && !number_integer("+", 10, &n) &&
           !number_integer("--1", 10, &n) && !number_integer("9223372036854775808", 10, &n) &&
           !number_integer("8", 8, &n) && n == 511,
       "anything behind it, no digits or more than 64 bits make it none, and change nothing");
}

static void test_put(uint64_t seed) {
    uint64_t state = seed | 1;
    int wrong = 0;
    for (int i = 0; i < 200000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t v = state >> (state & 63);
        char want[32], got[32];
        int n = snprintf(want, sizeof want, "%" PRIu64, v);
        char *end = number_put(got, v);
        uint64_t back = ~v;
        wrong += end - got != n || memcmp(want, got, (size_t)n) != 0 || !number_u64(got, (size_t)n, &back) || back != v;
    }
    is(wrong, 0, "numbers of every length are written as printf writes them, and read back");
}

int main(void) {
    uint64_t seed = tap_seed();
    tap_run_tests();
    test_put(seed);
    return tap_done();
}
