#include "brain/format.h"
#include "facts/model.h"
#include "facts/words.h"
#include "tap.h"

#include <math.h>

/* The words are tested in tests/spec/lua_units_spec.lua. */
TEST(test_figures_have_the_words_of_lua_and_a_dash_or_reset_of_c) {
    static const double counts[] = {44213, 1630000, 99999.6, NAN, RATE_RESET};
    static const char *const words[] = {"44213", "1630K", "100K", "-", "reset"};
    char out[FORMAT_BYTES];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        is_str(format_count(out, counts[i]), words[i], "count %g is %s", counts[i], words[i]);
    }
    is_str(format_bytes(out, 99500), "97.2K", "bytes by powers of 1024");
    is_str(format_bytes(out, 1023.9 * 1024 * 1024), "1G", "a value that rounds to 1024 MiB has the next unit");
    is_str(format_percent(out, 0.9999), "99.9", "almost all is not 100");
    is_str(format_age(out, 622), "10m22", "an age");
    is_str(format_age(out, 1e300), ">30y", "one beyond all lives");
    is_str(format_age(out, -1), "-", "no age goes backwards");
}

TEST(test_deltas_carry_their_sign) {
    char out[FORMAT_BYTES];
    is_str(format_delta(out, 2), "+2", "plus");
    is_str(format_delta(out, -3), "-3", "minus");
    is_str(format_delta(out, 0), "·", "no change is a dot, not a number");
    is_str(format_delta(out, -12345678), "-12.3M", "large changes get a unit");
    is_str(format_delta(out, NAN), "-", "absent is a dash");
    is_str(format_exact(out, STAT_ABSENT), "-", "an absent integer is a dash");
    is_str(format_exact(out, 524288), "524288", "an exact integer keeps its digits");
}

TEST(test_a_strangers_text_holds_nothing_that_a_terminal_obeys) {
    char text[] = "a\x1b]0;x\a\n\x7f \xc2\x9b" "2J caf\xc3\xa9 \xc2\xa9 \xc2";
    words_make_plain(text);
    is_str(text, "a?]0;x??? ??2J caf\xc3\xa9 \xc2\xa9 \xc2", "controls are question marks");
}

TEST(test_any_value_fits_six_columns) {
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

int main(void) { return tap_main(); }
