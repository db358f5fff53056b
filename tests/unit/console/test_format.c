#include "brain/format.h"
#include "facts/model.h"
#include "facts/words.h"
#include "tap.h"

#include <math.h>

static void test_counts_are_whole_and_get_a_unit(void) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},         {0.001, "<0.1"},   {0.4, "0.4"},
        {7, "7"},         {9.94, "9.9"},     {9.96, "10"},
        {999, "999"},     {9999, "9999"},    {44213, "44213"},
        {99999, "99999"}, {99999.6, "100K"}, {803000, "803K"},
        {1630000, "1630K"}, {9999600, "10M"}, {12345678, "12.3M"},
        {5e9, "5000M"},   {NAN, "-"},        {RATE_RESET, "reset"},
        {1e21, ">999E"},
    };
    char out[FORMAT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_str(format_count(out, cases[i].value), cases[i].text, "count %g is %s", cases[i].value,
               cases[i].text);
    }
}

static void test_bytes_use_powers_of_1024(void) {
    char out[FORMAT_BYTES];
    is_str(format_bytes(out, 1184), "1184", "a chunk size is exact");
    is_str(format_bytes(out, 65536), "64K", "64 KiB");
    is_str(format_bytes(out, 99500), "97.2K", "parts of a KiB");
    is_str(format_bytes(out, 1073741824.0), "1G", "1 GiB");
    is_str(format_bytes(out, 1023.9 * 1024 * 1024), "1G",
           "what rounds to 1024 MiB goes to the next unit, so width stays");
    is_str(format_bytes(out, NAN), "-", "absent is a dash");
}

static void test_a_cache_that_misses_never_shows_100_percent(void) {
    char out[FORMAT_BYTES];
    is_str(format_percent(out, 1), "100", "all is 100");
    is_str(format_percent(out, 0.9999), "99.9", "almost all is not 100");
    is_str(format_percent(out, 0.9182), "91.8", "one digit");
    is_str(format_percent(out, 0.0001), "<0.1", "a little is not 0");
    is_str(format_percent(out, 0), "0", "nothing is 0");
    is_str(format_percent(out, NAN), "-", "absent is a dash");
}

static void test_ages_take_at_most_six_columns(void) {
    static const struct {
        double age_s;
        const char *text;
    } cases[] = {{0, "0s"},
                 {0.3, "<1s"},
                 {622, "10m22"},
                 {850, "14m10"},
                 {7200, "2h00"},
                 {86399, "23h59"},
                 {360000, "4d04"},
                 {41 * 86400.0 + 7200, "41d02"},
                 {402 * 86400.0, "402d"},
                 {NAN, "-"},
                 {1e300, ">30y"}};
    char out[FORMAT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_str(format_age(out, cases[i].age_s), cases[i].text, "age %g is %s", cases[i].age_s,
               cases[i].text);
        ok(strlen(out) <= 6, "and takes at most six columns");
    }
}

static void test_deltas_carry_their_sign(void) {
    char out[FORMAT_BYTES];
    is_str(format_delta(out, 2), "+2", "plus");
    is_str(format_delta(out, -3), "-3", "minus");
    is_str(format_delta(out, 0), "·", "no change is a dot, not a number");
    is_str(format_delta(out, -12345678), "-12.3M", "large changes get a unit");
    is_str(format_delta(out, NAN), "-", "absent is a dash");
    is_str(format_exact(out, STAT_ABSENT), "-", "an absent integer is a dash");
    is_str(format_exact(out, 524288), "524288", "an exact integer keeps its digits");
}

static void test_a_strangers_text_holds_nothing_that_a_terminal_obeys(void) {
    char text[] = "a\x1b]0;x\a\n\x7f \xc2\x9b" "2J caf\xc3\xa9 \xc2\xa9 \xc2";
    plain_make(text);
    is_str(text, "a?]0;x??? ??2J caf\xc3\xa9 \xc2\xa9 \xc2", "controls are question marks");
}

/* Widths are what keeps a table aligned: whatever the value, six columns are enough. */
static void test_any_value_fits_six_columns(void) {
    uint64_t seed = tap_seed();
    char out[FORMAT_BYTES];
    int worst = 0;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double value = ldexp((double)(seed >> 11), (int)(seed % 120) - 80);
        size_t widths[] = {strlen(format_count(out, value)), strlen(format_bytes(out, value)),
                           strlen(format_age(out, value))};
        for (int t = 0; t < 3; t++) {
            worst = (int)widths[t] > worst ? (int)widths[t] : worst;
        }
    }
    ok(worst <= 6, "200,000 random values take at most six columns (widest %d)", worst);
}

int main(void) {
    test_counts_are_whole_and_get_a_unit();
    test_bytes_use_powers_of_1024();
    test_a_cache_that_misses_never_shows_100_percent();
    test_ages_take_at_most_six_columns();
    test_deltas_carry_their_sign();
    test_a_strangers_text_holds_nothing_that_a_terminal_obeys();
    test_any_value_fits_six_columns();
    return tap_done();
}
