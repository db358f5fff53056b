/* Codes after an escape are no keys, however late they come; what the operator presses is one. */
#include "draw/sequence.h"
#include "tap.h"

/* Feeds what follows an ESC, a code every so many ms; returns those that are keys. */
static const char *keys_of(const char *codes, uint64_t pause_ms) {
    static char keys[64];
    struct sequence sequence = {.part = SEQUENCE_NONE};
    uint64_t now_ms = 1000000;
    size_t count = 0;
    bool is_sequence = sequence_begin(&sequence, (unsigned char)codes[0], now_ms);
    for (size_t i = is_sequence ? 1 : 0; codes[i] != '\0'; i++) {
        now_ms += pause_ms;
        if (!sequence_take(&sequence, (unsigned char)codes[i], now_ms)) {
            keys[count++] = codes[i];
        }
    }
    keys[count] = '\0';
    return keys;
}

TEST(the_letter_after_escape_o_is_never_a_key) {
    static const uint64_t pauses_ms[] = {0, 100, SEQUENCE_PAUSE_MS, SEQUENCE_PAUSE_MS + 1, 3600000};
    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
        is_str(keys_of("OSq", pauses_ms[i]), "q", "S, %" PRIu64 " ms later", pauses_ms[i]);
        is_str(keys_of("O2Sq", pauses_ms[i]), "q", "2S, %" PRIu64 " ms later each", pauses_ms[i]);
    }
}

TEST(the_rest_of_a_sequence_is_no_key_on_a_slow_link) {
    static const char *const sequences[] = {"[1~q", "[[Aq", "[99;99Sq", "[M S~q", "[M\x20S\xffq",
                                            "]11;rgb:S\aq", "PS\033\\q", "[200~q"};
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        is_str(keys_of(sequences[i], 0), "q", "sequence %zu at once", i);
        is_str(keys_of(sequences[i], SEQUENCE_PAUSE_MS), "q", "sequence %zu in parts", i);
    }
}

TEST(what_has_no_end_is_ended_by_a_pause_or_by_a_key) {
    is_str(keys_of("[1q", SEQUENCE_PAUSE_MS + 1), "1q", "a pause in ESC [");
    is_str(keys_of("P1q", SEQUENCE_PAUSE_MS + 1), "1q", "a pause in a string");
    is_str(keys_of("[1\rq", 0), "\rq", "Enter");
    is_str(keys_of("O\033q", 0), "\033q", "Esc");
    is_str(keys_of("qS", 0), "qS", "no sequence");
}

TEST(the_letter_of_a_function_key_after_a_late_o_is_no_key) {
    struct sequence sequence = {.part = SEQUENCE_NONE};
    sequence_escape(&sequence, 5);
    ok(sequence_take(&sequence, 'O', 5 + SEQUENCE_PAUSE_MS), "the O");
    ok(sequence_take(&sequence, 'S', 9000000), "the letter");
    ok(!sequence_take(&sequence, 'S', 9000000), "the next key");
    sequence_escape(&sequence, 9000000);
    ok(!sequence_take(&sequence, 'S', 9000001), "a key after Esc");
}

TEST(the_text_of_a_sequence_is_kept_and_cut) {
    struct sequence sequence = {.part = SEQUENCE_NONE};
    sequence_begin(&sequence, '[', 0);
    for (const char *at = "200~"; *at != '\0'; at++) {
        sequence_take(&sequence, (unsigned char)*at, 0);
    }
    is_str(sequence.text, "200~", "whole");
    sequence_begin(&sequence, ']', 0);
    for (int i = 0; i < 100; i++) {
        sequence_take(&sequence, 'x', 0);
    }
    is(strlen(sequence.text), SEQUENCE_TEXT_BYTES - 1, "cut");
}

int main(void) {
    return tap_main();
}
