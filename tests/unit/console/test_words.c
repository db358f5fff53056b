#include "act/forecast.h"
#include "brain/health.h"
#include "facts/details/details.h"
#include "facts/words.h"
#include "fixture.h"
#include "tap.h"

static const char end[] = "…";

/* Whether a text is a whole sentence, or ends after one of its words or numbers. */
static bool is_cut_well(const char *text, const char *whole) {
    size_t kept = strlen(text), mark = strlen(end);
    if (strcmp(text, whole) == 0) {
        return true;
    }
    if (kept <= mark || strcmp(text + kept - mark, end) != 0) {
        return false;
    }
    kept -= mark;
    return strncmp(text, whole, kept) == 0 && (whole[kept - 1] == ' ' || whole[kept - 1] == ',');
}

TEST(test_a_long_sentence_ends_behind_a_word) {
    static const char whole[] = "hits 71.2 % → 77.2 %, of the sizes: 96,120,1184,524288 and no others";
    char out[sizeof whole + 8];
    for (size_t bytes = 16; bytes < sizeof out; bytes++) {
        words_printf(out, bytes, "%s", whole);
        ok(strlen(out) < bytes && is_cut_well(out, whole), "in %zu bytes: %s", bytes, out);
    }
    words_printf(out, 12, "%s", "/very/long/path");
    is_str(out, "/very/lo…", "one word is cut where it has to be");
    words_printf(out, 9, "%s", "→→→→");
    is_str(out, "→…", "but not amid a character");
    words_printf(out, 3, "%s", "word");
    is_str(out, "", "where there is no room for the sign nothing is");
    words_printf(out, 5, "%s", "word");
    is_str(out, "word", "a text that just fits is complete");
}

/* The most sizes that slated has, each of the longest text. */
TEST(test_the_longest_prediction_is_cut_at_a_number) {
    char answer[2048] = "PREDICTED 63 classes would hold 109.3 % more items in 1048576 pages, 1093100000 instead of "
                        "1000000000, and waste 44.1 % of their memory instead of 52.0 %; sizes that no item has yet "
                        "would waste 44.1 % on average and 49.9 % at most; the sizes: ";
    for (unsigned i = 0; i < 63; i++) {
        snprintf(answer + strlen(answer), 16, "%s%u", i > 0 ? "," : "", 1000000 + i);
    }
    size_t bytes = strlen(answer);
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    struct details *details = model_open_details(model);
    static const char order[][PREDICTION_ORDER_BYTES] = {"auto"};
    char line[PREDICTION_ORDER_BYTES + 24];
    prediction_want(&details->predictions, order, 1);
    prediction_next(&details->predictions, 1, line);
    strcat(answer, "\r\n");
    prediction_take(&details->predictions, details->predictions.of[0].ticket, answer, bytes + 2, 5);
    answer[bytes] = '\0';
    struct action action = {.kind = ACTION_SET, .name = "geometry", .value = "auto"};
    struct sentence sentences[SENTENCES_MOST];
    const char *text = forecast_of(sentences, forecast_query(&action, model, sentences), "expects");
    ok(is_cut_well(text, strchr(answer, ' ') + 1), "a review says: %s", text);
}

TEST(test_words_on_a_server_end_after_a_word) {
    char note[400] = "";
    for (unsigned i = 0; i < 30; i++) {
        snprintf(note + strlen(note), 16, "%s%u", i > 0 ? " " : "", 100000 + i);
    }
    static struct health_line lines[HEALTH_LIMIT];
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    model_set_link(model, LINK_UP, "", 1);
    model_set_link(model, LINK_DOWN, note, 2);
    ok(is_cut_well(model_link_note(model), note), "why there is no link: %s", model_link_note(model));
    const struct event *event = model_event(model, 0);
    ok(strlen(event->text) + 1 <= NOTE_BYTES && strstr(event->text, " …") != NULL, "an event: %s", event->text);
    health_assess(model, model_now(model)->at_ms + 5000, 1000, lines);
    ok(strstr(lines[0].text, " …") != NULL, "a line of health: %s", lines[0].text);
}

int main(void) { return fixture_main(); }
